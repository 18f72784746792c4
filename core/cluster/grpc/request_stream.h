// Requests to one peer, and their answers, as messages of streams that stay open, one request on each at a time. A call
// of its own for each, with its heads and its end, takes twice as long.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/client_callback.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/grpc/frames.h"

namespace emplace {

/// Who waits for an answer on a stream. Either is called, once, on a thread of gRPC, which does not wait.
class StreamedRequest {
 public:
  virtual void answered(AnswerFrame answer) = 0;
  /// The stream has ended before.
  virtual void broken(const grpc::Status& why) = 0;

 protected:
  ~StreamedRequest() = default;
};

class RequestStreams;

/// Lives until gRPC is done with it, whoever else lets go of it.
class RequestStream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>, MessageTurn {
 public:
  static std::shared_ptr<RequestStream> open(grpc::GenericStub& stub, const std::string& token,
                                             std::weak_ptr<RequestStreams> idle);

  /// False: it has ended, and another one is to be taken. REQUIRES: it was taken from RequestStreams for this request.
  bool send(uint64_t number, Frame frame, std::shared_ptr<StreamedRequest> who);
  /// False: the request is not under way here, or no longer. Else it hears of nothing any more. Any thread.
  bool give_up(uint64_t number);
  /// REQUIRES: nobody waits for an answer here.
  void close() { context_.TryCancel(); }

 private:
  RequestStream() = default;
  void turned(Frame in) override;
  void OnDone(const grpc::Status& status) override;
  void end();

  grpc::ClientContext context_;
  std::weak_ptr<RequestStreams> idle_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<RequestStream> self_;   // until gRPC is done with it
  std::shared_ptr<StreamedRequest> who_;  // null: nobody waits
  uint64_t number_ = 0;
  bool under_way_ = false;
  std::optional<grpc::Status> ended_;
};

/// The streams to a peer on which no request is. Thread-safe.
class RequestStreams : public std::enable_shared_from_this<RequestStreams> {
 public:
  RequestStreams(grpc::GenericStub& stub, std::string token) : stub_(stub), token_(std::move(token)) {}
  ~RequestStreams();

  /// The one that was used last, or a new one.
  std::shared_ptr<RequestStream> take();
  void give_back(std::shared_ptr<RequestStream> stream);

 private:
  grpc::GenericStub& stub_;
  const std::string token_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<RequestStream>> idle_;  // guarded by mutex_
};

}  // namespace emplace
