// What ThreadSanitizer cannot see, as Debian's gRPC is compiled without it: what was done before an operation was begun
// has been done for whoever hears of its end. The plug-in that has this in it is asked before gRPC's own libraries for
// these functions, also by gRPC's C++ classes.
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <sanitizer/tsan_interface.h>

namespace {

char server_started;

template <class F>
F* next(const char* name, F* /*same type*/) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define HERE extern "C" __attribute__((visibility("default")))

HERE grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t count, void* tag,
                                           void* reserved) {
  static auto* const kNext = next("grpc_call_start_batch", &grpc_call_start_batch);
  __tsan_release(tag);
  return kNext(call, ops, count, tag, reserved);
}

HERE grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline, void* reserved) {
  static auto* const kNext = next("grpc_completion_queue_next", &grpc_completion_queue_next);
  const grpc_event event = kNext(queue, deadline, reserved);
  __tsan_acquire(&server_started);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

HERE void grpc_server_start(grpc_server* server) {
  static auto* const kNext = next("grpc_server_start", &grpc_server_start);
  __tsan_release(&server_started);
  kNext(server);
}
