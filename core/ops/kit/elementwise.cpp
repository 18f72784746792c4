#include "core/ops/kit/elementwise.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/assert.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/step_chain.h"

namespace emplace {
namespace {

constexpr int kMaxInputs = BroadcastPlan::kMaxInputs;
constexpr int64_t kBlock = 512;    // elements handled at once where they are converted or gathered
constexpr int64_t kShortRun = 48;  // shorter runs are gathered into blocks first
constexpr int64_t kChunk = 32768;  // piece of a long run, the unit of splitting work
constexpr double kWorthSplittingNs = 5000;
constexpr int64_t kMaxElementBytes = 16;

const char* at(const void* base, int64_t element, int64_t bytes) {
  return static_cast<const char*>(base) + element * bytes;
}
char* at(void* base, int64_t element, int64_t bytes) { return static_cast<char*>(base) + element * bytes; }

template <int64_t kBytes>
void gather_runs(const char* from, int64_t length, int64_t stride, char* to) {
  for (int64_t j = 0; j < length; ++j) std::memcpy(at(to, j, kBytes), at(from, j * stride, kBytes), kBytes);
}

/// Copies `length` elements that are `stride` (0 or 1) apart.
using GatherFunction = void (*)(const char* from, int64_t length, int64_t stride, char* to);
GatherFunction gather_for(int64_t bytes) {
  switch (bytes) {
    case 1:
      return gather_runs<1>;
    case 2:
      return gather_runs<2>;
    case 4:
      return gather_runs<4>;
    case 8:
      return gather_runs<8>;
    default:
      return gather_runs<16>;
  }
}

class ElementwiseKernel final : public SteppedKernel {
 public:
  ElementwiseKernel(const KernelInit& init, ElementwiseCode code)
      : num_inputs_(init.input_types.size()),
        output_bytes_(element_stride(init.output_types[0])),
        may_gather_(init.input_types.back() != DType::kString),
        adapt_shapes_(code.adapt_shapes),
        check_(code.check),
        step_(code.step),
        bound_(std::move(code), init.input_types.back(), init.output_types[0], static_cast<int>(num_inputs_)),
        tile_(bound_.get()) {
    for (size_t i = 0; i < num_inputs_; ++i) input_bytes_[i] = element_stride(init.input_types[i]);
  }

  Status prepare(KernelContext& c) override {
    if (!adapt_shapes_ && same_shapes(c)) {
      count_ = c.output(0).num_elements();
      flat_strides_.fill(1);
      plan_ = nullptr;
      return ok_status();
    }
    std::array<Shape, kMaxInputs> shapes;
    std::array<const Shape*, kMaxInputs> pointers{};
    for (size_t i = 0; i < num_inputs_; ++i) {
      shapes[i] = c.input(static_cast<int>(i)).shape();
      pointers[i] = &shapes[i];
    }
    if (adapt_shapes_) RETURN_IF_ERROR(adapt_shapes_(c, {shapes.data(), num_inputs_}));
    BroadcastPlan plan = plan_broadcast({pointers.data(), num_inputs_}, c.output(0).shape());
    count_ = c.output(0).num_elements();
    flat_strides_ = plan.run_strides();
    plan_ = plan.flat() || count_ == 0 ? nullptr : std::make_unique<BroadcastPlan>(std::move(plan));
    return ok_status();
  }

  Status run(KernelContext& c) override {
    if (count_ == 0) return ok_status();
    if (check_) RETURN_IF_ERROR(check_(c));
    std::array<const void*, kMaxInputs> inputs;
    for (size_t i = 0; i < num_inputs_; ++i) inputs[i] = c.input(static_cast<int>(i)).raw();
    void* out = c.output(0).raw();
    if (plan_) {
      run_broadcast(c, inputs, out);
    } else if (static_cast<double>(count_) * tile_.cost_ns < kWorthSplittingNs) {
      tile_.function(inputs.data(), flat_strides_.data(), out, count_, tile_.params);
    } else {
      c.parallel_for(count_, tile_.cost_ns, [&](int64_t begin, int64_t end) {
        call(inputs, flat_strides_, {}, begin, out, begin, end - begin);
      });
    }
    return ok_status();
  }

  Tile tile() const override {
    Tile tile = tile_;
    if (check_ || (plan_ && (tile.period = repeated_run()) == 0)) return {};
    return tile;
  }
  ElementStep step() const override { return step_; }
  Tile::Function chain_code() const override { return step_chain_code(); }

