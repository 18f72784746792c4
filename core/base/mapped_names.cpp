#include "core/base/mapped_names.h"

#include <atomic>
#include <utility>

namespace emplace {
namespace {

constexpr int kRows = 256;
constexpr int kNoRow = -1;

struct NamedRange {
  std::atomic<bool> taken{false};
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<const char*> name{nullptr};
};

NamedRange rows[kRows];

int take_row() {
  for (int i = 0; i < kRows; ++i) {
    if (!rows[i].taken.exchange(true)) return i;
  }
  return kNoRow;
}

}  // namespace

MappedName::MappedName(const void* begin, size_t size, std::string name) : name_(std::move(name)), row_(take_row()) {
  if (row_ == kNoRow) return;
  NamedRange& row = rows[row_];
  row.name = name_.c_str();
  row.begin = reinterpret_cast<uintptr_t>(begin);
  row.end = reinterpret_cast<uintptr_t>(begin) + size;
}

MappedName::~MappedName() {
  if (row_ == kNoRow) return;
  rows[row_].end = 0;
  rows[row_].taken = false;
}

const char* mapped_name_at(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (const NamedRange& row : rows) {
    if (at < row.end && at >= row.begin) return row.name;
  }
  return nullptr;
}

}  // namespace emplace
