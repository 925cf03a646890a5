// The flow list and the hosts file. Text, one entry a line; '#' begins a comment.
//
//   # id  src  dst  op     size     message_size  start_ns   qps  [label  [after] [KEY=VALUE ..]]
//   0     h1   h9   write  8000000  1048576       0          1    incast
//   1     h2   h9   send   8000000  65536         1234.567   2
//   2     h9   h3   write  4000000  65536         0          1    reply   2/0,1+500  dscp=34
//   3     h4   h3   send   6400000  64000         0          1    stream  rate=5000000000 on=100000
//   off=300000
//
// `op`: send, write or read. Data always flows from src to dst: of a READ flow dst is the requester. Sizes in
// bytes. Start times are relative to the epoch that all processes agree on, in nanoseconds with up to three
// digits after the point; programs can sleep to 1 ns, so a start is rounded up to one. `qps`: QPs of the
// flow's own, over which its messages are dealt in turn. `after`, N/IDS: the flow starts as soon as N of
// these flows have ended at its requester, and not before start_ns. An ID+NS asks for so many nanoseconds
// behind that flow's end; the start is behind the first N ends, with theirs. The requester must be an
// end of each, and learn of its end: any end of a SEND or WRITE flow, the requester of a READ. Keys:
// `connection`: flows with the same number, source, destination, op, qps and DSCP share their queue pairs, in
// the order in which they start; they are of service rc, are no streams, and have one `stop` and one
// `settle`. If any of them has an `after`, all of the connection start by start_ns, then id: one that could
// start earlier waits. `connect`: the flow's queue pairs are created at this time, connected at its start,
// and destroyed when it is over: at its source at once, at its destination `settle` nanoseconds later. 0:
// they are connected before the run, as those of flows without the key, and destroyed so. Such flows are of
// service rc and op send or write, are no streams, and have no `after` and no `stop`. `dscp`: that of the
// flow's queue pairs at both ends. `rate`: the flow is a stream, open loop. Its message n is due when a clock
// that begins with the flow shows n * message_size * 8 / rate, and is posted then, whether or not earlier
// ones are complete. `rate` is in bits per second of payload. `on`, `off`: the stream's clock runs for `on`
// and stands still for `off` in turn, both in nanoseconds as start times are. `stop`: at this time, in
// nanoseconds after the epoch, the flow's source begins no further message; the destination waits `settle`
// nanoseconds (10 ms) longer for what is on its way. Messages of a stream and of a flow with a stop are
// numbered: each brings its number as immediate data, and its destination counts it. `service`: rc, uc or ud.
// UC and UD do not repair losses: their messages are numbered, and the destination is over when all have
// come, or nothing has for `settle` since the last one was due. With ud, which needs op send, messages are
// cut into datagrams of at most `datagram` bytes, and these are what is numbered and counted.
//
//   # name  IPv4 address
//   h1      10.0.0.1
#pragma once

#include <cstdint>
#include <istream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace rocelab::app {

enum class Service : std::uint8_t { kRc, kUc, kUd };
const char* to_string(Service service);

enum class Op : std::uint8_t { kSend, kWrite, kRead };
const char* to_string(Op op);

// What one work request carries of a flow.
struct Part {
  std::uint64_t message = 0, offset = 0;
  std::uint32_t length = 0;
};

struct After {
  std::uint32_t flow = 0;
  std::int64_t delay_ns = 0;  // behind its end
  friend bool operator==(const After&, const After&) = default;
};

struct Flow {
  static constexpr std::int64_t kNoStop = std::numeric_limits<std::int64_t>::max();
  std::uint32_t id = 0;
  std::string src, dst;
  Op op = Op::kWrite;
  std::uint64_t size = 0, message_size = 0;
  std::int64_t start_ps = 0;
  std::uint32_t qps = 1;
  std::uint32_t connection = 0;  // flows of one number share their queue pairs; 0: it has its own
  std::string label;
  std::vector<After> after;            // empty: it starts at its time
  std::uint32_t after_count = 0;       // how many of them must have ended
  std::optional<std::uint8_t> dscp;    // null: the program's traffic class
  std::int64_t connect_ps = kNoStop;   // when its queue pairs are created; kNoStop: they outlive it
  std::uint64_t rate_bps = 0;          // of a stream: payload while it is on; 0: the flow is none
  std::int64_t on_ps = 0, off_ps = 0;  // of its bursts; 0: it is always on
  Service service = Service::kRc;
  std::uint64_t datagram = 0;  // UD: most bytes of one
  std::int64_t stop_ps = kNoStop;
  std::int64_t settle_ns = 10'000'000;

  // Of an address: DSCP and ECN. 0 would say that none is set, and 1 differs from it in the ECN field alone.
  std::optional<std::uint8_t> traffic_class() const {
    if (!dscp) return std::nullopt;
    return *dscp == 0 ? std::uint8_t{1} : static_cast<std::uint8_t>(*dscp << 2);
  }
  const std::string& requester() const { return op == Op::kRead ? dst : src; }
  bool end_known_to(const std::string& host) const {
    return host == requester() || (op != Op::kRead && host == dst);
  }
  std::uint64_t messages() const { return (size + message_size - 1) / message_size; }
  // Work requests: messages, or with UD their datagrams.
  std::uint64_t requests() const;
  Part part(std::uint64_t request) const;
  // QPs that carry anything: no more than there are requests.
  std::uint32_t lanes() const { return static_cast<std::uint32_t>(requests() < qps ? requests() : qps); }
  std::int64_t start_ns() const { return (start_ps + 999) / 1'000; }  // rounded up

  bool destroys() const { return connect_ps != kNoStop; }
  bool connects_late() const { return destroys() && connect_ps > 0; }
  std::int64_t connect_ns() const { return (connect_ps + 999) / 1'000; }

  bool is_stream() const { return rate_bps > 0; }
  std::int64_t due_ns(std::uint64_t message) const;  // when it may be posted, rounded up
  bool has_stop() const { return stop_ps != kNoStop; }
  std::int64_t stop_ns() const { return has_stop() ? stop_ps / 1'000 + (stop_ps % 1'000 != 0) : kNoStop; }
  // Of messages that are not numbered the last WRITE of a queue pair brings the flow's id.
  bool numbered() const { return is_stream() || has_stop() || !reliable(); }
  bool reliable() const { return service == Service::kRc; }
};

struct Host {
  std::string name, address;
};

// Sorted by id. Throws std::runtime_error with "NAME:LINE: what is wrong".
std::vector<Flow> read_flows(std::istream& in, const std::string& name);
std::vector<Host> read_hosts(std::istream& in, const std::string& name);

// Hosts that take part, in the order of the hosts file. Throws when a flow names a host that is not in it.
std::vector<Host> participants(const std::vector<Flow>& flows, const std::vector<Host>& hosts);

}  // namespace rocelab::app
