/// FusedKernel: elementwise steps over equally many elements, run tile by tile, so that what only they read stays in
/// the cache and memory is read and written once. The same functions in the same order as unfused: the same bytes.
#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "core/run/bound_step.h"

namespace emplace {

/// Which prepared steps can be fused: neighbours in launch order, on one device, over equally many elements.
/// REQUIRES: every kDirect step is prepared.
std::vector<FusedGroup> find_groups(const Program& program, const Plan& plan, const std::vector<BoundStep>& steps);

class FusedKernel final : public Kernel {
 public:
  /// After the memory plan. `steps` hold the tensors as bound: block addresses for what is in memory.
  FusedKernel(const FusedGroup& group, const Program& program, const Plan& plan, const std::vector<BoundStep>& steps);
  Status run(KernelContext& c) override;

 private:
  struct Instruction {
    Tile::Function function;
    const void* params;
    void* out;               // of the first tile; a register: its offset in the registers
    uint32_t first_input;    // in inputs_, strides_
    uint32_t num_inputs;
    int64_t out_advance;     // bytes from tile to tile; 0: a register
  };
  struct Input {
    const void* data;        // of the first tile; a register: its offset
    int64_t advance;         // bytes from tile to tile
    bool is_register;
  };
  struct Scratch;

  class Builder;
  void bind_single_tile();
  void run_tiles(int64_t begin, int64_t end);
  void* accumulator(int64_t tile) { return accumulators_.data() + static_cast<size_t>(tile) * reduction_.accumulator_bytes; }

  int64_t elements_ = 0, tiles_ = 0;
  double tile_cost_ns_ = 0;
  std::vector<Instruction> instructions_;
  std::vector<Input> inputs_;
  std::vector<int64_t> strides_;
  size_t register_bytes_ = 0;                // of all registers together

  BlockReduction reduction_;                 // partial is null: none
  Input reduced_{};
  void* reduction_out_ = nullptr;
  std::vector<std::byte> accumulators_;

  // With a single tile all pointers are known beforehand.
  std::vector<std::byte> registers_;
  std::vector<const void*> bound_inputs_;
};

}  // namespace emplace
