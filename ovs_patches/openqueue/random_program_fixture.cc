#include "ovs_patches/openqueue/random_program_fixture.h"

namespace rocelab::oq {

std::string RandomProgram::bytes(Where where, int depth) {
  if (depth <= 0 || one_in(3)) {
    const bool queue = where == Where::kQueue || where == Where::kBuffer;
    switch (choices_.below(5)) {
      case 0:
        return number(0, 3000) + "B";
      case 1:
        return queue ? "queue.bytes" : "packet.size";
      case 2:
        return where == Where::kQueue && !in_packets_ ? any("queue.size", "queue.currSize") : "packet.size";
      case 3:
        return where == Where::kBuffer ? "buffer.bytes" : queue && !turns_ ? "queue.admState" : "packet.size";
      default:
        return any("packet.size", "packet.held", "packet.xoff", "packet.xon");
    }
  }
  switch (choices_.below(8)) {
    case 0:
      return "(" + bytes(where, depth - 1) + " + " + bytes(where, depth - 1) + ")";
    case 1:
      return "(" + bytes(where, depth - 1) + " - " + bytes(where, depth - 1) + ")";
    case 2:
      return any("min", "max") + "(" + bytes(where, depth - 1) + ", " + bytes(where, depth - 1) + ")";
    case 3:
      return "wire(" + bytes(where, depth - 1) + ")";
    case 4:
      return any("0.5", "0.95", "2", "-1", "1.25") + " * " + any("packet.size", "packet.held", "packet.xoff");
    case 5:
      return any("packet.size", "packet.held") + " / " + any("2", "3", "-7", "0.5");
    case 6:
      return "packet.size % " + number(1, 500) + "B";
    default:
      return "packet.size / (1 + packet.dscp)";
  }
}

std::string RandomProgram::count(Where where, int depth) {
  if (depth <= 0 || one_in(3))
    return where == Where::kPort && one_in(3)     ? "port.currQueue"
           : where == Where::kBuffer && one_in(3) ? "buffer.currQueue"
           : (where == Where::kQueue || where == Where::kBuffer) && one_in(3)
               ? "queue.arrivals[packet.in]"
               : any("packet.value", "packet.processing", "packet.dscp", "packet.in", "packet.class",
                     "packet.ecn", "packet.out", number(0, 9).c_str(),
                     where == Where::kQueue ? "queue.index" : "packet.dscp");
  switch (choices_.below(5)) {
    case 0:
      return "(" + count(where, depth - 1) + any(" + ", " - ") + count(where, depth - 1) + ")";
    case 1:
      return any("min", "max") + "(" + count(where, depth - 1) + ", " + count(where, depth - 1) + ")";
    case 2:
      return "packet.dscp % " + number(1, 7);
    case 3:
      return bytes(where, 0) + " / " + number(1, 900) + "B";
    default:
      return any("0.5", "3", "-2") + " * packet.dscp";
  }
}

std::string RandomProgram::time(Where where, int depth) {
  if (depth <= 0 || one_in(2))
    return any("packet.arrival", "packet.slack", "packet.tx", "now", (number(0, 900) + "ns").c_str(),
               where == Where::kQueue ? "queue.delay" : "packet.tx");
  return "(" + time(where, depth - 1) + any(" + ", " - ") + time(where, 0) + ")";
}

std::string RandomProgram::predicate(Where where, int depth) {
  if (depth > 0 && one_in(2)) {
    if (one_in(4)) return "not (" + predicate(where, depth - 1) + ")";
    return "(" + predicate(where, depth - 1) + any(" and ", " or ") + predicate(where, depth - 1) + ")";
  }
  const std::string relation = any(" < ", " <= ", " > ", " >= ", " == ", " != ");
  const bool queue = where == Where::kQueue || where == Where::kBuffer;
  switch (choices_.below(8)) {
    case 0:
    case 1:
      return bytes(where, 2) + relation + bytes(where, 2);
    case 2:
      return count(where, 2) + relation + count(where, 2);
    case 3:
      return time(where, 1) + relation + time(where, 1);
    case 4:
      return queue ? "queue.packets" + relation + number(0, 6) + " packets"
                   : "packet.dscp" + relation + number(0, 63);
    case 5:
      return where == Where::kQueue ? "queue.currSize > " + any("0.5", "0.75", "0.9", "1") + " * queue.size"
             : where == Where::kBuffer ? "buffer.currSize > " + any("0.5", "0.9", "1") + " * buffer.size"
                                       : "packet.class" + relation + number(0, 7);
    case 6:
      if (where == Where::kQueue && one_in(2)) return "queue.hol.flow" + any(" == ", " != ") + "packet.flow";
      return where == Where::kQueue ? "queue.hol.size" + relation + "packet.size"
                                    : "packet.in" + relation + number(0, 2);
    default:
      if (where == Where::kPort || where == Where::kTurn || chances_ < 1)
        return "packet.ecn" + relation + number(0, 3);
      return "chance(" + any("0.5", "10%", "0.9") + ")";
  }
}

std::string RandomProgram::actions(Where where, bool drops) {
  std::string text;
  const std::uint64_t most = 1 + choices_.below(2);
  for (std::uint64_t i = 0; i < most; ++i) {
    if (i > 0) text += " . ";
    if (drops && (i == 0 || one_in(4))) {
      text += one_in(3) && chances_ > 0 ? "drop(" + any("0.5", "0.9", "25%") + ")" : any("drop", "drop(1)");
      continue;
    }
    switch (choices_.below(6)) {
      case 0:
        text += "mark";
        break;
      case 1:
        text += any("notify", "notify(upstream)", "release(upstream)");
        break;
      case 2:
        text += where == Where::kPort ? "modify(port.schedState := " + count(where, 1) + ")"
                                      : "modify(queue.admState := " + bytes(where, 1) + ")";
        break;
      case 3:
        text += where == Where::kBuffer ? "modify(buffer.admState := " + count(where, 1) + ")"
                : turns_                ? std::string("mark")
                                        : "modify(queue.schedState := " + time(where, 0) + ")";
        break;
      case 4:
        text += where == Where::kQueue ? "modify(packet.value := " + count(where, 1) + ")" : "notify";
        break;
      default:
        text += "modify(queue.weightSched := " + count(where, 1) + ")";
    }
  }
  return text;
}

std::string RandomProgram::cases(Where where, bool drops) {
  std::string text;
  const std::uint64_t most = 1 + choices_.below(3);
  for (std::uint64_t i = 0; i < most; ++i)
    text += (i > 0 ? " . (" : "(") + predicate(where, 2) + ", " + actions(where, drops && !one_in(3)) + ")";
  return text;
}

std::string RandomProgram::packet_key(const std::string& p) {
  switch (choices_.below(9)) {
    case 0:
      return p + ".arrival";
    case 1:
      return p + ".slack + " + p + ".arrival + " + p + ".tx";
    case 2:
      return p + ".value / " + p + ".size";
    case 3:
      return p + ".size / (" + p + ".dscp + 1)";
    case 4:
      return "0.5 * " + p + ".value - 3 * " + p + ".dscp";
    case 5:
      return "min(" + p + ".dscp, " + number(1, 40) + ") % " + number(1, 5);
    default:
      return p + "." + any("size", "value", "processing", "dscp", "in", "class", "ecn", "tx");
  }
}

std::string RandomProgram::lexicographic(const std::string& a, const std::string& b, const auto& key) {
  std::string text, closing;
  const std::uint64_t most = 1 + choices_.below(3);
  for (std::uint64_t i = 0; i < most; ++i) {
    const Choices now = choices_;
    const std::string left = key(a);
    choices_ = now;
    const std::string right = key(b);
    const bool swapped = one_in(2);
    text.append(swapped ? right : left).append(any(" < ", " > ")).append(swapped ? left : right);
    if (i + 1 == most) break;
    text.append(" or ").append(left).append(" == ").append(right).append(" and (");
    closing += ")";
  }
  return text + closing;
}

std::string RandomProgram::packet_order() {
  switch (choices_.below(6)) {
    case 0:
      return "= " +
             any("fifo", "rfifo()", "srpt", "rsrpt", "oldest", "newest", "smallest_value", "largest_value");
    case 1:
      return "= inline { packet." + any("dscp", "size", "value") + " }";
    default:
      return "(x, y) = " + lexicographic("x", "y", [&](const std::string& p) { return packet_key(p); });
  }
}

std::string RandomProgram::queue_order() {
  if (one_in(4)) return "= " + any("lqf", "sqf", "longest", "shortest", "strict_priority");
  return "(x, y) = " + lexicographic("x", "y", [&](const std::string& q) {
           return q + "." +
                  any("currSize", "bytes", "packets", "index", "delay", "hol.size", "hol.value", "hol.dscp",
                      "weightSched", "size", turns_ ? "bytes" : "schedState");
         });
}

std::string RandomProgram::size() {
  return in_packets_ ? number(1, 8) + " packets" : number(500, 9000) + "B";
}

std::string RandomProgram::turn() {
  switch (choices_.below(4)) {
    case 0:
      return "turn custom(q) { serve when true; }\n";
    case 1:
      return "turn custom(q) { enter: modify(q.schedState := q.schedState + q.quantum);\n"
             "  serve when wire(q.hol.size) <= q.schedState;\n"
             "  after: modify(q.schedState := q.schedState - wire(packet.size)) . modify(port.schedState := "
             "1);\n"
             "  empty: modify(q.schedState := 0); }\n";
    case 2:
      return "turn custom(q) { enter: modify(q.schedState := 700B + q.schedState) . modify(q.weightSched := "
             "1 + q.index);\n"
             "  serve when q.schedState > 0;\n"
             "  after: modify(q.schedState := q.schedState - packet.size); }\n";
    default:
      return "turn custom(q) { enter: modify(q.schedState := q.schedState + q.quantum / 2);\n"
             "  serve when q.hol.size < q.schedState;\n"
             "  after: modify(q.schedState := q.schedState - q.hol.size);\n"
             "  empty: modify(q.schedState := 5B); }\n";
  }
}

std::string RandomProgram::describe_queue(const std::string& path) {
  std::string text;
  if (!one_in(3))
    text +=
        "  " + path + ".procPrio" + (one_in(4) ? std::string("= roundRobin(in)") : packet_order()) + ";\n";
  if (one_in(3)) text += "  " + path + ".countAbove = " + number(0, 3000) + "B;\n";
  if (!one_in(3)) text += "  " + path + ".dropFirst" + packet_order() + ";\n";
  if (!one_in(4))
    text += "  " + path +
            ".congestion = " + (one_in(3) ? std::string("tailDrop") : cases(Where::kQueue, true)) + ";\n";
  if (!one_in(3)) text += "  " + path + ".postAdmAct = " + cases(Where::kQueue, false) + ";\n";
  return text;
}

std::string RandomProgram::every_port() {
  const std::uint64_t queues = 1 + choices_.below(4);
  const std::string last = std::to_string(queues - 1);
  std::string text = "on every port as p {\n  l = Queue(" + size() + ");\n  q[0.." + last + "] = Queue(" +
                     size() + ");\n" + "  out = Port(" + any("100%, ", "50%, ", "10Gbps, ", "") +
                     "l, q[*]);\n";
  for (std::uint64_t i = 0; i < queues; ++i) text += describe_queue("q[" + std::to_string(i) + "]");
  if (one_in(2)) text += "  l.procPrio" + packet_order() + ";\n";
  if (!one_in(3)) text += "  out.postSchedAct = " + cases(Where::kPort, false) + ";\n";
  std::string served = turns_ ? "custom" : "";
  if (turns_)
    text += "  q[*].quantum = " + number(400, 3000) + "B;  l.quantum = " + number(400, 3000) + "B;\n";
  if (one_in(3)) {
    text += "  q[" + last + "].strict = " + number(1, 3) + ";\n";
    if (one_in(2)) text += "  l.strict = " + number(1, 3) + ";\n";
    text += "  out.schedPrio = strict " + any("", "lqf ", "strict_priority ") + "then " +
            (turns_ ? "custom" : any("lqf", "sqf", "longest")) + ";\n";
  } else if (turns_) {
    text += "  out.schedPrio = custom;\n";
  } else if (!one_in(4)) {
    text += "  out.schedPrio" + queue_order() + ";\n";
  }
  text += "  select {\n    packet.class == 3 -> l;\n";
  for (std::uint64_t i = choices_.below(3); i > 0; --i)
    text += "    " +
            (one_in(3) ? "q[0].bytes > q[" + last + "].bytes + " + bytes(Where::kSelect, 1)
                       : predicate(Where::kSelect, 2)) +
            " -> q[" +
            (one_in(2) ? std::to_string(choices_.below(queues)) : "packet.dscp % " + std::to_string(queues)) +
            "];\n";
  text += "    else -> q[packet.in % " + std::to_string(queues) + "];\n  }\n}\n";
  if (buffer_) {
    text += "b = Buffer(" + (in_packets_ ? number(3, 12) + " packets" : number(2000, 20000) + "B") +
            ", p[*].q[*]" + (one_in(3) ? ", p[*].l" : "") + ");\n";
    text += std::string("b.") + any("dropFrom", "queuePrio") + queue_order() + ";\n";
    text += "b.congestion = " + (one_in(2) ? std::string("tailDrop") : cases(Where::kBuffer, true)) + ";\n";
    if (one_in(2)) text += "b.postAdmAct = " + cases(Where::kBuffer, false) + ";\n";
  }
  return text;
}

// Three ports: virtual output queues, crosspoints, outputs.
std::string RandomProgram::crossbar() {
  chances_ = 0;
  std::string text = "for i in 0..2 { voq[i][0..2] = Queue(" + size() + ");  cross[i][0..2] = Queue(" +
                     size() + ");\n  output[i] = Queue(" + size() + ");  l[i] = Queue(" + size() + "); }\n" +
                     "for i in 0..2 {\n  mover[i] = Port(" + any("100%, ", "50%, ", "") +
                     "voq[i][*]) -> cross[i][*]" + (one_in(4) ? " drop" : "") +
                     " ingress i;\n  for j in 0..2 { cross_port[i][j] = Port(cross[i][j]) -> output[j]" +
                     (one_in(4) ? " drop" : "") +
                     " egress j; }\n  out[i] = Port(l[i], output[i]) egress i;\n  select mover[i] { else -> "
                     "cross[i][packet.out]; }\n}\n";
  text += "select { packet.class == 3 -> l[packet.out];  else -> voq[packet.in][packet.out]; }\n";
  text += describe_queue("voq[*][*]") + describe_queue("output[*]");
  if (one_in(2)) text += describe_queue("cross[*][*]");
  if (!one_in(3)) text += "mover[*].postSchedAct = " + cases(Where::kPort, false) + ";\n";
  if (turns_)
    text +=
        "voq[*][*].quantum = 900B;  output[*].quantum = 900B;  l[*].quantum = 900B;\nmover[*].schedPrio = "
        "custom;\nout[*].schedPrio = custom;\n";
  if (!turns_) text += "mover[*].schedPrio" + queue_order() + ";\nout[*].schedPrio" + queue_order() + ";\n";
  if (buffer_) {
    text += "b = Buffer(" + (in_packets_ ? number(3, 12) + " packets" : number(2000, 20000) + "B") +
            any(", voq[*][*]", ", output[*]", ", voq[*][*], cross[*][*]") + ");\n";
    text += "b.dropFrom" + queue_order() + ";\nb.congestion = tailDrop;\n";
  }
  return text;
}

std::string RandomProgram::text() {
  in_packets_ = one_in(3);
  buffer_ = one_in(3);
  turns_ = one_in(3);
  chances_ = one_in(2) ? 1 : 0;
  std::string text = "set value by dscp { 0, 1: " + number(0, 5) + ";  8: " + number(0, 90) +
                     ";  46: 63;  else: " + number(0, 3) + "; }\n";
  if (!one_in(3)) text += "set processing by class { 0: 1;  1: 2;  5: " + number(0, 9) + ";  else: 1; }\n";
  if (one_in(2)) text += "set slack by dscp { 0: 5us;  8: 900ns;  else: 1ms; }\n";
  if (turns_) text += turn();
  return text + (one_in(4) ? crossbar() : every_port());
}

}  // namespace rocelab::oq
