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

/* The thread that polls all ports of class "lossless", which is the clock of
 * a run: when the frames of a pass have gone through the datapath it turns the
 * fabric, and when there is nothing to do it sleeps until the hosts or
 * management traffic wake it. */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "netdev-lossless-private.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_lossless);

enum {
    SOCKET_CHECK_USEC = 100,    /* While windows follow each other. */
    MAX_POLLS_BETWEEN_TURNS = 2000,
};

/* Sleeps of the polling thread.  While the hosts are at work the fabric wakes
 * it, but management traffic does not: the shortest is how late that may be
 * when there has been some lately, the longest bounds everything else. */
#define MIN_SLEEP_NS 50000
#define MAX_SLEEP_NS 1000000

struct lossless_engine lossless_engine;

/* The rxqs by the file descriptors of their sockets. */
static struct netdev_rxq_lossless **rxq_by_fd
    OVS_GUARDED_BY(netdev_lossless_mutex);
static size_t n_rxq_by_fd OVS_GUARDED_BY(netdev_lossless_mutex);

/* Everything without a comment is the polling thread's own. */
static struct {
    atomic_uint owner;          /* ovsthread id of the polling thread. */
    int epoll_fd;               /* All sockets and 'wake_fd'. */
    int wake_fd;                /* Written when another thread queues. */
    bool pass_open;             /* The last turn gave frames. */
    const struct netdev_rxq *turn_rxq;  /* Where the last turn was made... */
    unsigned int polls;                 /* ...and polls since. */
    long long int next_check;   /* Of the sockets, in time_usec(). */
    int64_t sleep_ns;
} engine = { .sleep_ns = MAX_SLEEP_NS };

void
netdev_lossless_poll_wake(void)
{
    uint64_t one = 1;

    ignore(write(engine.wake_fd, &one, sizeof one));
}

/* Is the calling thread the polling thread? */
bool
netdev_lossless_poll_is_mine(void)
{
    unsigned int owner;

    atomic_read_relaxed(&engine.owner, &owner);
    return owner == ovsthread_id_self();
}

/* From now on, traffic in the socket 'fd' makes 'rx' ready. */
void
netdev_lossless_poll_watch(struct netdev_rxq_lossless *rx, int fd)
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

void
netdev_lossless_poll_unwatch(int fd)
{
    rxq_by_fd[fd] = NULL;
    epoll_ctl(engine.epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void
mark_queues(void)
    OVS_REQUIRES(netdev_lossless_mutex)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &netdev_lossless_all) {
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
    ovs_mutex_lock(&netdev_lossless_mutex);
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
    if (atomic_count_get(&lossless_engine.queued)) {
        found = true;
        mark_queues();
    }
    ovs_mutex_unlock(&netdev_lossless_mutex);
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
bool
netdev_lossless_poll_own(void)
{
    struct onlooker *me = onlooker_get();
    unsigned int beat, owner, self = ovsthread_id_self();

    atomic_read_relaxed(&engine.owner, &owner);
    atomic_read_relaxed(&lossless_engine.beat, &beat);
    if (OVS_LIKELY(owner == self)) {
        atomic_store_relaxed(&lossless_engine.beat, beat + 1);
        return true;
    }
    if (!me->since || beat != me->beat) {
        if (me->since && attached_fabric()) {
            atomic_store_relaxed(&lossless_engine.crowded, true);
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
    lossless_engine.busy = lossless_pending(fabric) > 0;
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
struct lossless_fabric *
netdev_lossless_poll_go_on(struct lossless_fabric *fabric,
                           const struct netdev_rxq *rxq)
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

    atomic_read_explicit(&lossless_engine.detach, &detach,
                         memory_order_acquire);
    if (detach) {
        engine.pass_open = false;
        lossless_engine.busy = 0;
        atomic_store_explicit(&lossless_engine.fabric, NULL,
                              memory_order_release);
        return NULL;
    }
    atomic_read_relaxed(&lossless_engine.crowded, &crowded);
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

void
netdev_lossless_poll_init(void)
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
    atomic_count_init(&lossless_engine.queued, 0);
    atomic_init(&lossless_engine.fabric, NULL);
    atomic_init(&engine.owner, UINT_MAX);
}
