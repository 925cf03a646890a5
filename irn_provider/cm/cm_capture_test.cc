// Against Linux ib_cm: the captures' messages are replayed to our connection manager, which must answer as
// the kernel's own peer did (tests/data/captures/cm_*.pcap).
#include <gtest/gtest.h>

#include "base/wire/test_frames.h"
#include "irn_provider/cm/cm_fixture.h"

namespace rocelab::cm {
namespace {

const Gid kServer = ipv4_mapped({10, 77, 0, 10}), kClient = ipv4_mapped({10, 77, 0, 11});

struct Captured {
  bool by_client;
  CmMad mad;
  std::array<std::byte, kMadBytes> bytes;
};

std::vector<Captured> exchange(const std::string& file) {
  std::vector<Captured> all;
  for (const rocelab::test::NamedFrame& frame : rocelab::test::load_captures(rocelab::test::own_captures())) {
    const auto parsed = parse_frame(frame.bytes);
    if (!frame.name.starts_with(file) || !parsed || parsed->roce.dest != kGsiQpn) continue;
    Captured c{parsed->address.src_gid == kClient, *CmMad::parse(parsed->payload), {}};
    std::copy(parsed->payload.begin(), parsed->payload.end(), c.bytes.begin());
    all.push_back(c);
  }
  return all;
}

// PSN of the first request that this end sent on the connection.
std::optional<Psn> first_psn(const std::string& file, const Gid& from) {
  for (const rocelab::test::NamedFrame& frame : rocelab::test::load_captures(rocelab::test::own_captures())) {
    const auto parsed = parse_frame(frame.bytes);
    if (!frame.name.starts_with(file) || !parsed || parsed->address.src_gid != from) continue;
    if (parsed->roce.dest != kGsiQpn && opcode_info(parsed->roce.opcode).is_request())
      return parsed->roce.psn;
  }
  return std::nullopt;
}

template <class M>
const M& as(const Captured& c) {
  return std::get<M>(c.mad.message);
}

std::optional<CmMad> next_from(ConnectionManager& cm) {
  const auto mad = cm.poll_transmit();
  return mad ? CmMad::parse(mad->bytes) : std::nullopt;
}

CmConfig linux_config(std::uint64_t guid) {
  CmConfig c;
  c.ca_guid = guid;
  return c;
}

// What the two choose freely.
CmMad without_choices(CmMad mad, const CmMad& like) {
  if (auto* rep = std::get_if<Rep>(&mad.message)) {
    rep->local_id = std::get<Rep>(like.message).local_id;
    rep->starting_psn = std::get<Rep>(like.message).starting_psn;
  }
  if (auto* req = std::get_if<Req>(&mad.message)) {
    req->local_id = std::get<Req>(like.message).local_id;
    req->starting_psn = std::get<Req>(like.message).starting_psn;
    mad.transaction = like.transaction;
  }
  if (auto* drep = std::get_if<Drep>(&mad.message)) drep->local_id = std::get<Drep>(like.message).local_id;
  return mad;
}

TEST(CmCaptureTest, AsServerOfLinuxRpingGivesTheKernelsAnswers) {
  const auto messages = exchange("cm_rping");  // REQ REP RTU DREQ DREP
  ASSERT_EQ(messages.size(), 5u);
  const Rep& kernel = as<Rep>(messages[1]);
  ConnectionManager cm(linux_config(kernel.ca_guid), Rng(1));
  cm.listen(as<Req>(messages[0]).service_id, 8);
  Time now;
  cm.on_mad(messages[0].bytes, kClient, kServer, now);
  const auto request = cm.poll_event();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->kind, EventKind::kRequest);
  AcceptParams a;
  a.qpn = kernel.qpn;
  a.responder_resources = kernel.responder_resources;
  a.initiator_depth = kernel.initiator_depth;
  a.rnr_retry_count = kernel.rnr_retry_count;
  ASSERT_TRUE(cm.accept(request->handle, a, now));
  const auto reply = next_from(cm);
  ASSERT_TRUE(reply);
  EXPECT_EQ(without_choices(*reply, messages[1].mad), messages[1].mad);

