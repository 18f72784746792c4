// Acceptor: takes connections. gRPC's own listener takes none any more once a file descriptor was lacking (1.51); here
// such a connection is refused, and later ones are taken.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace emplace {

class Acceptor {
 public:
  Acceptor() = default;
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// "127.0.0.1:2222", "[::1]:0" (any port that is free), "0.0.0.0:2222" (all addresses, of IPv6 too). Returns why not;
  /// empty: it listens.
  std::string listen(const std::string& address);
  int port() const { return port_; }

  using Take = std::function<void(int listener, int connection)>;
  using Refuse = std::function<void()>;
  /// From now on, until the end, on a thread of its own. `take` owns the connection. `refuse` is called where one was
  /// refused. `goodbye`: what is said to it.
  void start(Take take, Refuse refuse, std::string goodbye);
  void stop();

 private:
  void serve();
  void accept_all(int listener);
  void refuse(int connection);

  std::vector<int> listeners_;
  int port_ = 0, wake_ = -1;
  Take take_;
  Refuse refuse_;
  std::string goodbye_;
  std::thread thread_;
};

}  // namespace emplace
