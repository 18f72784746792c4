#include "core/cluster/lasting_requests.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/base/status.h"

namespace emplace {
namespace {

constexpr std::chrono::seconds kKept{10};     // an answer that nobody has said to have
constexpr std::chrono::seconds kSenders{60};  // one that is silent, and waits for nothing
constexpr size_t kMostRanges = 1000;          // of numbers of a sender

Answer cancelled(const char* why) { return {static_cast<int>(Code::kCancelled), why, {}}; }

size_t bytes_of(const Answer& answer) { return answer.shared ? answer.shared->size() : 0; }

}  // namespace

/// What the handler sees.
class LastingRequests::Lasting final : public IncomingRequest, public std::enable_shared_from_this<Lasting> {
 public:
  Lasting(LastingRequests& all, IncomingRequest& first)
      : all_(all), first_(first), method_(first.method()), body_(std::move(first.body())), by(&first) {}

  std::string_view method() const override { return method_; }
  std::string& body() override { return body_; }
  void answer(Answer answer) override {
    const auto self = shared_from_this();
    std::lock_guard lock(calling);
    std::string().swap(body_);  // its memory, too
    all_.answered(self, std::move(answer));
  }
  bool stay() override { return first_.stay(); }
  bool is_awaited() const override {
    std::lock_guard lock(all_.mutex_);
    return by != nullptr;
  }

 private:
  LastingRequests& all_;
  IncomingRequest& first_;  // while it is handled
  const std::string method_;
  std::string body_;

 public:
  std::mutex calling;  // held while the handler hears that it is called off, which answer() waits for
  // Guarded by all_.mutex_.
  IncomingRequest* by;      // who brought it last, and waits; null: nobody
  Clock::time_point since;  // it was answered, or nobody waits
  RequestId id;
  bool is_answered = false, is_called_off = false;
  Answer kept;
};

LastingRequests::LastingRequests(RequestHandler& handler, double mend_s)
    : handler_(handler),
      mend_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(mend_s))),
      thread_([this] { serve(); }) {}

LastingRequests::~LastingRequests() { close(); }

LastingRequests::Sender& LastingRequests::sender_of(const RequestId& id) {
  if (senders_.empty()) changed_.notify_all();  // serve() waits for the first
  Sender& sender = senders_[id.sender];
  sender.seen = Clock::now();
  sender.answered_below = std::max(sender.answered_below, id.answered_below);
  sender.done.erase_below(sender.answered_below);
  Requests& all = sender.requests;
  for (auto at = all.begin(); at != all.end() && at->first < sender.answered_below;) {
    const auto which = at++;
    if (which->second->is_answered) forget(all, which);
  }
  return sender;
}

void LastingRequests::forget(Requests& requests, Requests::iterator which) {
  kept_bytes_ -= bytes_of(which->second->kept);
  requests.erase(which);
}

void LastingRequests::handle(IncomingRequest* request) {
  const RequestId id = request->id();
  if (id.sender == 0) return handler_.handle(request);
  if (request->method() == kCallOffMethod) return call_off_asked(request);
  std::shared_ptr<Lasting> made;
  Answer answer;
  {
    std::lock_guard lock(mutex_);
    Sender& sender = sender_of(id);
    const auto found = sender.requests.find(id.number);
    if (sender.done.contains(id.number)) {
      // Its answer is the empty one.
    } else if (found == sender.requests.end() && id.number >= sender.answered_below) {
      made = std::make_shared<Lasting>(*this, *request);
      made->id = id;
      sender.requests.emplace(id.number, made);
      by_[request] = made;
    } else if (found == sender.requests.end()) {
      answer = cancelled("its sender has the answer");
    } else if (found->second->is_answered) {
      answer = found->second->kept;
    } else {
      Lasting& same = *found->second;
      same.by ? gone_.push_back(same.by) : static_cast<void>(--waiting_);
      by_.erase(same.by);
      same.by = request;
      by_[request] = found->second;
      changed_.notify_all();
      return;
    }
  }
  made ? handler_.handle(made.get()) : request->answer(std::move(answer));
}

void LastingRequests::call_off_asked(IncomingRequest* request) {
  const uint64_t number = std::strtoull(request->body().c_str(), nullptr, 10);
  std::vector<std::shared_ptr<Lasting>> off;
  {
    std::lock_guard lock(mutex_);
    Sender& sender = sender_of(request->id());
    const auto found = sender.requests.find(number);
    if (found != sender.requests.end() && !found->second->is_called_off) off.push_back(found->second);
    for (const auto& one : off) one->is_called_off = true;
  }
  call_off(off);
  request->answer({});
}

