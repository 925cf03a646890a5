/* lossless.h - the C face of the fabric, for netdev-lossless.c.
 *
 * A fabric is one run's switches, attached to one shared-memory segment.  The
 * polling thread drives it:
 *
 *     state = lossless_turn(fabric)         when lossless_pending() is 0 and
 *                                           every frame handed out earlier has
 *                                           passed the datapath
 *       LOSSLESS_FRAMES                     a window is open: receive frames
 *                                           port by port and send them
 *       LOSSLESS_WAITING, LOSSLESS_IDLE     hosts are at work, or nothing
 *                                           happens: lossless_wait() and turn
 *                                           again
 *
 * lossless_receive(), lossless_forwarded(), lossless_turn() and
 * lossless_wait() belong to that one thread; all else may be called by any
 * thread meanwhile, except that lossless_detach() ends everything.  Ports are
 * numbers below lossless_n_ports(). */

/* clang-format off: this file follows the style of Open vSwitch. */

#ifndef LOSSLESS_H
#define LOSSLESS_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lossless_fabric;

/* A RoCE frame that waits for the datapath.  'data' may be rewritten in place,
 * up to 'room' bytes. */
struct lossless_frame {
  void *data;
  uint32_t slot; /* Its name until the next turn. */
  uint32_t hash; /* Of its flow and input port. */
  uint16_t length;
  uint16_t room;
};

enum lossless_state { LOSSLESS_FRAMES, LOSSLESS_WAITING, LOSSLESS_IDLE };

/* Maps 'segment'.  Returns NULL with a line in 'error' when that cannot be. */
struct lossless_fabric *lossless_attach(const char *segment, char *error, size_t error_size);
/* Frees a fabric that was never turned; its run is not touched. */
void lossless_free(struct lossless_fabric *);
/* Ends the run for its programs, writes counters, digests and traces, and
 * frees the fabric.  Returns false with a line in 'error' when something could
 * not be written or the run had failed. */
bool lossless_detach(struct lossless_fabric *, char *error, size_t error_size);

size_t lossless_n_ports(const struct lossless_fabric *);
const char *lossless_port_interface(const struct lossless_fabric *, size_t port);
const char *lossless_port_switch(const struct lossless_fabric *, size_t port);
/* Interface name of the peer switch's port, or NULL. */
const char *lossless_port_peer(const struct lossless_fabric *, size_t port);
/* Bit 0 of '*byte' will be set while frames wait on 'port'; NULL: no longer.  The
 * other bits are the caller's. */
void lossless_set_ready_byte(struct lossless_fabric *, size_t port, uint8_t *byte);

enum lossless_state lossless_turn(struct lossless_fabric *);
/* Sleeps at most 'wall_ns' for what the last turn did not find. */
void lossless_wait(struct lossless_fabric *, int64_t wall_ns);
/* Frames of this pass that have not been received yet. */
size_t lossless_pending(const struct lossless_fabric *);
/* Returns the number of frames, in the order of the link; 0: none left. */
size_t lossless_receive(struct lossless_fabric *, size_t port, struct lossless_frame *, size_t max);
/* The datapath sent 'slot' to 'port'.  'data' and 'length' are what it sent: the
 * frame itself, a copy of it, or, with another length, its rewritten form. */
void lossless_forwarded(struct lossless_fabric *, uint32_t slot, size_t port, const void *data,
                        size_t length);
/* Ends the run with an error. */
void lossless_fail(struct lossless_fabric *, const char *why);

/* Frames and bytes as netdev statistics have them. */
struct lossless_port_stats {
  uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
  uint64_t rx_dropped, tx_dropped;
};
void lossless_get_stats(struct lossless_fabric *, size_t port, struct lossless_port_stats *);
/* All counters of a port, in the order of the names. */
size_t lossless_n_counters(void);
const char *lossless_counter_name(size_t counter);
void lossless_get_counters(struct lossless_fabric *, size_t port, uint64_t *values);

/* Text of `lossless/show` and `lossless/counters`, to be freed by the caller.
 * 'name': one switch; NULL: all.  NULL is returned when there is no such
 * switch. */
char *lossless_show(struct lossless_fabric *, const char *name);
char *lossless_counters_json(struct lossless_fabric *);
/* Event files have all records up to now, for a reader that watches the run. */
void lossless_flush(struct lossless_fabric *);

/* `lossless/openqueue`: 'words' are what follows the command.  Text to be freed by
 * the caller; '*ok' says whether it is an answer or what is wrong. */
char *lossless_openqueue(struct lossless_fabric *, const char *const words[], size_t n, bool *ok);

/* From now on frames at the ports with these interface names go into 'file',
 * too.  The file exists, and the caller holds a lock on it (flock) for as long
 * as the capture is to go on.  Returns false with a line in 'error' when that
 * cannot be. */
bool lossless_capture(struct lossless_fabric *, const char *file, const char *const interfaces[], size_t n,
                      char *error, size_t error_size);
/* Ends a capture; the file is whole.  Returns false with a line in 'error' when
 * there is none, or the file could not be written. */
bool lossless_capture_stop(struct lossless_fabric *, const char *file, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif /* lossless.h */
