// clang-format off
// A control frame is a codec: one type in a file of its own, registered by a line in base/wire/controls.h. The
// type is the body that the frame's Packet carries: trivially copyable, at most
// Packet::kControlBytes, with == and
//
//   static constexpr bool kLinkLocal;    // it ends at the next node; else it is feedback to a flow's source
//   static constexpr std::size_t kSize;  // the longest frame, from the destination MAC on, without FCS
//   std::string to_string(const T&);     // one line
//
// and its bytes. A body that has all that its frame says, but for the sender's MAC:
//
//   static std::optional<T> parse(std::span<const std::byte> frame);  // untrusted; null: not a good one
//   void write(std::span<std::byte, kSize> out, const MacAddress& sender) const;
//
// or, where the body names nodes and the frame their addresses (both ends of a routed frame do):
//
//   static bool read(std::span<const std::byte> frame, Packet&, const ControlNodes&);  // by put_control()
//   static void write(const Packet&, const ControlAddresses&, std::span<std::byte, kSize> out);
//
// Optional:
//
//   void label(Packet&) const;           // sets what a trace or a queue looks at: class, flow, ends
//   std::uint32_t frame_bytes() const;   // where frames differ in length; feedback may be longer than kSize, if its
//                                        // write() takes a span of any size: that of frame_bytes()
//
// Feedback also says which of its bytes a link's faults damage, and how a switch reads it:
//
//   static constexpr std::size_t kTransportAt;
//   std::uint32_t transport_bytes() const;
//   static bool view(std::span<const std::byte> frame, FrameView&);
// clang-format on
#pragma once

#include <cstdint>

#include "base/packet.h"
#include "base/wire/ethernet.h"
#include "base/wire/frame.h"

namespace rocelab {

struct FrameView;

// Addresses of the run, for codecs that write.
class ControlAddresses {
 public:
  virtual ~ControlAddresses() = default;
  virtual MacAddress sender() const = 0;                      // of a link-local frame
  virtual MacAddress point(std::uint32_t address) const = 0;  // of the port that is this congestion point
  virtual MacAddress mac(NodeId host) const = 0;
  virtual std::uint32_t ipv4(NodeId host) const = 0;
  virtual Gid gid(NodeId host, bool ipv6) const = 0;
};

// Nodes of the run, for codecs that read at a NIC.
class ControlNodes {
 public:
  virtual ~ControlNodes() = default;
  virtual NodeId node_of(std::uint32_t ipv4) const = 0;  // kNoNode: none that this NIC knows
};

}  // namespace rocelab
