/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

/* What a port of class "lossless" says about itself: the kernel device speaks
 * where there is one. */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "netdev-lossless-private.h"
#include "smap.h"
#include "util.h"

enum { MEMORY_MTU = 9000 };     /* Of a port without kernel device. */

static int
netdev_lossless_set_etheraddr(struct netdev *netdev,
                              const struct eth_addr mac)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);

    if (dev->has_device) {
        return netdev_linux_class.set_etheraddr(netdev, mac);
    }
    ovs_mutex_lock(&dev->mutex);
    dev->mac = mac;
    ovs_mutex_unlock(&dev->mutex);
    netdev_change_seq_changed(netdev);
    return 0;
}

static int
netdev_lossless_get_etheraddr(const struct netdev *netdev,
                              struct eth_addr *mac)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);

    if (dev->has_device) {
        return netdev_linux_class.get_etheraddr(netdev, mac);
    }
    ovs_mutex_lock(&dev->mutex);
    *mac = dev->mac;
    ovs_mutex_unlock(&dev->mutex);
    return 0;
}

static int
netdev_lossless_get_mtu(const struct netdev *netdev, int *mtup)
{
    if (netdev_lossless_cast(netdev)->has_device) {
        return netdev_linux_class.get_mtu(netdev, mtup);
    }
    *mtup = MEMORY_MTU;
    return 0;
}

static int
netdev_lossless_set_mtu(struct netdev *netdev, int mtu)
{
    return netdev_lossless_cast(netdev)->has_device
           ? netdev_linux_class.set_mtu(netdev, mtu) : EOPNOTSUPP;
}

static int
netdev_lossless_get_ifindex(const struct netdev *netdev)
{
    return netdev_lossless_cast(netdev)->has_device
           ? netdev_linux_class.get_ifindex(netdev) : -EOPNOTSUPP;
}

static int
netdev_lossless_get_carrier(const struct netdev *netdev, bool *carrier)
{
    if (netdev_lossless_cast(netdev)->has_device) {
        return netdev_linux_class.get_carrier(netdev, carrier);
    }
    *carrier = true;
    return 0;
}

static long long int
netdev_lossless_get_carrier_resets(const struct netdev *netdev)
{
    return netdev_lossless_cast(netdev)->has_device
           ? netdev_linux_class.get_carrier_resets(netdev) : 0;
}

static int
netdev_lossless_set_miimon_interval(struct netdev *netdev,
                                    long long int interval)
{
    return netdev_lossless_cast(netdev)->has_device
           ? netdev_linux_class.set_miimon_interval(netdev, interval)
           : EOPNOTSUPP;
}

static int
netdev_lossless_get_features(const struct netdev *netdev,
                             enum netdev_features *current,
                             enum netdev_features *advertised,
                             enum netdev_features *supported,
                             enum netdev_features *peer)
{
    return netdev_lossless_cast(netdev)->has_device
           ? netdev_linux_class.get_features(netdev, current, advertised,
                                             supported, peer)
           : EOPNOTSUPP;
}

static int
netdev_lossless_get_addr_list(const struct netdev *netdev,
                              struct in6_addr **addr, struct in6_addr **mask,
                              int *n_cnt)
{
    return netdev_lossless_cast(netdev)->has_device
           ? netdev_linux_class.get_addr_list(netdev, addr, mask, n_cnt)
           : EOPNOTSUPP;
}

static int
netdev_lossless_get_status(const struct netdev *netdev, struct smap *smap)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);

    smap_add(smap, "driver_name", "lossless");
    smap_add(smap, "link", dev->has_device ? "device" : "memory");
    smap_add(smap, "attached", lossless_port(dev) != NO_PORT ? "yes" : "no");
    return 0;
}

static int
netdev_lossless_update_flags(struct netdev *netdev, enum netdev_flags off,
                             enum netdev_flags on,
                             enum netdev_flags *old_flagsp)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);

    if (dev->has_device) {
        return netdev_linux_class.update_flags(netdev, off, on, old_flagsp);
    }
    ovs_mutex_lock(&dev->mutex);
    *old_flagsp = dev->flags;
    dev->flags = (dev->flags | on) & ~off;
    ovs_mutex_unlock(&dev->mutex);
    if (*old_flagsp != ((*old_flagsp | on) & ~off)) {
        netdev_change_seq_changed(netdev);
    }
    return 0;
}

