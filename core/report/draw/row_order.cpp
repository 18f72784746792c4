// Part of core/report/draw/layering.h: the order of the items of a layer.
#include <algorithm>

#include "core/report/draw/layering.h"

namespace emplace {
namespace {

constexpr int kSweeps = 8;

std::vector<uint32_t> positions_of(const LayerItems& items) {
  std::vector<uint32_t> position(items.layer.size());
  for (const auto& row : items.rows) {
    for (uint32_t i = 0; i < row.size(); ++i) position[row[i]] = i;
  }
  return position;
}

/// Depth first from the top: what hangs together stands together.
void order_by_descent(LayerItems& items) {
  std::vector<std::vector<uint32_t>> rows(items.rows.size());
  std::vector<bool> seen(items.layer.size());
  std::vector<uint32_t> stack;
  for (const auto& row : items.rows) {
    for (const uint32_t root : row) {
      stack.push_back(root);
      while (!stack.empty()) {
        const uint32_t item = stack.back();
        stack.pop_back();
        if (seen[item]) continue;
        seen[item] = true;
        rows[items.layer[item]].push_back(item);
        stack.insert(stack.end(), items.below[item].rbegin(), items.below[item].rend());
      }
    }
  }
  items.rows = std::move(rows);
}

void sort_by_median(std::vector<uint32_t>& row, const std::vector<std::vector<uint32_t>>& links,
                    std::vector<uint32_t>& position) {
  std::vector<std::pair<double, uint32_t>> keys;
  std::vector<uint32_t> at;
  for (const uint32_t item : row) {
    at.clear();
    for (const uint32_t other : links[item]) at.push_back(position[other]);
    std::sort(at.begin(), at.end());
    const size_t n = at.size();
    const double median = n == 0 ? position[item] : (at[(n - 1) / 2] + at[n / 2]) / 2.0;
    keys.emplace_back(median, item);
  }
  std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (uint32_t i = 0; i < row.size(); ++i) row[i] = keys[i].second, position[row[i]] = i;
}

/// Pairs of links between a row and the next one that cross: a binary indexed tree counts lower ends passed so far.
int64_t crossings(const std::vector<uint32_t>& row, size_t next_size, const LayerItems& items,
                  const std::vector<uint32_t>& position) {
  std::vector<int64_t> tree(next_size + 1);
  std::vector<uint32_t> ends;
  int64_t count = 0, passed = 0;
  for (const uint32_t item : row) {
    ends.clear();
    for (const uint32_t other : items.below[item]) ends.push_back(position[other]);
    for (const uint32_t end : ends) {
      int64_t left = 0;
      for (size_t i = end + 1; i > 0; i &= i - 1) left += tree[i];
      count += passed - left;
    }
    for (const uint32_t end : ends) {
      for (size_t i = end + 1; i < tree.size(); i += i & (~i + 1)) ++tree[i];
      ++passed;
    }
  }
  return count;
}

int64_t all_crossings(const LayerItems& items, const std::vector<uint32_t>& position) {
  int64_t count = 0;
  for (size_t r = 0; r + 1 < items.rows.size(); ++r)
    count += crossings(items.rows[r], items.rows[r + 1].size(), items, position);
  return count;
}

}  // namespace

void order_rows(LayerItems& items) {
  order_by_descent(items);
  std::vector<uint32_t> position = positions_of(items);
  int64_t fewest = all_crossings(items, position);
  auto best = items.rows;
  const size_t n = items.rows.size();
  for (int sweep = 0; sweep < kSweeps && fewest > 0; ++sweep) {
    for (size_t i = 1; i < n; ++i) {
      const bool down = sweep % 2 == 0;
      sort_by_median(items.rows[down ? i : n - 1 - i], down ? items.above : items.below, position);
    }
    const int64_t count = all_crossings(items, position);
    if (count < fewest) fewest = count, best = items.rows;
  }
  items.rows = std::move(best);
}

}  // namespace emplace
