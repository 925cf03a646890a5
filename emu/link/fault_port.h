// FaultPort: decides the fate of each frame that crosses a link in one direction: it passes, vanishes, or
// arrives with one bit flipped. A decorator without I/O: the driver of the link asks it frame by frame, in
// the order of the link, and does what the verdict says. Losses come by list (the n-th data frame, so that a
// test can name its victim) and by rate, from the link's own random stream, so that a link's fate is the same
// in every driver and whatever other links do. PFC frames are not asked about: they never vanish.
#pragma once

#include <cstdint>

#include "base/rng.h"
#include "emu/link/fault_config.h"

namespace rocelab {

struct FaultVerdict {
  enum class Kind : std::uint8_t { kPass, kDrop, kCorrupt };
  Kind kind = Kind::kPass;
  std::uint32_t bit =
      0;  // kCorrupt: which bit to flip, counted from the first corruptible byte's highest bit
  friend bool operator==(const FaultVerdict&, const FaultVerdict&) = default;
};

class FaultPort {
 public:
  // `rng` is this direction's own stream, for example run.fork("fault/s1-eth1").
  FaultPort(const FaultConfig& config, Rng rng);

  // The next frame of the link. `has_payload`: it counts for the drop list. `corruptible`: its bytes behind
  // the IP header, where a flipped bit is noticed by the ICRC and nothing else.
  FaultVerdict on_frame(bool has_payload, std::uint32_t corruptible);

  std::uint64_t data_frames() const { return data_frames_; }

 private:
  bool listed();

  FaultConfig config_;
  Rng rng_;
  std::uint64_t data_frames_ = 0;
  std::uint32_t next_listed_ = 0;
};

}  // namespace rocelab
