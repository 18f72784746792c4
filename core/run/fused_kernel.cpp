#include "core/run/fused_kernel.h"

#include <algorithm>
#include <unordered_map>

namespace emplace {
namespace {

constexpr int64_t kTileElements = BlockReduction::kBlock;
constexpr size_t kAlignment = 64;

std::byte* aligned(std::vector<std::byte>& bytes) {
  auto address = reinterpret_cast<uintptr_t>(bytes.data());
  return bytes.data() + ((kAlignment - address % kAlignment) % kAlignment);
}

void* offset_pointer(size_t offset) { return reinterpret_cast<void*>(offset); }

}  // namespace

/// What a thread needs for a multi-tile group; grows to the largest and stays.
struct FusedKernel::Scratch {
  std::vector<std::byte> registers;
  std::vector<const void*> inputs;
  std::vector<void*> outs;
  static Scratch& of_thread() {
    thread_local Scratch scratch;
    return scratch;
  }
};

/// Instructions and registers of a group.
class FusedKernel::Builder {
 public:
  Builder(FusedKernel& kernel, const FusedGroup& group, const Program& program, const Plan& plan,
          const std::vector<BoundStep>& steps)
      : k_(kernel), group_(group), program_(program), plan_(plan), steps_(steps) {}

  void build() {
    int64_t tile = std::min(group_.elements, kTileElements);
    find_last_readers();
    for (StepId id : group_.steps) add(id, tile);
    if (group_.reduction != kNoStep) add_reduction();
    k_.register_bytes_ = num_registers_ * register_size(tile);
  }

 private:
  bool in_register(ValueId v) const { return plan_.values[v].storage == Storage::kTile; }
  ValueId buffer(ValueId v) const { return plan_.values[v].buffer; }
  // Every register can hold a tile of the widest elements (complex128).
  static size_t register_size(int64_t tile) {
    constexpr size_t kWidest = 16;
    return (static_cast<size_t>(tile) * kWidest + kAlignment - 1) / kAlignment * kAlignment;
  }

  void find_last_readers() {
    auto look = [&](StepId id) {
      for (ValueId v : program_.inputs(program_.steps[id])) {
        if (in_register(v)) last_reader_[buffer(v)] = id;
      }
    };
    for (StepId id : group_.steps) look(id);
    if (group_.reduction != kNoStep) look(group_.reduction);
  }

  Input input(ValueId v, const Tensor& tensor, int64_t tile) {
    if (in_register(v)) return {offset_pointer(register_of_.at(buffer(v)) * register_size(tile)), 0, true};
    bool whole = tensor.num_elements() == group_.elements;
    auto element = static_cast<int64_t>(dtype_size(tensor.dtype()));
    return {tensor.raw(), whole ? element * kTileElements : 0, false};
  }

  void add(StepId id, int64_t tile) {
    const Step& s = program_.steps[id];
    const BoundStep& b = steps_[id];
    Tile code = b.kernel->tile();
    Instruction in{code.function, code.params, nullptr, static_cast<uint32_t>(k_.inputs_.size()), s.num_inputs, 0};
    auto values = program_.inputs(s);
    for (size_t i = 0; i < values.size(); ++i) {
      const Tensor& tensor = b.context.inputs_[i];
      k_.inputs_.push_back(input(values[i], tensor, tile));
      k_.strides_.push_back(tensor.num_elements() == group_.elements ? 1 : 0);
    }
    ValueId out = program_.outputs(s)[0];
    size_t element = dtype_size(program_.values[out].dtype);
    if (in_register(out)) {
      in.out = offset_pointer(take_register(id, values, out) * register_size(tile));
    } else {
      in.out = b.context.outputs_[0].raw();
      in.out_advance = static_cast<int64_t>(element) * kTileElements;
      free_dead(id, values, kNoValue);
    }
    k_.tile_cost_ns_ += code.cost_ns * static_cast<double>(kTileElements);
    k_.instructions_.push_back(in);
  }

  // The register of an input that dies here and has elements of the same size, else a free one.
  size_t take_register(StepId id, std::span<const ValueId> inputs, ValueId out) {
    ValueId reused = kNoValue;
    for (ValueId v : inputs) {
      if (!in_register(v) || last_reader_[buffer(v)] != id) continue;
      if (dtype_size(program_.values[v].dtype) == dtype_size(program_.values[out].dtype)) reused = buffer(v);
    }
    size_t reg;
    if (reused != kNoValue) {
      reg = register_of_[reused];
    } else if (!free_.empty()) {
      reg = free_.back();
      free_.pop_back();
    } else {
      reg = num_registers_++;
    }
    free_dead(id, inputs, reused);
    register_of_[out] = reg;
    if (!last_reader_.contains(out)) free_.push_back(reg);  // nobody reads it
    return reg;
  }

