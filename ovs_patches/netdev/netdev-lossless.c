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
 * polled by one thread. */

#include <config.h>

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "coverage.h"
#include "dp-packet.h"
#include "hash.h"
#include "lossless.h"
#include "netdev-linux-private.h"
#include "netdev-lossless.h"
#include "netdev-provider.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "smap.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_lossless);

COVERAGE_DEFINE(lossless_stale_frame);
COVERAGE_DEFINE(lossless_queue_full);

enum {
    NO_PORT = -1,
    MEMORY_MTU = 9000,          /* Of a port without kernel device. */
    MEMORY_QUEUE_LEN = 1024,    /* Management packets, power of 2. */
    MAX_FREE_PACKETS = 4096,
    SOCKET_CHECK_USEC = 100,    /* While windows follow each other. */
    MAX_POLLS_BETWEEN_TURNS = 2000,
};

/* Sleeps of the polling thread.  While the hosts are at work the fabric wakes
 * it, but management traffic does not: the shortest is how late that may be
 * when there has been some lately, the longest bounds everything else. */
#define MIN_SLEEP_NS 50000
#define MAX_SLEEP_NS 1000000

/* All netdevs of the class by name, and the rxqs by file descriptor. */
static struct ovs_mutex registry_mutex = OVS_MUTEX_INITIALIZER;
static struct shash netdevs OVS_GUARDED_BY(registry_mutex)
    = SHASH_INITIALIZER(&netdevs);
struct netdev_rxq_lossless;
static struct netdev_rxq_lossless **rxq_by_fd OVS_GUARDED_BY(registry_mutex);
static size_t n_rxq_by_fd OVS_GUARDED_BY(registry_mutex);

struct netdev_lossless {
    struct netdev_linux linux_;
    bool has_device;            /* There is a kernel device of this name. */
    atomic_int port;            /* Of the attached fabric, or NO_PORT. */
    struct netdev_rxq_lossless *rxq OVS_GUARDED_BY(registry_mutex);

    struct ovs_mutex mutex;     /* Protects the following. */
    char *switch_name;          /* options:switch, may be NULL. */
    char *peer_name;            /* options:peer, may be NULL. */
    int requested_n_txq;
    struct eth_addr mac;        /* Without kernel device. */
    enum netdev_flags flags;    /* Without kernel device. */

    /* The rest is protected by 'registry_mutex'. */
    struct lossless_port_stats stats;   /* Of the last run, once it ended. */
    uint64_t *counters;                 /* Likewise, or NULL. */

    /* Management packets from the peer, a ring, and how many there were. */
    uint64_t queue_rx, queue_rx_bytes, queue_tx, queue_tx_bytes;
    struct dp_packet *queue[MEMORY_QUEUE_LEN];
    unsigned int head, tail;
};

/* In 'ready' of an rxq. */
enum {
    READY_FRAMES = 1,           /* Kept by the fabric. */
    READY_MANAGEMENT = 2,       /* In the socket or the queue. */
};

struct netdev_rxq_lossless {
    struct netdev_rxq_linux linux_;
    uint8_t ready;              /* What may wait here. */
};

/* State of the polling thread.  Everything without a comment is its own. */
static struct {
    ATOMIC(struct lossless_fabric *) fabric; /* Set by attach; taken away by
                                              * the polling thread. */
    atomic_bool detach;         /* It is asked to do so. */
    atomic_bool crowded;        /* Another thread polls, too. */
    atomic_uint owner;          /* ovsthread id of the polling thread. */
    atomic_uint beat;           /* Its polls. */
    atomic_count queued;        /* Packets in all memory queues. */
    int epoll_fd;               /* All sockets and 'wake_fd'. */
    int wake_fd;                /* Written when another thread queues. */

