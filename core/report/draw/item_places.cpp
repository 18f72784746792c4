// Part of core/report/draw/layering.h: the coordinates of the items of a layer.
#include <algorithm>

#include "core/report/draw/layering.h"

namespace emplace {
namespace {

constexpr int kPasses = 6;
constexpr double kLineGap = 9;         // between lines that pass a layer
constexpr double kLinePriority = 6;    // long lines had better be straight
constexpr double kNoPriority = 0.001;  // linked to nothing: goes where there is room

class Placer {
 public:
  Placer(const LayerItems& items, uint32_t num_boxes) : items_(items), num_boxes_(num_boxes), x_(items.layer.size()) {
    for (const auto& row : items.rows) pack(row);
  }

  std::vector<double> place() {
    const size_t n = items_.rows.size();
    for (int pass = 0; pass < kPasses; ++pass) {
      for (size_t i = 0; i < n; ++i) settle(items_.rows[pass % 2 == 0 ? i : n - 1 - i], pass);
    }
    return std::move(x_);
  }

 private:
  double gap(uint32_t a, uint32_t b) const {
    const double between = a >= num_boxes_ && b >= num_boxes_ ? kLineGap : kBoxGap;
    return (items_.width[a] + items_.width[b]) / 2 + between;
  }

  /// Side by side, the middle of the row at 0.
  void pack(const std::vector<uint32_t>& row) {
    double x = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) x += gap(row[i - 1], row[i]);
      x_[row[i]] = x;
    }
    for (const uint32_t item : row) x_[item] -= x / 2;
  }

  double middle_of(const std::vector<uint32_t>& others) {
    at_.clear();
    for (const uint32_t other : others) at_.push_back(x_[other]);
    std::sort(at_.begin(), at_.end());
    const size_t n = at_.size();
    return (at_[(n - 1) / 2] + at_[n / 2]) / 2;
  }

  /// Where the item would like to be, and how much: by its links up, down, in the last passes by both.
  std::pair<double, double> wish(uint32_t item, int pass) {
    const auto &above = items_.above[item], &below = items_.below[item];
    if (above.empty() && below.empty()) return {x_[item], kNoPriority};
    const bool up = below.empty() || (!above.empty() && pass % 2 == 0), both = pass >= kPasses - 2;
    double x = middle_of(up ? above : below);
    if (both && !above.empty() && !below.empty()) x = (x + middle_of(up ? below : above)) / 2;
    const double links = static_cast<double>(above.size() + below.size());
    return {x, item >= num_boxes_ ? kLinePriority : 1 + std::min(links, 4.0)};
  }

  /// The least squares of wish and place, weighed by priority, with the order and the gaps kept: neighbours that want
  /// to pass each other become a block, which stands at the mean of what they want.
  void settle(const std::vector<uint32_t>& row, int pass) {
    struct Block {
      double weight, sum;
      size_t count;
      double mean() const { return sum / weight; }
    };
    std::vector<Block> blocks;
    double offset = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) offset += gap(row[i - 1], row[i]);
      const auto [x, priority] = wish(row[i], pass);
      blocks.push_back({priority, priority * (x - offset), 1});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
        const Block last = blocks.back();
        blocks.pop_back();
        blocks.back().weight += last.weight;
        blocks.back().sum += last.sum;
        blocks.back().count += last.count;
      }
    }
    size_t i = 0;
    offset = 0;
    for (const Block& block : blocks) {
      for (const size_t end = i + block.count; i < end; ++i) {
        if (i > 0) offset += gap(row[i - 1], row[i]);
        x_[row[i]] = block.mean() + offset;
      }
    }
  }

  const LayerItems& items_;
  const uint32_t num_boxes_;
  std::vector<double> x_;
  std::vector<double> at_;  // scratch
};

}  // namespace

std::vector<double> place_items(const LayerItems& items, uint32_t num_boxes) {
  return Placer(items, num_boxes).place();
}

}  // namespace emplace
