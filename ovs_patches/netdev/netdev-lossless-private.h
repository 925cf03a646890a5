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

/* clang-format off */

/* What the files of the netdev class "lossless" share; see netdev-lossless.c
 * for the whole. */

#ifndef NETDEV_LOSSLESS_PRIVATE_H
#define NETDEV_LOSSLESS_PRIVATE_H 1

#include "lossless.h"
#include "netdev-linux-private.h"
#include "netdev-provider.h"
#include "openvswitch/shash.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"

enum {
    NO_PORT = -1,
    MEMORY_QUEUE_LEN = 1024,    /* Management packets, power of 2. */
};

/* All netdevs of the class by name. */
extern struct ovs_mutex netdev_lossless_mutex;
extern struct shash netdev_lossless_all OVS_GUARDED_BY(netdev_lossless_mutex);

struct netdev_lossless {
    struct netdev_linux linux_;
    bool has_device;            /* There is a kernel device of this name. */
    atomic_int port;            /* Of the attached fabric, or NO_PORT. */
    struct netdev_rxq_lossless *rxq OVS_GUARDED_BY(netdev_lossless_mutex);

    struct ovs_mutex mutex;     /* Protects the following. */
    char *switch_name;          /* options:switch, may be NULL. */
    char *peer_name;            /* options:peer, may be NULL. */
    int requested_n_txq;
    struct eth_addr mac;        /* Without kernel device. */
    enum netdev_flags flags;    /* Without kernel device. */

    /* The rest is protected by 'netdev_lossless_mutex'. */
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

/* What the polling thread shares with the others. */
struct lossless_engine {
    ATOMIC(struct lossless_fabric *) fabric; /* Set by attach; taken away by
                                              * the polling thread. */
    atomic_bool detach;         /* It is asked to do so. */
    atomic_bool crowded;        /* Another thread polls, too. */
    atomic_uint beat;           /* Its polls. */
    atomic_count queued;        /* Packets in all memory queues. */
    uint8_t busy;               /* Frames of the pass are not handed out; only
                                 * the polling thread's. */
};
extern struct lossless_engine lossless_engine;

extern struct netdev_class netdev_lossless_class;

static inline struct netdev_lossless *
netdev_lossless_cast(const struct netdev *netdev)
{
    ovs_assert(netdev_get_class(netdev) == &netdev_lossless_class);
    return CONTAINER_OF(netdev_linux_cast(netdev), struct netdev_lossless,
                        linux_);
}

static inline struct netdev_rxq_lossless *
netdev_rxq_lossless_cast(const struct netdev_rxq *rxq)
{
    return CONTAINER_OF(netdev_rxq_linux_cast(rxq),
                        struct netdev_rxq_lossless, linux_);
}

static inline struct netdev_lossless *
netdev_lossless_find(const char *name)
    OVS_REQUIRES(netdev_lossless_mutex)
{
    return shash_find_data(&netdev_lossless_all, name);
}

/* Index of the port in the attached fabric, or NO_PORT. */
static inline int
lossless_port(const struct netdev_lossless *dev)
{
    int port;

    atomic_read_explicit(&CONST_CAST(struct netdev_lossless *, dev)->port,
                         &port, memory_order_acquire);
    return port;
}

static inline struct lossless_fabric *
attached_fabric(void)
{
    struct lossless_fabric *fabric;

    atomic_read_explicit(&lossless_engine.fabric, &fabric,
                         memory_order_acquire);
    return fabric;
}

/* Each sets the functions of 'class' that its file provides. */
void netdev_lossless_set_device(struct netdev_class *);     /* -device.c */
void netdev_lossless_set_rxq(struct netdev_class *);        /* -rxq.c */

/* netdev-lossless-poll.c. */
void netdev_lossless_poll_init(void);
bool netdev_lossless_poll_own(void);
struct lossless_fabric *netdev_lossless_poll_go_on(struct lossless_fabric *,
                                                   const struct netdev_rxq *);
bool netdev_lossless_poll_is_mine(void);
void netdev_lossless_poll_wake(void);
void netdev_lossless_poll_watch(struct netdev_rxq_lossless *, int fd)
    OVS_REQUIRES(netdev_lossless_mutex);
void netdev_lossless_poll_unwatch(int fd)
    OVS_REQUIRES(netdev_lossless_mutex);

/* netdev-lossless-ctl.c: the appctl commands. */
void netdev_lossless_ctl_init(void);

#endif /* netdev-lossless-private.h */
