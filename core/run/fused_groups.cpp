#include "core/run/fused_groups.h"

#include <algorithm>

#include "core/op/factored_kernel.h"
#include "core/op/following_kernel.h"
#include "core/run/group_walk.h"

namespace emplace {
namespace {

// Beyond one tile registers compete for the cache: only instructions that hand on to each other, and not too many.
constexpr int64_t kMaxInstructions = 64;
constexpr int64_t kMaxElements = 1 << 20;  // instructions x elements of a group that fits in one tile
constexpr int64_t kMaxPeriod = 1 << 14;    // elements of an input that is repeated: they are copied for it

class Finder {
 public:
  Finder(const Program& program, const Plan& plan, const std::vector<BoundInstruction>& bound)
      : program_(program), plan_(plan), bound_(bound), made_by_(program.values.size(), 0) {}

  void find(const std::vector<PlainLoop>& loops, Plan& plan) {
    not_joined_.assign(program_.instructions.size(), NotJoined::kNone);
    walk_groups(
        program_, plan_, loops, [this](InstructionId id) { visit(id); }, [this] { close(); });
    plan.groups = std::move(groups_);
    plan.not_joined = std::move(not_joined_);
  }

 private:
  ValueId buffer(ValueId v) const { return plan_.values[v].storage == Storage::kBlock ? plan_.values[v].buffer : v; }
  bool reads_group(InstructionId id) const {
    for (ValueId v : program_.inputs(program_.instructions[id])) {
      if (made_by_[buffer(v)] == serial_) return true;
    }
    return false;
  }

  // Elements of an elementwise instruction, 0: it is none. Other outputs than the first are written beforehand.
  int64_t elements(InstructionId id) const {
    if (plan_.modes[id] != InstructionMode::kDirect || program_.instructions[id].num_outputs == 0) return 0;
    const BoundInstruction& b = bound_[id];
    const Tile tile = b.kernel->tile();
    if (!tile.function || tile.period > kMaxPeriod || b.kernel->hands_on_rows()) return 0;
    int64_t n = b.context.outputs_[0].num_elements();
    for (const Tensor& in : b.context.inputs_) {
      if (in.num_elements() != n && in.num_elements() != 1 && in.num_elements() != tile.period) return 0;
    }
    return n;
  }

  // Factors are worked out before the group's first tile.
  bool reads_factors_of_group(InstructionId id) const {
    const Instruction& s = program_.instructions[id];
    if (s.num_outputs == 1 || !dynamic_cast<const FactoredKernel*>(bound_[id].kernel.get())) return false;
    const auto factors = program_.inputs(s).subspan(1);
    return std::any_of(factors.begin(), factors.end(), [&](ValueId v) { return made_by_[buffer(v)] == serial_; });
  }

  bool is_reduction(InstructionId id) const {
    if (plan_.modes[id] != InstructionMode::kDirect || (group_.head == kNoInstruction && group_.instructions.empty()) ||
        (group_.head != kNoInstruction && !head_has_tiles()))
      return false;
    const BoundInstruction& b = bound_[id];
    if (!b.kernel->block_reduction().partial || program_.instructions[id].device != device_) return false;
    if (b.context.inputs_[0].num_elements() != group_.elements) return false;
    return made_by_[buffer(program_.inputs(program_.instructions[id])[0])] == serial_;
  }

  // Then the head may be the first of the elementwise instructions as well, whose numbers no one has to keep.
  bool head_has_tiles() const {
    const auto* kernel = dynamic_cast<const FactoredKernel*>(bound_[group_.head].kernel.get());
    if (!kernel) return false;
    const Tile tile = kernel->tile();
    return tile.function && tile.period <= kMaxPeriod;
  }