/* Statistics: management traffic as the kernel or the queue counts it, plus
 * the RoCE frames of the run. */

static int
netdev_lossless_get_stats(const struct netdev *netdev,
                          struct netdev_stats *stats)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);
    struct lossless_port_stats roce;
    struct lossless_fabric *fabric;

    if (dev->has_device) {
        int error = get_stats_via_netlink(netdev, stats);

        if (error) {
            return error;
        }
    } else {
        memset(stats, 0xff, sizeof *stats); /* Not supported. */
        stats->rx_dropped = stats->tx_dropped = 0;
        ovs_mutex_lock(&netdev_lossless_mutex);
        stats->rx_packets = dev->queue_rx;
        stats->rx_bytes = dev->queue_rx_bytes;
        stats->tx_packets = dev->queue_tx;
        stats->tx_bytes = dev->queue_tx_bytes;
        ovs_mutex_unlock(&netdev_lossless_mutex);
    }

    ovs_mutex_lock(&netdev_lossless_mutex);
    fabric = attached_fabric();
    if (fabric && lossless_port(dev) != NO_PORT) {
        lossless_get_stats(fabric, lossless_port(dev), &roce);
    } else {
        roce = dev->stats;
    }
    ovs_mutex_unlock(&netdev_lossless_mutex);
    stats->rx_packets += roce.rx_packets;
    stats->rx_bytes += roce.rx_bytes;
    stats->tx_packets += roce.tx_packets;
    stats->tx_bytes += roce.tx_bytes;
    stats->rx_dropped += roce.rx_dropped;
    stats->tx_dropped += roce.tx_dropped;
    return 0;
}

static int
netdev_lossless_get_custom_stats(const struct netdev *netdev,
                                 struct netdev_custom_stats *stats)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);
    size_t n = lossless_n_counters();
    struct lossless_fabric *fabric;
    uint64_t *values = xcalloc(n, sizeof *values);
    bool known = true;
    size_t i;

    ovs_mutex_lock(&netdev_lossless_mutex);
    fabric = attached_fabric();
    if (fabric && lossless_port(dev) != NO_PORT) {
        lossless_get_counters(fabric, lossless_port(dev), values);
    } else if (dev->counters) {
        memcpy(values, dev->counters, n * sizeof *values);
    } else {
        known = false;
    }
    ovs_mutex_unlock(&netdev_lossless_mutex);

    stats->size = 0;
    stats->counters = known ? xcalloc(n, sizeof *stats->counters) : NULL;
    for (i = 0; known && i < n; i++) {
        const char *name = lossless_counter_name(i);
        struct netdev_custom_counter *counter;

        /* Of the many counters per class only those that count. */
        if (!values[i] && strstr(name, "_prio")) {
            continue;
        }
        counter = &stats->counters[stats->size++];
        counter->value = values[i];
        ovs_strlcpy(counter->name, name, sizeof counter->name);
    }
    free(values);
    return 0;
}

void
netdev_lossless_set_device(struct netdev_class *class)
{
    class->set_etheraddr = netdev_lossless_set_etheraddr;
    class->get_etheraddr = netdev_lossless_get_etheraddr;
    class->get_mtu = netdev_lossless_get_mtu;
    class->set_mtu = netdev_lossless_set_mtu;
    class->get_ifindex = netdev_lossless_get_ifindex;
    class->get_carrier = netdev_lossless_get_carrier;
    class->get_carrier_resets = netdev_lossless_get_carrier_resets;
    class->set_miimon_interval = netdev_lossless_set_miimon_interval;
    class->get_stats = netdev_lossless_get_stats;
    class->get_custom_stats = netdev_lossless_get_custom_stats;
    class->get_features = netdev_lossless_get_features;
    class->get_status = netdev_lossless_get_status;
    class->get_addr_list = netdev_lossless_get_addr_list;
    class->update_flags = netdev_lossless_update_flags;
}
