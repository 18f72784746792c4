#include "core/run/fused_kernel.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "core/base/cat.h"
#include "core/base/kept_by_thread.h"
#include "core/base/units.h"
#include "core/op/factored_kernel.h"
#include "core/run/step_joiner.h"
#include "core/run/tile_registers.h"

namespace emplace {
namespace {

constexpr int64_t kTileElements = BlockReduction::kBlock;
// Of a tile that reads inputs which are repeated so soon, so many elements go through all steps at a time: written out
// for a whole tile, three factors would take more than the first cache, and come from the second one tile after tile.
constexpr int64_t kStripElements = 1024;
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
  static Scratch& of_thread() {
    static constinit thread_local KeptByThread<Scratch> scratch;
    return scratch.get();
  }
};

/// Makes the calls of a group, and finds what they read and write.
class FusedKernel::Builder {
 public:
  Builder(FusedKernel& kernel, const FusedGroup& group, const Program& program, const Plan& plan,
          std::vector<BoundInstruction>& bound, const std::vector<Tensor>& values)
      : k_(kernel),
        group_(group),
        program_(program),
        plan_(plan),
        bound_(bound),
        values_(values),
        registers_(group, program, plan, std::min(group.elements, kTileElements)),
        joiner_(group, program, bound, registers_) {}

  void build() {
    k_.calls_.reserve(group_.instructions.size());
    if (group_.head != kNoInstruction) {
      const BoundInstruction& head = bound_[group_.head];
      k_.head_ = head.kernel.get();
      k_.row_elements_ = head.context.outputs_[0].shape().dim_from_end(1);
    }
    for (InstructionId id : group_.instructions) add(id);
    if (k_.head_) find_steps();
    if (group_.reduction != kNoInstruction) add_reduction();
    if (group_.follower != kNoInstruction) {
      BoundInstruction& b = bound_[group_.follower];
      k_.follower_.emplace(dynamic_cast<const FollowingKernel&>(*b.kernel), b.context);
    }
    k_.register_bytes_ = registers_.bytes();
  }

 private:
  Input input(ValueId v, const Tensor& tensor, bool is_constant) {
    if (registers_.holds(v))
      return {offset_pointer(registers_.offset(v)), static_cast<int64_t>(dtype_size(tensor.dtype())), 0, true};
    const size_t repeated = k_.repeated_.size();
    const Input in =
        input(tensor.raw(), tensor.num_elements(), static_cast<int64_t>(dtype_size(tensor.dtype())), is_constant);
    if (plan_.values[v].arrives) {
      Arriving& arriving = arriving_of(plan_.source(v));
      if (k_.repeated_.size() > repeated)
        arriving.repeated.push_back(static_cast<uint32_t>(repeated));
      else
        arriving.inputs.push_back(static_cast<uint32_t>(k_.inputs_.size()));
    }
    return in;
  }
  Arriving& arriving_of(ValueId v) {
    const auto [number, is_new] = arriving_.try_emplace(v, k_.arriving_.size());
    if (is_new) k_.arriving_.push_back({&values_[v], nullptr, {}, {}});
    return k_.arriving_[number->second];
  }
  Input input(const void* data, int64_t count, int64_t bytes, bool is_constant) {
    if (count == group_.elements) return {data, bytes, 0, false};
    if (count == 1) return {data, 0, 0, false};
    if (count <= kStripElements && (k_.tiles_ > 1 || k_.head_)) k_.strip_elements_ = kStripElements;
    const int64_t written = std::min(group_.elements, count + k_.strip_elements_);
    k_.repeated_.push_back({data, static_cast<size_t>(count * bytes), is_constant, false, {}});
    std::vector<std::byte>& elements = k_.repeated_.back().elements;
    elements.resize(static_cast<size_t>(written * bytes) + kAlignment);
    return {aligned(elements), bytes, count, false};
  }
  // `count` elements, of which a tile reads one each, or one for all.
  void add_input(const Input& in, int64_t count) {
    k_.inputs_.push_back(in);
    k_.strides_.push_back(count == 1 && group_.elements != 1 ? 0 : 1);
  }

