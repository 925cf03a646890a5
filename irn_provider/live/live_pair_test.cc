// The clock of a process, its edge to the segment, and its threads in experiment time.
#include "irn_provider/live/live_pair.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace rocelab::live_test {
namespace {

// One WRITE with immediate of `size` bytes from h1 to h2, posted at 10 us; notes when it was there.
void write_once(LiveProcess& p, std::uint32_t host, Shared& shared, std::uint32_t size) {
  std::vector<std::byte> buffer = host == 0 ? pattern(size) : std::vector<std::byte>(size);
  Endpoint end(p, host, buffer, shared);
  if (host == 1) {
    p.with_nic([&](Nic& nic, Time now) {
      EXPECT_EQ(nic.post_recv(end.qpn, RecvWqe{.wr_id = 7, .sge = {}}, now), PostResult::kOk);
    });
    const Cqe cqe = end.wait();
    EXPECT_EQ(cqe.status, WcStatus::kSuccess);
    EXPECT_EQ(cqe.wr_id, 7u);
    EXPECT_EQ(p.now(), cqe.time);
    shared.end_ps = cqe.time.ps();
    EXPECT_EQ(buffer, pattern(size));
    p.sleep_until(p.now() + 1_ms);  // stays to answer
    return;
  }
  p.sleep_until(Time::zero() + 10_us);
  p.with_nic([&](Nic& nic, Time now) {
    shared.start_ps = now.ps();
    SendWqe wqe{.wr_id = 1,
                .opcode = WrOpcode::kWriteImm,
                .imm = 5,
                .remote_addr = shared.addr[1],
                .rkey = RKey{shared.rkey[1]},
                .num_sge = 1,
                .sge = {}};
    wqe.sge[0] = {reinterpret_cast<std::uint64_t>(buffer.data()), size, end.key};
    EXPECT_EQ(nic.post_send(end.qpn, wqe, now), PostResult::kOk);
  });
  EXPECT_EQ(end.wait().status, WcStatus::kSuccess);
}

class LiveWriteTest : public LivePairTest, public ::testing::WithParamInterface<TransportMode> {};

TEST_P(LiveWriteTest, LoneWriteArrivesWhenTheFormulaSays) {
  constexpr std::uint32_t kSize = 100 * 1024;
  make_patient_segment(GetParam());
  const auto body = [this](LiveProcess& p, std::uint32_t host) { write_once(p, host, *shared_, kSize); };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::vector<int>{0, 0}));
  EXPECT_EQ(shared_->start_ps, (10_us).ps());
  // Headers of a middle packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4; IRN adds a RETH to each. The
  // last one carries the immediate (and in IRN recv_WQE_SN).
  const bool irn = GetParam() == TransportMode::kIrn;
  const Bytes middle = Bytes::from_count(1024 + 58 + (irn ? 16 : 0)),
              last = middle + Bytes::from_count(irn ? 8 : 4);
  const Bytes first = irn ? middle : middle + 16_B;
  const Duration serialise = wire_time(first, kRate) + wire_time(middle, kRate) * 98 + wire_time(last, kRate);
  const Duration second_hop = wire_time(last, kRate);
  EXPECT_EQ(Time::from_ps(shared_->end_ps), Time::zero() + 10_us + serialise + kDelay + second_hop + kDelay);
  EXPECT_EQ(segment_->header().detaches.load(), 0u);
}

