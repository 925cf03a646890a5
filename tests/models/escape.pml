/* Escape (D. Menikkumbura's thesis, chapter 4, algorithm 3) with PFC on the ring of figure 4.6, small enough for
 * every interleaving to be looked at. What the code computes in time, the model does in any order that time
 * allows.
 *
 *   switch i = 0, 1, 2 has a host and a port to switch i + 1; all traffic goes that way. Flow f comes from the
 *   host of switch f, crosses the ports of f and f + 1, and ends at the host of f + 2.
 *
 * Properties (4.4): no frame is dropped and flows arrive in order (assertions), every frame arrives (no state
 * from which nothing can happen but the end), tokens end (they go up at most two switches; end_token).
 * -DPFC_ONLY: without Escape. FIX_POOL, FIX_ORDER, FIX_RECLAIM, FIX_HEADROOM: the fixes of the letter; off, the
 * letter of algorithm 3. Built and run by tests/python/test_escape_model.py.
 *
 * TABLES: a token is sent, and passed on, for a flow that has traversed the port (4.3.1, 7); off, as if all flows had.
 * ANNOUNCE: besides, ports that are paused announce the flows that wait at them; an announcement may be lost, and comes again. A
 * token that comes back unused frees its places at some time after it has ended: that is what the reclaim timer
 * does here, so that no state is new. */

#ifndef FRAMES
#define FRAMES 3        /* of each flow */
#endif
#ifndef POOL
#define POOL 1
#endif
#ifndef XOFF
#define XOFF 1          /* frames from the switch before that make it pause */
#endif
#define N 3
#define LINK 1          /* frames on a link */
#ifdef FIX_HEADROOM
#define BUFFER (XOFF + LINK + POOL)
#else
#define BUFFER (XOFF + LINK)
#endif
#define QUEUE (BUFFER + 2)
#define ESCAPE (POOL + 2)
#define CONTROL (2 * POOL + 1) /* each token of a switch, and room to pass one on */
#define next(i) ((i + 1) % N)
#define before(i) ((i + 2) % N)
#define dest(f) ((f + 2) % N)

typedef Port {          /* to the next switch, or to the host */
  byte tokens;          /* T(p^E) */
  byte missing;         /* of them: will never come back */
};

chan queue_next[N] = [QUEUE] of { byte, byte };             /* flow, number */
chan queue_host[N] = [QUEUE] of { byte, byte };
chan escape_next[N] = [ESCAPE] of { byte, byte, byte, bool };   /* flow, number, hops, extracted here */
chan escape_host[N] = [POOL] of { byte, byte, byte, bool };
byte promised_next[N], promised_host[N];        /* of them: came in a place that a token had promised */
chan link[N] = [LINK] of { byte, byte, byte };              /* of i to next(i): flow, number, hops */
chan control[N] = [CONTROL] of { byte, byte };             /* tokens of next(i) to i: flow, hops */

Port to_next[N], to_host[N];
byte held[N];           /* frames from before(i) that the ingress buffer of i holds */
byte held_of_host[N];
bool asks[N];           /* i asks before(i) to pause, which counts from when it was sent: what is on the
                         * link then has its place behind XOFF */
#define paused(i) asks[next(i)]
#ifdef TABLES           /* of the one flow whose tokens these ports take from the switch behind or their host */
bool known_next[N];     /* before(i) */
bool known_host[N];     /* next(i) */
#define knows_next(i) known_next[i]
#define knows_host(i) known_host[i]
#define note(table, i) table[i] = true
#else
#define knows_next(i) (true)
#define knows_host(i) (true)
#define note(table, i) skip
#endif
byte sent[N], arrived[N];

/* A frame leaves its place in the buffer; the last one over XON lets the pause go. */
inline release(i, f) {
  if
  :: f == i -> held_of_host[i]--
  :: else ->
    held[i]--;
    if
    :: asks[i] && held[i] < XOFF -> asks[i] = false
    :: else
    fi
  fi
}