  void add(InstructionId id) {
    const Instruction& s = program_.instructions[id];
    const BoundInstruction& b = bound_[id];
    const Tile code = b.kernel->tile();
    const auto first = static_cast<uint32_t>(k_.inputs_.size());
    const bool worth_it = k_.tiles_ > 1 || k_.head_;  // a tile by itself stays in L1 from one step to the next
    std::optional<ElementStep> step;
    if (worth_it) step = joiner_.step_of(id);
    const auto joined = step ? joiner_.join(id, *step, chain_length()) : StepJoiner::Joined{};
    add_inputs(id, joined, code.period);
    const ValueId out = program_.outputs(s)[0];
    TileCall in{code.function, code.params, first, static_cast<uint32_t>(k_.inputs_.size()) - first};
    in.out_bytes = static_cast<int64_t>(dtype_size(program_.values[out].dtype));
    in.out_is_register = registers_.holds(out);
    if (in.out_is_register) {
      registers_.take(id, out);
      in.out = offset_pointer(registers_.offset(out));
    } else {
      in.out = b.context.outputs_[0].raw();
      registers_.release(id);
    }
    k_.tile_cost_ns_ += code.cost_ns * static_cast<double>(kTileElements);
    if (joined.number == StepJoiner::kNone)
      k_.calls_.push_back(in);
    else
      extend(in, *step, joined, static_cast<const SteppedKernel&>(*b.kernel).chain_code());
    joiner_.made(step, out);
    last_is_step_ = step.has_value();
  }

  // Is all that is done to the product's elements one chain of steps, whose inputs have one element for each of its, or
  // one for each of its columns, or one for all?
  void find_steps() {
    if (k_.calls_.size() != 1 || !last_is_step_) return;
    const TileCall& call = k_.calls_[0];
    if (call.out_is_register || call.out_bytes != sizeof(float) || call.num_inputs > StepChain::kMostInputs) return;
    for (const Input& in : k_.inputs_) {
      if (in.is_register || (in.bytes != 0 && in.bytes != sizeof(float))) return;
      if (in.period != 0 && in.period != k_.row_elements_) return;
    }
    if (!is_chain(call)) {
      begin_chain(k_.only_step_, call);
    }
    k_.steps_.chain = is_chain(call) ? &k_.chains_.back() : &k_.only_step_;
    k_.steps_.num_inputs = static_cast<int>(call.num_inputs);
    k_.steps_.out = static_cast<float*>(call.out);
    k_.one_for_columns_.resize(k_.inputs_.size());
    for (size_t i = 0; i < k_.inputs_.size(); ++i) {
      if (k_.inputs_[i].bytes == 0) k_.one_for_columns_[i].resize(static_cast<size_t>(k_.row_elements_));
    }
  }

  // What an instruction reads, but for the numbers that its chain hands on; `period`: of its factors, if it has any.
  void add_inputs(InstructionId id, const StepJoiner::Joined& joined, int64_t period) {
    const Instruction& s = program_.instructions[id];
    BoundInstruction& b = bound_[id];
    const auto values = program_.inputs(s);
    auto* factored = s.num_outputs > 1 ? dynamic_cast<FactoredKernel*>(b.kernel.get()) : nullptr;
    for (size_t i = 0; i < (factored ? 1 : values.size()); ++i) {
      if (i == joined.number || i == joined.kept) continue;
      const Tensor& tensor = b.context.inputs_[i];
      add_input(input(values[i], tensor, b.context.input_is_constant(static_cast<int>(i))), tensor.num_elements());
    }
    if (!factored) return;
    k_.factored_.emplace_back(factored, &b.context);
    for (const float* factors : factored->factors()) add_input(input(factors, period, sizeof(float), false), period);
  }

  bool is_chain(const TileCall& last) const { return !k_.chains_.empty() && last.params == &k_.chains_.back(); }
  // Of the last call, if there is one.
  int chain_length() const { return !k_.calls_.empty() && is_chain(k_.calls_.back()) ? k_.chains_.back().count : 1; }

  // Does the number stand second in a step whose other operand is input `other`? Of two operands that are no numbers
  // the kernels hand on the one that is there once for all elements, else the second: a chain hands on the other, if
  // swapped the number.
  bool is_second(ElementStep step, size_t joined, size_t other) const {
    return joined == 1 && !(commutes(step) && k_.strides_[other] == 0);
  }
  static bool commutes(ElementStep step) { return step == ElementStep::kAdd || step == ElementStep::kMultiply; }

