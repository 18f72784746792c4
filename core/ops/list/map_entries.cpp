#include "core/ops/list/map_entries.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace emplace {
namespace {

/// Less than 0, 0, more: as one of them comes before the other.
int compare_keys(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) return a.dtype() < b.dtype() ? -1 : 1;
  const auto x = a.shape().dims(), y = b.shape().dims();
  if (!std::equal(x.begin(), x.end(), y.begin(), y.end()))
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end()) ? -1 : 1;
  if (a.dtype() != DType::kString) return a.size_bytes() == 0 ? 0 : std::memcmp(a.raw(), b.raw(), a.size_bytes());
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    if (const int order = a.data<std::string>()[i].compare(b.data<std::string>()[i]); order != 0) return order;
  }
  return 0;
}

}  // namespace

MapPlace find_entry(const TensorList& map, const Tensor& key) {
  int64_t low = 0, high = map.size() / 2;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    const int order = compare_keys(map.elements[2 * middle], key);
    if (order == 0) return {middle, true};
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {low, false};
}

void put_entry(TensorList& map, const Tensor& key, const Tensor& value) {
  const MapPlace place = find_entry(map, key);
  if (!place.found) {
    map.elements.resize(map.size() + 2);
    for (int64_t i = map.size() - 1; i >= 2 * place.entry + 2; --i)
      map.elements.at(i) = std::move(map.elements.at(i - 2));
  }
  map.elements.at(2 * place.entry) = key;
  map.elements.at(2 * place.entry + 1) = value;
}

void erase_entry(TensorList& map, int64_t entry) {
  for (int64_t i = 2 * entry; i + 2 < map.size(); ++i) map.elements.at(i) = std::move(map.elements.at(i + 2));
  map.elements.resize(map.size() - 2);
}

}  // namespace emplace
