#include "verbs_app/flows/transfer.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "verbs_app/flows/pattern.h"

// Of librocelab_verbs.so; null on another device.
extern "C" [[gnu::weak]] int rocelab_announce_flow(ibv_qp* qp, std::uint32_t packets);
extern "C" [[gnu::weak]] int rocelab_close_at_once(ibv_qp* qp);

namespace rocelab::app {
namespace {

constexpr std::uint64_t kWindowBytes = 16u << 20;  // a buffer that does not hold the whole flow

ibv_qp_type qp_type(Service service) {
  return service == Service::kRc ? IBV_QPT_RC : service == Service::kUc ? IBV_QPT_UC : IBV_QPT_UD;
}

[[noreturn]] void refuse(const char* call, const Flow& flow, int error) {
  throw std::runtime_error("flow " + std::to_string(flow.id) + ": " + call + ": " + std::strerror(error));
}

}  // namespace

std::uint64_t buffer_bytes(const TransferScript& script, bool whole) {
  const std::uint64_t all = script.buffer_bytes(), message = script.flow().message_size;
  if (whole || all != script.flow().size) return all;
  const std::uint64_t window = std::max<std::uint64_t>(1, kWindowBytes / message) * message;
  return std::min(all, window);
}

Transfer::Transfer(const Flow& flow, bool is_source, std::uint32_t slot, const TransferOptions& options,
                   std::byte* buffer, std::uint64_t buffer_size)
    : script_(flow, is_source, slot, options),
      options_(options),
      buffer_(buffer),
      buffer_size_(buffer_size) {}

// --- setting up

void Transfer::share(SharedLanes& shared, std::vector<Transfer>& all) {
  shared_ = &shared;
  all_ = &all;
  shared.add(script_.slot(), flow().start_ns(), script_.lanes());
}

std::size_t Transfer::own_lanes() const {
  if (!owns_lanes()) return 0;
  return shared_ != nullptr ? shared_->lanes() : script_.lanes();
}

void Transfer::borrow_lanes() {
  if (owns_lanes()) return;
  for (const Lane& of : (*all_)[shared_->owner()].lanes_) {
    Lane lane;
    lane.qp = of.qp;
    lane.local = of.local;
    lane.local.addr = reinterpret_cast<std::uintptr_t>(buffer_);
    lanes_.push_back(std::move(lane));
  }
}

// The flow has ended: its source has what it waits for, and its destination has answered for `settle`.
void Transfer::destroy_lanes() {
  for (Lane& lane : lanes_) {
    if (rocelab_close_at_once != nullptr) rocelab_close_at_once(lane.qp);
    lane.qp = nullptr, lane.owned.reset();
  }
}

void Transfer::create_lanes(Rdma& rdma) {
  lkey_ = rdma.lkey();
  for (std::size_t i = 0; i < own_lanes(); ++i) {
    Lane lane;
    const LaneDepths depths = shared_ != nullptr ? script_.shared_depths() : script_.depths(i);
    lane.owned = rdma.create_qp({.send = depths.send, .recv = depths.recv}, qp_type(flow().service));
    lane.qp = lane.owned.get();
    lane.local = rdma.endpoint(*lane.qp, script_.first_psn(i));
    lane.local.addr = reinterpret_cast<std::uintptr_t>(buffer_);
    lane.local.rkey = rdma.rkey();
    lanes_.push_back(std::move(lane));
  }
}

std::string Transfer::local_endpoints() const {
  std::string bytes;
  for (const Lane& lane : lanes_) bytes.append(reinterpret_cast<const char*>(&lane.local), sizeof lane.local);
  return bytes;
}

void Transfer::connect(Rdma& rdma, const std::string& remote_endpoints) {
  if (remote_endpoints.size() != lanes_.size() * sizeof(Endpoint))
    throw std::runtime_error("flow " + std::to_string(flow().id) + ": the peer has another number of QPs");
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    std::memcpy(&lanes_[i].remote, remote_endpoints.data() + i * sizeof(Endpoint), sizeof(Endpoint));
  if (shared_ != nullptr && owns_lanes() && !is_requester())
    for (const std::uint32_t slot : shared_->members()) shared_->join(slot, (*all_)[slot].script_.lanes());
  for (std::size_t i = 0; i < own_lanes(); ++i) {
    if (!is_requester()) fill_lane(i, 0);  // before the peer can send
    rdma.connect(*lanes_[i].qp, lanes_[i].local, lanes_[i].remote, flow().traffic_class());
    if (flow().service == Service::kUd && is_requester()) {
      lanes_[i].ah = rdma.create_ah(lanes_[i].remote, flow().traffic_class());
      if (rocelab_announce_flow != nullptr)
        rocelab_announce_flow(lanes_[i].qp, static_cast<std::uint32_t>(flow().requests()));
    }
  }
}

std::vector<std::uint32_t> Transfer::local_qpns() const {
  std::vector<std::uint32_t> qpns;
  for (const Lane& lane : lanes_) qpns.push_back(lane.local.qpn);
  return qpns;
}

std::vector<std::uint32_t> Transfer::remote_qpns() const {
  std::vector<std::uint32_t> qpns;
  for (const Lane& lane : lanes_) qpns.push_back(lane.remote.qpn);
  return qpns;
}

// --- posting

ibv_sge Transfer::sge(const WorkRequest& request) const {
  return {.addr = reinterpret_cast<std::uintptr_t>(buffer_) + request.offset % buffer_size_,
          .length = request.length,
          .lkey = lkey_};
}

void Transfer::post_send(std::size_t index, const WorkRequest& request) {
  static constexpr ibv_wr_opcode kOpcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};
  const Lane& lane = lanes_[index];
  ibv_sge part = sge(request);
  ibv_send_wr wr{};
  wr.wr_id = request.wr_id;
  wr.sg_list = &part;
  wr.num_sge = 1;
  wr.opcode = kOpcodes[static_cast<std::size_t>(flow().op)];
  wr.send_flags = request.signaled ? IBV_SEND_SIGNALED : 0;
  if (flow().op != Op::kSend) {
    wr.wr.rdma.remote_addr = lane.remote.addr + request.offset % buffer_size_;
    wr.wr.rdma.rkey = lane.remote.rkey;
  }
  if (lane.ah) wr.wr.ud = {.ah = lane.ah.get(), .remote_qpn = lane.remote.qpn, .remote_qkey = Rdma::kQkey};
  if (request.immediate) {
    wr.opcode = flow().op == Op::kSend ? IBV_WR_SEND_WITH_IMM : IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.imm_data = htonl(request.imm);
  }
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(lane.qp, &wr, &bad); error != 0) refuse("ibv_post_send", flow(), error);
}

