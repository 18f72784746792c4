// The SparseApply... ops of optimizers and their Resource forms: updates of the rows of a variable that a gradient in
// slices names; other rows and their slots stay as they are.
#include "core/ops/state/update_formulas.h"
#include "core/ops/state/variable_update.h"

namespace emplace {
namespace {

template <class T>
struct SparseMomentum : Momentum<T> {
  using Momentum<T>::Momentum;
  static constexpr std::array kInputs{"var", "accum", "lr", "grad", "indices", "momentum"};
  static constexpr int kIndices = 4;
};

template <class T>
struct SparseAdagrad : Adagrad<T> {
  using Adagrad<T>::Adagrad;
  static constexpr std::array kInputs{"var", "accum", "lr", "grad", "indices"};
  static constexpr int kIndices = 4;
};

template <class T>
struct SparseAdagradV2 : AdagradV2<T> {
  using AdagradV2<T>::AdagradV2;
  static constexpr std::array kInputs{"var", "accum", "lr", "epsilon", "grad", "indices"};
  static constexpr int kIndices = 5;
};

template <class T>
struct SparseRmsProp : RmsProp<T> {
  using RmsProp<T>::RmsProp;
  static constexpr std::array kInputs{"var", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad", "indices"};
  static constexpr int kIndices = 8;
};

template <class T>
struct SparseCenteredRmsProp : CenteredRmsProp<T> {
  using CenteredRmsProp<T>::CenteredRmsProp;
  static constexpr std::array kInputs{"var", "mg", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad", "indices"};
  static constexpr int kIndices = 9;
};

constexpr DTypeSet kRmsPropTypes = (kFloating | kComplexes).without(DTypeSet{DType::kBFloat16});
constexpr std::string_view kSparseMomentumDoc =
    "ApplyMomentum for the rows that indices name, one after the other; the others stay.";
constexpr std::string_view kSparseAdagradDoc =
    "ApplyAdagrad for the rows that indices name, one after the other; the others stay.";
constexpr std::string_view kSparseAdagradV2Doc =
    "ApplyAdagradV2 for the rows that indices name, one after the other; the others stay.";
constexpr std::string_view kSparseRmsPropDoc =
    "ApplyRMSProp for the rows that indices name, one after the other; the others stay.";
constexpr std::string_view kCenteredDoc =
    "ApplyCenteredRMSProp for the rows that indices name, one after the other; the others stay.";

}  // namespace

OpDef sparse_apply_adagrad_op() { return update_op<SparseAdagrad>("SparseApplyAdagrad", kSparseAdagradDoc); }
OpDef sparse_apply_adagrad_v2_op() { return update_op<SparseAdagradV2>("SparseApplyAdagradV2", kSparseAdagradV2Doc); }
OpDef sparse_apply_momentum_op() { return update_op<SparseMomentum>("SparseApplyMomentum", kSparseMomentumDoc); }
OpDef sparse_apply_rms_prop_op() {
  return update_op<SparseRmsProp>("SparseApplyRMSProp", kSparseRmsPropDoc, kRmsPropTypes);
}
OpDef sparse_apply_centered_rms_prop_op() {
  return update_op<SparseCenteredRmsProp>("SparseApplyCenteredRMSProp", kCenteredDoc, kRmsPropTypes);
}

OpDef resource_sparse_apply_adagrad_op() {
  return update_op<SparseAdagrad>("ResourceSparseApplyAdagrad", kSparseAdagradDoc);
}
OpDef resource_sparse_apply_adagrad_v2_op() {
  return update_op<SparseAdagradV2>("ResourceSparseApplyAdagradV2", kSparseAdagradV2Doc);
}
OpDef resource_sparse_apply_momentum_op() {
  return update_op<SparseMomentum>("ResourceSparseApplyMomentum", kSparseMomentumDoc);
}
OpDef resource_sparse_apply_rms_prop_op() {
  return update_op<SparseRmsProp>("ResourceSparseApplyRMSProp", kSparseRmsPropDoc, kRmsPropTypes);
}
OpDef resource_sparse_apply_centered_rms_prop_op() {
  return update_op<SparseCenteredRmsProp>("ResourceSparseApplyCenteredRMSProp", kCenteredDoc, kRmsPropTypes);
}

}  // namespace emplace