    uint8_t busy;               /* Frames of the pass are not handed out. */
    bool pass_open;             /* The last turn gave frames. */
    const struct netdev_rxq *turn_rxq;  /* Where the last turn was made... */
    unsigned int polls;                 /* ...and polls since. */
    long long int next_check;   /* Of the sockets, in time_usec(). */
    int64_t sleep_ns;
    struct dp_packet *free_packets[MAX_FREE_PACKETS];
    size_t n_free_packets;
} engine = { .sleep_ns = MAX_SLEEP_NS };

static struct netdev_class lossless_class;

static struct netdev_lossless *
netdev_lossless_cast(const struct netdev *netdev)
{
    ovs_assert(netdev_get_class(netdev) == &lossless_class);
    return CONTAINER_OF(netdev_linux_cast(netdev), struct netdev_lossless,
                        linux_);
}

static struct netdev_rxq_lossless *
netdev_rxq_lossless_cast(const struct netdev_rxq *rxq)
{
    return CONTAINER_OF(netdev_rxq_linux_cast(rxq),
                        struct netdev_rxq_lossless, linux_);
}

static int
lossless_port(const struct netdev_lossless *dev)
{
    int port;

    atomic_read_explicit(&CONST_CAST(struct netdev_lossless *, dev)->port,
                         &port, memory_order_acquire);
    return port;
}

static struct lossless_fabric *
attached_fabric(void)
{
    struct lossless_fabric *fabric;

    atomic_read_explicit(&engine.fabric, &fabric, memory_order_acquire);
    return fabric;
}

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

    ovs_mutex_lock(&registry_mutex);
    shash_add_once(&netdevs, name, dev);
    ovs_mutex_unlock(&registry_mutex);
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
    ovs_mutex_lock(&registry_mutex);
    shash_find_and_delete(&netdevs, netdev_get_name(netdev));
    ovs_mutex_unlock(&registry_mutex);

    while (dev->head != dev->tail) {
        dp_packet_delete(dev->queue[dev->head++ % MEMORY_QUEUE_LEN]);
        atomic_count_dec(&engine.queued);
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

/* What a port without kernel device says about itself. */

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
        ovs_mutex_lock(&registry_mutex);
        stats->rx_packets = dev->queue_rx;
        stats->rx_bytes = dev->queue_rx_bytes;
        stats->tx_packets = dev->queue_tx;
        stats->tx_bytes = dev->queue_tx_bytes;
        ovs_mutex_unlock(&registry_mutex);
    }

    ovs_mutex_lock(&registry_mutex);
    fabric = attached_fabric();
    if (fabric && lossless_port(dev) != NO_PORT) {
        lossless_get_stats(fabric, lossless_port(dev), &roce);
    } else {
        roce = dev->stats;
    }
    ovs_mutex_unlock(&registry_mutex);
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

    ovs_mutex_lock(&registry_mutex);
    fabric = attached_fabric();
    if (fabric && lossless_port(dev) != NO_PORT) {
        lossless_get_counters(fabric, lossless_port(dev), values);
    } else if (dev->counters) {
        memcpy(values, dev->counters, n * sizeof *values);
    } else {
        known = false;
    }
    ovs_mutex_unlock(&registry_mutex);

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

/* Management packets between ports without kernel device. */

static void
wake_polling_thread(void)
{
    uint64_t one = 1;

    ignore(write(engine.wake_fd, &one, sizeof one));
}

static bool
is_polling_thread(void)
{
    unsigned int owner;

    atomic_read_relaxed(&engine.owner, &owner);
    return owner == ovsthread_id_self();
}

