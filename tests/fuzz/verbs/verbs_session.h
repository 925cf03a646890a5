// A session of verbs calls, read from any bytes: objects come, are used rightly and wrongly in any state, and
// go. Plain libibverbs; see README.md for what must hold. Aborts, with a line that says why, when it does
// not.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <vector>

namespace rocelab::fuzz {

[[noreturn]] void complain(const char* what);

// What a session reached; for tests that ask whether the bytes got anywhere.
struct SessionCounts {
  std::uint64_t calls = 0, refused = 0, completions = 0, errors = 0, events = 0;
  std::uint64_t xrc = 0;                     // messages that an XRC target has taken
  std::uint64_t binds = 0, invalidated = 0;  // memory windows; by a peer
  std::uint64_t reregistered = 0;
  std::uint64_t moved = 0;  // queue pairs that have another path
};

class VerbsSession {
 public:
  explicit VerbsSession(std::span<const std::uint8_t> bytes);
  ~VerbsSession();  // everything that is left goes, in order; or with the device, when it is closed
  VerbsSession(const VerbsSession&) = delete;
  VerbsSession& operator=(const VerbsSession&) = delete;

  void run();
  const SessionCounts& counts() const { return counts_; }

 private:
  static constexpr std::size_t kRegion = 16'384, kGuard = 4'096, kObjects = 5;

  // verbs_session.cc
  std::uint8_t byte();
  std::uint32_t word() { return std::uint32_t{byte()} << 8 | byte(); }
  template <class T>
  T* pick(const std::vector<T*>& from) {  // one of them, or null
    const std::uint8_t which = byte();
    return from.empty() ? nullptr : from[which % from.size()];
  }
  void step();
  void took(int error);  // a call that answers with an errno
  template <class T>
  void keep(std::vector<T*>& where, T* made) {  // a call that answers with an object
    ++counts_.calls;
    if (made != nullptr) return where.push_back(made);
    ++counts_.refused;
    if (errno <= 0) complain("a call that made nothing does not say why");
  }
  void poll(ibv_cq* cq);
  void note(std::uint64_t wr_id, ibv_wc_status status, ibv_wc_opcode opcode, unsigned flags,
            std::uint32_t qpn);
  void take_events();
  void check_guards() const;
  void wait();
  void destroy_all();

  // verbs_session_objects.cc
  void create();
  void create_cq();
  void create_srq();
  void create_qp();
  void create_xrc_srq(const ibv_srq_attr& attr);
  void create_xrc_qp(ibv_qp_init_attr_ex init);
  void open_qp();
  std::uint32_t srq_number();
  void destroy();
  void change();
  void connect();
  void modify_qp(ibv_qp* qp);
  void drain(ibv_qp* qp);
  ibv_qp_attr attributes(ibv_qp* qp, ibv_qp_state to, int& mask);
  void change_drained(ibv_qp_attr& a, int& mask, bool rc);

  // verbs_session_memory.cc
  void change_memory(std::uint8_t how);
  void bind_first();
  void reregister();
  void change_parents();
  void change_windows();
  ibv_mw_bind_info bind_info();
  using Bind = decltype(ibv_send_wr::bind_mw);
  Bind bind_second();
  std::uint32_t window_key();  // of one of them, as it was given last

  // verbs_session_work.cc
  ibv_sge piece();
  std::uint64_t remote();
  void post_send(ibv_qp* qp);
  void build(ibv_qp* qp);
  void build_one(ibv_qp_ex* qp);
  void build_window(ibv_qp_ex* qp);
  void post_receive();
  void accepted(const std::vector<std::uint64_t>& ids);

  std::span<const std::uint8_t> bytes_;
  const bool destroys_;  // what is left
  SessionCounts counts_;
  ibv_context* context_;
  ibv_pd* pd_;
  ibv_pd* other_pd_;
  ibv_comp_channel* channel_;
  ibv_xrcd* xrcd_;
  ibv_xrcd* other_xrcd_;
  std::vector<std::uint8_t> memory_;
  std::uint8_t* region_;
  ibv_mr* mr_;
  ibv_mr* narrow_mr_;  // half of it, for reading only, of the other domain
  ibv_mr* moving_mr_;  // windows are bound to it, and it is registered anew
  ibv_td* td_;
  ibv_pd* parent_;  // of pd_ and td_
  std::vector<ibv_pd*> parents_;
  std::vector<ibv_mw*> windows_;
  std::vector<ibv_cq*> cqs_;
  std::set<ibv_cq*> extended_;  // of these
  std::vector<ibv_srq*> srqs_;
  std::vector<ibv_qp*> qps_;
  std::vector<ibv_ah*> ahs_;
  std::uint64_t next_wr_id_ = 1;
  std::set<std::uint64_t> posted_;  // accepted and not completed
};

}  // namespace rocelab::fuzz
