/// Peer: another task of the cluster, as whoever sends it requests sees it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/exit_code.h"
#include "core/cluster/message.h"
#include "core/cluster/transport.h"

namespace emplace {

/// Thread-safe.
class Peer {
 public:
  /// `name`: "/job:worker/replica:0/task:1", empty while it is not known.
  Peer(Transport& transport, std::string name, std::string address, const TransportOptions& options);

  const std::string& name() const { return name_; }
  const std::string& address() const { return address_; }
  /// "/job:worker/replica:0/task:1 localhost:2223".
  std::string text() const { return name_.empty() ? address_ : name_ + " " + address_; }

  using Done = std::function<void(Answer)>;
  /// Returns at once; `done` is called on a thread of the transport and must not wait for others.
  std::shared_ptr<OutgoingRequest> send(std::string_view method, std::string body, Done done, double timeout_s = 0);
  /// Waits for the answer. `stop`, if set, calls the request off: Cancelled.
  Answer ask(std::string_view method, std::string body, const std::atomic<bool>* stop = nullptr, double timeout_s = 0);
  /// The same with messages. An answer that is none: lost().
  template <class Reply, class Request>
  Result<Reply> call(std::string_view method, const Request& request, const std::atomic<bool>* stop = nullptr,
                     double timeout_s = 0) {
    ASSIGN_OR_RETURN(std::string body, message::write(request));
    const Answer answer = ask(method, std::move(body), stop, timeout_s);
    if (answer.code != 0) return lost(answer);
    return message::read<Reply>(answer.body);
  }

  /// What a request that ended so says of the peer: "peer lost: ... (connection closed)", blamed on it; of an error
  /// that it answered itself, that one.
  Status lost(const Answer& answer) const;
  /// It knows nothing of a session that it had: "... restarted; its variables are lost".
  Status restarted() const;

 private:
  const std::string name_, address_;
  const double dead_after_s_;
  const std::unique_ptr<PeerChannel> channel_;
};

/// Why a peer did not answer, in few words: "Connection refused", "connection closed", "no heartbeat for 15 s".
std::string why_silent(const Answer& answer, double dead_after_s);

}  // namespace emplace