TEST_P(LiveWriteTest, TwoRunsGiveTheSameDigests) {
  std::array<std::array<std::uint8_t, 32>, 2> digests[2];
  for (auto& run_digests : digests) {
    make_patient_segment(GetParam());
    const auto body = [this](LiveProcess& p, std::uint32_t host) { write_once(p, host, *shared_, 20'000); };
    const pid_t h1 = start(0, body), h2 = start(1, body);
    ASSERT_EQ(run({h1, h2}), (std::vector<int>{0, 0}));
    for (std::size_t i = 0; i < 2; ++i) run_digests[i] = segment_->vfs()[i].result.digest;
    EXPECT_GT(segment_->vfs()[0].result.records, 0u);
  }
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_NE(digests[0][0], digests[0][1]);
}

INSTANTIATE_TEST_SUITE_P(Modes, LiveWriteTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

TEST_F(LivePairTest, SleepsAreExactAndIdleTimeIsJumpedOver) {
  make_segment(TransportMode::kRoce);
  const auto body = [](LiveProcess& p, std::uint32_t host) {
    for (int i = 1; i <= 50; ++i) {
      const Time deadline = Time::zero() + (host == 0 ? 1_s : 333_ms) * i;
      p.sleep_until(deadline);
      ASSERT_EQ(p.now(), deadline);
    }
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::vector<int>{0, 0}));
  EXPECT_GE(segment_->header().committed_ps.load(), (50_s).ps());
}

TEST_F(LivePairTest, ThreadsOfOneProcessWakeInTheirOrderAndEachAtItsTime) {
  make_segment(TransportMode::kRoce);
  const auto body = [](LiveProcess& p, std::uint32_t) {
    std::vector<std::pair<Time, int>> woken;
    std::mutex mutex;
    std::vector<std::thread> threads;
    std::atomic<int> attached{0};
    for (int id = 0; id < 3; ++id) {
      threads.emplace_back([&, id] {
        while (attached != id) std::this_thread::yield();
        p.now();  // the first call decides the order
        p.with_nic([](Nic&, Time) {});
        ++attached;
        while (attached < 3) std::this_thread::yield();
        for (int i = 1; i <= 20; ++i) {
          p.sleep_until(Time::zero() + 10_us * i);
          std::lock_guard lock(mutex);
          woken.emplace_back(p.now(), id);
        }
      });
    }
    for (auto& t : threads) t.join();
    ASSERT_EQ(woken.size(), 60u);
    for (std::size_t i = 0; i < 60; ++i) {
      EXPECT_EQ(woken[i].first, Time::zero() + 10_us * static_cast<std::int64_t>(i / 3 + 1));
      EXPECT_EQ(woken[i].second, static_cast<int>(i % 3));
    }
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::vector<int>{0, 0}));
}

TEST_F(LivePairTest, BlockedSystemCallHoldsTimeForTheGraceOnly) {
  make_segment(TransportMode::kRoce);
  segment_->header().grace_wall_ns = 500'000'000;
  const auto body = [this](LiveProcess& p, std::uint32_t host) {
    p.sleep_until(Time::zero() + 10_us);
    if (host == 0) {
      p.foreign_enter();
      usleep(1'000);  // shorter than the grace: no time passes
      p.foreign_leave();
      ASSERT_EQ(p.now(), Time::zero() + 10_us);
      p.foreign_enter();
      for (int i = 0; i < 10'000 && segment_->header().committed_ps.load() < (1_s).ps(); ++i)
        usleep(1'000);  // longer: the others go on
      p.foreign_leave();
      ASSERT_GE(p.now(), Time::zero() + 1_s);
    } else {
      p.sleep_until(Time::zero() + 1_s);
    }
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::vector<int>{0, 0}));
  EXPECT_GE(segment_->header().detaches.load(), 1u);
}

void compute_for(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Computes for five times the grace, then answers who waits at the pipe.
void answer_late(int pipe) {
  compute_for(std::chrono::milliseconds(100));
  EXPECT_EQ(write(pipe, "x", 1), 1);
}

// The answer comes from a thread that the machine runs late: time must not run on to a timeout first.
TEST_F(LivePairTest, ABlockedThreadHoldsTimeForLongerThanTheGraceBesideOneThatComputes) {
  make_segment(TransportMode::kRoce);
  int other_process[2], other_thread[2];
  ASSERT_EQ(pipe(other_process), 0);
  ASSERT_EQ(pipe(other_thread), 0);
  const auto wait_at = [](LiveProcess& p, int pipe) {
    p.foreign_enter();
    char byte = 0;
    EXPECT_EQ(read(pipe, &byte, 1), 1);
    p.foreign_leave();
    EXPECT_LT(p.now(), Time::zero() + 1_ms) << "time ran on to the timeout";
  };
  const auto body = [&](LiveProcess& p, std::uint32_t host) {
    p.sleep_until(Time::zero() + 10_us);
    if (host == 0) return wait_at(p, other_process[0]);
    std::thread waits([&] { wait_at(p, other_thread[0]); });
    answer_late(other_thread[1]);
    answer_late(other_process[1]);
    p.sleep_until(Time::zero() + 1_s);
    waits.join();
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::vector<int>{0, 0}));
  // A virtual machine may wake the last one so late that nobody seems to run, with its answer there.
  EXPECT_LE(segment_->header().detaches.load(), 1u);
  for (const int end : {other_process[0], other_process[1], other_thread[0], other_thread[1]}) close(end);
}

// The time for which the thread computed before does not count, although its program has held time all along,
// and was asked to go.
TEST_F(LivePairTest, TheGraceBeginsWhenAThreadBlocks) {
  make_segment(TransportMode::kRoce);
  segment_->header().grace_wall_ns = 100'000'000;
  const auto body = [](LiveProcess& p, std::uint32_t host) {
    p.sleep_until(Time::zero() + 10_us);
    for (int i = 0; host == 0 && i < 20; ++i) {
      compute_for(std::chrono::milliseconds(20));
      p.foreign_enter();
      usleep(20'000);
      p.foreign_leave();
      EXPECT_EQ(p.now(), Time::zero() + 10_us);
    }
    p.sleep_until(Time::zero() + 1_s);
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::vector<int>{0, 0}));
  EXPECT_EQ(segment_->header().detaches.load(), 0u);
}

// A name server's thread in accept(2), as libfabric's: nobody may ever come.
TEST_F(LivePairTest, WhoWaitsForWhoeverComesDoesNotKeepTimeFromBeginning) {
  make_segment(TransportMode::kRoce);
  const auto body = [](LiveProcess& p, std::uint32_t) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    std::atomic<bool> waits = false;
    std::thread server([&] {
      p.with_nic([](Nic&, Time) {});
      p.foreign_enter(true);
      waits = true;
      char byte = 0;
      EXPECT_EQ(read(ends[0], &byte, 1), 1);
      p.foreign_leave();
    });
    while (!waits) std::this_thread::yield();
    p.sleep_until(Time::zero() + 10_us);
    EXPECT_GE(p.now(), Time::zero() + 10_us);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    server.join();
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::vector<int>{0, 0}));
}

// Stopped by a debugger, say. At 40 Gb/s it could have sent 100,000 frames meanwhile; it has not.
TEST_F(LivePairTest, WhoStoodStillWhileTimeWentOnSendsItsDataThen) {
  constexpr std::uint32_t kSize = 1 << 20, kWrites = 16;
  make_segment(TransportMode::kRoce);
  segment_->header().grace_wall_ns = segment_->header().stopped_wall_ns = 500'000'000;
  auto* stopped = new (mmap(nullptr, sizeof(std::atomic<pid_t>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<pid_t>(0);
  const auto body = [&](LiveProcess& p, std::uint32_t host) {
    std::vector<std::byte> buffer(kSize);
    Endpoint end(p, host, buffer, *shared_);
    if (host == 1) {
      p.sleep_until(Time::zero() + 100_ms);
      EXPECT_EQ(kill(*stopped, SIGCONT), 0);
      while (segment_->vfs()[0].excluded != 0) std::this_thread::yield();
      p.sleep_until(Time::zero() + 300_ms);
      return;
    }
    p.sleep_until(Time::zero() + 10_us);
    p.with_nic([&](Nic& nic, Time now) {
      for (std::uint32_t i = 0; i < kWrites; ++i) {
        SendWqe wqe{.opcode = WrOpcode::kWrite,
                    .remote_addr = shared_->addr[1],
                    .rkey = RKey{shared_->rkey[1]},
                    .num_sge = 1,
                    .sge = {}};
        wqe.sge[0] = {reinterpret_cast<std::uint64_t>(buffer.data()), kSize, end.key};
        EXPECT_EQ(nic.post_send(end.qpn, wqe, now), PostResult::kOk);
      }
    });
    *stopped = getpid();
    kill(getpid(), SIGSTOP);
    for (std::uint32_t i = 0; i < kWrites; ++i) EXPECT_EQ(end.wait().status, WcStatus::kSuccess);
    EXPECT_GE(p.now(), Time::zero() + 100_ms);
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  EXPECT_EQ(run({h1, h2}), (std::vector<int>{0, 0}));
  EXPECT_GE(segment_->header().detaches.load(), 1u);
  munmap(stopped, sizeof *stopped);
}

TEST_F(LivePairTest, ProcessKilledInMidWindowBlocksNobody) {
  make_segment(TransportMode::kRoce);
  const auto body = [](LiveProcess& p, std::uint32_t host) {
    p.sleep_until(Time::zero() + 10_us);
    if (host == 0) raise(SIGKILL);
    p.sleep_until(Time::zero() + 1_s);
  };
  const pid_t h1 = start(0, body), h2 = start(1, body);
  const auto status = run({h1, h2});
  EXPECT_TRUE(WIFSIGNALED(status[0]));
  EXPECT_EQ(status[1], 0);
}

// A NIC that is to replay a schedule is none without it, and its virtual function stays free.
TEST_F(LivePairTest, AProcessWhoseScheduleCannotBeReadTakesNoVirtualFunction) {
  NicConfig nic;
  nic.slack.law = SlackLaw::kReplay;
  make_segment(nic, 1, 1);
  try {
    join_run(path_.c_str(), "h1");
    FAIL() << "it joined";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "the recorded schedule: No such file or directory");
  }
  EXPECT_EQ(segment_->vfs()[0].pid.load(), 0u);
}

}  // namespace
}  // namespace rocelab::live_test
