// The listening end of request_stream.h: what a peer asks on one stream, and the answers.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "core/cluster/grpc/frames.h"

namespace emplace {

/// Lives until gRPC is done with it. Thread-safe.
class AnswerStream final : public grpc::ServerGenericBidiReactor {
 public:
  /// `run`: of this process. `done`: called at the end, with the stream.
  AnswerStream(RequestHandler* handler, uint64_t run, std::function<void(AnswerStream*)> done);

  /// Ends it once all requests are answered. Does not wait.
  void close();

 private:
  class Request;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { lost(); }
  void OnDone() override;
  void lost();
  void read_next();
  void answered(Request& request, Answer answer);
  void write(const grpc::ByteBuffer& frame);
  /// With mutex_ held: is it to be finished now? REQUIRES: whoever is told so does.
  bool ends();

  RequestHandler* const handler_;
  const uint64_t run_;
  const std::function<void(AnswerStream*)> done_;
  grpc::ByteBuffer read_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<Request*, std::shared_ptr<Request>> open_;
  std::deque<grpc::ByteBuffer> to_write_;  // the first is being written
  bool lost_ = false;                      // nobody is at its other end
  bool closing_ = false, finished_ = false;
};

}  // namespace emplace