static void
queue_at_peer(struct netdev_lossless *dev, struct dp_packet_batch *batch)
{
    struct netdev_lossless *peer;
    struct dp_packet *packet;

    ovs_mutex_lock(&registry_mutex);
    ovs_mutex_lock(&dev->mutex);
    peer = dev->peer_name ? shash_find_data(&netdevs, dev->peer_name) : NULL;
    ovs_mutex_unlock(&dev->mutex);
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        dev->queue_tx++;
        dev->queue_tx_bytes += dp_packet_size(packet);
        if (peer && !peer->has_device
            && peer->tail - peer->head < MEMORY_QUEUE_LEN) {
            peer->queue[peer->tail++ % MEMORY_QUEUE_LEN] = packet;
            atomic_count_inc(&engine.queued);
        } else {
            COVERAGE_INC(lossless_queue_full);
            dp_packet_delete(packet);
        }
    }
    if (!is_polling_thread()) {
        wake_polling_thread();  /* It finds the queue by itself. */
    } else if (peer && peer->rxq) {
        peer->rxq->ready |= READY_MANAGEMENT;
    }
    ovs_mutex_unlock(&registry_mutex);
}

static int
receive_from_queue(struct netdev_lossless *dev, struct dp_packet_batch *batch)
{
    dp_packet_batch_init(batch);
    ovs_mutex_lock(&registry_mutex);
    while (dev->head != dev->tail && !dp_packet_batch_is_full(batch)) {
        struct dp_packet *packet;

        packet = dev->queue[dev->head++ % MEMORY_QUEUE_LEN];
        atomic_count_dec(&engine.queued);
        dev->queue_rx++;
        dev->queue_rx_bytes += dp_packet_size(packet);
        dp_packet_batch_add(batch, packet);
    }
    ovs_mutex_unlock(&registry_mutex);
    return dp_packet_batch_is_empty(batch) ? EAGAIN : 0;
}

/* RoCE frames as packets. */

/* A packet that refers to 'frame'.  The datapath may free it, so it is
 * allocated on its own; most come back through .send and are used again. */
static struct dp_packet *
packet_from_frame(const struct lossless_frame *frame)
{
    struct dp_packet *packet;

    if (engine.n_free_packets) {
        packet = engine.free_packets[--engine.n_free_packets];
        dp_packet_set_base(packet, frame->data);
        dp_packet_set_data(packet, frame->data);
        dp_packet_set_allocated(packet, frame->room);
        dp_packet_reset_offsets(packet);
        dp_packet_reset_cutlen(packet);
        dp_packet_reset_offload(packet);
        packet->packet_type = htonl(PT_ETH);
    } else {
        packet = xmalloc(sizeof *packet);
        *dp_packet_ol_flags_ptr(packet) = 0;
        dp_packet_use_stub(packet, frame->data, frame->room);
    }
    dp_packet_set_size(packet, frame->length);
    dp_packet_set_rss_hash(packet, frame->hash);
    dp_packet_set_flow_mark(packet, frame->slot);
    return packet;
}

static void
recycle_packet(struct dp_packet *packet)
{
    if (packet->source == DPBUF_STUB
        && engine.n_free_packets < MAX_FREE_PACKETS) {
        engine.free_packets[engine.n_free_packets++] = packet;
    } else {
        dp_packet_delete(packet);
    }
}

static bool
receive_frames(struct lossless_fabric *fabric, int port,
               struct dp_packet_batch *batch)
{
    struct lossless_frame frames[NETDEV_MAX_BURST];
    size_t n = lossless_receive(fabric, port, frames, NETDEV_MAX_BURST);

    if (!n) {
        return false;
    }
    dp_packet_batch_init(batch);
    for (size_t i = 0; i < n; i++) {
        dp_packet_batch_add(batch, packet_from_frame(&frames[i]));
    }
    engine.busy = lossless_pending(fabric) > 0;
    return true;
}

