/* P4QCN's congestion point as a program for v1model (bmv2's simple_switch): executable documentation, and a second implementation of the decision
 * (ovs_patches/switch_model/p4qcn_cp.h) and of the feedback packet (base/wire/p4qcn_fbp.h). Geng, Yan and Zhang, Future Internet 11(3), 2019, 3.1.1 and figure 4; what differs from the
 * paper's packet: DEVIATIONS.md, p4qcn. tests/python/test_p4_program.py holds its constants against the preset `paper`, and runs it where p4c-bm2-ss and simple_switch are installed.
 *
 * A data frame that has found its queue long enough is cloned behind the queue (E2E: v1model has no clone from egress to ingress), the clone is recirculated, and ingress makes the
 * feedback packet of it. The control plane has to set mirroring session 1 (any port: the clone never leaves by it) and fill the table `route`. */
#include <core.p4>
#include <v1model.p4>

const bit<19> Q_MIN = 11;          // packets that a frame finds in the queue: bmv2's enq_qdepth, of all queues of a port
const bit<19> Q_MAX = 11;
const bit<48> GAP_US = 50;         // of a flow at most one feedback packet in it
const bit<32> FLOWS = 4096;        // registers for it: flows that share one suppress each other's feedback
const bit<32> CP_NETWORK = 0xac100000;  // 172.16.0.0/12; the n-th port from 0 is n + 1
const bit<48> CP_MAC = 0x02726c000000;  // the same
const bit<6> FEEDBACK_DSCP = 48;
const bit<2> CE = 3;
const bit<8> ICMP = 1;
const bit<8> UDP = 17;
const bit<8> FEEDBACK_TYPE = 253;  // RFC 4727
const bit<8> FEEDBACK_CODE = 3;
const bit<16> FEEDBACK_TOTAL_LENGTH = 36;
const bit<32> FEEDBACK_FRAME = 60;
const bit<8> TTL = 64;
const bit<16> IPV4 = 0x0800;
const bit<16> ROCE_PORT = 4791;
const bit<32> SESSION = 1;
const bit<8> KEPT = 1;             // field list of clones and of recirculated packets
const bit<32> EGRESS_CLONE = 2;    // instance types of simple_switch
const bit<32> RECIRCULATED = 4;

header ethernet_t { bit<48> dst; bit<48> src; bit<16> ether_type; }
header ipv4_t {
  bit<4> version; bit<4> ihl; bit<6> dscp; bit<2> ecn; bit<16> total_length;
  bit<16> identification; bit<3> flags; bit<13> fragment;
  bit<8> ttl; bit<8> protocol; bit<16> checksum;
  bit<32> src; bit<32> dst;
}
header udp_t { bit<16> src; bit<16> dst; bit<16> length; bit<16> checksum; }
header bth_t {
  bit<8> opcode; bit<8> flags; bit<16> pkey;
  bit<8> resv8; bit<24> dest_qp;
  bit<8> ack_req; bit<24> psn;
}
header feedback_t {                // base/wire/p4qcn_fbp.h
  bit<8> kind; bit<8> code; bit<16> checksum;
  bit<32> depth;
  bit<32> destination;
  bit<8> reserved; bit<24> dest_qp;
}
header padding_t { bit<80> zeros; }

struct headers_t { ethernet_t ethernet; ipv4_t ipv4; feedback_t feedback; padding_t padding; udp_t udp; bth_t bth; }
struct metadata_t {
  @field_list(1) bit<32> depth;    // that the cloned frame found
  @field_list(1) bit<9> in_port;   // by which it came: the way back
  @field_list(1) bit<9> point;     // its output: the congestion point
}

parser Parse(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
  state start {
    packet.extract(h.ethernet);
    transition select(h.ethernet.ether_type) { IPV4: parse_ipv4; default: accept; }
  }
  state parse_ipv4 {
    packet.extract(h.ipv4);
    transition select(h.ipv4.ihl, h.ipv4.protocol) { (5, UDP): parse_udp; default: accept; }
  }
  state parse_udp {
    packet.extract(h.udp);
    transition select(h.udp.dst) { ROCE_PORT: parse_bth; default: accept; }
  }
  state parse_bth {
    packet.extract(h.bth);
    transition accept;
  }
}

control Verify(inout headers_t h, inout metadata_t m) { apply {} }