 private:
  using Pointers = std::array<const void*, kMaxInputs>;
  using Offsets = BroadcastPlan::Offsets;

  bool same_shapes(KernelContext& c) const {
    for (size_t i = 0; i < num_inputs_; ++i) {
      if (!(c.input(static_cast<int>(i)).shape() == c.output(0).shape())) return false;
    }
    return true;
  }

  /// The tile for n elements: input i from element offsets[i] + skip * its stride, the output from element `to`.
  void call(const Pointers& inputs, const Offsets& strides, const Offsets& offsets, int64_t skip, void* out, int64_t to,
            int64_t n) const {
    Pointers from;
    for (size_t i = 0; i < num_inputs_; ++i) {
      from[i] = at(inputs[i], offsets[i] + skip * strides[i], input_bytes_[i]);
    }
    tile_.function(from.data(), strides.data(), at(out, to, output_bytes_), n, tile_.params);
  }

  /// The length of the runs, if from one to the next every input goes on, or stands still, or begins anew; else 0.
  int64_t repeated_run() const {
    if (plan_->dims.size() != 2 || !may_gather_) return 0;
    const int64_t length = plan_->run_length();
    for (size_t i = 0; i < num_inputs_; ++i) {
      const int64_t step = plan_->strides[0][i], within = plan_->run_strides()[i];
      if (step != 0 && (step != length || within != 1)) return 0;
    }
    return length;
  }

  void run_broadcast(KernelContext& c, const Pointers& inputs, void* out) const {
    const int64_t length = plan_->run_length();
    const double run_cost = tile_.cost_ns * static_cast<double>(length);
    if (length < kShortRun && repeated_run() > 0) {
      c.parallel_for(plan_->runs(), run_cost + 1,
                     [&](int64_t begin, int64_t end) { repeated_runs(inputs, out, begin, end); });
      return;
    }
    if (length < kShortRun && may_gather_) {
      c.parallel_for(plan_->runs(), run_cost + 5,
                     [&](int64_t begin, int64_t end) { short_runs(inputs, out, begin, end); });
      return;
    }
    const int64_t chunks = (length + kChunk - 1) / kChunk;
    c.parallel_for(plan_->runs() * chunks, run_cost / static_cast<double>(chunks) + 5,
                   [&](int64_t begin, int64_t end) { long_runs(inputs, out, chunks, begin, end); });
  }

  /// Pieces [begin, end) of runs that are cut into `chunks` pieces each.
  void long_runs(const Pointers& inputs, void* out, int64_t chunks, int64_t begin, int64_t end) const {
    const int64_t length = plan_->run_length();
    RunCursor cursor(*plan_, begin / chunks);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t chunk = item % chunks;
      const int64_t first = chunk * kChunk;
      call(inputs, plan_->run_strides(), cursor.offsets(), first, out, item / chunks * length + first,
           std::min(kChunk, length - first));
      if (chunk + 1 == chunks) cursor.next();
    }
  }

  /// Runs [begin, end) of a few elements each, where inputs go on from run to run or begin anew: what begins anew is
  /// written out for as many runs as fit in a block.
  void repeated_runs(const Pointers& inputs, void* out, int64_t begin, int64_t end) const {
    const int64_t length = plan_->run_length(), per_block = kBlock / length;
    alignas(64) char written[kMaxInputs][kBlock * kMaxElementBytes];
    Pointers from = inputs;
    for (size_t i = 0; i < num_inputs_; ++i) {
      if (plan_->strides[0][i] != 0 || plan_->run_strides()[i] == 0) continue;
      const auto bytes = static_cast<size_t>(length * input_bytes_[i]);
      for (int64_t r = 0; r < std::min(per_block, end - begin); ++r)
        std::memcpy(at(written[i], r * length, input_bytes_[i]), inputs[i], bytes);
      from[i] = written[i];
    }
    for (int64_t run = begin; run < end; run += per_block) {
      Offsets offsets{};
      for (size_t i = 0; i < num_inputs_; ++i) offsets[i] = run * plan_->strides[0][i];
      call(from, plan_->run_strides(), offsets, 0, out, run * length, std::min(per_block, end - run) * length);
    }
  }

