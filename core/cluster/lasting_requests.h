/// LastingRequests: requests outlive the connection that they came by. Whoever lost it sends the same request again, by
/// another one: it is done once, and answered there.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/cluster/number_ranges.h"
#include "core/cluster/transport.h"

namespace emplace {

/// Thread-safe. Stands between a transport and the handler of its requests; those without an id just pass.
class LastingRequests final : public RequestHandler {
 public:
  /// `handler` outlives it; `mend_s`: so long after its connection was lost, a request is called off.
  explicit LastingRequests(RequestHandler& handler, double mend_s = kMend_s);
  ~LastingRequests();
  LastingRequests(const LastingRequests&) = delete;
  LastingRequests& operator=(const LastingRequests&) = delete;

  void handle(IncomingRequest* request) override;
  void called_off(IncomingRequest* request) override;
  /// Nothing more comes: what nobody waits for is called off now. To be called after the port was closed.
  void close();

  /// Answers with content that may be asked for again, and requests that are not answered.
  size_t size() const;
  /// Of answers that are kept in case they are asked for again.
  static constexpr size_t kMostKeptBytes = size_t{256} << 20;

 private:
  using Clock = std::chrono::steady_clock;
  class Lasting;
  using Requests = std::map<uint64_t, std::shared_ptr<Lasting>>;  // by number
  struct Sender {
    uint64_t answered_below = 0;
    Clock::time_point seen;
    Requests requests;
    NumberRanges done;  // answered with nothing but that they are done
  };

  void call_off_asked(IncomingRequest* request);
  void answered(const std::shared_ptr<Lasting>& request, Answer answer);
  void call_off(const std::vector<std::shared_ptr<Lasting>>& requests);
  // With mutex_ held.
  Sender& sender_of(const RequestId& id);
  void forget(Requests& requests, Requests::iterator which);
  void keep(Lasting& request, const Answer& answer);
  std::vector<std::shared_ptr<Lasting>> take_due(Clock::time_point now);
  void serve();

  RequestHandler& handler_;
  const Clock::duration mend_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::map<uint64_t, Sender> senders_;
  std::map<IncomingRequest*, std::shared_ptr<Lasting>> by_;  // what a request of the transport brought
  std::vector<IncomingRequest*> gone_;                       // whose connection was lost: to be answered
  size_t kept_bytes_ = 0, waiting_ = 0;                      // waiting_: requests that nobody waits for
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace emplace
