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

/* Netdev class "lossless": ports of an emulated lossless fabric.
 *
 * A port carries two kinds of traffic through one flow table:
 *
 *   - RoCE frames of a run, which lie in a shared-memory segment and move in
 *     experiment time.  The fabric (lossless.h) hands them to .rxq_recv and
 *     learns from .send where they leave; it never sees them copied.  A frame
 *     is known by the packet's flow mark.
 *
 *   - management traffic (ARP, ping, TCP), which takes no experiment time.  It
 *     comes from and goes to the kernel device of the same name, through the
 *     AF_PACKET socket of netdev-linux, or, where there is no such device (a
 *     link between two switches), to the port named by options:peer.
 *
 * The polling thread is also the clock of the run: whenever all frames that
 * were handed out have passed the datapath, it turns the fabric, which lets
 * the switches and hosts work and opens the next window.  All ports have to be
 * polled by one thread.
 *
 * This file holds the life of a netdev and the class; the others are
 *   -device.c   what a port says about itself, statistics
 *   -rxq.c      frames and management packets, in and out
 *   -poll.c     the polling thread
 *   -ctl.c      appctl commands. */

#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "dp-packet.h"
#include "hash.h"
#include "netdev-lossless-private.h"
#include "netdev-lossless.h"
#include "smap.h"
#include "util.h"

struct ovs_mutex netdev_lossless_mutex = OVS_MUTEX_INITIALIZER;
struct shash netdev_lossless_all = SHASH_INITIALIZER(&netdev_lossless_all);
struct netdev_class netdev_lossless_class;

/* Life of a netdev. */

static struct netdev *
netdev_lossless_alloc(void)
{
    struct netdev_lossless *dev = xzalloc(sizeof *dev);

    return &dev->linux_.up;
}

static int
netdev_lossless_construct(struct netdev *netdev)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);
    const char *name = netdev_get_name(netdev);
    int error;

    /* ENODEV comes last, when the netdev is complete but for a device. */
    error = netdev_linux_class.construct(netdev);
    if (error && error != ENODEV) {
        return error;
    }
    dev->has_device = !error;
    atomic_init(&dev->port, NO_PORT);
    ovs_mutex_init(&dev->mutex);
    dev->requested_n_txq = netdev->n_txq;
    dev->flags = NETDEV_UP;
    eth_addr_from_uint64(hash_string(name, 0), &dev->mac);
    dev->mac.ea[0] = 0x02;
    dev->mac.ea[1] = 'r';

    ovs_mutex_lock(&netdev_lossless_mutex);
    shash_add_once(&netdev_lossless_all, name, dev);
    ovs_mutex_unlock(&netdev_lossless_mutex);
    return 0;
}

static void
netdev_lossless_destruct(struct netdev *netdev)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);
    struct lossless_fabric *fabric = attached_fabric();
    int port = lossless_port(dev);

    if (fabric && port != NO_PORT) {
        lossless_set_ready_byte(fabric, port, NULL);
        lossless_fail(fabric, "a port of the fabric was removed");
    }
    ovs_mutex_lock(&netdev_lossless_mutex);
    shash_find_and_delete(&netdev_lossless_all, netdev_get_name(netdev));
    ovs_mutex_unlock(&netdev_lossless_mutex);

    while (dev->head != dev->tail) {
        dp_packet_delete(dev->queue[dev->head++ % MEMORY_QUEUE_LEN]);
        atomic_count_dec(&lossless_engine.queued);
    }
    ovs_mutex_destroy(&dev->mutex);
    free(dev->switch_name);
    free(dev->peer_name);
    free(dev->counters);
    netdev_linux_class.destruct(netdev);
}

static void
netdev_lossless_dealloc(struct netdev *netdev)
{
    free(netdev_lossless_cast(netdev));
}

static int
netdev_lossless_get_config(const struct netdev *netdev, struct smap *args)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);

    ovs_mutex_lock(&dev->mutex);
    if (dev->switch_name) {
        smap_add(args, "switch", dev->switch_name);
    }
    if (dev->peer_name) {
        smap_add(args, "peer", dev->peer_name);
    }
    ovs_mutex_unlock(&dev->mutex);
    return 0;
}

static int
netdev_lossless_set_config(struct netdev *netdev, const struct smap *args,
                           char **errp)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);
    const char *peer = smap_get(args, "peer");
    const char *name = netdev_get_name(netdev);

    if (peer && !strcmp(peer, name)) {
        *errp = xasprintf("%s: options:peer names the port itself", name);
        return EINVAL;
    }
    if (!peer && !dev->has_device) {
        *errp = xasprintf("%s: there is no such network device, and no "
                          "options:peer", name);
        return EINVAL;
    }
    ovs_mutex_lock(&dev->mutex);
    free(dev->switch_name);
    dev->switch_name = nullable_xstrdup(smap_get(args, "switch"));
    free(dev->peer_name);
    dev->peer_name = nullable_xstrdup(peer);
    ovs_mutex_unlock(&dev->mutex);
    return 0;
}

static int
netdev_lossless_get_numa_id(const struct netdev *netdev OVS_UNUSED)
{
    return 0;
}

static int
netdev_lossless_set_tx_multiq(struct netdev *netdev, unsigned int n_txq)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);

    ovs_mutex_lock(&dev->mutex);
    if (dev->requested_n_txq != n_txq) {
        dev->requested_n_txq = n_txq;
        netdev_request_reconfigure(netdev);
    }
    ovs_mutex_unlock(&dev->mutex);
    return 0;
}

static int
netdev_lossless_reconfigure(struct netdev *netdev)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);

    ovs_mutex_lock(&dev->mutex);
    netdev->n_txq = dev->requested_n_txq;
    ovs_mutex_unlock(&dev->mutex);
    return 0;
}

void
netdev_lossless_register(void)
{
    struct netdev_class *class = &netdev_lossless_class;

    netdev_lossless_poll_init();
    *class = netdev_linux_class;
    class->type = "lossless";
    class->is_pmd = true;
    class->alloc = netdev_lossless_alloc;
    class->construct = netdev_lossless_construct;
    class->destruct = netdev_lossless_destruct;
    class->dealloc = netdev_lossless_dealloc;
    class->get_config = netdev_lossless_get_config;
    class->set_config = netdev_lossless_set_config;
    class->get_numa_id = netdev_lossless_get_numa_id;
    class->set_tx_multiq = netdev_lossless_set_tx_multiq;
    class->reconfigure = netdev_lossless_reconfigure;
    netdev_lossless_set_device(class);
    netdev_lossless_set_rxq(class);

    /* The kernel's queueing disciplines stay out of it: bridge.c would reset
     * them on every port. */
    class->set_policing = NULL;
    class->get_qos_types = NULL;
    class->get_qos_capabilities = NULL;
    class->get_qos = NULL;
    class->set_qos = NULL;
    class->get_queue = NULL;
    class->set_queue = NULL;
    class->delete_queue = NULL;
    class->get_queue_stats = NULL;
    class->queue_dump_start = NULL;
    class->queue_dump_next = NULL;
    class->queue_dump_done = NULL;
    class->dump_queue_stats = NULL;
    class->get_block_id = NULL;
    netdev_register_provider(class);

    netdev_lossless_ctl_init();
}
