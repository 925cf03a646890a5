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

/* ovs-appctl lossless/...: a run comes and goes, and is looked at. */

#include <config.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "netdev-lossless-private.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "unixctl.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_lossless_ctl);

/* Returns NULL if every port of the fabric is there, else what to say. */
static char *
match_ports(const struct lossless_fabric *fabric)
    OVS_REQUIRES(netdev_lossless_mutex)
{
    struct ds missing = DS_EMPTY_INITIALIZER;
    char *error = NULL;

    for (size_t i = 0; i < lossless_n_ports(fabric) && !error; i++) {
        const char *name = lossless_port_interface(fabric, i);
        const char *peer = lossless_port_peer(fabric, i);
        struct netdev_lossless *dev = netdev_lossless_find(name);

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
    OVS_REQUIRES(netdev_lossless_mutex)
{
    for (size_t i = 0; i < lossless_n_ports(fabric); i++) {
        struct netdev_lossless *dev;

        dev = netdev_lossless_find(lossless_port_interface(fabric, i));
        atomic_store_explicit(&dev->port, i, memory_order_release);
        if (dev->rxq) {
            lossless_set_ready_byte(fabric, i, &dev->rxq->ready);
        }
    }
}

static void
unbind_ports(struct lossless_fabric *fabric)
    OVS_REQUIRES(netdev_lossless_mutex)
{
    for (size_t i = 0; i < lossless_n_ports(fabric); i++) {
        struct netdev_lossless *dev;

        dev = netdev_lossless_find(lossless_port_interface(fabric, i));
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
    ovs_mutex_lock(&netdev_lossless_mutex);
    mismatch = match_ports(fabric);
    if (!mismatch) {
        bind_ports(fabric);
        atomic_store_relaxed(&lossless_engine.detach, false);
        atomic_store_relaxed(&lossless_engine.crowded, false);
        atomic_store_explicit(&lossless_engine.fabric, fabric,
                              memory_order_release);
    }
    ovs_mutex_unlock(&netdev_lossless_mutex);
    if (mismatch) {
        lossless_free(fabric);
        unixctl_command_reply_error(conn, mismatch);
        free(mismatch);
        return;
    }
    netdev_lossless_poll_wake();
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

    atomic_store_explicit(&lossless_engine.detach, true, memory_order_release);
    for (int i = 0; attached_fabric(); i++) {
        if (i % 1000 == 999) {
            atomic_read_relaxed(&lossless_engine.beat, &beat);
            if (i > 1000 && beat == last_beat) {
                atomic_store_relaxed(&lossless_engine.fabric, NULL);
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
    ovs_mutex_lock(&netdev_lossless_mutex);
    unbind_ports(fabric);
    ok = lossless_detach(fabric, error, sizeof error);
    ovs_mutex_unlock(&netdev_lossless_mutex);
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
lossless_unixctl_flush(struct unixctl_conn *conn, int argc OVS_UNUSED,
                       const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    struct lossless_fabric *fabric = attached_fabric();

    if (!fabric) {
        unixctl_command_reply_error(conn, "no run is attached");
        return;
    }
    lossless_flush(fabric);
    unixctl_command_reply(conn, NULL);
}

static void
lossless_unixctl_capture(struct unixctl_conn *conn, int argc,
                         const char *argv[], void *aux OVS_UNUSED)
{
    struct lossless_fabric *fabric = attached_fabric();
    char error[512];

    if (!fabric) {
        unixctl_command_reply_error(conn, "no run is attached");
    } else if (!lossless_capture(fabric, argv[1], argv + 2, argc - 2, error,
                                 sizeof error)) {
        unixctl_command_reply_error(conn, error);
    } else {
        unixctl_command_reply(conn, NULL);
    }
}

static void
lossless_unixctl_capture_stop(struct unixctl_conn *conn, int argc OVS_UNUSED,
                              const char *argv[], void *aux OVS_UNUSED)
{
    struct lossless_fabric *fabric = attached_fabric();
    char error[512];

    if (!fabric) {
        unixctl_command_reply_error(conn, "no run is attached");
    } else if (!lossless_capture_stop(fabric, argv[1], error, sizeof error)) {
        unixctl_command_reply_error(conn, error);
    } else {
        unixctl_command_reply(conn, NULL);
    }
}

static void
lossless_unixctl_openqueue(struct unixctl_conn *conn, int argc,
                           const char *argv[], void *aux OVS_UNUSED)
{
    struct lossless_fabric *fabric = attached_fabric();
    char *text;
    bool ok;

    if (!fabric) {
        unixctl_command_reply_error(conn, "no run is attached");
        return;
    }
    text = lossless_openqueue(fabric, argv + 1, argc - 1, &ok);
    if (ok) {
        unixctl_command_reply(conn, text);
    } else {
        unixctl_command_reply_error(conn, text);
    }
    free(text);
}

void
netdev_lossless_ctl_init(void)
{
    unixctl_command_register("lossless/attach", "segment", 1, 1,
                             lossless_unixctl_attach, NULL);
    unixctl_command_register("lossless/detach", "", 0, 0,
                             lossless_unixctl_detach, NULL);
    unixctl_command_register("lossless/show", "[switch]", 0, 1,
                             lossless_unixctl_show, NULL);
    unixctl_command_register("lossless/counters", "", 0, 0,
                             lossless_unixctl_counters, NULL);
    unixctl_command_register("lossless/flush", "", 0, 0,
                             lossless_unixctl_flush, NULL);
    unixctl_command_register("lossless/openqueue",
                             "load switch|all file|builtin [at=time] "
                             "[change=drain|requeue] [name=value]... "
                             "| show [switch]", 1, INT_MAX,
                             lossless_unixctl_openqueue, NULL);
    unixctl_command_register("lossless/capture", "file port...", 2, INT_MAX,
                             lossless_unixctl_capture, NULL);
    unixctl_command_register("lossless/capture-stop", "file", 1, 1,
                             lossless_unixctl_capture_stop, NULL);
}
