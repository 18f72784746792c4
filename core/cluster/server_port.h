/// ServerPort: the port of a task: its requests outlive connections, and what it had to refuse is told.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/status.h"
#include "core/cluster/lasting_requests.h"
#include "core/cluster/transport.h"

namespace emplace {

class ServerPort final : public RequestHandler {
 public:
  using Say = std::function<void(const std::string&)>;
  /// `handler` outlives it; `say`, which may be empty, gets a line at most every 10 s, on any thread.
  ServerPort(RequestHandler& handler, Say say) : lasting_(handler), say_(std::move(say)) {}

  /// Unknown: the port is taken.
  Status listen(Transport& transport, const std::string& address, const TransportOptions& options);
  /// REQUIRES: listen().
  int number() const { return port_->number(); }
  /// Ends all requests.
  void close();

  void handle(IncomingRequest* request) override { lasting_.handle(request); }
  void called_off(IncomingRequest* request) override { lasting_.called_off(request); }
  void connection_refused(const std::string& why) override;

 private:
  LastingRequests lasting_;
  const Say say_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::chrono::steady_clock::time_point told_{};
  int64_t refused_ = 0;  // since then
  std::unique_ptr<ListeningPort> port_;
};

}  // namespace emplace