  // Rows of what it reads are rows of the product: neither of them by another shape.
  bool follows(InstructionId id) const {
    if (plan_.modes[id] != InstructionMode::kDirect || group_.head == kNoInstruction) return false;
    const Instruction& s = program_.instructions[id];
    const auto* kernel = dynamic_cast<const FollowingKernel*>(bound_[id].kernel.get());
    if (!kernel || kernel->pieces() == 0 || s.device != device_ || s.num_inputs != 1) return false;
    const Tensor &rows = bound_[id].context.inputs_[0], &product = bound_[group_.head].context.outputs_[0];
    return made_by_[buffer(program_.inputs(s)[0])] == serial_ && rows.num_elements() == group_.elements &&
           rows.shape().dim_from_end(1) == product.shape().dim_from_end(1);
  }

  NotJoined refusal(InstructionId id, int64_t n) const {
    if (group_.instructions.empty() && group_.head == kNoInstruction) return NotJoined::kFirst;
    if (program_.instructions[id].device != device_) return NotJoined::kOtherDevice;
    if (n != group_.elements) return NotJoined::kOtherSize;
    if (reads_factors_of_group(id)) return NotJoined::kFactors;
    const auto size = static_cast<int64_t>(group_.instructions.size());
    if (n <= BlockReduction::kBlock && group_.head == kNoInstruction)
      return size * n < kMaxElements ? NotJoined::kNone : NotJoined::kFull;
    if (size >= kMaxInstructions) return NotJoined::kFull;
    return reads_group(id) ? NotJoined::kNone : NotJoined::kReadsNone;
  }

  void visit(InstructionId id) {
    int64_t n = elements(id);
    if (n > 0) {
      not_joined_[id] = refusal(id, n);
      if (not_joined_[id] != NotJoined::kNone) close();
      group_.elements = n;
      device_ = program_.instructions[id].device;
      group_.instructions.push_back(id);
      made_by_[buffer(program_.outputs(program_.instructions[id])[0])] = serial_;
      return;
    }
    if (is_reduction(id)) {
      group_.reduction = id;
      if (group_.head != kNoInstruction) group_.instructions.insert(group_.instructions.begin(), group_.head);
      group_.head = kNoInstruction;
    } else if (follows(id)) {
      group_.follower = id;
    } else {
      not_joined_[id] = NotJoined::kNotElementwise;
    }
    close();
    if (is_product(id)) begin_with(id);
  }

  bool is_product(InstructionId id) const {
    const KernelContext& c = bound_[id].context;
    return plan_.modes[id] == InstructionMode::kDirect && bound_[id].kernel->hands_on_rows() && !c.parallel_->mover() &&
           c.outputs_[0].num_elements() > 0;
  }
  void begin_with(InstructionId product) {
    group_.head = product;
    group_.elements = bound_[product].context.outputs_[0].num_elements();
    device_ = program_.instructions[product].device;
    made_by_[buffer(program_.outputs(program_.instructions[product])[0])] = serial_;
  }

  void close() {
    bool worth_it = group_.instructions.size() > 1 || group_.reduction != kNoInstruction ||
                    group_.follower != kNoInstruction ||
                    (group_.head != kNoInstruction && !group_.instructions.empty());
    if (worth_it) groups_.push_back(std::move(group_));
    group_ = FusedGroup();
    ++serial_;
  }

  const Program& program_;
  const Plan& plan_;
  const std::vector<BoundInstruction>& bound_;
  std::vector<uint32_t> made_by_;  // by buffer: serial number of the group that makes it
  uint32_t serial_ = 1;
  FusedGroup group_;
  DeviceId device_ = kNoDevice;
  std::vector<FusedGroup> groups_;
  std::vector<NotJoined> not_joined_;
};

}  // namespace

void find_groups(const Program& program, const std::vector<BoundInstruction>& bound,
                 const std::vector<PlainLoop>& loops, Plan& plan) {
  Finder(program, plan, bound).find(loops, plan);
}

std::vector<InstructionId> all_of(const FusedGroup& group) {
  std::vector<InstructionId> all = group.instructions;
  if (group.head != kNoInstruction) all.insert(all.begin(), group.head);
  if (group.reduction != kNoInstruction) all.push_back(group.reduction);
  if (group.follower != kNoInstruction) all.push_back(group.follower);
  return all;
}

}  // namespace emplace
