// From the bytes of a frame to what the NIC makes of it: whom it came from is part of it.
#include "irn_provider/live/packet_edge.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/wire/controls.h"
#include "base/wire/frame.h"
#include "base/wire/frame_view.h"
#include "base/wire/shim_parts.h"
#include "irn_provider/cc/dcqcn_rp.h"
#include "irn_provider/cc/hpcc.h"
#include "irn_provider/cc/rcp.h"
#include "irn_provider/nic/nic.h"
#include "irn_provider/transport/memory.h"

namespace rocelab {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint32_t kPsn = 0xfffff0, kLength = 500;
const Gid kClient = ipv4_mapped({10, 0, 0, 1}), kServer = ipv4_mapped({10, 0, 0, 2}),
          kStranger = ipv4_mapped({10, 0, 0, 3});

struct Host {
  Host(const Gid& own, const Gid& peer, Qpn first, const NicConfig& config = {})
      : nic(config, first, Rng(1), pool, memory, trace), pd(nic.alloc_pd()), cq(*nic.create_cq(16)) {
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
  HostEntry entry;
  PacketEdge edge{entry, pool, trace};
};

class PacketEdgeTest : public ::testing::Test {
 protected:
  PacketEdgeTest() {
    client.connect(server), server.connect(client);
    std::fill(client.bytes.begin(), client.bytes.end(), std::byte{0x33});
  }
  static void post(Host& from, Host& to) {
    SendWqe w;
    w.opcode = WrOpcode::kWrite, w.num_sge = 1;
    w.sge[0] = {reinterpret_cast<std::uint64_t>(from.bytes.data()), kLength, from.key};
    w.remote_addr = reinterpret_cast<std::uint64_t>(to.bytes.data()), w.rkey = to.key;
    EXPECT_EQ(from.nic.post_send(from.qp, w, Time::zero()), PostResult::kOk);
  }
  static Bytes leaves(Host& from) {
    const PacketRef packet = from.nic.poll_transmit(Time::zero());
    Bytes frame(packet->frame_length);
    EXPECT_TRUE(from.edge.write(from.nic, *packet, frame));
    return frame;
  }
  // A WRITE to the server, as its bytes leave the client.
  Bytes write() {
    post(client, server);
    return leaves(client);
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

// A queue pair's packets are of the class that its program chose; its CNPs keep theirs.
TEST_F(PacketEdgeTest, ATrafficClassIsOfDataAndNotOfCnps) {
  NicConfig config;
  config.cc.use<DcqcnRp>();
  Host a(kClient, kServer, Qpn{0x3000}, config), b(kServer, kClient, Qpn{0x4000}, config);
  a.path.traffic_class = b.path.traffic_class = 34 << 2;
  a.connect(b), b.connect(a);
  post(a, b);
  const Bytes data = leaves(a);
  EXPECT_EQ(view_frame(data)->dscp, 34);
  Bytes marked = data;
  write_ce(marked);
  PacketRef packet = b.edge.parse(marked, PacketKind::kData, Time::zero());
  EXPECT_EQ(packet->tc, Tc{4});
  b.nic.on_packet(std::move(packet), Time::zero());
  Bytes cnp = leaves(b);
  EXPECT_EQ(view_frame(cnp)->kind, PacketKind::kCnp);
  EXPECT_EQ(view_frame(cnp)->dscp, 48);
  EXPECT_EQ(a.edge.parse(cnp, PacketKind::kData, Time::zero())->tc, Tc{6});
  const Bytes ack = leaves(b);
  EXPECT_EQ(view_frame(ack)->kind, PacketKind::kAck);
  EXPECT_EQ(view_frame(ack)->dscp, 34);
}

TEST_F(PacketEdgeTest, AControlFrameOfAnotherKindThanItsLinkSaysIsCountedAndDropped) {
  Bytes frame(Clcm::kSize);
  Clcm{Tc{3}, 1, 7, 9}.write(std::span(frame).first<Clcm::kSize>(), {2, 0, 0, 0, 0, 9});
  EXPECT_TRUE(server.edge.parse(frame, kind_of<Clcm>, Time::zero()));
  std::uint64_t bad = 0;
  for (const PacketKind kind : {kind_of<PfcFrame>, kind_of<EscapeToken>, kind_of<RoccFeedback>,
                                static_cast<PacketKind>(0xbf), static_cast<PacketKind>(0xff)}) {
    EXPECT_FALSE(server.edge.parse(frame, kind, Time::zero()));
    EXPECT_EQ(server.edge.counters().rx_malformed, ++bad);
  }
}

Bytes part(const Shim& shim) {
  std::array<std::byte, Shim::kMaxBytes> bytes;
  const std::size_t length = shim.write(bytes);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)};
}
Bytes operator+(Bytes front, const Bytes& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

TEST_F(PacketEdgeTest, OnlyAShimWhosePartsAreKnownAndForHostsIsTakenOut) {
  server.entry.nic.cc.use<Hpcc>();
  const Bytes plain = write();
  Shim stamped, escaping;
  stamped.part<Int>().emplace().telemetry.push(0x1234, {8, 1000, 17, 3});
  escaping.part<EscapeHops>() = EscapeHops{1};
  const Bytes records = part(stamped), hops = part(escaping), unknown{std::byte{0xff}, {}, {}, {}};
  Bytes arriving;  // outlives its packet
  const auto arrive_with = [&](const Bytes& parts) {
    arriving = plain;
    arriving.resize(plain.size() + parts.size());
    EXPECT_TRUE(insert_shim(arriving, plain.size(), parts));
    return server.edge.parse(arriving, PacketKind::kData, Time::zero());
  };
  const PacketRef good = arrive_with(records);
  ASSERT_TRUE(good);
  EXPECT_EQ(*PacketPool::telemetry_of(*good), stamped.part<Int>()->telemetry);
  EXPECT_EQ(good->frame_length, plain.size() + records.size());
  std::uint64_t bad = 0;
  for (const Bytes& parts : {hops, records + records, records + unknown, unknown + records, hops + records}) {
    EXPECT_FALSE(arrive_with(parts));
    EXPECT_EQ(server.edge.counters().rx_malformed, ++bad);
  }
}

// Into a field that data and acknowledgements leave free: an atomic's, which does not, keeps its value.
TEST_F(PacketEdgeTest, RcpsHeaderIsTakenFromDataAndNotFromAtomics) {
  server.entry.nic.cc.use<Rcp>();
  Shim asking;
  asking.part<RcpRequest>() = RcpRequest{{741'678, 436'000}};
  const Bytes header = part(asking);
  Bytes data = write();
  const std::size_t length = data.size();
  data.resize(length + header.size());
  ASSERT_TRUE(insert_shim(data, length, header));
  const PacketRef packet = server.edge.parse(data, PacketKind::kData, Time::zero());
  ASSERT_TRUE(packet);
  EXPECT_EQ(rcp_of(*packet), (RcpHeader{741'678, 436'000}));
  EXPECT_EQ(packet->frame_length, data.size());

  FrameAddress address;
  address.src_gid = kClient, address.dst_gid = kServer, address.is_ipv4 = true;
  RoceHeaders roce;
  roce.opcode = make_opcode(TransportClass::kRc, Operation::kCompareSwap);
  roce.dest = server.qp, roce.psn = Psn(kPsn);
  roce.swap_or_add = 8, roce.compare = 7;
  Bytes atomic(200);
  const std::size_t written = write_frame(address, roce, {}, atomic);
  const auto grown = insert_shim(atomic, written, header);
  ASSERT_TRUE(grown);
  atomic.resize(*grown);
  const PacketRef swap = server.edge.parse(atomic, PacketKind::kData, Time::zero());
  ASSERT_TRUE(swap);
  EXPECT_EQ(swap->roce.compare, 7u);
  EXPECT_EQ(rcp_of(*swap), std::nullopt);
}

// A NIC takes times at switches of so many as its own frames have room for, and counts and drops others.
TEST_F(PacketEdgeTest, TimesAtAnotherNumberOfSwitchesAreNone) {
  server.entry.nic.slack.law = SlackLaw::kConstant;
  server.entry.nic.slack.switches = 3;
  const Bytes plain = write();
  Bytes arriving;
  std::uint64_t bad = 0;
  for (const std::uint8_t room : {std::uint8_t{3}, std::uint8_t{2}, std::uint8_t{4}}) {
    Shim shim;
    shim.part<SlackPart>() = SlackPart{{5, 5, 0}};
    shim.part<HopTimesPart>() = HopTimesPart{HopTimes::room_for(room)};
    const Bytes parts = part(shim);
    arriving = plain;
    arriving.resize(plain.size() + parts.size());
    ASSERT_TRUE(insert_shim(arriving, plain.size(), parts));
    const PacketRef packet = server.edge.parse(arriving, PacketKind::kData, Time::zero());
    EXPECT_EQ(bool(packet), room == 3);
    if (packet) {
      EXPECT_EQ(PacketPool::hop_times(*packet), HopTimes::room_for(3));
      EXPECT_EQ(PacketPool::slack(*packet), (Slack{5, 5, 0}));
    }
    EXPECT_EQ(server.edge.counters().rx_malformed, bad += room != 3);
  }
}

}  // namespace
}  // namespace rocelab
