// HostTrace: what becomes of a VF's trace records: the hash, and the event file that results and pictures are
// made from. Event file: TraceRecords as they lie in memory, of deliveries some (is_kept_hop); and every
// sample interval, one kSample record per flow that received data (flow = local QPN, bytes = frame bytes
// delivered so far, psn = 0).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/trace.h"
#include "base/trace_hash.h"
#include "emu/record/event_file.h"

namespace rocelab {

class HostTrace final : public TraceSink {
 public:
  // `path` empty: no event file. `sample_interval` zero: no samples. Throws std::runtime_error: the file
  // cannot be made.
  HostTrace(std::string path, Duration sample_interval);
  ~HostTrace() override;
  Digest digest() { return hash_.digest(); }
  std::uint64_t records() const { return records_; }  // hashed so far
  void flush();
  // Who is told, in a line, that the event file cannot be written (the disk is full), and does not return;
  // without it, std::runtime_error is thrown.
  void set_on_failure(std::function<void(const std::string&)> f) { on_failure_ = std::move(f); }
  // Messages whose bytes are all in memory, and who is told of each.
  std::uint64_t placed() const { return placed_; }
  void set_on_placed(std::function<void()> f) { on_placed_ = std::move(f); }

 private:
  struct Flow {
    std::uint64_t bytes = 0, sampled = 0;
  };
  void on_record(const TraceRecord& r) override;
  void sample(Time now);
  void write(const TraceRecord& r);
  [[noreturn]] void fail();

  TraceHash hash_;
  std::uint64_t records_ = 0, placed_ = 0;
  std::function<void()> on_placed_;
  std::function<void(const std::string&)> on_failure_;
  EventFile file_;
  Duration sample_interval_;
  Time next_sample_;
  std::map<std::uint32_t, Flow> flows_;  // ordered: samples come out in the same order everywhere
};

}  // namespace rocelab