control Ingress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
  action drop() { mark_to_drop(s); }
  action forward(bit<9> port) { s.egress_spec = port; }
  table route {
    key = { h.ipv4.dst: lpm; }
    actions = { forward; drop; }
    default_action = drop();
  }

  // The clone becomes the feedback packet: from the congestion point to the flow's source, by the way that the frame came.
  action make_feedback() {
    bit<32> destination = h.ipv4.dst;
    h.feedback.setValid();
    h.feedback.kind = FEEDBACK_TYPE;
    h.feedback.code = FEEDBACK_CODE;
    h.feedback.checksum = 0;
    h.feedback.depth = m.depth;
    h.feedback.destination = destination;
    h.feedback.reserved = 0;
    h.feedback.dest_qp = h.bth.dest_qp;
    h.padding.setValid();
    h.padding.zeros = 0;
    h.ethernet.dst = h.ethernet.src;
    h.ethernet.src = CP_MAC + 1 + (bit<48>)m.point;
    h.ipv4.dst = h.ipv4.src;
    h.ipv4.src = CP_NETWORK + 1 + (bit<32>)m.point;
    h.ipv4.dscp = FEEDBACK_DSCP;
    h.ipv4.ecn = CE;
    h.ipv4.total_length = FEEDBACK_TOTAL_LENGTH;
    h.ipv4.identification = 0;
    h.ipv4.flags = 2;              // do not fragment
    h.ipv4.fragment = 0;
    h.ipv4.ttl = TTL;
    h.ipv4.protocol = ICMP;
    h.udp.setInvalid();
    h.bth.setInvalid();
    s.egress_spec = m.in_port;
    truncate(FEEDBACK_FRAME);
  }

  apply {
    if (s.instance_type == RECIRCULATED) {
      make_feedback();
    } else if (h.ipv4.isValid()) {
      m.in_port = s.ingress_port;
      route.apply();
    } else {
      drop();
    }
  }
}

control Egress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
  register<bit<48>>(FLOWS) told_at;  // 0: never

  // Only data draws feedback: what its source paces. Opcodes with payload of RC, UC and UD (IBTA Vol 1, table 38).
  table is_data {
    key = { h.bth.opcode: range; }
    actions = { NoAction; }
    const entries = {
      0x00 .. 0x0b: NoAction();      // RC: SEND, RDMA WRITE
      0x0d .. 0x10: NoAction();      // RC: READ responses
      0x20 .. 0x2b: NoAction();      // UC
      0x64 .. 0x65: NoAction();      // UD
    }
    default_action = NoAction();
  }

  apply {
    if (s.instance_type == EGRESS_CLONE) {
      recirculate_preserving_field_list(KEPT);
    } else if (h.bth.isValid() && is_data.apply().hit) {
      // Equation 1; with Q_MIN = Q_MAX a step.
      bool draws = s.enq_qdepth >= Q_MAX;
      if (!draws && s.enq_qdepth > Q_MIN) {
        bit<19> number;
        random(number, 0, Q_MAX - Q_MIN - 1);
        draws = number < s.enq_qdepth - Q_MIN;
      }
      if (draws) {
        bit<32> place;
        bit<48> last;
        hash(place, HashAlgorithm.crc32, 32w0, { h.ipv4.src, h.ipv4.dst, h.bth.dest_qp }, FLOWS);
        told_at.read(last, place);
        if (last == 0 || s.egress_global_timestamp - last >= GAP_US) {
          told_at.write(place, s.egress_global_timestamp);
          m.depth = (bit<32>)s.enq_qdepth;
          m.point = s.egress_port;
          clone_preserving_field_list(CloneType.E2E, SESSION, KEPT);
        }
      }
    }
  }
}

control Compute(inout headers_t h, inout metadata_t m) {
  apply {
    update_checksum(h.feedback.isValid(),
                    { h.ipv4.version, h.ipv4.ihl, h.ipv4.dscp, h.ipv4.ecn, h.ipv4.total_length, h.ipv4.identification, h.ipv4.flags,
                      h.ipv4.fragment, h.ipv4.ttl, h.ipv4.protocol, h.ipv4.src, h.ipv4.dst },
                    h.ipv4.checksum, HashAlgorithm.csum16);
    update_checksum(h.feedback.isValid(),
                    { h.feedback.kind, h.feedback.code, h.feedback.depth, h.feedback.destination, h.feedback.reserved, h.feedback.dest_qp },
                    h.feedback.checksum, HashAlgorithm.csum16);
  }
}

control Deparse(packet_out packet, in headers_t h) {
  apply {
    packet.emit(h.ethernet);
    packet.emit(h.ipv4);
    packet.emit(h.feedback);
    packet.emit(h.padding);
    packet.emit(h.udp);
    packet.emit(h.bth);
  }
}

V1Switch(Parse(), Verify(), Ingress(), Egress(), Compute(), Deparse()) main;