inline arrive(f, s) {   /* ORD: at the host */
  assert(s == arrived[f]);
  arrived[f]++
}

/* Event 3, lines 29 to 32, and the frame leaves its place. */
#ifdef FIX_RECLAIM      /* of the tokens that are away */
#define MOST POOL
#else
#define MOST 255
#endif
inline give(port) {
  if
  :: port.tokens < MOST -> port.tokens++
  :: else
  fi
}

inline store(q, i, f, s) {
  held[i]++;
  assert(held[i] <= BUFFER);    /* DRP: else it would be dropped */
  q!f,s;
  if
  :: held[i] >= XOFF && !asks[i] -> asks[i] = true
  :: else
  fi
}

/* An escaping frame arrives: 4.3.3, 2. */
inline escape_in(q, e, promised, i, f, s, h) {
  assert(promised < POOL);      /* DRP: a place for it */
  promised++;
#ifdef FIX_ORDER
  if
  :: q??[eval(f),s2] ->
    q??eval(f),s2;              /* the earlier frame escapes, this one takes its place in the buffer */
    q!f,s;
    e!f,s2,h,false
  :: else ->
    e!f,s,h,false
  fi
#else
  e!f,s,h,false
#endif
}

/* A token ends without a frame: the h ports that gave one for it will miss it. */
inline end_token(i, f, h) {
  if
  :: h == 1 ->
    if
    :: next(i) == dest(f) -> to_host[next(i)].missing++
    :: else -> to_next[next(i)].missing++
    fi
  :: else ->
    to_next[next(i)].missing++;
    to_host[before(i)].missing++
  fi
}

/* A frame of flow f waits where a token that i sends up would find it. */
#define waits(i, f) (queue_next[before(i)]??[eval(f),_] || \
                     (asks[before(i)] && knows_next(before(i)) && f != before(i) && \
                      queue_next[next(i)]??[eval(f),_]))

#define delivered (arrived[0] == FRAMES && arrived[1] == FRAMES && arrived[2] == FRAMES)

#define switch(i) \
  /* the host sends, unless its frames fill their share */ \
  :: atomic { sent[i] < FRAMES && held_of_host[i] == 0 && (len(queue_next[i]) < QUEUE) -> \
       queue_next[i]!i,sent[i]; held_of_host[i]++; sent[i]++ } \
  /* to the next switch: escaping frames first; they are never paused */ \
  :: atomic { (len(link[i]) < LINK) && (len(escape_next[i]) > 0) -> \
       escape_next[i]?f,s,h,extracted; \
       if :: COUNTS(extracted) -> give(to_next[i]); h-- :: else fi; \
       link[i]!f,s,h; \
       if :: extracted -> release(i, f) :: else -> promised_next[i]-- fi; f = 0; s = 0; h = 0; extracted = false } \
  :: atomic { (len(link[i]) < LINK) && (len(escape_next[i]) == 0) && !paused(i) && \
              (len(queue_next[i]) > 0) -> \
       queue_next[i]?f,s; link[i]!f,s,0; release(i, f); f = 0; s = 0 } \
  /* from the switch before */ \
  :: atomic { (len(link[before(i)]) > 0) -> \
       link[before(i)]?f,s,h; \
       if \
       :: h == 0 && dest(f) == i -> note(known_host, i); store(queue_host[i], i, f, s) \
       :: h == 0 && dest(f) != i -> note(known_next, i); store(queue_next[i], i, f, s) \
       :: h > 0 && dest(f) == i -> escape_in(queue_host[i], escape_host[i], promised_host[i], i, f, s, h) \
       :: h > 0 && dest(f) != i -> escape_in(queue_next[i], escape_next[i], promised_next[i], i, f, s, h) \
       fi; f = 0; s = 0; h = 0; s2 = 0 } \
  /* to the host, which is never paused */ \
  :: atomic { (len(escape_host[i]) > 0) -> \
       escape_host[i]?f,s,h,extracted; give(to_host[i]); promised_host[i]--; arrive(f, s); f = 0; s = 0; h = 0; extracted = false } \
  :: atomic { (len(escape_host[i]) == 0) && (len(queue_host[i]) > 0) -> \
       queue_host[i]?f,s; release(i, f); arrive(f, s); f = 0; s = 0 } \
    :: atomic { (len(control[i]) > 0) && (len(control[before(i)]) < CONTROL) -> /* event 2, lines 15 to 28 */ \
       control[i]?f,h; \
       if \
       :: to_next[i].tokens == 0 -> end_token(i, f, h) \
       :: to_next[i].tokens > 0 && queue_next[i]??[eval(f),_] && (len(escape_next[i]) < ESCAPE) -> \
         queue_next[i]??eval(f),s; EXTRACT(i) \
       :: to_next[i].tokens > 0 && !(queue_next[i]??[eval(f),_] && (len(escape_next[i]) < ESCAPE)) -> \
         if \
         :: f != i && asks[i] && knows_next(i) -> control[before(i)]!f,h + 1; to_next[i].tokens-- \
         :: else -> end_token(i, f, h) \
         fi \
       fi; f = 0; s = 0; h = 0 } \
  TASK(i)

