// Requests to one peer, and their answers, as messages of one stream that stays open. A call of its own for each, with
// its heads and its end, takes twice as long.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/client_callback.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

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

/// Thread-safe. Lives until gRPC is done with it, whoever else lets go of it.
class RequestStream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  static std::shared_ptr<RequestStream> open(grpc::GenericStub& stub, const std::string& token);

  /// False: it takes no requests any longer, and another one is to be opened.
  bool send(uint64_t number, grpc::ByteBuffer frame, std::shared_ptr<StreamedRequest> who);
  /// False: the request is not under way here, or no longer. Else it hears of nothing any more.
  bool give_up(uint64_t number);
  /// REQUIRES: no request is under way.
  void close() { context_.TryCancel(); }

 private:
  RequestStream() = default;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  std::shared_ptr<StreamedRequest> take(uint64_t number);

  grpc::ClientContext context_;
  grpc::ByteBuffer read_;
  std::shared_ptr<RequestStream> self_;  // until it is done

  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<uint64_t, std::shared_ptr<StreamedRequest>> open_;
  std::deque<grpc::ByteBuffer> to_write_;  // the first is being written
  bool ended_ = false;                     // nothing is written any longer
};

}  // namespace emplace
