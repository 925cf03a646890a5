#include "ovs_patches/netdev/captures.h"

#include <algorithm>
#include <stdexcept>

namespace rocelab {

void Captures::start(const std::string& path, std::span<const std::uint32_t> ports,
                     SwitchCapture::Owner owner) {
  if (std::ranges::any_of(all_, [&](const auto& c) { return c->path() == path; }))
    throw std::runtime_error(path + ": a capture goes there already");
  std::vector<const PortEntry*> entries;
  for (const std::uint32_t port : ports) entries.push_back(&ports_[port]);
  all_.push_back(std::make_unique<SwitchCapture>(path, entries, owner));
  for (std::uint32_t i = 0; i < ports.size(); ++i) taps_[ports[i]].push_back({all_.back().get(), i});
}

std::string Captures::stop(const std::string& path) {
  const auto found = std::ranges::find_if(all_, [&](const auto& c) { return c->path() == path; });
  if (found == all_.end()) return path + ": no capture goes there";
  SwitchCapture& capture = **found;
  capture.commit();
  capture.flush();
  const bool failed = capture.failed();
  drop(capture);
  return failed ? path + ": the capture could not be written; is the disk full?" : "";
}

void Captures::add(std::uint32_t port, Time time, std::span<const std::byte> frame,
                   PcapngDirection direction) {
  for (const Tap& tap : taps_[port]) tap.capture->add(tap.port, time, frame, direction);
}

void Captures::commit() {
  for (const auto& capture : all_) capture->commit();
}

void Captures::flush() {
  std::vector<const SwitchCapture*> abandoned;
  for (const auto& capture : all_) {
    capture->flush();
    if (capture->abandoned()) abandoned.push_back(capture.get());
  }
  for (const SwitchCapture* capture : abandoned) drop(*capture);
}

const SwitchCapture* Captures::failed() const {
  const auto found = std::ranges::find_if(
      all_, [](const auto& c) { return c->failed() && c->owner() == SwitchCapture::Owner::kRun; });
  return found != all_.end() ? found->get() : nullptr;
}

void Captures::drop(const SwitchCapture& capture) {
  for (auto& taps : taps_) std::erase_if(taps, [&](const Tap& tap) { return tap.capture == &capture; });
  std::erase_if(all_, [&](const auto& c) { return c.get() == &capture; });
}

}  // namespace rocelab
