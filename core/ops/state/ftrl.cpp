// ApplyFtrl and its kin: Resource forms, V2 with shrinkage, and those for rows.
#include "core/ops/state/update_formulas.h"
#include "core/ops/state/variable_update.h"

namespace emplace {
namespace {

// What TensorFlow refuses of the forms for rows only; the others take any number.
template <class T>
std::string_view refused(const T* s, int num_scalars, bool times_rate) {
  if (!(s[0] > T(0) || (times_rate && s[0] == T(0))))
    return "lr is not a positive scalar (or zero if multiply_linear_by_lr is set)";
  if (!(s[1] >= T(0))) return "l1 regularization strength is not a non-negative scalar";
  if (!(s[2] >= T(0))) return "l2 regularization strength is not a non-negative scalar";
  if (num_scalars == 5 && !(s[3] >= T(0))) return "l2 shrinkage regularization strength is not a non-negative scalar";
  if (!(s[num_scalars - 1] <= T(0))) return "lr_power is not a non-positive scalar";
  return {};
}

template <class T>
struct SparseFtrl : RowsFtrl<T> {
  using RowsFtrl<T>::RowsFtrl;
  static constexpr std::array kInputs{"var", "accum", "linear", "grad", "indices", "lr", "l1", "l2", "lr_power"};
  static constexpr int kIndices = 4;
  static std::string_view refuse(const T* s, bool flag) { return refused(s, 4, flag); }
};

template <class T>
struct SparseFtrlV2 : RowsFtrlV2<T> {
  using RowsFtrlV2<T>::RowsFtrlV2;
  static constexpr std::array kInputs{"var", "accum", "linear", "grad",         "indices",
                                      "lr",  "l1",    "l2",     "l2_shrinkage", "lr_power"};
  static constexpr int kIndices = 4;
  static std::string_view refuse(const T* s, bool flag) { return refused(s, 5, flag); }
};

constexpr std::string_view kDoc =
    "With n = accum + grad^2: linear += grad - (n^-lr_power - accum^-lr_power) / lr * var; accum = n; var = "
    "(sign(linear) l1 - linear) / (n^-lr_power / lr + 2 l2) where |linear| > l1, else 0.";
constexpr std::string_view kV2Doc = "ApplyFtrl; linear adds up grad + 2 l2_shrinkage var.";
constexpr std::string_view kRowsDoc = "ApplyFtrl for the rows that indices name, one after the other; the others stay.";
constexpr std::string_view kRowsV2Doc =
    "ApplyFtrlV2 for the rows that indices name, one after the other; the others stay.";

}  // namespace

OpDef apply_ftrl_op() { return update_op<Ftrl>("ApplyFtrl", kDoc, kFloating); }
OpDef apply_ftrl_v2_op() { return update_op<FtrlV2>("ApplyFtrlV2", kV2Doc, kFloating); }
OpDef resource_apply_ftrl_op() { return update_op<Ftrl>("ResourceApplyFtrl", kDoc, kFloating); }
OpDef resource_apply_ftrl_v2_op() { return update_op<FtrlV2>("ResourceApplyFtrlV2", kV2Doc, kFloating); }
OpDef sparse_apply_ftrl_op() { return update_op<SparseFtrl>("SparseApplyFtrl", kRowsDoc, kFloating); }
OpDef sparse_apply_ftrl_v2_op() { return update_op<SparseFtrlV2>("SparseApplyFtrlV2", kRowsV2Doc, kFloating); }
OpDef resource_sparse_apply_ftrl_op() { return update_op<SparseFtrl>("ResourceSparseApplyFtrl", kRowsDoc, kFloating); }
OpDef resource_sparse_apply_ftrl_v2_op() {
  return update_op<SparseFtrlV2>("ResourceSparseApplyFtrlV2", kRowsV2Doc, kFloating);
}

}  // namespace emplace
