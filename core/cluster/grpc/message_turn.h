// A message out and the next one in, as one operation of gRPC. As two, which is all that its classes offer, they are
// two packets and two wake-ups more: asking for a message sends an update of the stream's window, and what has left
// wakes a thread to say so.
#pragma once

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>

#include <memory>

namespace emplace {

struct DestroyBuffer {
  void operator()(grpc_byte_buffer* buffer) const { grpc_byte_buffer_destroy(buffer); }
};
using Frame = std::unique_ptr<grpc_byte_buffer, DestroyBuffer>;

/// Lives until turned() is called, which may begin the next one.
class MessageTurn : private grpc_completion_queue_functor {
 public:
  MessageTurn(const MessageTurn&) = delete;
  MessageTurn& operator=(const MessageTurn&) = delete;

 protected:
  MessageTurn() : grpc_completion_queue_functor{&MessageTurn::run, 0, 0, nullptr} {}
  virtual ~MessageTurn() = default;

  /// `out` null: nothing is sent; `receives`: the next message is waited for. REQUIRES: none is under way.
  void start_turn(grpc_call* call, Frame out, bool receives = true);
  /// On a thread of gRPC, never within start_turn(). Null: there is none, the stream is over or was not to be read.
  virtual void turned(Frame in) = 0;

 private:
  static void run(grpc_completion_queue_functor* self, int ok);

  Frame out_;
  grpc_byte_buffer* in_ = nullptr;
};

}  // namespace emplace
