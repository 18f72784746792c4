/// StepsOfProduct: takes a chain of steps over from a product's sink, so that the product does them tile by tile.
#pragma once

#include <type_traits>

#include "core/ops/kit/step_block.h"

namespace emplace {

/// Columns. Fewer do not fill vectors: what follows is better done to whole rows.
constexpr int64_t kEnoughForSteps = 16;

/// Of one run of a product; any thread may use it. T: the product's elements.
template <class T>
class StepsOfProduct {
 public:
  StepsOfProduct() = default;
  /// `sink`, if it has steps that can be done by tiles, becomes who is told behind them. `product`: its first element.
  StepsOfProduct(RowSink*& sink, const T* product) : product_(product) {
    if constexpr (std::is_same_v<T, float>) {
      auto* with_steps = dynamic_cast<StepSink*>(sink);
      const ProductSteps* steps = with_steps ? with_steps->steps() : nullptr;
      if (!steps) return;
      blocks_ = StepBlocks(*steps);
      if (blocks_) sink = with_steps->behind_steps();
    }
  }

  explicit operator bool() const { return static_cast<bool>(blocks_); }
  /// For the product's elements c[i * step + j], `rows` by `cols`, the first of which is in column `first`.
  void run(const T* c, int rows, int64_t cols, int64_t step, int64_t first) const {
    blocks_.run({c - product_, step, first, rows, cols});
  }
  /// The form that ConvEpilogue wants.
  static void apply(const void* self, T* c, int rows, int64_t cols, int64_t step, int64_t first) {
    static_cast<const StepsOfProduct*>(self)->run(c, rows, cols, step, first);
  }

 private:
  const T* product_ = nullptr;
  StepBlocks blocks_;
};

}  // namespace emplace