  // By the last instruction, of which `call` is made.
  void begin_chain(StepChain& chain, const TileCall& call) const {
    const ElementStep step = joiner_.last_step();
    chain.steps[0] = {step, commutes(step) && k_.strides_[call.first_input] == 0};
    chain.details[0] = {call.function, call.params};
    chain.count = 1;
  }

  // The last call goes on with what `next` does: its inputs are already behind the call's own.
  void extend(const TileCall& next, ElementStep step, const StepJoiner::Joined& joined, Tile::Function chain_code) {
    TileCall& call = k_.calls_.back();
    if (!is_chain(call)) {
      StepChain& begun = k_.chains_.emplace_back();
      begin_chain(begun, call);
      call.function = chain_code;
      call.params = &begun;
    }
    StepChain& chain = k_.chains_.back();
    const auto number = static_cast<size_t>(chain.count++);
    const bool takes_kept = joined.kept != StepJoiner::kNone;
    chain.steps[number] = {step, takes_kept ? joined.number == 1 : is_second(step, joined.number, next.first_input)};
    chain.details[number] = {next.function, next.params, joined.keeps, takes_kept};
    call.num_inputs += next.num_inputs;
    call.out = next.out;
    call.out_bytes = next.out_bytes;
    call.out_is_register = next.out_is_register;
  }

  void add_reduction() {
    const BoundInstruction& b = bound_[group_.reduction];
    k_.reduction_ = b.kernel->block_reduction();
    const ValueId reduced = program_.inputs(program_.instructions[group_.reduction])[0];
    k_.reduced_ = input(reduced, b.context.inputs_[0], false);
    k_.reduction_out_ = b.context.outputs_[0].raw();
    k_.tile_cost_ns_ += k_.reduction_.cost_ns * static_cast<double>(kTileElements);
    k_.accumulators_.resize(static_cast<size_t>(k_.tiles_) * k_.reduction_.accumulator_bytes);
  }

  FusedKernel& k_;
  const FusedGroup& group_;
  const Program& program_;
  const Plan& plan_;
  std::vector<BoundInstruction>& bound_;
  const std::vector<Tensor>& values_;
  TileRegisters registers_;
  StepJoiner joiner_;
  std::unordered_map<ValueId, size_t> arriving_;  // numbers in k_.arriving_
  bool last_is_step_ = false;
};

FusedKernel::FusedKernel(const FusedGroup& group, const Program& program, const Plan& plan,
                         std::vector<BoundInstruction>& bound, const std::vector<Tensor>& values)
    : elements_(group.elements), tiles_((group.elements + kTileElements - 1) / kTileElements) {
  Builder(*this, group, program, plan, bound, values).build();
  if (tiles_ == 1 && !head_) bind_single_tile();
}

std::string FusedKernel::describe() const {
  constexpr std::string_view kFollowed = "made from the product's rows while they are in cache";
  if (calls_.empty()) return std::string(kFollowed);
  std::string in_registers, in_cache;
  for (const StepChain& chain : chains_) {
    std::string& joined = has_function(chain) ? in_cache : in_registers;
    append(joined, joined.empty() ? "" : ", ", chain.count);
  }
  std::string out = counted(static_cast<int64_t>(calls_.size()), "loop");
  if (!in_registers.empty()) append(out, " (steps that hand numbers on in registers: ", in_registers, ')');
  if (!in_cache.empty()) append(out, " (steps that hand numbers on in the first cache: ", in_cache, ')');
  if (reduction_.partial) out += ", then the sum";
  if (follower_) return cat(out, " over the product's rows as they are finished; the last node is ", kFollowed);
  return cat(out, head_         ? " over the product's rows as they are finished"
                  : tiles_ == 1 ? " over all elements"
                                : cat(" over tiles of ", kTileElements, " elements"));
}

void FusedKernel::bind_single_tile() {
  registers_.resize(register_bytes_ + kAlignment);
  std::byte* base = aligned(registers_);
  auto resolve = [&](const void* p, bool is_register) -> const void* {
    return is_register ? base + reinterpret_cast<uintptr_t>(p) : p;
  };
  for (const Input& in : inputs_) bound_inputs_.push_back(resolve(in.data, in.is_register));
  for (TileCall& in : calls_) {
    if (in.out_is_register) in.out = base + reinterpret_cast<uintptr_t>(in.out);
  }
  reduced_.data = resolve(reduced_.data, reduced_.is_register);
}

void FusedKernel::take_arriving() {
  for (Arriving& a : arriving_) {
    const void* now = a.value->raw();
    if (now == a.last) continue;
    a.last = now;
    for (const uint32_t i : a.repeated) repeated_[i].from = now;
    for (const uint32_t i : a.inputs) {
      inputs_[i].data = now;
      if (!bound_inputs_.empty()) bound_inputs_[i] = now;
    }
  }
}

void FusedKernel::write_repeated() {
  for (Repeated& r : repeated_) {
    if (r.is_constant && r.is_written) continue;
    std::byte* to = aligned(r.elements);
    const size_t size = r.elements.size() - kAlignment;
    for (size_t at = 0; at < size; at += r.bytes) std::memcpy(to + at, r.from, std::min(r.bytes, size - at));
    r.is_written = true;
  }
}

// To where the inputs are in this run.
void FusedKernel::point_steps() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& in = inputs_[i];
    const auto* at = static_cast<const float*>(in.data);
    std::vector<float>& one = one_for_columns_[i];
    if (in.bytes == 0) std::fill(one.begin(), one.end(), *at);
    steps_.inputs[i] = {in.bytes == 0 ? one.data() : at, in.bytes != 0 && in.period == 0, in.bytes == 0 && *at == 1.0f};
  }
}