#define EXTRACT(i) escape_next[i]!f,s,h,true
#ifdef FIX_POOL         /* event 3 counts where a token promised the place */
#define COUNTS(extracted) (!extracted)
#else
#define COUNTS(extracted) (true)
#endif

#ifdef FIX_RECLAIM              /* of full age: none on its way is as old */
#define RECLAIM(port) \
  :: atomic { port.missing > 0 -> port.missing--; give(port) }
#else                           /* the size is what it was an interval ago */
#define RECLAIM(port) \
  :: atomic { port.tokens < POOL -> port.tokens++ }
#endif

#ifdef PFC_ONLY
#define TASK(i)
#else
#define TASK(i) /* event 1: flows of open ports that came in where a pause is asked for */ \
  :: atomic { asks[i] && knows_host(i) && to_host[i].tokens > 0 && waits(i, next(i)) && (len(control[before(i)]) < CONTROL) -> \
       control[before(i)]!next(i),1; to_host[i].tokens-- } \
  :: atomic { asks[i] && knows_next(i) && !paused(i) && to_next[i].tokens > 0 && queue_next[before(i)]??[eval(before(i)),_] && \
              (len(control[before(i)]) < CONTROL) -> \
       control[before(i)]!before(i),1; to_next[i].tokens-- } \
  RECLAIM(to_next[i]) \
  RECLAIM(to_host[i]) \
  ANNOUNCING(i)
#endif

/* An announcement changes nothing but what is known, for good: its way, or its loss, is the time until it counts. */
#ifdef ANNOUNCE
#define ANNOUNCING(i) \
  :: atomic { paused(i) && !knows_host(next(i)) && queue_next[i]??[eval(before(i)),_] -> note(known_host, next(i)) } \
  :: atomic { paused(i) && !knows_next(next(i)) && queue_next[i]??[eval(i),_] -> note(known_next, next(i)) } \
  :: atomic { paused(i) && paused(next(i)) && knows_next(next(i)) && !knows_host(before(i)) && \
              queue_next[i]??[eval(i),_] -> note(known_host, before(i)) } /* went on from next(i) */
#else
#define ANNOUNCING(i)
#endif

init {
  byte f, s, s2, h;
  bool extracted;
  atomic {
    to_next[0].tokens = POOL; to_next[1].tokens = POOL; to_next[2].tokens = POOL;
    to_host[0].tokens = POOL; to_host[1].tokens = POOL; to_host[2].tokens = POOL
  }
  do
  switch(0)
  switch(1)
  switch(2)
  :: delivered -> break
  od
}
