#include "base/trace_hash.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

const std::vector<TraceRecord> kRecords{
    {Time::from_ps(2'000'000), TraceKind::kDeliver, 2, 1, 17, 1098, 0xfffff0, 0},
    {Time::from_ps(2'217'600), TraceKind::kDrop, 3, 2, 18, 60, 0, 5},
    {Time::never(), TraceKind::kComplete, 0, 0, 17, 8000, 0xffffff, 0},
};

std::string hash_of(const std::vector<TraceRecord>& records) {
  TraceHash hash;
  for (const TraceRecord& record : records) hash.add(record);
  return to_hex(hash.digest());
}

// Made with Python's hashlib over struct.pack("<qBBHIQII", time, kind, mark, port, flow, bytes, psn, peer) of
// each record.
TEST(TraceHashTest, IsTheSha256OfTheRecordsInOrder) {
  EXPECT_EQ(hash_of(kRecords), "cd50418919019df4adeb2edcfff2ab1991e614ed154e2afd7f2df6cc323692bf");
  EXPECT_EQ(hash_of({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(TraceHashTest, OrderAndEveryFieldCount) {
  EXPECT_NE(hash_of({kRecords[0], kRecords[1]}), hash_of({kRecords[1], kRecords[0]}));
  const TraceRecord base = kRecords[0];
  std::vector<TraceRecord> changed(8, base);
  changed[0].time = base.time + 1_ps;
  changed[1].kind = TraceKind::kMark;
  changed[2].mark = 3;
  changed[3].port = 2;
  changed[4].flow = 18;
  changed[5].bytes = 1099;
  changed[6].psn = 0xfffff1;
  changed[7].peer = 1;
  for (std::size_t i = 0; i < changed.size(); ++i)
    EXPECT_NE(hash_of({changed[i]}), hash_of({base})) << "field " << i;
}

TEST(TraceHashTest, ADigestInBetweenChangesNothing) {
  TraceHash hash;
  std::vector<TraceRecord> all;
  for (int i = 0; i < 1000; ++i) {  // passes the 256 records that it gathers
    TraceRecord record = kRecords[static_cast<std::size_t>(i) % 3];
    record.peer = static_cast<std::uint32_t>(i);
    all.push_back(record);
    hash.add(record);
    if (i % 97 == 0) hash.digest();
  }
  EXPECT_EQ(to_hex(hash.digest()), hash_of(all));
}

// hashlib: sha256(sha256(all three) + sha256(first)).
TEST(TraceHashTest, ARunsHashIsThatOfItsNodesDigestsInIndexOrder) {
  TraceHash all, one;
  for (const TraceRecord& record : kRecords) all.add(record);
  one.add(kRecords[0]);
  const Digest nodes[] = {all.digest(), one.digest()}, swapped[] = {nodes[1], nodes[0]};
  EXPECT_EQ(to_hex(combine(nodes)), "a948bd3451eca5f4379dd8706b2ddcea3c2145a51e10970fa3619baf5966af5b");
  EXPECT_NE(to_hex(combine(swapped)), to_hex(combine(nodes)));
}

}  // namespace
}  // namespace rocelab
