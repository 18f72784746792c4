// Unique, UniqueWithCounts and their V2: values, or slices along an axis, by first occurrence, and where each one went.
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/element_key.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

constexpr DTypeSet kComparable = kRealNumbers | DTypeSet{DType::kBool, DType::kString};

Status unique_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 1).take_status());
  c.set_output(0, Shape{-1});
  c.set_output(1, c.input(0));
  if (c.num_outputs() > 2) c.set_output(2, Shape{-1});
  return ok_status();
}

/// The one axis of an input of that rank, as `axis` names it; nothing of an empty one, which only vectors have.
Result<std::optional<int>> axis_of_unique(const Tensor& axis, int rank) {
  if (axis.shape().rank() != 1) return invalid_argument("axis expects a 1D vector.");
  if (axis.num_elements() > 1) return invalid_argument("axis does not support input tensors larger than 1 elements");
  if (axis.num_elements() == 0) return std::optional<int>();
  const int64_t a = int_at(axis, 0);
  if (a < -rank || a >= rank)
    return invalid_argument(cat("axis expects to be in the range [", -rank, ", ", rank, "), is ", a));
  return std::optional<int>(static_cast<int>(a < 0 ? a + rank : a));
}

Status unique_along_axis_shape(ShapeContext& c) {
  const Shape& x = c.input(0);
  const Tensor* axis = c.input_value(1);
  c.set_output(1, Shape{-1});
  if (c.num_outputs() > 2) c.set_output(2, Shape{-1});
  if (!axis || !x.rank_known()) return ok_status();
  ASSIGN_OR_RETURN(const std::optional<int> along, axis_of_unique(*axis, x.rank()));
  if (!along && x.rank() != 1) return invalid_argument("x expects a 1D vector.");
  c.set_output(1, Shape{x.dim(along.value_or(0))});
  return ok_status();
}

/// x as slices along one axis: slice i has the elements element(i, 0) ... element(i, size - 1) of x.
struct Slices {
  const Tensor& x;
  int64_t count, inner, size;

  int64_t element(int64_t slice, int64_t k) const { return (k / inner * count + slice) * inner + k % inner; }
  bool of_texts() const { return x.dtype() == DType::kString; }
  std::string_view text(int64_t i) const { return x.data<std::string>()[i]; }

  /// Nothing of a slice that has a NaN, which equals nothing.
  std::optional<uint64_t> hash(int64_t slice) const {
    uint64_t all = 0;
    for (int64_t k = 0; k < size; ++k) {
      const int64_t at = element(slice, k);
      const std::optional<uint64_t> key =
          of_texts() ? std::optional<uint64_t>(std::hash<std::string_view>()(text(at))) : element_key(x, at);
      if (!key) return key;
      all = (all ^ *key) * 0x9E3779B97F4A7C15u;
      all ^= all >> 29;
    }
    return all;
  }
  bool same(int64_t a, int64_t b) const {
    for (int64_t k = 0; k < size; ++k) {
      const int64_t at = element(a, k), to = element(b, k);
      if (of_texts() ? text(at) != text(to) : element_key(x, at) != element_key(x, to)) return false;
    }
    return true;
  }
};

// `firsts`: where each distinct value first occurs; `ids`: which of them each element is.
template <class Key, class KeyOf, class Hash, class Same>
void number_values(int64_t n, const KeyOf& key_at, const Hash& hash, const Same& same, ScratchVector<int64_t>& firsts,
                   ScratchVector<int64_t>& ids) {
  std::unordered_map<Key, int64_t, Hash, Same, ScratchAllocator<std::pair<const Key, int64_t>>> seen(0, hash, same);
  for (int64_t i = 0; i < n; ++i) {
    int64_t next = static_cast<int64_t>(firsts.size()), id = next;
    if (std::optional<Key> key = key_at(i)) id = seen.try_emplace(*key, next).first->second;
    if (id == next) firsts.push_back(i);
    ids.push_back(id);
  }
}

