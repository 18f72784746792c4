// ListDiff: the elements of one list that are not in another.
#include <string_view>
#include <unordered_set>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/element_key.h"

namespace emplace {
namespace {

Status list_diff_shape(ShapeContext& c) {
  for (int i : {0, 1}) RETURN_IF_ERROR(c.with_rank(i, 1).take_status());
  for (int i : {0, 1}) c.set_output(i, Shape{-1});
  return ok_status();
}

template <class Key, class KeyOf>
ScratchVector<int64_t> positions_not_in(const Tensor& x, const Tensor& y, const KeyOf& key_of) {
  std::unordered_set<Key, std::hash<Key>, std::equal_to<Key>, ScratchAllocator<Key>> excluded;
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    if (std::optional<Key> key = key_of(y, i)) excluded.insert(*key);
  }
  ScratchVector<int64_t> kept;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    std::optional<Key> key = key_of(x, i);
    if (!key || !excluded.contains(*key)) kept.push_back(i);
  }
  return kept;
}

Status list_diff_cpu(KernelContext& c) {
  const Tensor &x = c.input(0), &y = c.input(1);
  for (int i : {0, 1}) {
    if (c.input(i).shape().rank() == 1) continue;
    return invalid_argument(
        cat(i == 0 ? "x" : "y", " should be a 1D vector, but got ", c.input(i).shape().to_string()));
  }
  auto text = [](const Tensor& t, int64_t i) { return std::optional<std::string_view>(t.data<std::string>()[i]); };
  ScratchVector<int64_t> kept = x.dtype() == DType::kString ? positions_not_in<std::string_view>(x, y, text)
                                                            : positions_not_in<uint64_t>(x, y, element_key);
  auto n = static_cast<int64_t>(kept.size());
  for (int i : {0, 1}) RETURN_IF_ERROR(ensure_output(c, i, Shape{n}));
  for (int64_t i = 0; i < n; ++i) {
    int64_t from = kept[static_cast<size_t>(i)];
    copy_elements(x.dtype(), element_at(x, from), element_at(c.output(0), i), 1);
    with_index(c.output(1).dtype(), [&]<class Index>(Index) { c.out<Index>(1)[i] = static_cast<Index>(from); });
  }
  return ok_status();
}

}  // namespace

OpDef list_diff_op() {
  return OpDef("ListDiff")
      .doc("The elements of x that are not in y, in order, and where in x they are.")
      .shape(list_diff_shape)
      .cpu(kRealNumbers | DTypeSet{DType::kString}, stateless<list_diff_cpu>)
      .sample("x=[1,2,3,2,5]; y=[2,9]");
}

}  // namespace emplace
