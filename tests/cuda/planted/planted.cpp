// The plug-in on the stand-in with an error planted: EMPLACE_PLANTED=OP:write lets a kernel of that op write one
// element behind its last output (or its variable), OP:read read one behind its last input, each in device memory.
// Guard mode has to find it (scripts/guard-check). The linker hands every call of kernel_table() to us (--wrap).
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cuda/kernel_table.h"
#include "cuda/launch.h"
#include "cuda/standin/memory.h"

extern "C" const emplace::cuda::KernelTable& __real__ZN7emplace4cuda12kernel_tableEv();

namespace emplace::cuda {
namespace {

struct Plan {
  std::string op;
  bool writes = false;
  Plan() {
    const char* text = std::getenv("EMPLACE_PLANTED");
    if (!text) return;
    op = text;
    writes = op.ends_with(":write");
    op.resize(op.find(':'));
  }
};
const Plan& plan() {
  static const Plan kPlan;
  return kPlan;
}

__global__ void overrun_kernel(unsigned char* end, size_t bytes, bool writes) {
  for (size_t i = 0; i < bytes; ++i) {
    volatile unsigned char* byte = end + i;
    const unsigned char held = *byte;
    if (writes) *byte = held;
  }
}

class Overrunning final : public Kernel {
 public:
  explicit Overrunning(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  Status prepare(KernelContext& c) override { return kernel_->prepare(c); }
  Workspace workspace() const override { return kernel_->workspace(); }
  Status run(KernelContext& c) override {
    const Tensor in = last_on_device(c.inputs_);
    RETURN_IF_ERROR(kernel_->run(c));
    const Tensor over = plan().writes ? written(c) : in;
    if (!over.valid()) return ok_status();
    std::fprintf(stderr, "planted %s:%s\n", plan().op.c_str(), plan().writes ? "write" : "read");
    return launch(Barriers::kNone, overrun_kernel, dim3(1), dim3(1), 0, stream_of(c),
                  static_cast<unsigned char*>(over.raw()) + over.size_bytes(), storage_size(over.dtype()),
                  plan().writes);
  }

 private:
  static Tensor written(KernelContext& c) {
    const bool handle = c.num_inputs() > 0 && c.input(0).raw() &&
                        (is_ref(c.input(0).dtype()) || c.input(0).dtype() == DType::kResource);
    return last_on_device(handle ? std::span<const Tensor>(&c.variable(0).value, 1) : c.outputs_);
  }
  static Tensor last_on_device(std::span<const Tensor> tensors) {
    Tensor found;
    for (const Tensor& t : tensors) {
      if (t.valid() && t.raw() && t.size_bytes() > 0 && standin::is_device_memory(t.raw())) found = t;
    }
    return found;
  }
  std::unique_ptr<Kernel> kernel_;
};

// An op has a maker for each set of types.
constexpr size_t kMostMakers = 8;
std::array<KernelMaker, kMostMakers> originals;
size_t planted = 0;
template <size_t i>
Result<std::unique_ptr<Kernel>> plant(const KernelInit& init) {
  ASSIGN_OR_RETURN(auto kernel, originals[i](init));
  return std::unique_ptr<Kernel>(std::make_unique<Overrunning>(std::move(kernel)));
}
template <size_t... i>
KernelMaker plant_in_place_of(KernelMaker original, std::index_sequence<i...>) {
  static constexpr KernelMaker kMakers[] = {plant<i>...};
  originals[planted] = original;
  return kMakers[planted++];
}

KernelTable with_error() {
  KernelTable table;
  for (const auto& [op, entries] : __real__ZN7emplace4cuda12kernel_tableEv().entries()) {
    for (const KernelTable::Entry& e : entries) {
      const bool chosen = e.maker && op == plan().op;
      const KernelMaker maker = chosen ? plant_in_place_of(e.maker, std::make_index_sequence<kMostMakers>()) : e.maker;
      if (!maker)
        table.add_host_code(op, e.types);
      else if (e.waits)
        table.add_waiting(op, e.types, maker);
      else if (e.gives_way)
        table.add_giving_way(op, e.types, maker);
      else
        table.add(op, e.types, maker);
    }
  }
  return table;
}

}  // namespace
}  // namespace emplace::cuda

extern "C" const emplace::cuda::KernelTable& __wrap__ZN7emplace4cuda12kernel_tableEv() {
  static const emplace::cuda::KernelTable kTable = emplace::cuda::with_error();
  return kTable;
}
