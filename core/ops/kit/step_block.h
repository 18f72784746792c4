/// What is done to a tile of a product behind it, with nothing left to decide: the usual chains of steps
/// (core/op/step_sink.h), a bias, a normalisation or both by channel, then the sum with another tensor, then an
/// activation, which may be a function of the number, its slope before, and times the number (swish).
#pragma once

#include <array>

#include "core/op/step_sink.h"

namespace emplace {

/// A tile of a product: elements `at` + i * row_step + j of it, in columns `column` + j.
struct StepTile {
  int64_t at = 0, row_step = 0, column = 0;
  int rows = 0;
  int64_t cols = 0;
  // Where what becomes of them is written: `to` + i * to_step + j.
  float* to = nullptr;
  int64_t to_step = 0;
};

/// ProductSteps of a known form, on this processor; any thread may use it.
class StepBlocks {
 public:
  // kScale: a product and a sum, as Keras writes a normalisation.
  enum class ByColumn : uint8_t { kNothing, kBias, kNormalise, kScale, kBiasAndScale };
  enum class Then : uint8_t { kNothing, kRelu, kRelu6 };
  /// What is done, in this order, and with what. Pointers are to the product's first element or column.
  struct Form {
    ByColumn by_column = ByColumn::kNothing;
    bool adds_other = false;
    Then then = Then::kNothing;
    // Of two that are no numbers in a sum or a product it is the element's that stays, not the factor's.
    std::array<bool, 3> stays = {};
    bool stays_beside_other = false;
    const float* product = nullptr;
    const float* other = nullptr;
    std::array<const float*, 3> factors =
        {};  // the bias, the scale, what is added then; or what normalises; null: none
    float* out = nullptr;
    // What comes last, if it is a function.
    Tile::Function function = nullptr;
    const void* params = nullptr;
    const float* slope = nullptr;  // by column, of what it is a function of; null: none
    bool stays_beside_slope = false;
    bool times_number = false, stays_beside_number = false;
  };

  /// None: `steps` have another form, or the processor's kernels do not agree on what becomes of two operands that are
  /// no numbers.
  StepBlocks() = default;
  explicit StepBlocks(const ProductSteps& steps);

  explicit operator bool() const { return code_ != nullptr; }
  /// Of `tile` all but where its elements go.
  void run(StepTile tile) const {
    tile.to = form_.out + tile.at;
    tile.to_step = tile.row_step;
    form_.function ? run_with_function(tile) : code_(form_, tile);
  }

 private:
  void run_with_function(const StepTile& tile) const;

  void (*code_)(const Form&, const StepTile&) = nullptr;
  Form form_;
};

}  // namespace emplace