void Transfer::post_recv(std::size_t index, const WorkRequest& request) {
  ibv_sge part = sge(request);
  ibv_recv_wr wr{};
  wr.wr_id = request.wr_id;
  wr.sg_list = &part;
  wr.num_sge = request.length > 0 ? 1 : 0;
  ibv_recv_wr* bad = nullptr;
  if (const int error = ibv_post_recv(lanes_[index].qp, &wr, &bad); error != 0)
    refuse("ibv_post_recv", flow(), error);
}

bool Transfer::post_next(std::size_t index, std::int64_t now) {
  const std::optional<WorkRequest> request = script_.next(index, now - epoch_);
  if (!request) return false;
  if (is_requester()) {
    post_send(index, *request);
  } else {
    post_recv(index, *request);
  }
  return true;
}

void Transfer::fill_lane(std::size_t index, std::int64_t now) {
  if (shared_ != nullptr)
    return shared_->fill(index, [&](std::uint32_t slot) { return (*all_)[slot].post_next(index, now); });
  while (post_next(index, now)) {
  }
}

// --- running

void Transfer::start(std::int64_t now) {
  record_.posted = now;
  if (shared_ != nullptr) shared_->join(script_.slot(), script_.lanes());
  if (!script_.time_is_up(now - epoch_)) fill(now);  // else its alarm comes at once
}

