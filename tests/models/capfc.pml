/* The pipeline of the CaPFC paper's switch (Avci et al., IFIP Networking 2016, IV-C, PFC_wstop) between two
 * switches, small enough for every interleaving to be looked at. What the code computes in time and in turn, the
 * model does in any order.
 *
 *   switch s = 0, 1 has hosts, and a trunk to the other; all that its hosts send crosses the trunk. Frames wait
 *   in a FIFO per ingress port (hosts, trunk), one is in the processor, and then they are in the queue of the
 *   trunk, of QUEUE places; hosts take theirs at once.
 *
 * Properties: no ingress memory overflows (assertion), and every frame arrives (no state from which nothing can
 * happen but the end). -DSTOP: a frame for a full queue stops the processor; else the processor skips its ingress
 * port. -DONE_WAY: the hosts of switch 0 alone send. Run by tests/python/test_capfc_model.py. */

#ifndef FRAMES
#define FRAMES 8        /* of the hosts of a switch */
#endif
#define QUEUE 2
#define XOFF 1          /* frames of an ingress port above which it pauses the other end */
#define LINK 1          /* frames on the trunk, each way */
#define BUFFER (XOFF + LINK + 1) /* of the trunk's ingress port: one more may have begun when XOFF was sent */
#define other(s) (1 - s)

byte unsent[2];         /* frames that hosts have still to send */
byte of_hosts[2], of_trunk[2];  /* frames in the two FIFOs, the one in the processor among them */
bool serves_host[2], serves_trunk[2]; /* whose frame is in the processor */
byte queued[2];         /* for the trunk */
byte on_link[2];        /* of s to the other */
byte arrived[2];        /* at the hosts of s */

#define pauses(s) (of_trunk[s] > XOFF)
#define idle(s) (!serves_host[s] && !serves_trunk[s])
#ifdef ONE_WAY
#define ALL FRAMES
#else
#define ALL (2 * FRAMES)
#endif

/* Nothing can happen any more: an invalid end, unless every frame has arrived. */
proctype Switch(byte s) {
  do
  :: atomic { unsent[s] > 0 && of_hosts[s] < 2 -> unsent[s]--; of_hosts[s]++ }
#ifdef STOP
  :: atomic { idle(s) && of_hosts[s] > 0 -> serves_host[s] = true }
#else
  :: atomic { idle(s) && of_hosts[s] > 0 && queued[s] < QUEUE -> serves_host[s] = true }
#endif
  :: atomic { idle(s) && of_trunk[s] > 0 -> serves_trunk[s] = true }
  :: atomic { serves_host[s] && queued[s] < QUEUE -> serves_host[s] = false; of_hosts[s]--; queued[s]++ }
  :: atomic { serves_trunk[s] -> serves_trunk[s] = false; of_trunk[s]--; arrived[s]++ }
  :: atomic { queued[s] > 0 && !pauses(other(s)) && on_link[s] < LINK -> queued[s]--; on_link[s]++ }
  :: atomic { on_link[other(s)] > 0 ->
       on_link[other(s)]--; of_trunk[s]++; assert(of_trunk[s] <= BUFFER) }
  :: arrived[0] + arrived[1] == ALL -> break
  od
}

init {
  atomic {
    unsent[0] = FRAMES;
#ifndef ONE_WAY
    unsent[1] = FRAMES;
#endif
    run Switch(0);
    run Switch(1)
  }
}