static int
netdev_lossless_send(struct netdev *netdev, int qid,
                     struct dp_packet_batch *batch, bool concurrent_txq)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);
    struct lossless_fabric *fabric = is_polling_thread() ? attached_fabric()
                                                         : NULL;
    struct dp_packet_batch management;
    int port = lossless_port(dev);
    struct dp_packet *packet;
    uint32_t slot;

    dp_packet_batch_init(&management);
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        if (!dp_packet_has_flow_mark(packet, &slot)) {
            dp_packet_batch_add(&management, packet);
        } else if (fabric && port != NO_PORT) {
            lossless_forwarded(fabric, slot, port, dp_packet_data(packet),
                               dp_packet_size(packet));
            recycle_packet(packet);
        } else {
            COVERAGE_INC(lossless_stale_frame);
            dp_packet_delete(packet);
        }
    }
    dp_packet_batch_init(batch);

    if (dp_packet_batch_is_empty(&management)) {
        return 0;
    }
    if (dev->has_device) {
        return netdev_linux_class.send(netdev, qid, &management,
                                       concurrent_txq);
    }
    queue_at_peer(dev, &management);
    return 0;
}

/* Receive queues. */

static struct netdev_rxq *
netdev_lossless_rxq_alloc(void)
{
    struct netdev_rxq_lossless *rx = xzalloc(sizeof *rx);

    return &rx->linux_.up;
}

static void
watch_socket(struct netdev_rxq_lossless *rx, int fd)
    OVS_REQUIRES(registry_mutex)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

    while (n_rxq_by_fd <= fd) {
        size_t n = n_rxq_by_fd;

        rxq_by_fd = x2nrealloc(rxq_by_fd, &n_rxq_by_fd, sizeof *rxq_by_fd);
        memset(rxq_by_fd + n, 0, (n_rxq_by_fd - n) * sizeof *rxq_by_fd);
    }
    rxq_by_fd[fd] = rx;
    if (epoll_ctl(engine.epoll_fd, EPOLL_CTL_ADD, fd, &event)) {
        VLOG_ERR("cannot watch the socket of %s: %s",
                 netdev_rxq_get_name(&rx->linux_.up), ovs_strerror(errno));
    }
}

/* Tells the fabric where to note that frames wait on 'dev'. */
static void
show_ready_byte(struct netdev_lossless *dev)
    OVS_REQUIRES(registry_mutex)
{
    struct lossless_fabric *fabric = attached_fabric();

    if (fabric && lossless_port(dev) != NO_PORT) {
        lossless_set_ready_byte(fabric, lossless_port(dev),
                                dev->rxq ? &dev->rxq->ready : NULL);
    }
}

static int
netdev_lossless_rxq_construct(struct netdev_rxq *rxq)
{
    struct netdev_rxq_lossless *rx = netdev_rxq_lossless_cast(rxq);
    struct netdev_lossless *dev = netdev_lossless_cast(rxq->netdev);
    int error = 0;

    rxq->busy = &engine.busy;
    rxq->ready = &rx->ready;
    rx->linux_.fd = -1;
    if (dev->has_device) {
        error = netdev_linux_class.rxq_construct(rxq);
    }
    if (!error) {
        ovs_mutex_lock(&registry_mutex);
        dev->rxq = rx;
        show_ready_byte(dev);
        if (dev->has_device) {
            watch_socket(rx, rx->linux_.fd);
        }
        ovs_mutex_unlock(&registry_mutex);
    }
    return error;
}

static void
netdev_lossless_rxq_destruct(struct netdev_rxq *rxq)
{
    struct netdev_rxq_lossless *rx = netdev_rxq_lossless_cast(rxq);
    struct netdev_lossless *dev = netdev_lossless_cast(rxq->netdev);

    ovs_mutex_lock(&registry_mutex);
    dev->rxq = NULL;
    show_ready_byte(dev);
    if (dev->has_device) {
        rxq_by_fd[rx->linux_.fd] = NULL;
        epoll_ctl(engine.epoll_fd, EPOLL_CTL_DEL, rx->linux_.fd, NULL);
    }
    ovs_mutex_unlock(&registry_mutex);
    if (dev->has_device) {
        netdev_linux_class.rxq_destruct(rxq);
    }
}

static void
netdev_lossless_rxq_dealloc(struct netdev_rxq *rxq)
{
    free(netdev_rxq_lossless_cast(rxq));
}

