#include "irn_provider/realtime/receive_ring.h"

#include <linux/sock_diag.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace rocelab::direct {
namespace {

constexpr std::uint32_t kBlockBytes = 1 << 16;  // what the kernel allocates at a time
constexpr std::size_t kBytes = std::size_t{ReceiveRing::kSlotBytes} * ReceiveRing::kSlots;
constexpr std::size_t kLongestArrival = (1 << 16) + 64;  // an IP packet's limit, and Ethernet's header
constexpr int kMostErrors = 8;                           // of the socket, before its queue is thrown away
// A small frame's, behind the kernel's words: another processor has written them, and each takes its time to
// come.
constexpr std::size_t kCacheLine = 64, kSmallFrameLines = 3;
static_assert(kBlockBytes % ReceiveRing::kSlotBytes == 0 && kBytes % kBlockBytes == 0);

template <class T>
void set(int fd, int option, const T& value, const char* what) {
  if (setsockopt(fd, SOL_PACKET, option, &value, sizeof value) != 0)
    throw std::runtime_error(std::string("the kernel refuses its packet socket ") + what + ": " +
                             std::strerror(errno));
}

std::uint32_t& status_of(std::byte* slot) { return reinterpret_cast<tpacket2_hdr*>(slot)->tp_status; }

std::size_t segment_of(const KernelHeader& kernel) {
  return kernel.type == KernelHeader::kUdpTrain ? kernel.segment_bytes : std::size_t{0};
}

}  // namespace

ReceiveRing::ReceiveRing(int fd)
    : fd_(fd),
      bytes_(std::make_unique_for_overwrite<std::byte[]>(FramePort::kReceiveBatch * kLongestArrival)) {
  set(fd, PACKET_VERSION, int{TPACKET_V2}, "slots of version 2");
  set(fd, PACKET_VNET_HDR, 1, "trains");
  set(fd, PACKET_COPY_THRESH, 1, "a queue beside slots");
  const tpacket_req ring{.tp_block_size = kBlockBytes,
                         .tp_block_nr = kBytes / kBlockBytes,
                         .tp_frame_size = kSlotBytes,
                         .tp_frame_nr = kSlots};
  set(fd, PACKET_RX_RING, ring, "8 MiB of slots");
  void* at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED)
    throw std::runtime_error(std::string("cannot map a packet socket's slots: ") + std::strerror(errno));
  slots_ = static_cast<std::byte*>(at);
  madvise(at, kBytes, MADV_DONTFORK);  // a child has no NIC
  for (std::uint32_t i = 0; i < FramePort::kReceiveBatch; ++i) {
    parts_[2 * i] = {&headers_[i], sizeof(KernelHeader)};
    parts_[2 * i + 1] = {bytes_.get() + i * kLongestArrival, kLongestArrival};
    messages_[i].msg_hdr.msg_iov = &parts_[2 * i];
    messages_[i].msg_hdr.msg_iovlen = 2;
  }
}

ReceiveRing::~ReceiveRing() { munmap(slots_, kBytes); }

bool ReceiveRing::is_ours(std::uint64_t i) const {
  return (std::atomic_ref(status_of(slot(i))).load(std::memory_order_acquire) & TP_STATUS_USER) != 0;
}

std::span<const FramePort::Arrival> ReceiveRing::receive() {
  std::size_t found = 0, queued = 0;
  for (taken_ = 0; taken_ < FramePort::kReceiveBatch && is_ours(next_ + taken_); ++taken_) {
    std::byte* const at = slot(next_ + taken_);
    for (std::size_t line = 1; line <= kSmallFrameLines; ++line) __builtin_prefetch(at + line * kCacheLine);
    const auto& header = *reinterpret_cast<const tpacket2_hdr*>(at);
    if ((header.tp_status & TP_STATUS_COPY) != 0) {
      queued_[queued++] = found++;
    } else if (header.tp_snaplen < header.tp_len) {
      ++cut_;
    } else {
      KernelHeader kernel;
      std::memcpy(&kernel, at + header.tp_mac - sizeof kernel, sizeof kernel);
      arrivals_[found++] = {{at + header.tp_mac, header.tp_snaplen}, segment_of(kernel), {}};
    }
  }
  if (queued > 0) take_queued(queued);
  const auto nothing = [](const FramePort::Arrival& arrival) { return arrival.bytes.empty(); };
  const auto end =
      std::remove_if(arrivals_.begin(), arrivals_.begin() + static_cast<std::ptrdiff_t>(found), nothing);
  return {arrivals_.begin(), end};
}

// The queue has the long frames, in the order of their slots. A slot whose frame is missing is a lost frame;
// a frame that stayed behind would come in the place of the next one, and all later ones behind it.
void ReceiveRing::take_queued(std::size_t count) {
  std::size_t got = 0;
  for (int errors = 0; got < count && errors < kMostErrors;) {
    const int n = recvmmsg(fd_, &messages_[got], static_cast<unsigned>(count - got), MSG_DONTWAIT, nullptr);
    if (n > 0) {
      got += static_cast<std::size_t>(n);
    } else if (n == 0 || errno == EAGAIN) {
      break;
    } else if (++errors == kMostErrors) {  // one tells that the interface went down: it is no frame's
      while (recv(fd_, nullptr, 0, MSG_DONTWAIT) >= 0) {
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    FramePort::Arrival& arrival = arrivals_[queued_[i]];
    const std::size_t length = i < got ? messages_[i].msg_len : 0;
    arrival = {};
    if (length <= sizeof(KernelHeader)) continue;
    arrival.bytes = {bytes_.get() + i * kLongestArrival,
                     std::min(length - sizeof(KernelHeader), kLongestArrival)};
    arrival.segment = segment_of(headers_[i]);
  }
}

void ReceiveRing::release() {
  for (; taken_ > 0; --taken_)
    std::atomic_ref(status_of(slot(next_++))).store(TP_STATUS_KERNEL, std::memory_order_release);
}

bool ReceiveRing::fuller_than(double part) const {
  if (is_ours(next_ + static_cast<std::uint64_t>(part * kSlots))) return true;
  std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t size = sizeof info;
  return getsockopt(fd_, SOL_SOCKET, SO_MEMINFO, info.data(), &size) == 0 &&
         info[SK_MEMINFO_RMEM_ALLOC] > part * info[SK_MEMINFO_RCVBUF];
}

}  // namespace rocelab::direct
