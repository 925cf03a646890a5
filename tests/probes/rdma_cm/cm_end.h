// For the claims about rdma_cm: one event channel with an identifier, and the steps that programs take. Knows
// librdmacm and POSIX only.
#pragma once

#include <gtest/gtest.h>
#include <rdma/rdma_cma.h>

#include <memory>
#include <string>

namespace rocelab::probe {

inline constexpr char kOwnAddress[] = "10.0.0.1", kNobodysAddress[] = "10.0.0.99";

sockaddr_in address(const char* ip, std::uint16_t port);

// An event, acknowledged when it goes.
struct Acknowledge {
  void operator()(rdma_cm_event* event) const { rdma_ack_cm_event(event); }
};
using CmEvent = std::unique_ptr<rdma_cm_event, Acknowledge>;

class CmEnd {
 public:
  explicit CmEnd(rdma_port_space space = RDMA_PS_TCP);
  ~CmEnd();
  CmEnd(const CmEnd&) = delete;
  CmEnd& operator=(const CmEnd&) = delete;

  CmEvent next();                                    // waits
  CmEvent expect(rdma_cm_event_type type);           // waits; fails the test on another
  void listen(std::uint16_t port);                   // on any address
  void resolve(const char* ip, std::uint16_t port);  // address and route
  void make_qp(rdma_cm_id* of);
  int connect(const std::string& private_data = "");

  rdma_event_channel* channel = nullptr;
  rdma_cm_id* id = nullptr;
};

}  // namespace rocelab::probe