static void
netdev_lossless_rxq_wait(struct netdev_rxq *rxq)
{
    if (netdev_lossless_cast(rxq->netdev)->has_device) {
        netdev_linux_class.rxq_wait(rxq);
    }
}

static int
netdev_lossless_rxq_drain(struct netdev_rxq *rxq)
{
    return netdev_lossless_cast(rxq->netdev)->has_device
           ? netdev_linux_class.rxq_drain(rxq) : 0;
}

/* The polling thread. */

static void
mark_queues(void)
    OVS_REQUIRES(registry_mutex)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &netdevs) {
        struct netdev_lossless *dev = node->data;

        if (dev->rxq && dev->head != dev->tail) {
            dev->rxq->ready |= READY_MANAGEMENT;
        }
    }
}

/* Looks at most 'timeout_ms' for management traffic and marks the rxqs that
 * have some.  Returns true if there is any. */
static bool
check_sockets(int timeout_ms)
{
    struct epoll_event events[64];
    bool found;
    int n;

    n = epoll_wait(engine.epoll_fd, events, ARRAY_SIZE(events), timeout_ms);
    ovs_mutex_lock(&registry_mutex);
    for (int i = 0; i < n; i++) {
        int fd = events[i].data.fd;

        if (fd == engine.wake_fd) {
            uint64_t count;

            ignore(read(fd, &count, sizeof count));
        } else if (fd < n_rxq_by_fd && rxq_by_fd[fd]) {
            rxq_by_fd[fd]->ready |= READY_MANAGEMENT;
        }
    }
    found = n > 0;
    if (atomic_count_get(&engine.queued)) {
        found = true;
        mark_queues();
    }
    ovs_mutex_unlock(&registry_mutex);
    return found;
}

/* What a thread that polls without owning the engine has seen of the owner. */
struct onlooker {
    unsigned int beat;
    long long int since;        /* time_msec() when 'beat' was new, or 0. */
};
DEFINE_STATIC_PER_THREAD_DATA(struct onlooker, onlooker, { 0, 0 });

/* Makes the calling thread the polling thread if it may be.  Another one that
 * goes on polling at the same time ends the run: its frames could not be told
 * from late ones. */
static bool
own_engine(void)
{
    struct onlooker *me = onlooker_get();
    unsigned int beat, owner, self = ovsthread_id_self();

    atomic_read_relaxed(&engine.owner, &owner);
    atomic_read_relaxed(&engine.beat, &beat);
    if (OVS_LIKELY(owner == self)) {
        atomic_store_relaxed(&engine.beat, beat + 1);
        return true;
    }
    if (!me->since || beat != me->beat) {
        if (me->since && attached_fabric()) {
            atomic_store_relaxed(&engine.crowded, true);
        }
        me->beat = beat;
        me->since = time_msec();
    } else if (!beat || time_msec() - me->since > 100) {
        me->since = 0;
        atomic_store_relaxed(&engine.owner, self);
        return true;
    }
    xnanosleep(100 * 1000);
    return false;
}

static enum lossless_state
turn(struct lossless_fabric *fabric)
{
    enum lossless_state state = lossless_turn(fabric);

    engine.pass_open = state == LOSSLESS_FRAMES;
    engine.busy = lossless_pending(fabric) > 0;
    return state;
}

/* The thread has nothing else to do.  Without the RCU quiescent state, others
 * would wait for it. */
static void
sleep_a_little(struct lossless_fabric *fabric)
{
    if (check_sockets(0)) {
        engine.sleep_ns = MIN_SLEEP_NS;
        return;
    }
    ovsrcu_quiesce_start();
    if (fabric) {
        lossless_wait(fabric, engine.sleep_ns);
        engine.sleep_ns = MIN(engine.sleep_ns * 2, MAX_SLEEP_NS);
    } else {
        check_sockets(1);
    }
    ovsrcu_quiesce_end();
}

/* Called with every frame of the last turn through the datapath.  Once per
 * round over the rxqs, or as soon as a pass has ended, time goes on.  Returns
 * the fabric that is attached afterwards. */