void number_slices(const Slices& s, ScratchVector<int64_t>& firsts, ScratchVector<int64_t>& ids) {
  if (s.size == 1 && !s.of_texts()) {
    number_values<uint64_t>(
        s.count, [&](int64_t i) { return element_key(s.x, i); }, std::hash<uint64_t>(), std::equal_to<uint64_t>(),
        firsts, ids);
  } else if (s.size == 1) {
    number_values<std::string_view>(
        s.count, [&](int64_t i) { return std::optional<std::string_view>(s.text(i)); }, std::hash<std::string_view>(),
        std::equal_to<std::string_view>(), firsts, ids);
  } else {
    ScratchVector<uint64_t> hashes(static_cast<size_t>(s.count));
    const auto key_at = [&](int64_t i) {
      const std::optional<uint64_t> hash = s.hash(i);
      if (hash) hashes[static_cast<size_t>(i)] = *hash;
      return hash ? std::optional<int64_t>(i) : std::nullopt;
    };
    const auto hash = [&](int64_t i) { return static_cast<size_t>(hashes[static_cast<size_t>(i)]); };
    number_values<int64_t>(
        s.count, key_at, hash, [&](int64_t a, int64_t b) { return s.same(a, b); }, firsts, ids);
  }
}

/// Writes what was found: the slices, the numbers, and how often each occurs where the op says so.
Status write_unique(KernelContext& c, const Slices& s, int axis, const ScratchVector<int64_t>& firsts,
                    const ScratchVector<int64_t>& ids) {
  const auto found = static_cast<int64_t>(firsts.size());
  Shape shape = s.x.shape();
  shape.dim(axis) = found;
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  RETURN_IF_ERROR(ensure_output(c, 1, Shape{s.count}));
  if (c.num_outputs() > 2) RETURN_IF_ERROR(ensure_output(c, 2, Shape{found}));
  for (int64_t k = 0; k < s.size; k += s.inner) {
    for (int64_t i = 0; i < found; ++i) {
      void* to = element_at(c.output(0), (k / s.inner * found + i) * s.inner);
      copy_elements(s.x.dtype(), element_at(s.x, s.element(firsts[static_cast<size_t>(i)], k)), to, s.inner);
    }
  }
  with_index(c.output(1).dtype(), [&]<class Index>(Index) {
    for (size_t i = 0; i < ids.size(); ++i) c.out<Index>(1)[i] = static_cast<Index>(ids[i]);
    if (c.num_outputs() < 3) return;
    std::fill_n(c.out<Index>(2), found, Index(0));
    for (const int64_t id : ids) ++c.out<Index>(2)[id];
  });
  return ok_status();
}

/// `along`: nothing where x has to be a vector.
Status unique_along(KernelContext& c, std::optional<int> along) {
  const Tensor& x = c.input(0);
  if (!along && x.shape().rank() != 1) return invalid_argument("unique expects a 1D vector.");
  const int axis = along.value_or(0);
  int64_t inner = 1, outer = 1;
  for (int i = 0; i < axis; ++i) outer *= x.shape().dim(i);
  for (int i = axis + 1; i < x.shape().rank(); ++i) inner *= x.shape().dim(i);
  const Slices slices{x, x.shape().dim(axis), inner, outer * inner};
  ScratchVector<int64_t> firsts, ids;
  number_slices(slices, firsts, ids);
  return write_unique(c, slices, axis, firsts, ids);
}

Status unique_cpu(KernelContext& c) { return unique_along(c, std::nullopt); }
Status unique_along_axis_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const std::optional<int> along, axis_of_unique(c.input(1), c.input(0).shape().rank()));
  return unique_along(c, along);
}

}  // namespace

OpDef unique_op() {
  return OpDef("Unique")
      .doc("The distinct values in order of first occurrence, and for each element which of them it is.")
      .shape(unique_shape)
      .cpu(kComparable, stateless<unique_cpu>);
}
OpDef unique_with_counts_op() {
  return OpDef("UniqueWithCounts")
      .doc("As Unique, and how often each of the values occurs.")
      .shape(unique_shape)
      .cpu(kComparable, stateless<unique_cpu>);
}
OpDef unique_v2_op() {
  return OpDef("UniqueV2")
      .doc("The distinct slices along an axis in order of first occurrence, and for each slice which of them it is.")
      .shape(unique_along_axis_shape)
      .value_inputs({1})
      .cpu(kComparable, stateless<unique_along_axis_cpu>);
}
OpDef unique_with_counts_v2_op() {
  return OpDef("UniqueWithCountsV2")
      .doc("As UniqueV2, and how often each of the slices occurs.")
      .shape(unique_along_axis_shape)
      .value_inputs({1})
      .cpu(kComparable, stateless<unique_along_axis_cpu>);
}

}  // namespace emplace