  // The rest of the conversation names the kernel's ID: ours takes its place.
  const CommId mine = std::get<Rep>(reply->message).local_id;
  const auto replay = [&](CmMad mad) {
    if (auto* rtu = std::get_if<Rtu>(&mad.message)) rtu->remote_id = mine;
    if (auto* dreq = std::get_if<Dreq>(&mad.message)) dreq->remote_id = mine;
    std::array<std::byte, kMadBytes> bytes{};
    mad.write(bytes);
    cm.on_mad(bytes, kClient, kServer, now);
  };
  replay(messages[2].mad);
  EXPECT_EQ(cm.poll_event()->kind, EventKind::kEstablished);
  replay(messages[3].mad);
  EXPECT_EQ(cm.poll_event()->kind, EventKind::kDisconnected);
  ASSERT_TRUE(cm.disconnect(request->handle, now));
  const auto drep = next_from(cm);
  ASSERT_TRUE(drep);
  EXPECT_EQ(without_choices(*drep, messages[4].mad), messages[4].mad);
}

TEST(CmCaptureTest, AsClientAsksAsLinuxRpingAsked) {
  const auto messages = exchange("cm_rping");
  const Req& kernel = as<Req>(messages[0]);
  ConnectionManager cm(linux_config(kernel.ca_guid), Rng(1));
  ConnectParams p;
  p.local_gid = kClient;
  p.remote_gid = kServer;
  p.qpn = kernel.qpn;
  p.responder_resources = kernel.responder_resources;
  p.initiator_depth = kernel.initiator_depth;
  const IpHeader ip = *IpHeader::parse(kernel.private_data);
  p.local = {4, ip.source, ip.source_port};
  p.remote = {4, ip.destination, port_of(kernel.service_id)};
  const Handle handle = cm.connect(p, Time());
  const auto request = next_from(cm);
  ASSERT_TRUE(request);
  EXPECT_EQ(without_choices(*request, messages[0].mad), messages[0].mad);

  CmMad reply = messages[1].mad;
  std::get<Rep>(reply.message).remote_id = std::get<Req>(request->message).local_id;
  std::array<std::byte, kMadBytes> bytes{};
  reply.write(bytes);
  cm.on_mad(bytes, kServer, kClient, Time());
  const auto event = cm.poll_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, EventKind::kReply);
  EXPECT_EQ(event->qpn, Qpn{0xd7});
  EXPECT_EQ(event->ece.vendor_id, 0u);  // a kernel agrees to nothing: plain RoCE
  EXPECT_EQ(Psn(cm.settings(handle)->send_psn), first_psn("cm_rping", kClient));
  EXPECT_EQ(Psn(kernel.starting_psn), first_psn("cm_rping", kServer));
}

TEST(CmCaptureTest, RefusesAsLinuxDoesWhereNobodyListens) {
  const auto messages = exchange("cm_reject_noserver");
  ASSERT_EQ(messages.size(), 2u);
  ConnectionManager cm(linux_config(1), Rng(1));
  cm.on_mad(messages[0].bytes, kClient, kServer, Time());
  const auto answer = next_from(cm);
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, messages[1].mad);
}

TEST(CmCaptureTest, ResolvesDatagramServicesAsLinuxDoes) {
  const auto messages = exchange("cm_udaddy_sidr");
  ASSERT_EQ(messages.size(), 2u);
  const SidrRep& kernel = as<SidrRep>(messages[1]);
  ConnectionManager cm(linux_config(1), Rng(1));
  cm.listen(kernel.service_id, 8);
  cm.on_mad(messages[0].bytes, kClient, kServer, Time());
  AcceptParams a;
  a.qpn = kernel.qpn;
  a.qkey = kernel.qkey;
  ASSERT_TRUE(cm.accept(cm.poll_event()->handle, a, Time()));
  EXPECT_EQ(*next_from(cm), messages[1].mad);
}

}  // namespace
}  // namespace rocelab::cm