static struct lossless_fabric *
go_on(struct lossless_fabric *fabric, const struct netdev_rxq *rxq)
{
    bool detach, crowded;

    /* The rxq of the last turn may be gone: after enough polls any will do. */
    if (!engine.pass_open && engine.turn_rxq != rxq
        && engine.polls++ < MAX_POLLS_BETWEEN_TURNS) {
        return fabric;
    }
    engine.turn_rxq = rxq;
    engine.polls = 0;
    if (!fabric) {
        engine.pass_open = false;
        sleep_a_little(NULL);
        return NULL;
    }

    atomic_read_explicit(&engine.detach, &detach, memory_order_acquire);
    if (detach) {
        engine.pass_open = false;
        engine.busy = 0;
        atomic_store_explicit(&engine.fabric, NULL, memory_order_release);
        return NULL;
    }
    atomic_read_relaxed(&engine.crowded, &crowded);
    if (crowded) {
        lossless_fail(fabric, "the ports are polled by several threads: set "
                              "other_config:pmd-cpu-mask to one CPU");
    }

    if (turn(fabric) != LOSSLESS_FRAMES) {
        sleep_a_little(fabric);
        turn(fabric);
    } else if (time_usec() >= engine.next_check) {
        engine.next_check = time_usec() + SOCKET_CHECK_USEC;
        if (check_sockets(0)) {
            engine.sleep_ns = MIN_SLEEP_NS;
        }
    }
    return fabric;
}

static int
receive_management(struct netdev_rxq *rxq, struct dp_packet_batch *batch,
                   int *qfill)
{
    struct netdev_rxq_lossless *rx = netdev_rxq_lossless_cast(rxq);
    struct netdev_lossless *dev = netdev_lossless_cast(rxq->netdev);
    int error;

    error = dev->has_device
            ? netdev_linux_class.rxq_recv(rxq, batch, qfill)
            : receive_from_queue(dev, batch);
    if (error || !dp_packet_batch_is_full(batch)) {
        rx->ready &= ~READY_MANAGEMENT;
    }
    return error;
}

static int
netdev_lossless_rxq_recv(struct netdev_rxq *rxq, struct dp_packet_batch *batch,
                         int *qfill)
{
    struct netdev_rxq_lossless *rx = netdev_rxq_lossless_cast(rxq);
    struct netdev_lossless *dev = netdev_lossless_cast(rxq->netdev);
    struct lossless_fabric *fabric;
    int port;

    if (qfill) {
        *qfill = -ENOTSUP;
    }
    if (OVS_UNLIKELY(!own_engine())) {
        return EAGAIN;
    }
    /* Management packets come first: there are few, and frames, which wait in
     * experiment time, would let them starve. */
    if (OVS_UNLIKELY(rx->ready & READY_MANAGEMENT)
        && !receive_management(rxq, batch, qfill)) {
        return 0;
    }
    fabric = attached_fabric();
    if (!fabric || !lossless_pending(fabric)) {
        fabric = go_on(fabric, rxq);
    }
    port = lossless_port(dev);
    return fabric && port != NO_PORT && receive_frames(fabric, port, batch)
           ? 0 : EAGAIN;
}

/* Commands. */