  /// Runs [begin, end) of a few elements each: gathered into blocks, so that the tile has something to work on.
  void short_runs(const Pointers& inputs, void* out, int64_t begin, int64_t end) const {
    const int64_t length = plan_->run_length();
    const int64_t per_block = kBlock / length;
    std::array<GatherFunction, kMaxInputs> gather{};
    for (size_t i = 0; i < num_inputs_; ++i) gather[i] = gather_for(input_bytes_[i]);
    alignas(64) char gathered[kMaxInputs][kBlock * kMaxElementBytes];
    Pointers blocks;
    for (size_t i = 0; i < kMaxInputs; ++i) blocks[i] = gathered[i];
    RunCursor cursor(*plan_, begin);
    for (int64_t run = begin; run < end; run += per_block) {
      const int64_t count = std::min(per_block, end - run);
      for (int64_t r = 0; r < count; ++r, cursor.next()) {
        for (size_t i = 0; i < num_inputs_; ++i) {
          gather[i](at(inputs[i], cursor.offsets()[i], input_bytes_[i]), length, plan_->run_strides()[i],
                    at(gathered[i], r * length, input_bytes_[i]));
        }
      }
      call(blocks, {1, 1, 1}, {}, 0, out, run * length, count * length);
    }
  }

  // Constant after construction.
  size_t num_inputs_;
  std::array<int64_t, kMaxInputs> input_bytes_{};
  int64_t output_bytes_;
  bool may_gather_;  // elements are plain bytes
  Status (*adapt_shapes_)(const KernelContext&, std::span<Shape>);
  Status (*check_)(const KernelContext&);
  ElementStep step_;
  BoundTile bound_;
  Tile tile_;
  // Set by prepare().
  int64_t count_ = 0;
  Offsets flat_strides_{};
  std::unique_ptr<BroadcastPlan> plan_;  // null: one run
};

}  // namespace

struct BoundTile::Conversion {
  Tile compute;
  ConvertFunction widen = nullptr;
  ConvertFunction narrow = nullptr;  // null: the result is not of the converted type (comparisons)
  int num_inputs = 0;
  int64_t input_bytes = 0, output_bytes = 0;
};

BoundTile::BoundTile(ElementwiseCode code, DType input, DType output, int num_inputs)
    : tile_{code.function, code.params.get(), code.cost_ns}, params_(std::move(code.params)) {
  EMPLACE_ASSERT(tile_.function, "an op lists a kernel only for types that its function was made for");
  if (input == code.computes_in) return;
  conversion_ =
      std::make_shared<Conversion>(Conversion{tile_, widening(input), output == input ? narrowing(input) : nullptr,
                                              num_inputs, element_stride(input), element_stride(output)});
  tile_ = {convert_and_compute, conversion_.get(), code.cost_ns + 0.1 * num_inputs};
}

void BoundTile::convert_and_compute(const void* const* inputs, const int64_t* strides, void* out, int64_t n,
                                    const void* params) {
  const auto& c = *static_cast<const Conversion*>(params);
  alignas(64) char wide[kMaxInputs][kBlock * 8];
  alignas(64) char result[kBlock * 8];
  const void* operands[kMaxInputs];
  for (int i = 0; i < c.num_inputs; ++i) {
    operands[i] = wide[i];
    if (strides[i] == 0) c.widen(inputs[i], wide[i], 1);
  }
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    for (int i = 0; i < c.num_inputs; ++i) {
      if (strides[i]) c.widen(at(inputs[i], begin, c.input_bytes), wide[i], count);
    }
    char* to = at(out, begin, c.output_bytes);
    c.compute.function(operands, strides, c.narrow ? result : to, count, c.compute.params);
    if (c.narrow) c.narrow(result, to, count);
  }
}

Status shape_merged(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape both, ShapeContext::merge(c.input(0), c.input(1)));
  c.set_output(0, std::move(both));
  return ok_status();
}

OpDef unary_op(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(shape_unchanged)
      .may_overwrite_input()
      .sample("x=f32[2,3] uniform(-2,2)")
      .sample("x=f32[1031] uniform(-8,8)")
      .sample("x=f32[0,3]")
      .sample("x=f32[]");
}

OpDef binary_op(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(shape_broadcast)
      .may_overwrite_input()
      .sample("x=f32[2,3] uniform(-2,2); y=f32[2,3] uniform(-2,2)")
      .sample("x=f32[3,1,5] uniform(-2,2); y=f32[4,1] uniform(-2,2)")
      .sample("x=f32[0,3]; y=f32[3] uniform(-2,2)");
}

std::unique_ptr<Kernel> make_elementwise(const KernelInit& init, ElementwiseCode code) {
  return std::make_unique<ElementwiseKernel>(init, std::move(code));
}

}  // namespace emplace
