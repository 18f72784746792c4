/// MpiTransport: requests between the processes of an MPI job, so that servers and sessions are the same as over gRPC.
/// An address is a rank. There are no ports, and nobody from outside of the job can send anything.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/cluster/message_passing.h"
#include "core/cluster/transport.h"

namespace emplace {

/// Thread-safe.
class MpiTransport final : public Transport {
 public:
  /// `ranks` must outlive it.
  explicit MpiTransport(MessagePassing& ranks);
  ~MpiTransport();
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  /// "rank:1".
  static std::string address(int rank);
  /// The rank of such an address; -1: it is none.
  static int rank_of(const std::string& address);
  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }
  /// What it sends with.
  MessagePassing& ranks() const { return ranks_; }

  PeerChannel* connect(const std::string& address, const TransportOptions& options) override;
  /// At most one at a time, whose number is the rank.
  ListeningPort* listen(const std::string& address, const TransportOptions& options, RequestHandler* handler,
                        std::string* error) override;

  /// Called by all ranks when they have nothing more to say; waits for the others, but not for ever. Only the
  /// destructor may follow.
  void finish();

 private:
  struct Trailer;
  class Channel;
  class Port;
  class Incoming;
  class Outgoing;
  using Clock = std::chrono::steady_clock;
  struct Pending {
    AnswerSink* sink;
    int to;
    std::optional<Clock::time_point> deadline;
  };

  /// Another rank's message, or this rank's own to itself.
  void post(int to, std::string body, std::string_view text, Trailer trailer);
  void arrived(int from, std::string message);
  void request_arrived(int from, uint64_t id, std::string method, std::string body);
  void answer_arrived(uint64_t id, Answer answer);
  void call_off_arrived(int from, uint64_t id);

  uint64_t send_request(int to, std::string_view method, std::string body, double timeout_s, AnswerSink* sink);
  void call_off(int to, uint64_t id);
  void answer(int to, uint64_t id, Answer answer);
  void listen_with(RequestHandler* handler);

  /// Does it on the thread that calls sinks and handlers.
  void later(std::function<void()> work);
  void serve();
  void stop();
  void end_late_requests();

  MessagePassing& ranks_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<std::function<void()>> work_;
  bool busy_ = false;  // something was sent: an answer may come soon
  uint64_t last_id_ = 0;
  std::map<uint64_t, Pending> pending_;                                 // requests of this rank, by number
  std::map<std::pair<int, uint64_t>, std::shared_ptr<Incoming>> open_;  // requests to it, by rank and number

  std::mutex handler_mutex_;  // held while the handler is called
  RequestHandler* handler_ = nullptr;

  std::atomic<bool> closing_ = false;
  std::thread thread_;
};

}  // namespace emplace
