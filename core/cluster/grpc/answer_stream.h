// The listening end of request_stream.h: what a peer asks on a stream, one request after the other, and the answers.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "core/cluster/grpc/frames.h"

namespace emplace {

/// Lives until gRPC is done with it. Thread-safe.
class AnswerStream final : public grpc::ServerGenericBidiReactor, MessageTurn {
 public:
  /// `run`: of this process. `done`: called at the end, with the stream.
  AnswerStream(grpc::GenericCallbackServerContext* context, RequestHandler* handler, uint64_t run,
               std::function<void(AnswerStream*)> done);

  /// Ends it once its request is answered. Does not wait.
  void close();

 private:
  class Request;

  void OnSendInitialMetadataDone(bool ok) override;
  void turned(Frame in) override;
  void OnCancel() override { lost(); }
  void OnDone() override;
  void lost();
  void answered(Answer answer);
  /// Both with mutex_ held.
  void take_turn(Frame out, bool receives);
  /// Is it to be finished now? REQUIRES: whoever is told so does.
  bool ends();

  grpc::GenericCallbackServerContext* const context_;
  RequestHandler* const handler_;
  const uint64_t run_;
  const std::function<void(AnswerStream*)> done_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<Request> request_;  // that has no answer yet
  bool under_way_ = false, answers_last_ = false;
  bool lost_ = false;  // nobody is at its other end
  bool closing_ = false, finished_ = false, done_with_ = false;
};

}  // namespace emplace