/* Returns NULL if every port of the fabric is there, else what to say. */
static char *
match_ports(const struct lossless_fabric *fabric)
    OVS_REQUIRES(registry_mutex)
{
    struct ds missing = DS_EMPTY_INITIALIZER;
    char *error = NULL;

    for (size_t i = 0; i < lossless_n_ports(fabric) && !error; i++) {
        const char *name = lossless_port_interface(fabric, i);
        const char *peer = lossless_port_peer(fabric, i);
        struct netdev_lossless *dev = shash_find_data(&netdevs, name);

        if (!dev) {
            ds_put_format(&missing, " %s", name);
            continue;
        }
        ovs_mutex_lock(&dev->mutex);
        if (dev->switch_name
            && strcmp(dev->switch_name, lossless_port_switch(fabric, i))) {
            error = xasprintf("port %s has options:switch=%s, but the run "
                              "has it on %s", name, dev->switch_name,
                              lossless_port_switch(fabric, i));
        } else if (peer && dev->peer_name && strcmp(dev->peer_name, peer)) {
            error = xasprintf("port %s has options:peer=%s, but the run "
                              "connects it to %s", name, dev->peer_name,
                              peer);
        }
        ovs_mutex_unlock(&dev->mutex);
    }
    if (!error && missing.length) {
        error = xasprintf("no port of type lossless has the name:%s; add "
                          "them with ovs-vsctl add-port",
                          ds_cstr(&missing));
    }
    ds_destroy(&missing);
    return error;
}

static void
bind_ports(struct lossless_fabric *fabric)
    OVS_REQUIRES(registry_mutex)
{
    for (size_t i = 0; i < lossless_n_ports(fabric); i++) {
        struct netdev_lossless *dev;

        dev = shash_find_data(&netdevs, lossless_port_interface(fabric, i));
        atomic_store_explicit(&dev->port, i, memory_order_release);
        if (dev->rxq) {
            lossless_set_ready_byte(fabric, i, &dev->rxq->ready);
        }
    }
}

static void
unbind_ports(struct lossless_fabric *fabric)
    OVS_REQUIRES(registry_mutex)
{
    for (size_t i = 0; i < lossless_n_ports(fabric); i++) {
        struct netdev_lossless *dev;

        dev = shash_find_data(&netdevs, lossless_port_interface(fabric, i));
        if (dev) {
            atomic_store_explicit(&dev->port, NO_PORT, memory_order_release);
            lossless_get_stats(fabric, i, &dev->stats);
            if (!dev->counters) {
                dev->counters = xcalloc(lossless_n_counters(),
                                        sizeof *dev->counters);
            }
            lossless_get_counters(fabric, i, dev->counters);
        }
    }
}

static void
lossless_unixctl_attach(struct unixctl_conn *conn, int argc OVS_UNUSED,
                        const char *argv[], void *aux OVS_UNUSED)
{
    struct lossless_fabric *fabric;
    char error[512];
    char *mismatch;

    if (attached_fabric()) {
        unixctl_command_reply_error(conn, "a run is attached already; "
                                          "lossless/detach comes first");
        return;
    }
    fabric = lossless_attach(argv[1], error, sizeof error);
    if (!fabric) {
        unixctl_command_reply_error(conn, error);
        return;
    }
    ovs_mutex_lock(&registry_mutex);
    mismatch = match_ports(fabric);
    if (!mismatch) {
        bind_ports(fabric);
        atomic_store_relaxed(&engine.detach, false);
        atomic_store_relaxed(&engine.crowded, false);
        atomic_store_explicit(&engine.fabric, fabric, memory_order_release);
    }
    ovs_mutex_unlock(&registry_mutex);
    if (mismatch) {
        lossless_free(fabric);
        unixctl_command_reply_error(conn, mismatch);
        free(mismatch);
        return;
    }
    wake_polling_thread();
    VLOG_INFO("attached to %s, %"PRIuSIZE" ports", argv[1],
              lossless_n_ports(fabric));
    unixctl_command_reply(conn, NULL);
}

/* Waits until the polling thread has let go of the fabric.  Where no thread
 * polls, nobody holds it. */
static bool
take_back(struct lossless_fabric *fabric)
{
    unsigned int beat, last_beat = 0;

    atomic_store_explicit(&engine.detach, true, memory_order_release);
    for (int i = 0; attached_fabric(); i++) {
        if (i % 1000 == 999) {
            atomic_read_relaxed(&engine.beat, &beat);
            if (i > 1000 && beat == last_beat) {
                atomic_store_relaxed(&engine.fabric, NULL);
            } else if (i >= 5000) {
                return false;
            } else if (i > 2000) {
                lossless_fail(fabric, "the datapath holds frames back");
            }
            last_beat = beat;
        }
        xnanosleep(1000 * 1000);
    }
    return true;
}