void LastingRequests::called_off(IncomingRequest* request) {
  if (request->id().sender == 0) return handler_.called_off(request);
  std::lock_guard lock(mutex_);
  const auto found = by_.find(request);
  if (found == by_.end()) return;
  found->second->by = nullptr;
  found->second->since = Clock::now();
  ++waiting_;
  by_.erase(found);
  gone_.push_back(request);
  changed_.notify_all();
}

void LastingRequests::answered(const std::shared_ptr<Lasting>& which, Answer answer) {
  Lasting& request = *which;
  if (!answer.body.empty()) answer.shared = std::make_shared<const std::string>(std::exchange(answer.body, {}));
  IncomingRequest* by = nullptr;
  {
    std::lock_guard lock(mutex_);
    request.is_answered = true;
    request.since = Clock::now();
    by = std::exchange(request.by, nullptr);
    by ? static_cast<void>(by_.erase(by)) : static_cast<void>(--waiting_);
    keep(request, answer);
  }
  if (by) by->answer(std::move(answer));
}

// Of what was only to be done, as pieces are that were pushed, a number is enough: thousands may have come and gone
// since the oldest request that its sender waits for, and what is kept of each lies between freed messages.
void LastingRequests::keep(Lasting& request, const Answer& answer) {
  const auto sender = senders_.find(request.id.sender);
  if (answer.code == 0 && bytes_of(answer) == 0 && sender != senders_.end() &&
      sender->second.done.num_ranges() < kMostRanges) {
    sender->second.done.add(request.id.number);
    sender->second.requests.erase(request.id.number);
    return;
  }
  const bool has_room = kept_bytes_ + bytes_of(answer) <= kMostKeptBytes;
  request.kept = has_room ? answer : Answer{static_cast<int>(Code::kDataLoss), "the answer was not kept", {}};
  kept_bytes_ += bytes_of(request.kept);
}

void LastingRequests::call_off(const std::vector<std::shared_ptr<Lasting>>& requests) {
  for (const std::shared_ptr<Lasting>& request : requests) {
    std::lock_guard calling(request->calling);
    {
      std::lock_guard lock(mutex_);
      if (request->is_answered) continue;
    }
    handler_.called_off(request.get());
  }
}

std::vector<std::shared_ptr<LastingRequests::Lasting>> LastingRequests::take_due(Clock::time_point now) {
  std::vector<std::shared_ptr<Lasting>> due;
  for (auto sender = senders_.begin(); sender != senders_.end();) {
    Requests& all = sender->second.requests;
    for (auto at = all.begin(); at != all.end();) {
      const auto which = at++;
      Lasting& request = *which->second;
      if (request.is_answered) {
        if (now - request.since >= kKept) forget(all, which);
      } else if (!request.by && !request.is_called_off && (closing_ || now - request.since >= mend_)) {
        request.is_called_off = true;
        due.push_back(which->second);
      }
    }
    sender = all.empty() && now - sender->second.seen >= kSenders ? senders_.erase(sender) : std::next(sender);
  }
  return due;
}

void LastingRequests::serve() {
  constexpr std::chrono::milliseconds kLook{50};
  constexpr std::chrono::seconds kSweep{1};
  std::unique_lock lock(mutex_);
  for (;;) {
    const std::vector<IncomingRequest*> gone = std::exchange(gone_, {});
    const auto due = take_due(Clock::now());
    const bool ends = closing_;
    lock.unlock();
    for (IncomingRequest* request : gone) request->answer(cancelled("its connection was lost"));
    call_off(due);
    lock.lock();
    if (ends && gone_.empty()) return;
    const auto is_woken = [&] { return !gone_.empty() || closing_; };
    if (waiting_ > 0)
      changed_.wait_for(lock, kLook, is_woken);
    else if (!senders_.empty())
      changed_.wait_for(lock, kSweep, is_woken);
    else
      changed_.wait(lock, [&] { return is_woken() || !senders_.empty(); });
  }
}

void LastingRequests::close() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

size_t LastingRequests::size() const {
  std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const auto& [id, sender] : senders_) sum += sender.requests.size();
  return sum;
}

}  // namespace emplace