Status FusedKernel::run(KernelContext& c) {
  for (auto [kernel, context] : factored_) RETURN_IF_ERROR(kernel->begin_tiles(*context));
  take_arriving();
  write_repeated();
  if (head_) {
    if (follower_) follower_->begin();
    if (steps_.chain) point_steps();
    c.row_sink_ = this;
    Status status = head_->run(c);
    c.row_sink_ = nullptr;
    return status;
  }
  if (tiles_ == 1) {
    const void* const* inputs = bound_inputs_.data();
    const int64_t* strides = strides_.data();
    for (const TileCall& in : calls_) {
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
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t first = tile * kTileElements, n = std::min(kTileElements, elements_ - first);
    const std::byte* base = run_elements(scratch, first, n);
    if (reduction_.partial) reduction_.partial(at(reduced_, base, {first, 0}), n, accumulator(tile));
  }
}

void FusedKernel::finished(int64_t first_row, int64_t rows) {
  Scratch& scratch = Scratch::of_thread();
  const int64_t end = (first_row + rows) * row_elements_;
  for (int64_t first = first_row * row_elements_; first < end; first += kTileElements) {
    run_elements(scratch, first, std::min(kTileElements, end - first));
  }
  if (follower_) follower_->finished(first_row, rows);
}

const std::byte* FusedKernel::at(const Input& in, const std::byte* registers, const Strip& strip) {
  if (in.is_register) return registers + reinterpret_cast<uintptr_t>(in.data) + strip.in_tile * in.bytes;
  return static_cast<const std::byte*>(in.data) + (in.period ? strip.first % in.period : strip.first) * in.bytes;
}

const std::byte* FusedKernel::run_elements(Scratch& scratch, int64_t first, int64_t n) {
  if (scratch.registers.size() < register_bytes_ + kAlignment) scratch.registers.resize(register_bytes_ + kAlignment);
  if (scratch.inputs.size() < inputs_.size()) scratch.inputs.resize(inputs_.size());
  std::byte* registers = aligned(scratch.registers);
  for (Strip strip{first, 0}; strip.in_tile < n;
       strip = {strip.first + strip_elements_, strip.in_tile + strip_elements_}) {
    const int64_t elements = std::min(strip_elements_, n - strip.in_tile);
    for (size_t i = 0; i < inputs_.size(); ++i) scratch.inputs[i] = at(inputs_[i], registers, strip);
    for (const TileCall& in : calls_) {
      std::byte* out = in.out_is_register
                           ? registers + reinterpret_cast<uintptr_t>(in.out) + strip.in_tile * in.out_bytes
                           : static_cast<std::byte*>(in.out) + strip.first * in.out_bytes;
      in.function(scratch.inputs.data() + in.first_input, strides_.data() + in.first_input, out, elements, in.params);
    }
  }
  return registers;
}

}  // namespace emplace
