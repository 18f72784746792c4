// Part of core/op/op_def.h: OpLibrary over op_list.inc: a sorted array of names and functions, definitions made on
// first use.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "core/op/op_def.h"

namespace emplace {

#define EMPLACE_OP(name, function, file) OpDef function();
#include "core/ops/op_list.inc"
#undef EMPLACE_OP

namespace {

struct Entry {
  std::string_view name;
  OpDef (*make)();
};

constexpr Entry kEntries[] = {
#define EMPLACE_OP(name, function, file) {#name, function},
#include "core/ops/op_list.inc"
#undef EMPLACE_OP
};
constexpr size_t kCount = std::size(kEntries);

static_assert(std::is_sorted(std::begin(kEntries), std::end(kEntries),
                             [](const Entry& a, const Entry& b) { return a.name < b.name; }),
              "op_list.inc is sorted by name (ASCII: capitals before underscore before small letters)");

std::mutex mutex;
std::array<std::unique_ptr<OpDef>, kCount> made;  // guarded by mutex

}  // namespace

const OpDef* OpLibrary::find(std::string_view name) {
  const Entry* e = std::lower_bound(std::begin(kEntries), std::end(kEntries), name,
                                    [](const Entry& entry, std::string_view n) { return entry.name < n; });
  if (e == std::end(kEntries) || e->name != name) return nullptr;
  std::lock_guard lock(mutex);
  auto& slot = made[static_cast<size_t>(e - kEntries)];
  if (!slot) slot = std::make_unique<OpDef>(e->make());
  return slot.get();
}

std::vector<std::string_view> OpLibrary::names() {
  std::vector<std::string_view> out;
  for (const Entry& e : kEntries) out.push_back(e.name);
  return out;
}

}  // namespace emplace
