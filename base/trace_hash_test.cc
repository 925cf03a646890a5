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

// kRecords in turn, `peer` counting.
std::vector<TraceRecord> many_records(std::size_t count) {
  std::vector<TraceRecord> records;
  for (std::uint32_t i = 0; i < count; ++i) {
    records.push_back(kRecords[i % 3]);
    records.back().peer = i;
  }
  return records;
}

// Made with xxhsum -H2 over struct.pack("<qBBHIQII", time, kind, mark, port, flow, bytes, psn, peer) of each
// record, 64 at a time, and Python's hashlib over its values.
TEST(TraceHashTest, IsTheSha256OfTheXxh3OfTheRecordsInOrder) {
  EXPECT_EQ(hash_of(kRecords), "25d3ec11c7f41a3ac3d81290d5881ef39f5d5c2a196581c0065c4406f67a21d7");
  EXPECT_EQ(hash_of(many_records(150)), "25258f2df6ceaa4c9a3c0df1e339836fca102685937f89eeab40a43adccef7ca");
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
  const std::vector<TraceRecord> all = many_records(1000);
  TraceHash hash;
  for (std::size_t i = 0; i < all.size(); ++i) {
    hash.add(all[i]);
    if (i % 97 == 0) hash.digest();
  }
  EXPECT_EQ(to_hex(hash.digest()), hash_of(all));
}

// hashlib: sha256(digest of all three + digest of the first).
TEST(TraceHashTest, ARunsHashIsThatOfItsNodesDigestsInIndexOrder) {
  TraceHash all, one;
  for (const TraceRecord& record : kRecords) all.add(record);
  one.add(kRecords[0]);
  const Digest nodes[] = {all.digest(), one.digest()}, swapped[] = {nodes[1], nodes[0]};
  EXPECT_EQ(to_hex(combine(nodes)), "0f558d21589e59e2e41ecf57a4a07ad18543546349aab9704330f246bd4d00a9");
  EXPECT_NE(to_hex(combine(swapped)), to_hex(combine(nodes)));
}

}  // namespace
}  // namespace rocelab
