/// FusedKernel: elementwise instructions over equally many elements, run tile by tile, so that what only they read
/// stays in the cache and memory is read and written once; behind a product, on its rows as they are finished, which a
/// pooling may read then, too. The same functions in the same order as unfused: the same bytes.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "core/op/element_step.h"
#include "core/op/step_sink.h"
#include "core/plan/plan.h"
#include "core/run/bound_instruction.h"
#include "core/run/follower.h"

namespace emplace {

class FactoredKernel;  // core/op/factored_kernel.h

class FusedKernel final : public Kernel, private StepSink {
 public:
  /// After the memory plan. `bound` holds the tensors as bound: block addresses for what is in memory. Of `values`
  /// those are read that arrive (core/run/arrivals.h).
  FusedKernel(const FusedGroup& group, const Program& program, const Plan& plan, std::vector<BoundInstruction>& bound,
              const std::vector<Tensor>& values);
  /// `c`: of the group's first instruction.
  Status run(KernelContext& c) override;
  /// Its loops, and what they run over.
  std::string describe() const;

 private:
  struct TileCall {
    Tile::Function function;
    const void* params;
    uint32_t first_input;  // in inputs_, strides_
    uint32_t num_inputs;
    void* out = nullptr;    // of the first element; a register: its offset in the registers
    int64_t out_bytes = 0;  // of an element
    bool out_is_register = false;
  };
  struct Input {
    const void* data;  // of the first element; a register: its offset
    int64_t bytes;     // from element to element; 0: one element for all
    int64_t period;    // > 0: after so many elements it begins anew
    bool is_register;
  };
  /// Where a strip of a tile begins: among all elements, and in the tile.
  struct Strip {
    int64_t first, in_tile;
  };
  /// An input of fewer elements, written out so often that a strip may begin anywhere in it.
  struct Repeated {
    const void* from;
    size_t bytes;  // of one period
    bool is_constant;
    bool is_written;
    std::vector<std::byte> elements;
  };
  /// A value that is found anew at each launch: where, and who reads it.
  struct Arriving {
    const Tensor* value;
    const void* last = nullptr;  // where it was at the last launch
    std::vector<uint32_t> inputs, repeated;
  };
  struct Scratch;
  /// Told of rows that have gone through all steps.
  struct BehindSteps final : RowSink {
    explicit BehindSteps(FusedKernel& kernel) : kernel_(kernel) {}
    void finished(int64_t first_row, int64_t rows) override { kernel_.follower_->finished(first_row, rows); }
    FusedKernel& kernel_;
  };

  class Builder;
  void bind_single_tile();
  void take_arriving();
  void write_repeated();
  void run_tiles(int64_t begin, int64_t end);
  /// Elements [first, first + n), at most a tile. Returns this thread's registers.
  const std::byte* run_elements(Scratch& scratch, int64_t first, int64_t n);
  static const std::byte* at(const Input& in, const std::byte* registers, const Strip& strip);
  void finished(int64_t first_row, int64_t rows) override;
  const ProductSteps* steps() const override { return steps_.chain ? &steps_ : nullptr; }
  RowSink* behind_steps() override { return follower_ ? &behind_steps_ : nullptr; }
  void point_steps();
  void* accumulator(int64_t tile) {
    return accumulators_.data() + static_cast<size_t>(tile) * reduction_.accumulator_bytes;
  }

  int64_t elements_ = 0, tiles_ = 0;
  int64_t strip_elements_ = BlockReduction::kBlock;  // of a tile: so many go through all calls at a time
  double tile_cost_ns_ = 0;
  std::vector<TileCall> calls_;
  std::deque<StepChain> chains_;  // `params` of calls that are several instructions
  std::vector<Input> inputs_;
  std::vector<int64_t> strides_;
  std::vector<Repeated> repeated_;
  std::vector<Arriving> arriving_;
  std::vector<std::pair<FactoredKernel*, KernelContext*>> factored_;
  size_t register_bytes_ = 0;  // of all registers together

  Kernel* head_ = nullptr;  // the product whose rows are taken, if any
  int64_t row_elements_ = 0;
  std::optional<Follower> follower_;  // of these rows, once all calls have seen them
  StepChain only_step_;               // of the only call, if that is one instruction
  ProductSteps steps_;                // the only call, if the product can do it itself; else without a chain
  std::vector<std::vector<float>> one_for_columns_;  // by input: its only element for each column
  BehindSteps behind_steps_{*this};

  BlockReduction reduction_;  // partial is null: none
  Input reduced_{};
  void* reduction_out_ = nullptr;
  std::vector<std::byte> accumulators_;

  // With a single tile all pointers are known beforehand.
  std::vector<std::byte> registers_;
  std::vector<const void*> bound_inputs_;
};

}  // namespace emplace
