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

/* Packets of class "lossless", in and out.  RoCE frames come from and go to
 * the fabric, by reference.  Management packets come from and go to the kernel
 * device or, where a port has none, the queue of its peer. */

#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "coverage.h"
#include "dp-packet.h"
#include "netdev-lossless-private.h"
#include "util.h"

COVERAGE_DEFINE(lossless_stale_frame);
COVERAGE_DEFINE(lossless_queue_full);

enum { MAX_FREE_PACKETS = 4096 };

/* Packets for frames; the polling thread's. */
static struct dp_packet *free_packets[MAX_FREE_PACKETS];
static size_t n_free_packets;

/* Management packets between ports without kernel device. */

static void
queue_at_peer(struct netdev_lossless *dev, struct dp_packet_batch *batch)
{
    struct netdev_lossless *peer;
    struct dp_packet *packet;

    ovs_mutex_lock(&netdev_lossless_mutex);
    ovs_mutex_lock(&dev->mutex);
    peer = dev->peer_name ? netdev_lossless_find(dev->peer_name) : NULL;
    ovs_mutex_unlock(&dev->mutex);
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        dev->queue_tx++;
        dev->queue_tx_bytes += dp_packet_size(packet);
        if (peer && !peer->has_device
            && peer->tail - peer->head < MEMORY_QUEUE_LEN) {
            peer->queue[peer->tail++ % MEMORY_QUEUE_LEN] = packet;
            atomic_count_inc(&lossless_engine.queued);
        } else {
            COVERAGE_INC(lossless_queue_full);
            dp_packet_delete(packet);
        }
    }
    if (!netdev_lossless_poll_is_mine()) {
        netdev_lossless_poll_wake();  /* It finds the queue by itself. */
    } else if (peer && peer->rxq) {
        peer->rxq->ready |= READY_MANAGEMENT;
    }
    ovs_mutex_unlock(&netdev_lossless_mutex);
}

static int
receive_from_queue(struct netdev_lossless *dev, struct dp_packet_batch *batch)
{
    dp_packet_batch_init(batch);
    ovs_mutex_lock(&netdev_lossless_mutex);
    while (dev->head != dev->tail && !dp_packet_batch_is_full(batch)) {
        struct dp_packet *packet;

        packet = dev->queue[dev->head++ % MEMORY_QUEUE_LEN];
        atomic_count_dec(&lossless_engine.queued);
        dev->queue_rx++;
        dev->queue_rx_bytes += dp_packet_size(packet);
        dp_packet_batch_add(batch, packet);
    }
    ovs_mutex_unlock(&netdev_lossless_mutex);
    return dp_packet_batch_is_empty(batch) ? EAGAIN : 0;
}

/* RoCE frames as packets. */

/* A packet that refers to 'frame'.  The datapath may free it, so it is
 * allocated on its own; most come back through .send and are used again. */
static struct dp_packet *
packet_from_frame(const struct lossless_frame *frame)
{
    struct dp_packet *packet;

    if (n_free_packets) {
        packet = free_packets[--n_free_packets];
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
        && n_free_packets < MAX_FREE_PACKETS) {
        free_packets[n_free_packets++] = packet;
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
    lossless_engine.busy = lossless_pending(fabric) > 0;
    return true;
}

static int
netdev_lossless_send(struct netdev *netdev, int qid,
                     struct dp_packet_batch *batch, bool concurrent_txq)
{
    struct netdev_lossless *dev = netdev_lossless_cast(netdev);
    struct lossless_fabric *fabric = netdev_lossless_poll_is_mine()
                                     ? attached_fabric() : NULL;
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

/* Tells the fabric where to note that frames wait on 'dev'. */
static void
show_ready_byte(struct netdev_lossless *dev)
    OVS_REQUIRES(netdev_lossless_mutex)
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

    rxq->busy = &lossless_engine.busy;
    rxq->ready = &rx->ready;
    rx->linux_.fd = -1;
    if (dev->has_device) {
        error = netdev_linux_class.rxq_construct(rxq);
    }
    if (!error) {
        ovs_mutex_lock(&netdev_lossless_mutex);
        dev->rxq = rx;
        show_ready_byte(dev);
        if (dev->has_device) {
            netdev_lossless_poll_watch(rx, rx->linux_.fd);
        }
        ovs_mutex_unlock(&netdev_lossless_mutex);
    }
    return error;
}

static void
netdev_lossless_rxq_destruct(struct netdev_rxq *rxq)
{
    struct netdev_rxq_lossless *rx = netdev_rxq_lossless_cast(rxq);
    struct netdev_lossless *dev = netdev_lossless_cast(rxq->netdev);

    ovs_mutex_lock(&netdev_lossless_mutex);
    dev->rxq = NULL;
    show_ready_byte(dev);
    if (dev->has_device) {
        netdev_lossless_poll_unwatch(rx->linux_.fd);
    }
    ovs_mutex_unlock(&netdev_lossless_mutex);
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
    if (OVS_UNLIKELY(!netdev_lossless_poll_own())) {
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
        fabric = netdev_lossless_poll_go_on(fabric, rxq);
    }
    port = lossless_port(dev);
    return fabric && port != NO_PORT && receive_frames(fabric, port, batch)
           ? 0 : EAGAIN;
}

void
netdev_lossless_set_rxq(struct netdev_class *class)
{
    class->send = netdev_lossless_send;
    class->rxq_alloc = netdev_lossless_rxq_alloc;
    class->rxq_construct = netdev_lossless_rxq_construct;
    class->rxq_destruct = netdev_lossless_rxq_destruct;
    class->rxq_dealloc = netdev_lossless_rxq_dealloc;
    class->rxq_recv = netdev_lossless_rxq_recv;
    class->rxq_wait = netdev_lossless_rxq_wait;
    class->rxq_drain = netdev_lossless_rxq_drain;
}