  void free_dead(StepId id, std::span<const ValueId> inputs, ValueId kept) {
    for (ValueId v : inputs) {
      if (!in_register(v) || buffer(v) == kept || last_reader_[buffer(v)] != id) continue;
      free_.push_back(register_of_[buffer(v)]);
      last_reader_[buffer(v)] = kNoStep;  // an input that is read twice is freed once
    }
  }

  void add_reduction() {
    const BoundStep& b = steps_[group_.reduction];
    k_.reduction_ = b.kernel->block_reduction();
    k_.reduced_ = input(program_.inputs(program_.steps[group_.reduction])[0], b.context.inputs_[0],
                        std::min(group_.elements, kTileElements));
    k_.reduction_out_ = b.context.outputs_[0].raw();
    k_.tile_cost_ns_ += k_.reduction_.cost_ns * static_cast<double>(kTileElements);
    k_.accumulators_.resize(static_cast<size_t>(k_.tiles_) * k_.reduction_.accumulator_bytes);
  }

  FusedKernel& k_;
  const FusedGroup& group_;
  const Program& program_;
  const Plan& plan_;
  const std::vector<BoundStep>& steps_;
  std::unordered_map<ValueId, StepId> last_reader_;   // by buffer
  std::unordered_map<ValueId, size_t> register_of_;   // by buffer
  std::vector<size_t> free_;
  size_t num_registers_ = 0;
};

FusedKernel::FusedKernel(const FusedGroup& group, const Program& program, const Plan& plan,
                         const std::vector<BoundStep>& steps)
    : elements_(group.elements), tiles_((group.elements + kTileElements - 1) / kTileElements) {
  Builder(*this, group, program, plan, steps).build();
  if (tiles_ == 1) bind_single_tile();
}

void FusedKernel::bind_single_tile() {
  registers_.resize(register_bytes_ + kAlignment);
  std::byte* base = aligned(registers_);
  auto resolve = [&](const void* p, bool is_register) -> const void* {
    return is_register ? base + reinterpret_cast<uintptr_t>(p) : p;
  };
  for (const Input& in : inputs_) bound_inputs_.push_back(resolve(in.data, in.is_register));
  for (Instruction& in : instructions_) {
    if (in.out_advance == 0) in.out = base + reinterpret_cast<uintptr_t>(in.out);
  }
  reduced_.data = resolve(reduced_.data, reduced_.is_register);
}

Status FusedKernel::run(KernelContext& c) {
  if (tiles_ == 1) {
    const void* const* inputs = bound_inputs_.data();
    const int64_t* strides = strides_.data();
    for (const Instruction& in : instructions_) {
      in.function(inputs + in.first_input, strides + in.first_input, in.out, elements_, in.params);
    }
    if (reduction_.partial) reduction_.partial(reduced_.data, elements_, accumulator(0));
  } else {
    c.parallel_for(tiles_, tile_cost_ns_, [this](int64_t begin, int64_t end) { run_tiles(begin, end); });
  }
  if (reduction_.partial) reduction_.finish(accumulators_.data(), tiles_, elements_, reduction_out_);
  return ok_status();
}

void FusedKernel::run_tiles(int64_t begin, int64_t end) {
  Scratch& scratch = Scratch::of_thread();
  if (scratch.registers.size() < register_bytes_ + kAlignment) scratch.registers.resize(register_bytes_ + kAlignment);
  scratch.inputs.resize(std::max(scratch.inputs.size(), inputs_.size()));
  scratch.outs.resize(std::max(scratch.outs.size(), instructions_.size()));
  std::byte* base = aligned(scratch.registers);
  auto at_tile = [&](const void* first, int64_t advance, bool is_register) -> const std::byte* {
    if (is_register) return base + reinterpret_cast<uintptr_t>(first);
    return static_cast<const std::byte*>(first) + begin * advance;
  };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    scratch.inputs[i] = at_tile(inputs_[i].data, inputs_[i].advance, inputs_[i].is_register);
  }
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& in = instructions_[i];
    scratch.outs[i] = const_cast<std::byte*>(at_tile(in.out, in.out_advance, in.out_advance == 0));
  }
  const std::byte* reduced = at_tile(reduced_.data, reduced_.advance, reduced_.is_register);
  for (int64_t tile = begin; tile < end; ++tile) {
    int64_t n = std::min(kTileElements, elements_ - tile * kTileElements);
    for (size_t i = 0; i < instructions_.size(); ++i) {
      const Instruction& in = instructions_[i];
      in.function(scratch.inputs.data() + in.first_input, strides_.data() + in.first_input, scratch.outs[i], n, in.params);
      scratch.outs[i] = static_cast<std::byte*>(scratch.outs[i]) + in.out_advance;
    }
    if (reduction_.partial) reduction_.partial(reduced, n, accumulator(tile));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      scratch.inputs[i] = static_cast<const std::byte*>(scratch.inputs[i]) + inputs_[i].advance;
    }
    reduced += reduced_.advance;
  }
}

}  // namespace emplace
