/// LiveList: who holds a device's memory at its peak, the largest by name. What it lists adds up to the peak.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {

// What a column holds beside the tensors that have a name there.
inline constexpr std::string_view kRestOfBlock = "smaller tensors, and gaps between tensors";
inline constexpr std::string_view kRestOfVariables = "variables without a value yet";
inline constexpr std::string_view kRestOfConstants = "constants as kernels keep them";
inline constexpr std::string_view kRestOfConstantsThere = "copies of constants, and constants as kernels keep them";
inline constexpr std::string_view kRestOfPool = "kernels at work, and tensors whose size only a run knows";

class LiveList {
 public:
  /// In bytes; nothing is kept of what holds none.
  void add(std::string_view producer, int64_t bytes);
  /// What is missing of `total`, which all that was added since the last call is a part of: "(gaps between tensors)".
  void add_rest(std::string_view what, int64_t total);
  /// Largest first; then in one line those beyond the first twenty.
  std::vector<std::pair<std::string, int64_t>> take();

 private:
  static constexpr size_t kShown = 20;

  void insert(std::string_view producer, int64_t bytes);

  std::vector<std::pair<std::string, int64_t>> shown_;  // largest first, of equal ones in the order they came
  int64_t more_ = 0, more_bytes_ = 0;                   // too small to be shown
  int64_t listed_ = 0;                                  // since the last rest
};

}  // namespace emplace
