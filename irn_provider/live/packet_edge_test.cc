// From the bytes of a frame to what the NIC makes of it: whom it came from is part of it.
#include "irn_provider/live/packet_edge.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/wire/frame.h"
#include "base/wire/frame_view.h"
#include "base/wire/roce_packet.h"
#include "irn_provider/nic/memory.h"
#include "irn_provider/nic/nic.h"

namespace rocelab {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint32_t kPsn = 0xfffff0, kLength = 500;
const Gid kClient = ipv4_mapped({10, 0, 0, 1}), kServer = ipv4_mapped({10, 0, 0, 2}),
          kStranger = ipv4_mapped({10, 0, 0, 3});

struct Host {
  Host(const Gid& own, const Gid& peer, Qpn first)
      : nic({}, first, Rng(1), pool, memory, trace), pd(nic.alloc_pd()), cq(*nic.create_cq(16)) {
    const auto addr = reinterpret_cast<std::uint64_t>(bytes.data());
    key = *nic.reg_mr(pd, addr, bytes.size(), addr, kAccessLocalWrite | kAccessRemoteWrite);
    QpInit init;
    init.pd = pd, init.send_cq = init.recv_cq = cq, init.caps = {8, 8, 1, 1, 0};
    qp = *nic.create_qp(init);
    path.src_gid = own, path.dst_gid = peer;
  }
  void connect(const Host& peer) {
    QpAttr attr;
    attr.access_flags = kAccessRemoteWrite;
    attr.dest_qpn = peer.qp, attr.sq_psn = attr.rq_psn = kPsn, attr.path = path;
    for (attr.state = QpState::kInit; attr.state <= QpState::kRts;
         attr.state = static_cast<QpState>(static_cast<int>(attr.state) + 1))
      ASSERT_TRUE(nic.modify_qp(qp, attr, Time::zero()));
  }
  Bytes bytes = Bytes(kLength);
  PacketPool pool;
  ProcessMemory memory;
  NullTrace trace;
  Nic nic;
  Pdn pd;
  Cqn cq;
  RKey key;
  Qpn qp;
  PathAddress path;
  lockstep::HostEntry entry;
  PacketEdge edge{entry, pool, trace};
};

class PacketEdgeTest : public ::testing::Test {
 protected:
  PacketEdgeTest() {
    client.connect(server), server.connect(client);
    std::fill(client.bytes.begin(), client.bytes.end(), std::byte{0x33});
  }
  // A WRITE to the server, as its bytes leave the client.
  Bytes write() {
    SendWqe w;
    w.opcode = WrOpcode::kWrite, w.num_sge = 1;
    w.sge[0] = {reinterpret_cast<std::uint64_t>(client.bytes.data()), kLength, client.key};
    w.remote_addr = reinterpret_cast<std::uint64_t>(server.bytes.data()), w.rkey = server.key;
    EXPECT_EQ(client.nic.post_send(client.qp, w, Time::zero()), PostResult::kOk);
    const PacketRef packet = client.nic.poll_transmit(Time::zero());
    Bytes frame(packet->frame_length);
    EXPECT_TRUE(client.edge.write(client.nic, *packet, frame));
    return frame;
  }
  // The same, good ICRC included, between others.
  static Bytes moved(const Bytes& frame, const Gid& src, const Gid& dst) {
    const auto parsed = parse_frame(frame);
    FrameAddress address = parsed->address;
    address.src_gid = src, address.dst_gid = dst;
    Bytes out(frame.size());
    write_frame(address, parsed->roce, parsed->payload, out);
    return out;
  }
  void arrive(Bytes frame) {
    PacketRef packet = server.edge.parse(frame, PacketKind::kData, Time::zero());
    ASSERT_TRUE(packet);
    server.nic.on_packet(std::move(packet), Time::zero());
  }
  void arrive_in_shared_memory(const Bytes& frame) {
    Bytes copy = frame;
    PacketRef packet = server.edge.parse_shared(copy, frame, Time::zero());
    ASSERT_TRUE(packet);
    server.nic.on_packet(std::move(packet), Time::zero());
  }
  bool written() const { return server.bytes == client.bytes; }
  std::uint64_t refused() const { return server.nic.counters().rx_wrong_peer; }

  Host client{kClient, kServer, Qpn{0x1000}}, server{kServer, kClient, Qpn{0x2000}};
};

TEST_F(PacketEdgeTest, AForgedSourceWritesNothing) {
  const Bytes frame = write();
  arrive(moved(frame, kStranger, kServer));
  arrive_in_shared_memory(moved(frame, kStranger, kServer));
  EXPECT_EQ(refused(), 2u);
  EXPECT_FALSE(written());
  arrive(frame);
  EXPECT_EQ(refused(), 2u);
  EXPECT_TRUE(written());
}

// A broadcast medium, or a filter that lets too much through.
TEST_F(PacketEdgeTest, AFrameForAnotherHostWritesNothing) {
  const Bytes frame = write();
  arrive(moved(frame, kClient, kStranger));
  EXPECT_EQ(refused(), 1u);
  EXPECT_FALSE(written());
  arrive_in_shared_memory(frame);
  EXPECT_TRUE(written());
}

// A queue pair's data is of the class that its program chose; its CNPs keep theirs.
TEST_F(PacketEdgeTest, ATrafficClassIsOfDataAndNotOfCnps) {
  Host a(kClient, kServer, Qpn{0x3000}), b(kServer, kClient, Qpn{0x4000});
  a.path.traffic_class = 34 << 2;
  a.connect(b), b.connect(a);
  const auto arrives = [&](PacketKind kind, std::uint8_t opcode) {
    PacketRef packet = a.pool.make();
    packet->kind = kind, packet->flow = a.qp.value;
    packet->roce.opcode = opcode, packet->roce.dest = b.qp;
    constexpr std::uint32_t kAround = 14 + 20 + 8 + 4;
    packet->frame_length = std::max(60u, kAround + opcode_info(opcode).header_bytes);
    Bytes frame(packet->frame_length);
    EXPECT_TRUE(a.edge.write(a.nic, *packet, frame));
    const std::uint8_t dscp = view_frame(frame)->dscp;
    const PacketRef back = b.edge.parse(frame, PacketKind::kData, Time::zero());
    EXPECT_EQ(back->tc, Tc{static_cast<std::uint8_t>(dscp / 8)});
    return int{dscp};
  };
  EXPECT_EQ(arrives(PacketKind::kAck, make_opcode(TransportClass::kRc, Operation::kAck)), 34);
  EXPECT_EQ(arrives(PacketKind::kCnp, kCnpOpcode), 48);
}

}  // namespace
}  // namespace rocelab
