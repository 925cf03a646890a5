// Side: one end of the connection that rocelab_perf measures: a QP, a buffer, and counting completions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "verbs_app/common/rdma.h"
#include "verbs_app/common/tcp.h"
#include "verbs_app/flows/flow_list.h"

namespace rocelab::app {

class Side {
 public:
  static constexpr int kSendDepth = 128, kRecvDepth = 512;

  // Opens the device, connects to the peer's Side by way of `tcp`, and posts all receives.
  Side(Connection& tcp, const std::string& device, const PathOptions& path, std::uint32_t max_size,
       std::uint32_t psn);

  // Posts one message; waits for room in the send queue. `notify`: the peer gets a completion for it (always
  // so for SEND, by immediate data for WRITE, never for READ).
  void post(Op op, std::uint32_t size, bool notify);
  void wait_sent();                         // until everything posted is complete
  void wait_received(std::uint64_t count);  // until the peer's messages were `count` in all
  std::uint64_t received() const { return received_; }
  void linger();  // for a peer whose last ACK was lost

 private:
  void post_receive();
  void poll();

  std::vector<std::byte> buffer_;
  Rdma rdma_;
  OwnedQp qp_;
  Endpoint remote_;
  std::uint64_t posted_ = 0, sent_ = 0, received_ = 0;
};

}  // namespace rocelab::app