static void
lossless_unixctl_detach(struct unixctl_conn *conn, int argc OVS_UNUSED,
                        const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    struct lossless_fabric *fabric = attached_fabric();
    char error[512];
    bool ok;

    if (!fabric) {
        unixctl_command_reply_error(conn, "no run is attached");
        return;
    }
    if (!take_back(fabric)) {
        unixctl_command_reply_error(conn, "the polling thread does not let "
                                          "go of the run");
        return;
    }
    ovs_mutex_lock(&registry_mutex);
    unbind_ports(fabric);
    ok = lossless_detach(fabric, error, sizeof error);
    ovs_mutex_unlock(&registry_mutex);
    VLOG_INFO("detached%s%s", ok ? "" : ": ", ok ? "" : error);
    if (ok) {
        unixctl_command_reply(conn, NULL);
    } else {
        unixctl_command_reply_error(conn, error);
    }
}

static void
lossless_unixctl_show(struct unixctl_conn *conn, int argc, const char *argv[],
                      void *aux OVS_UNUSED)
{
    struct lossless_fabric *fabric = attached_fabric();
    char *text;

    if (!fabric) {
        unixctl_command_reply_error(conn, "no run is attached");
        return;
    }
    text = lossless_show(fabric, argc > 1 ? argv[1] : NULL);
    if (text) {
        unixctl_command_reply(conn, text);
    } else {
        unixctl_command_reply_error(conn, "the run has no such switch");
    }
    free(text);
}

static void
lossless_unixctl_counters(struct unixctl_conn *conn, int argc OVS_UNUSED,
                          const char *argv[] OVS_UNUSED,
                          void *aux OVS_UNUSED)
{
    struct lossless_fabric *fabric = attached_fabric();
    char *text;

    if (!fabric) {
        unixctl_command_reply_error(conn, "no run is attached");
        return;
    }
    text = lossless_counters_json(fabric);
    unixctl_command_reply(conn, text);
    free(text);
}

static void
open_engine(void)
{
    struct epoll_event event = { .events = EPOLLIN };

    engine.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    engine.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    event.data.fd = engine.wake_fd;
    if (engine.epoll_fd < 0 || engine.wake_fd < 0
        || epoll_ctl(engine.epoll_fd, EPOLL_CTL_ADD, engine.wake_fd,
                     &event)) {
        VLOG_FATAL("cannot watch sockets: %s", ovs_strerror(errno));
    }
    atomic_count_init(&engine.queued, 0);
    atomic_init(&engine.fabric, NULL);
    atomic_init(&engine.owner, UINT_MAX);
}

void
netdev_lossless_register(void)
{
    struct netdev_class *class = &lossless_class;

    open_engine();
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
    class->send = netdev_lossless_send;
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
    class->rxq_alloc = netdev_lossless_rxq_alloc;
    class->rxq_construct = netdev_lossless_rxq_construct;
    class->rxq_destruct = netdev_lossless_rxq_destruct;
    class->rxq_dealloc = netdev_lossless_rxq_dealloc;
    class->rxq_recv = netdev_lossless_rxq_recv;
    class->rxq_wait = netdev_lossless_rxq_wait;
    class->rxq_drain = netdev_lossless_rxq_drain;

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

    unixctl_command_register("lossless/attach", "segment", 1, 1,
                             lossless_unixctl_attach, NULL);
    unixctl_command_register("lossless/detach", "", 0, 0,
                             lossless_unixctl_detach, NULL);
    unixctl_command_register("lossless/show", "[switch]", 0, 1,
                             lossless_unixctl_show, NULL);
    unixctl_command_register("lossless/counters", "", 0, 0,
                             lossless_unixctl_counters, NULL);
}
