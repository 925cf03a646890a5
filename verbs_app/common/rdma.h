// One RDMA device as these programs use it: a protection domain, one CQ with its channel, memory, and queue
// pairs, RC but where another type is said. Owners close in the order that verbs want. All failures throw
// std::runtime_error that names the call, its errno and what it was for.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace rocelab::app {

struct PathOptions {
  int gid_index = 1;
  int mtu = 1024;    // bytes
  int timeout = 14;  // 4.096 us * 2^timeout, 0: none
  int retry_count = 7;
  int rnr_retry = 7;  // 7: for ever
  int traffic_class = 0;
};

// What a peer needs to connect a QP of ours, and to write to us. Plain bytes: it is sent as it is, between
// programs of one build.
struct Endpoint {
  std::uint32_t qpn = 0, psn = 0;
  std::uint8_t gid[16] = {};
  std::uint16_t lid = 0;
  std::uint64_t addr = 0;
  std::uint32_t rkey = 0;
};

struct QueueDepths {
  int send = 0, recv = 0, send_sge = 1, recv_sge = 1, inline_bytes = 0;
};

template <class T, int (*destroy)(T*)>
struct Destroyer {
  void operator()(T* t) const { destroy(t); }
};
template <class T, int (*destroy)(T*)>
using Owned = std::unique_ptr<T, Destroyer<T, destroy>>;

using OwnedQp = Owned<ibv_qp, ibv_destroy_qp>;
using OwnedAh = Owned<ibv_ah, ibv_destroy_ah>;

class Rdma {
 public:
  // `device`: its name, or empty for the first one.
  Rdma(const std::string& device, const PathOptions& path, int cq_entries);
  Rdma(const Rdma&) = delete;
  Rdma& operator=(const Rdma&) = delete;

  void register_memory(void* addr, std::size_t length);
  std::uint32_t lkey() const { return mr_->lkey; }
  std::uint32_t rkey() const { return mr_->rkey; }
  ibv_cq* cq() const { return cq_.get(); }
  ibv_comp_channel* channel() const { return channel_.get(); }

  static constexpr std::uint32_t kQkey = 0x11111111;  // of UD queue pairs
  // In INIT: receives may be posted.
  OwnedQp create_qp(const QueueDepths& depths, ibv_qp_type type = IBV_QPT_RC);
  // Where datagrams to the endpoint go.
  OwnedAh create_ah(const Endpoint& remote, std::optional<std::uint8_t> traffic_class);
  Endpoint endpoint(const ibv_qp& qp, std::uint32_t psn) const;
  // To RTS; a UD queue pair needs neither an address nor a traffic class. `traffic_class`: null: that of the
  // options.
  void connect(ibv_qp& qp, const Endpoint& local, const Endpoint& remote,
               std::optional<std::uint8_t> traffic_class = std::nullopt);
  static void drain(ibv_qp& qp);  // to SQD: it ends the message that it is sending, and begins no other

 private:
  ibv_ah_attr address(const Endpoint& remote, std::optional<std::uint8_t> traffic_class) const;

  PathOptions path_;
  Owned<ibv_context, ibv_close_device> context_;
  Owned<ibv_pd, ibv_dealloc_pd> pd_;
  Owned<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
  Owned<ibv_cq, ibv_destroy_cq> cq_;
  Owned<ibv_mr, ibv_dereg_mr> mr_;
  ibv_gid gid_{};
  std::uint16_t lid_ = 0;
};

}  // namespace rocelab::app