void Transfer::fill(std::int64_t now) {
  for (std::size_t i = 0; i < script_.lanes(); ++i) fill_lane(i, now);
}

bool Transfer::completed(const ibv_wc& wc, std::int64_t now) {
  const std::size_t lane = TransferScript::lane_of(wc.wr_id);
  const std::uint64_t before = script_.outstanding(lane);
  const bool over = script_.on_completion(wc.wr_id);
  if (shared_ != nullptr) {
    shared_->completed(lane, before - script_.outstanding(lane));
    fill_lane(lane, now);  // the next flow's, too
  }
  return over;
}

void Transfer::request_done(const ibv_wc& wc, std::int64_t now) {
  if (!completed(wc, now)) return fill_lane(TransferScript::lane_of(wc.wr_id), now);
  record_.cqe = now;
  record_.bytes = flow().size;
  record_.status = "ok";
  if (!is_source()) record_.placed = now;  // READ: the data is here
}

void Transfer::receive_done(const ibv_wc& wc, std::int64_t now) {
  const bool over = completed(wc, now), has_imm = (wc.wc_flags & IBV_WC_WITH_IMM) != 0;
  const auto imm = has_imm ? std::optional<std::uint32_t>(ntohl(wc.imm_data)) : std::nullopt;
  if (!script_.on_arrival(imm, wc.byte_len, now - epoch_)) return fail("what has come is not this flow's");
  if (flow().numbered())
    record_.bytes = script_.arrivals().bytes;
  else if (flow().op == Op::kSend)
    record_.bytes += wc.byte_len;
  if (flow().numbered() && options_.verify) verify_message(wc, flow().part(*imm));
  if (record_.over()) return;
  if (!over) return fill_lane(TransferScript::lane_of(wc.wr_id), now);
  if (flow().op == Op::kWrite) record_.bytes = flow().size;
  record_.placed = now;
  record_.status = record_.bytes == flow().size ? "ok" : "short";
}

void Transfer::on_completion(const ibv_wc& wc, std::int64_t now) {
  if (record_.over()) return;  // what is flushed after a failure
  if (wc.status != IBV_WC_SUCCESS) return fail(ibv_wc_status_str(wc.status));
  if (is_requester()) {
    request_done(wc, now);
  } else {
    receive_done(wc, now);
  }
}

void Transfer::stop() {
  record_.status = is_source() ? "stopped" : "settled";
  if (!is_source() || (shared_ != nullptr && !shared_->stop())) return;
  for (const Lane& lane : lanes_) Rdma::drain(*lane.qp);
}

void Transfer::fail(const std::string& why) {
  if (!record_.over()) record_.status = why;
}

void Transfer::finish_passive() {
  if (record_.over()) return;
  record_.status = "ok";
  record_.bytes = flow().size;
}

// A WRITE's bytes are in their place; a SEND's where its receive was.
void Transfer::verify_message(const ibv_wc& wc, const Part& part) {
  const std::uint64_t begin = flow().op == Op::kWrite ? part.offset : script_.receive_offset(wc.wr_id);
  const auto wrong = find_mismatch(flow().id, {buffer_ + begin, part.length}, part.offset);
  record_.verified = !wrong;
  if (wrong) fail("payload of a message differs at byte " + std::to_string(*wrong));
}

void Transfer::verify() {
  if (flow().numbered()) return;  // its messages were, as they came
  const std::optional<std::uint64_t> wrong = find_mismatch(flow().id, {buffer_, flow().size});
  record_.verified = !wrong;
  if (wrong) record_.status = "payload differs at byte " + std::to_string(*wrong);
}

}  // namespace rocelab::app
