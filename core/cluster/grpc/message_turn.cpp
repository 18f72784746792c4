#include "core/cluster/grpc/message_turn.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace emplace {

void MessageTurn::start_turn(grpc_call* call, Frame out, bool receives) {
  out_ = std::move(out);
  in_ = nullptr;
  grpc_op ops[2] = {};
  size_t count = 0;
  if (out_) {
    ops[count].op = GRPC_OP_SEND_MESSAGE;
    ops[count++].data.send_message.send_message = out_.get();
  }
  if (receives) {
    ops[count].op = GRPC_OP_RECV_MESSAGE;
    ops[count++].data.recv_message.recv_message = &in_;
  }
  const grpc_call_error error =
      grpc_call_start_batch(call, ops, count, static_cast<grpc_completion_queue_functor*>(this), nullptr);
  if (error == GRPC_CALL_OK) return;
  // Only misuse is told so, as two that are under way at once; a call that has ended lets them fail later.
  std::fprintf(stderr, "libemplace_cluster.so: %s\n", grpc_call_error_to_string(error));
  std::abort();
}

void MessageTurn::run(grpc_completion_queue_functor* functor, int /*ok*/) {
  auto* self = static_cast<MessageTurn*>(functor);
  self->out_.reset();
  self->turned(Frame(std::exchange(self->in_, nullptr)));
}

}  // namespace emplace
