#include "verbs_app/common/tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "verbs_app/common/clock.h"

namespace rocelab::app {
namespace {

constexpr std::size_t kHeader = 8;
constexpr std::uint32_t kMaxFrame = 64u << 20;  // a longer one is not from a program of ours
constexpr std::int64_t kRetryNs = 50 * kNsPerMs;

std::string why(int error) { return std::strerror(error); }

sockaddr_in to_address(const std::string& address, std::uint16_t port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &a.sin_addr) != 1)
    throw std::runtime_error("'" + address + "' is not an IPv4 address");
  return a;
}

std::uint32_t load(const char* p) {
  std::uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return ntohl(v);
}

}  // namespace

Connection::Connection(int fd, std::string peer) : fd_(fd), peer_(std::move(peer)) {
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}
Connection::Connection(Connection&& other) noexcept { *this = std::move(other); }
Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(peer_, other.peer_);
  std::swap(pending_, other.pending_);
  return *this;
}
Connection::~Connection() { close(); }

void Connection::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Connection::fail(const char* what, int error) {
  throw std::runtime_error(peer_ + ": " + what + (error != 0 ? ": " + why(error) : ""));
}

void Connection::set_timeout(int seconds) {
  const timeval tv{.tv_sec = seconds, .tv_usec = 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
}

void Connection::send(std::uint32_t type, std::string_view bytes) {
  std::string frame(kHeader, '\0');
  const std::uint32_t header[2] = {htonl(type), htonl(static_cast<std::uint32_t>(bytes.size()))};
  std::memcpy(frame.data(), header, kHeader);
  frame += bytes;
  for (std::size_t sent = 0; sent < frame.size();) {
    const ssize_t n = ::send(fd_, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot send", errno);
    sent += static_cast<std::size_t>(n);
  }
}

// Bytes added to pending_; 0: would have to wait.
std::size_t Connection::read_some(int flags) {
  char buffer[65536];
  while (true) {
    const ssize_t n = ::recv(fd_, buffer, sizeof buffer, flags);
    if (n > 0) {
      pending_.append(buffer, static_cast<std::size_t>(n));
      return static_cast<std::size_t>(n);
    }
    if (n == 0) fail("closed the connection", 0);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) fail("cannot receive", errno);
  }
}

std::optional<Frame> Connection::take_frame() {
  if (pending_.size() < kHeader) return std::nullopt;
  const std::uint32_t length = load(pending_.data() + 4);
  if (length > kMaxFrame) fail("sent something that is not a frame", 0);
  if (pending_.size() < kHeader + length) return std::nullopt;
  Frame frame{.type = load(pending_.data()), .bytes = pending_.substr(kHeader, length)};
  pending_.erase(0, kHeader + length);
  return frame;
}

Frame Connection::receive() {
  while (true) {
    if (std::optional<Frame> frame = take_frame()) return std::move(*frame);
    if (read_some(0) == 0) fail("sent nothing in time", 0);
  }
}

std::optional<Frame> Connection::try_receive() {
  if (std::optional<Frame> frame = take_frame()) return frame;
  if (read_some(MSG_DONTWAIT) == 0) return std::nullopt;
  return take_frame();
}

Listener::Listener(const std::string& address, std::uint16_t port)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in a = to_address(address, port);
  if (::bind(fd_, reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0 || ::listen(fd_, 1024) != 0) {
    const int error = errno;
    ::close(fd_);
    throw std::runtime_error("cannot listen on " + address + " port " + std::to_string(port) + ": " +
                             why(error));
  }
}

Listener::~Listener() { ::close(fd_); }

Connection Listener::accept(int timeout_seconds) {
  pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
  if (::poll(&p, 1, timeout_seconds * 1'000) <= 0) throw std::runtime_error("no peer connected in time");
  sockaddr_in a{};
  socklen_t length = sizeof a;
  const int fd = ::accept4(fd_, reinterpret_cast<sockaddr*>(&a), &length, SOCK_CLOEXEC);
  if (fd < 0) throw std::runtime_error("accept: " + why(errno));
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &a.sin_addr, text, sizeof text);
  return Connection(fd, text);
}

Connection connect_to(const std::string& address, std::uint16_t port, int timeout_seconds) {
  const sockaddr_in a = to_address(address, port);
  const std::int64_t give_up = monotonic_ns() + timeout_seconds * kNsPerSecond;
  while (true) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) throw std::runtime_error("socket: " + why(errno));
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0) return Connection(fd, address);
    const int error = errno;
    ::close(fd);
    if (monotonic_ns() >= give_up)
      throw std::runtime_error("cannot connect to " + address + " port " + std::to_string(port) + ": " +
                               why(error));
    sleep_until(monotonic_ns() + kRetryNs);
  }
}

}  // namespace rocelab::app
