#include "ovs_patches/openqueue/standard.h"

namespace rocelab::oq {

// The orders of the chapter's figures 2.8 and 2.9 under their names, and the names that this project gives.
const char* const kStandardText = R"(openqueue 1;
// Orders of packets. As procPrio the first is served first, as dropFirst the first is dropped first.
fifo(p1, p2) = p1.arrival < p2.arrival;
rfifo(p1, p2) = p1.arrival > p2.arrival;
srpt(p1, p2) = p1.processing < p2.processing;
rsrpt(p1, p2) = p1.processing > p2.processing;
oldest(p1, p2) = p1.arrival < p2.arrival;
newest(p1, p2) = p1.arrival > p2.arrival;
smallest_value(p1, p2) = p1.value < p2.value;
largest_value(p1, p2) = p1.value > p2.value;

// Orders of queues. As schedPrio the first is served, as dropFrom the first loses a packet.
lqf(q1, q2) = q1.currSize > q2.currSize;
sqf(q1, q2) = q1.currSize < q2.currSize;
maxqf(q1, q2) = q1.schedState > q2.schedState;
minqf(q1, q2) = q1.schedState < q2.schedState;
crr(q1, q2) = q1.schedState < q2.schedState;
longest(q1, q2) = q1.currSize > q2.currSize;
shortest(q1, q2) = q1.currSize < q2.currSize;
strict_priority(q1, q2) = q1.index > q2.index;

// The arriving packet is counted, so that a queue holds its size and no more.
tailDrop(x) = x.currSize > x.size, drop(1);

// Turns: by index, a packet each; by packets, quantum of them each; by bytes on the wire, quantum each.
turn rr(q) { serve when true; }
turn wrr(q) {
  enter: modify(q.schedState := q.schedState + q.quantum);
  serve when 1 packets <= q.schedState;
  after: modify(q.schedState := q.schedState - 1 packets);
  empty: modify(q.schedState := 0);
}
turn dwrr(q) {
  enter: modify(q.schedState := q.schedState + q.quantum);
  serve when wire(q.hol.size) <= q.schedState;
  after: modify(q.schedState := q.schedState - wire(packet.size));
  empty: modify(q.schedState := 0);
}
)";

}  // namespace rocelab::oq
