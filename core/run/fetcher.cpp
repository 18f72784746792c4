#include "core/run/fetcher.h"

#include <algorithm>
#include <cstring>

#include "core/base/assert.h"
#include "core/base/cat.h"
#include "core/tensor/texts.h"

namespace emplace {
namespace {

// Where the value is; of a reference what it refers to, which `referred` holds.
Result<const Tensor*> result(const PreparedProgram& p, const SlotOperands& operands, size_t i, Tensor& referred) {
  const ValueId v = p.program.fetches[i];
  const InstructionId producer = p.program.values[v].producer;
  if (producer != kNoInstruction && p.program.instructions[producer].may_be_dead && operands.is_dead(v))
    return invalid_argument(cat("Retval[", i, "] does not have value"));
  const Tensor& value = p.values[p.plan.source(v)];
  if (is_ref(value.dtype())) {
    auto read = read_reference(**value.data<Variable*>());
    if (!read.ok()) return p.blame(read.take_status(), producer);
    referred = read.take();
    return &referred;
  }
  EMPLACE_ASSERT(value.valid(), "a fetched value that is not dead was made by its instruction");
  return &value;
}

Status make_room(const PreparedProgram& p, const Tensor& value, InstructionId producer, Tensor& out) {
  const bool fits = out.valid() && out.dtype() == value.dtype() && out.shape() == value.shape() && out.buffer() &&
                    out.buffer().use_count() == 1;
  if (fits) return ok_status();
  Result<Tensor> room = Tensor::allocate(value.dtype(), value.shape());
  if (!room.ok()) return p.blame(room.take_status(), producer);
  out = room.take();
  return ok_status();
}

}  // namespace

// All copies from GPUs are enqueued first, then each is waited for, even after one has failed.
Status Fetcher::fetch(std::vector<Tensor>& outputs) {
  outputs.resize(p_.program.fetches.size());
  const GpuTurn turn(p_.runtime, p_.gpus);
  Status status;
  for (size_t i = 0; i < outputs.size() && status.ok(); ++i) status = start(i, outputs[i]);
  for (const auto& [gpu, ticket] : under_way_) {
    if (Status done = gpu->finish(ticket); status.ok()) status = std::move(done);
  }
  under_way_.clear();
  return status;
}

Status Fetcher::start(size_t i, Tensor& out) {
  const ValueId v = p_.program.fetches[i];
  Tensor referred;
  ASSIGN_OR_RETURN(const Tensor* found, result(p_, operands_, i, referred));
  const Tensor& value = *found;
  RETURN_IF_ERROR(make_room(p_, value, p_.program.values[v].producer, out));
  ASSIGN_OR_RETURN(Gpu * gpu, p_.gpu_of(v));
  if (gpu) {
    if (out.size_bytes() == 0) return ok_status();
    ASSIGN_OR_RETURN(const uint64_t ticket,
                     gpu->copy_out(out.raw(), value.raw(), out.size_bytes(), Gpu::Lane::kCompute));
    under_way_.emplace_back(gpu, ticket);
    return ok_status();
  }
  if (value.dtype() == DType::kString) return p_.blame(copy_texts(value, out), p_.program.values[v].producer);
  if (value.size_bytes() > 0) std::memcpy(out.raw(), value.raw(), value.size_bytes());
  return ok_status();
}

}  // namespace emplace
