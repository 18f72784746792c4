// Unique: values by first occurrence, and where each input went.
#include <string_view>
#include <unordered_map>

#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/element_key.h"

namespace emplace {
namespace {

Status unique_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 1).take_status());
  c.set_output(0, Shape{-1});
  c.set_output(1, c.input(0));
  return ok_status();
}

// `firsts`: where each distinct value first occurs; `ids`: which of them each element is.
template <class Key, class KeyOf>
void number_values(int64_t n, const KeyOf& key_at, ScratchVector<int64_t>& firsts, ScratchVector<int64_t>& ids) {
  std::unordered_map<Key, int64_t, std::hash<Key>, std::equal_to<Key>, ScratchAllocator<std::pair<const Key, int64_t>>>
      seen;
  for (int64_t i = 0; i < n; ++i) {
    int64_t next = static_cast<int64_t>(firsts.size()), id = next;
    if (std::optional<Key> key = key_at(i)) id = seen.try_emplace(*key, next).first->second;
    if (id == next) firsts.push_back(i);
    ids.push_back(id);
  }
}

Status unique_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  if (in.shape().rank() != 1) return invalid_argument("unique expects a 1D vector.");
  ScratchVector<int64_t> firsts, ids;
  if (in.dtype() == DType::kString) {
    number_values<std::string_view>(
        in.num_elements(), [&](int64_t i) { return std::optional<std::string_view>(in.data<std::string>()[i]); },
        firsts, ids);
  } else {
    number_values<uint64_t>(
        in.num_elements(), [&](int64_t i) { return element_key(in, i); }, firsts, ids);
  }
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{static_cast<int64_t>(firsts.size())}));
  RETURN_IF_ERROR(ensure_output(c, 1, in.shape()));
  for (size_t i = 0; i < firsts.size(); ++i) {
    copy_elements(in.dtype(), element_at(in, firsts[i]), element_at(c.output(0), static_cast<int64_t>(i)), 1);
  }
  bool wide = c.output(1).dtype() == DType::kInt64;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (wide) {
      c.out<int64_t>(1)[i] = ids[i];
    } else {
      c.out<int32_t>(1)[i] = static_cast<int32_t>(ids[i]);
    }
  }
  return ok_status();
}

}  // namespace

OpDef unique_op() {
  return OpDef("Unique")
      .doc("The distinct values in order of first occurrence, and for each element which of them it is.")
      .shape(unique_shape)
      .cpu((kRealNumbers | DTypeSet{DType::kBool, DType::kString}), stateless<unique_cpu>);
}

}  // namespace emplace
