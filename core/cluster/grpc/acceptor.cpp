#include "core/cluster/grpc/acceptor.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace emplace {
namespace {

/// So many descriptors stay free for what goes on: files, connections to other tasks.
constexpr rlim_t kSpare = 16;
constexpr int kPauseMs = 100;  // when not even that many are left
constexpr int kGoodbyeMs = 20;

rlim_t most_descriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/// As many as the system lets this process have, within reason.
void raise_limit_of_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, 1 << 16));
  setrlimit(RLIMIT_NOFILE, &limit);
}

struct Addresses {
  addrinfo* first = nullptr;
  ~Addresses() {
    if (first) freeaddrinfo(first);
  }
};

void set_port(sockaddr* address, int port) {
  auto& of = address->sa_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(address)->sin6_port
                                            : reinterpret_cast<sockaddr_in*>(address)->sin_port;
  of = htons(static_cast<uint16_t>(port));
}

int port_of(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return 0;
  return ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&own)->sin6_port
                                         : reinterpret_cast<sockaddr_in*>(&own)->sin_port);
}

/// -1: see errno.
int listening_socket(const addrinfo& at, bool also_ipv4) {
  const int made = socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return -1;
  const int on = 1, only = also_ipv4 ? 0 : 1;
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // not SO_REUSEPORT: two tasks would share the port
  if (at.ai_family == AF_INET6) setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
  if (bind(made, at.ai_addr, at.ai_addrlen) == 0 && listen(made, SOMAXCONN) == 0) return made;
  const int why = errno;
  close(made);
  errno = why;
  return -1;
}

}  // namespace

Acceptor::~Acceptor() {
  stop();
  for (const int listener : listeners_) close(listener);
  if (wake_ >= 0) close(wake_);
}

std::string Acceptor::listen(const std::string& address) {
  raise_limit_of_files();
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return "no port in " + address;
  std::string host = address.substr(0, colon), port = address.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool all = host == "0.0.0.0" || host == "::";
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC, hints.ai_socktype = SOCK_STREAM, hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  Addresses found;
  if (const int why = getaddrinfo(all ? nullptr : host.c_str(), port.c_str(), &hints, &found.first); why != 0)
    return gai_strerror(why);
  int why = 0;
  for (const int family : {AF_INET6, AF_INET}) {
    for (const addrinfo* at = found.first; at; at = at->ai_next) {
      if (at->ai_family != family || (all && !listeners_.empty())) continue;
      if (port_ != 0) set_port(at->ai_addr, port_);  // one port for all addresses of the name
      const int listener = listening_socket(*at, all);
      if (listener < 0) {
        why = why == EADDRINUSE ? why : errno;
        continue;
      }
      listeners_.push_back(listener);
      port_ = port_of(listener);
    }
  }
  if (listeners_.empty() || why == EADDRINUSE) return std::strerror(why);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return wake_ < 0 ? std::strerror(errno) : std::string();
}

void Acceptor::start(Take take, Refuse refuse, std::string goodbye) {
  take_ = std::move(take), refuse_ = std::move(refuse), goodbye_ = std::move(goodbye);
  thread_ = std::thread([this] { serve(); });
}

void Acceptor::stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  static_cast<void>(!write(wake_, &one, sizeof one));
  thread_.join();
}

void Acceptor::serve() {
  std::vector<pollfd> watched{{wake_, POLLIN, 0}};
  for (const int listener : listeners_) watched.push_back({listener, POLLIN, 0});
  for (;;) {
    if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return;
    if (watched[0].revents) return;
    for (size_t i = 1; i < watched.size(); ++i) {
      if (watched[i].revents) accept_all(watched[i].fd);
    }
  }
}

void Acceptor::accept_all(int listener) {
  for (;;) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) {
      const bool lacks = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (!lacks) return;
      refuse_();
      pollfd wake{wake_, POLLIN, 0};
      poll(&wake, 1, kPauseMs);  // it stays in the queue
      return;
    }
    if (const rlim_t most = most_descriptors(); static_cast<rlim_t>(connection) + kSpare >= most) {
      refuse(connection);
      continue;
    }
    const int on = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    take_(listener, connection);
  }
}

// What the other end has said is read: if it were not, closing would take the goodbye back.
void Acceptor::refuse(int connection) {
  send(connection, goodbye_.data(), goodbye_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(connection, SHUT_WR);
  pollfd said{connection, POLLIN, 0};
  char bytes[1024];
  if (poll(&said, 1, kGoodbyeMs) > 0) static_cast<void>(!recv(connection, bytes, sizeof bytes, MSG_DONTWAIT));
  close(connection);
  refuse_();
}

}  // namespace emplace
