#include "core/cluster/peer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/stop.h"

namespace emplace {
namespace {

constexpr char kInterrupted[] = "the run was interrupted";

/// Ends with its one answer.
class CalledBack final : public AnswerSink {
 public:
  explicit CalledBack(Peer::Done done) : done_(std::move(done)) {}
  void take(Answer answer) override {
    const std::unique_ptr<CalledBack> self(this);
    done_(std::move(answer));
  }

 private:
  Peer::Done done_;
};

/// One answer that somebody waits for.
struct Awaited {
  std::mutex mutex;
  std::condition_variable came;
  std::optional<Answer> answer;  // guarded by mutex
};

bool says(const Answer& answer, std::string_view text) { return answer.message.find(text) != std::string::npos; }

}  // namespace

Peer::Peer(Transport& transport, std::string name, std::string address, const TransportOptions& options)
    : name_(std::move(name)),
      address_(std::move(address)),
      dead_after_s_(options.dead_after_s),
      channel_(transport.connect(address_, options)) {}

std::shared_ptr<OutgoingRequest> Peer::send(std::string_view method, std::string body, Done done, double timeout_s) {
  return channel_->send(method, std::move(body), timeout_s, new CalledBack(std::move(done)));
}

Answer Peer::ask(std::string_view method, std::string body, const std::atomic<bool>* stop, double timeout_s) {
  constexpr std::chrono::milliseconds kTick{20};
  constexpr int kPatience = 150;  // ticks; the peer has the same time limit, and knows who did not keep to it
  Answer interrupted{static_cast<int>(Code::kCancelled), kInterrupted, {}};
  if (stop && stop->load(std::memory_order_relaxed)) return interrupted;  // answers may come faster than a tick
  const auto awaited = std::make_shared<Awaited>();
  const auto request = send(
      method, std::move(body),
      [awaited](Answer answer) {
        {
          std::lock_guard lock(awaited->mutex);
          awaited->answer = std::move(answer);
        }
        awaited->came.notify_all();  // without the lock, which whoever wakes needs
      },
      timeout_s);
  bool stopped = false;
  int left = stop ? kPatience : 0;
  std::unique_lock lock(awaited->mutex);
  while (!awaited->came.wait_for(lock, kTick, [&] { return awaited->answer.has_value(); })) {
    if (stopped || !stop) continue;
    const bool late = !stop->load(std::memory_order_relaxed);
    if (late && (stop_status().code() != Code::kDeadlineExceeded || left-- > 0)) continue;
    if (late) interrupted = {static_cast<int>(Code::kDeadlineExceeded), {}, {}};
    stopped = true;
    lock.unlock();
    request->call_off();
    lock.lock();
  }
  if (stopped) return interrupted;
  return std::move(*awaited->answer);
}

std::string why_silent(const Answer& answer, double dead_after_s) {
  if (says(answer, "http1.x server"))
    return "it takes no more connections, because no file descriptor is left there (ulimit -n), or is no emplace serve";
  if (says(answer, "Connection refused")) return "Connection refused";
  if (says(answer, "keepalive") || says(answer, "ping timeout")) return cat("no heartbeat for ", dead_after_s, " s");
  if (says(answer, "wrong version number") || says(answer, "WRONG_VERSION_NUMBER")) return "it does not speak TLS";
  if (says(answer, "andshake failed") || says(answer, "certificate")) {
    if (says(answer, "certificate verify failed"))
      return "TLS: its certificate is not signed by --tls-ca, or has expired";
    const size_t last = answer.message.find_first_not_of(' ', answer.message.rfind(':') + 1);  // npos + 1 is 0
    return cat("TLS: ", answer.message.substr(std::min(last, answer.message.size())));
  }
  if (says(answer, "Cancelling all calls")) return "task is shutting down";
  if (says(answer, "Socket closed") || says(answer, "Transport closed") || says(answer, "reset by peer") ||
      says(answer, "GOAWAY") || says(answer, "Broken pipe") || says(answer, "EOF"))
    return "connection closed";
  return answer.message.empty() ? "no answer" : answer.message;
}

Status Peer::lost(const Answer& answer) const {
  const auto code = static_cast<Code>(answer.code);
  if (code == Code::kCancelled && answer.message != kInterrupted)  // its port was closed
    return unavailable(cat("peer lost: ", text(), " (task is shutting down)")).blamed(kBlamePeer);
  if (code == Code::kUnavailable)
    return unavailable(cat("peer lost: ", text(), " (", why_silent(answer, dead_after_s_), ")")).blamed(kBlamePeer);
  if (code == Code::kDeadlineExceeded) return Status(code, cat(text(), " did not answer in time")).blamed(kBlamePeer);
  return {code, answer.message};
}

Status Peer::restarted() const {
  return Status(Code::kAborted, cat(text(), " restarted; its variables are lost")).blamed(kBlamePeer);
}

}  // namespace emplace
