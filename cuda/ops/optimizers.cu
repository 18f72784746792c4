// The Apply... ops and their Resource forms: the CPU's formulas (core/ops/state/update_formulas.h) over a variable and
// its slots. Scalars are in device memory; every thread reads them.
#include <span>
#include <vector>

#include "core/base/cat.h"
#include "core/ops/state/locked_variables.h"
#include "core/ops/state/update_formulas.h"
#include "cuda/broadcast.h"
#include "cuda/moving.h"
#include "cuda/sort.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

constexpr int kMaxScalars = 8;

template <class T>
struct UpdateArgs {
  T* variable[kMaxUpdatedVariables] = {};
  const T *gradient = nullptr, *scalar[kMaxScalars] = {};
  int64_t n = 0;
  int scalars = 0;
  bool flag = false;

  /// The scalars among the inputs from `first` on; the gradient is none, nor are the rows that it is for (-1: all).
  Status take_scalars(const KernelContext& c, int first, int gradient_input, int rows_input,
                      std::span<const char* const> names) {
    for (int i = first; i < c.num_inputs(); ++i) {
      if (i == gradient_input || i == rows_input) continue;
      if (c.input(i).shape().rank() != 0) {
        return invalid_argument(
            cat(names[static_cast<size_t>(i)], " is not a scalar: ", c.input(i).shape().to_string()));
      }
      scalar[scalars++] = c.in<T>(i);
    }
    return ok_status();
  }

  /// The first `count` variables, made writable, and the gradient for them.
  Status take_operands(KernelContext& c, const LockedVariables& variables, int count, int gradient_input) {
    for (int k = 0; k < count; ++k) {
      Variable& v = variables[static_cast<size_t>(k)];
      RETURN_IF_ERROR(own_variable(c, v));
      variable[k] = v.value.data<T>();
    }
    gradient = c.in<T>(gradient_input);
    n = c.input(gradient_input).num_elements();
    return ok_status();
  }
};

/// What a thread updates at once: of four variables and a gradient, more would not stay in registers.
template <class T>
inline constexpr int kUpdatePack = kPackSize<T> < 4 ? kPackSize<T> : 4;

template <int kCount, class F, class W>
__device__ void update_element(const F& formula, W gradient, W* v) {
  if constexpr (kCount == 1)
    formula(gradient, v[0]);
  else if constexpr (kCount == 2)
    formula(gradient, v[0], v[1]);
  else if constexpr (kCount == 3)
    formula(gradient, v[0], v[1], v[2]);
  else
    formula(gradient, v[0], v[1], v[2], v[3]);
}

template <template <class> class Formula, class T>
__global__ void apply_kernel(UpdateArgs<T> args) {
  using W = Wide<T>;
  constexpr int kCount = Formula<W>::kVariables, N = kUpdatePack<T>;
  const int64_t first = thread_index() * N;
  if (first >= args.n) return;
  W scalars[kMaxScalars];
  for (int i = 0; i < kMaxScalars; ++i) scalars[i] = i < args.scalars ? widen(*args.scalar[i]) : W(0);
  const Formula<W> formula(scalars, args.flag);
  Pack<T, N> packs[kCount];
  for (int k = 0; k < kCount; ++k) packs[k] = load_pack<T, N>(args.variable[k], args.n, first);
  const Pack<T, N> gradient = load_pack<T, N>(args.gradient, args.n, first);
  EMPLACE_UNROLL for (int j = 0; j < N; ++j) {
    W v[kCount];
    for (int k = 0; k < kCount; ++k) v[k] = widen(packs[k].at[j]);
    update_element<kCount>(formula, widen(gradient.at[j]), v);
    for (int k = 0; k < kCount; ++k) packs[k].at[j] = narrow<T>(v[k]);
  }
  for (int k = 0; k < kCount; ++k) store_pack(args.variable[k], args.n, first, packs[k]);
}

template <template <class> class Formula>
struct By {
  template <class T>
  class Update final : public Kernel {
   public:
    using F = Formula<Wide<T>>;
    explicit Update(const KernelInit& init) {
      if (!F::kFlag.empty()) flag_ = init.attrs.flag(F::kFlag);
    }
    Status run(KernelContext& c) override {
      UpdateArgs<T> args;
      args.flag = flag_;
      RETURN_IF_ERROR(args.take_scalars(c, F::kVariables, F::kGradient, -1, F::kInputs));
      LockedVariables variables(c, F::kVariables);
      RETURN_IF_ERROR(variables.check(c, F::kGradient, F::kInputs));
      RETURN_IF_ERROR(args.take_operands(c, variables, F::kVariables, F::kGradient));
      RETURN_IF_ERROR(launch(Barriers::kNone, apply_kernel<Formula, T>,
                             grid_for(args.n, int64_t{kThreads} * kUpdatePack<T>), kThreads, 0, stream_of(c), args));
      if (c.num_outputs() > 0) c.forward_output(0, c.input(0));
      return ok_status();
    }

   private:
    bool flag_ = false;
  };
};

/// A thread makes one element of a row, for all slices of that row, in their order; that of the row's first slice does
/// it.
template <template <class> class Formula, class T>
__global__ void update_rows_kernel(UpdateArgs<T> args, const uint64_t* keys, const int32_t* places, int64_t slices,
                                   int64_t rows, IndexDivisor row) {
  using W = Wide<T>;
  constexpr int kCount = Formula<W>::kVariables;
  W scalars[kMaxScalars];
  for (int i = 0; i < kMaxScalars; ++i) scalars[i] = i < args.scalars ? widen(*args.scalar[i]) : W(0);
  const Formula<W> formula(scalars, args.flag);
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < args.n; i += thread_count()) {
    int64_t first = i;
    const int64_t column = row.split(first);
    const uint64_t key = keys[first];
    if (key >= static_cast<uint64_t>(rows) || (first > 0 && keys[first - 1] == key)) continue;
    const int64_t at = static_cast<int64_t>(key) * row.divisor + column;
    for (int64_t s = first; s < slices && keys[s] == key; ++s) {
      W v[kCount];
      for (int k = 0; k < kCount; ++k) v[k] = widen(args.variable[k][at]);
      update_element<kCount>(formula, widen(args.gradient[places[s] * row.divisor + column]), v);
      for (int k = 0; k < kCount; ++k) args.variable[k][at] = narrow<T>(v[k]);
    }
  }
}

/// The rows of a variable and its slots that the input behind the gradient names.
template <template <class> class Formula>
struct RowsBy {
  template <class T>
  class Update final : public Kernel {
   public:
    using F = Formula<Wide<T>>;
    static constexpr int kRows = F::kGradient + 1;
    explicit Update(const KernelInit& init) : flag_(!F::kFlag.empty() && init.attrs.flag(F::kFlag)) {
      inputs_.assign(F::kInputs.begin(), F::kInputs.end());
      inputs_.insert(inputs_.begin() + kRows, "indices");
    }
    Status prepare(KernelContext& c) override {
      slices_ = c.input(kRows).num_elements();
      return ok_status();
    }
    Workspace workspace() const override { return {sort_scratch_bytes(slices_)}; }
    Status run(KernelContext& c) override {
      UpdateArgs<T> args;
      args.flag = flag_;
      RETURN_IF_ERROR(args.take_scalars(c, F::kVariables, F::kGradient, kRows, inputs_));
      LockedVariables variables(c, F::kVariables);
      RETURN_IF_ERROR(variables.check(c, F::kGradient, inputs_, false));
      const Shape shape = variables[0].value.shape();
      RETURN_IF_ERROR(check_gradient_rows(shape, c.input(F::kGradient).shape(), c.input(kRows).shape()));
      RETURN_IF_ERROR(args.take_operands(c, variables, F::kVariables, F::kGradient));
      RETURN_IF_ERROR(enqueue(c, args, c.input(kRows), shape));
      if (c.num_outputs() > 0) c.forward_output(0, c.input(0));
      return ok_status();
    }

   private:
    static Status enqueue(KernelContext& c, const UpdateArgs<T>& args, const Tensor& indices, const Shape& shape) {
      const int64_t slices = indices.num_elements(), rows = shape.dim(0);
      if (args.n == 0) return ok_status();
      ASSIGN_OR_RETURN(const Sorted sorted, sort_rows(c, indices, rows));
      return launch(Barriers::kNone, update_rows_kernel<Formula, T>, grid_for(args.n), kThreads, 0, stream_of(c), args,
                    sorted.key(), sorted.place(), slices, rows, IndexDivisor(args.n / slices, args.n));
    }

    bool flag_;
    std::vector<const char*> inputs_;
    int64_t slices_ = 0;
  };
};

template <template <class> class Formula>
void add_rows_update(KernelTable& table, std::string_view op) {
  constexpr KernelMaker maker = [](const KernelInit& init) {
    return make_for<RowsBy<Formula>::template Update, float, double, half, bfloat16>(init.attrs.type("T"), init);
  };
  table.add(op, kFloating, maker);
}

template <template <class> class Formula>
void add_any_rows_update(KernelTable& table, std::string_view op) {
  constexpr KernelMaker maker = [](const KernelInit& init) {
    return make_for<RowsBy<Formula>::template Update, float, double, half, bfloat16, complex64, complex128>(
        init.attrs.type("T"), init);
  };
  table.add(op, kFloating | kComplexes, maker);
}

template <template <class> class Formula>
void add_real_update(KernelTable& table, std::string_view op) {
  constexpr KernelMaker maker = [](const KernelInit& init) {
    return make_for<By<Formula>::template Update, float, double, half, bfloat16>(init.attrs.type("T"), init);
  };
  table.add(op, kFloating, maker);
}

template <template <class> class Formula>
void add_update(KernelTable& table, std::string_view op) {
  constexpr KernelMaker maker = [](const KernelInit& init) {
    return make_for<By<Formula>::template Update, float, double, half, bfloat16, complex64, complex128>(
        init.attrs.type("T"), init);
  };
  table.add(op, kFloating | kComplexes, maker);
}

}  // namespace

void add_optimizers(KernelTable& table) {
  add_update<GradientDescent>(table, "ApplyGradientDescent");
  add_update<GradientDescent>(table, "ResourceApplyGradientDescent");
  add_update<Momentum>(table, "ApplyMomentum");
  add_update<Momentum>(table, "ResourceApplyMomentum");
  add_update<KerasMomentum>(table, "ResourceApplyKerasMomentum");
  add_update<Adam>(table, "ApplyAdam");
  add_update<Adam>(table, "ResourceApplyAdam");
  add_update<Adagrad>(table, "ApplyAdagrad");
  add_update<Adagrad>(table, "ResourceApplyAdagrad");
  add_update<AdagradV2>(table, "ApplyAdagradV2");
  add_update<AdagradV2>(table, "ResourceApplyAdagradV2");
  add_rows_update<Adagrad>(table, "SparseApplyAdagrad");
  add_rows_update<Adagrad>(table, "ResourceSparseApplyAdagrad");
  add_rows_update<AdagradV2>(table, "SparseApplyAdagradV2");
  add_rows_update<AdagradV2>(table, "ResourceSparseApplyAdagradV2");
  add_real_update<Ftrl>(table, "ApplyFtrl");
  add_real_update<Ftrl>(table, "ResourceApplyFtrl");
  add_real_update<FtrlV2>(table, "ApplyFtrlV2");
  add_real_update<FtrlV2>(table, "ResourceApplyFtrlV2");
  add_rows_update<RowsFtrl>(table, "SparseApplyFtrl");
  add_rows_update<RowsFtrl>(table, "ResourceSparseApplyFtrl");
  add_rows_update<RowsFtrlV2>(table, "SparseApplyFtrlV2");
  add_rows_update<RowsFtrlV2>(table, "ResourceSparseApplyFtrlV2");
  add_update<Adadelta>(table, "ApplyAdadelta");
  add_update<Adadelta>(table, "ResourceApplyAdadelta");
  add_any_rows_update<Adadelta>(table, "SparseApplyAdadelta");
  add_any_rows_update<Adadelta>(table, "ResourceSparseApplyAdadelta");
  add_any_rows_update<KerasMomentum>(table, "ResourceSparseApplyKerasMomentum");
  add_real_update<AdaMax>(table, "ApplyAdaMax");
  add_real_update<AdaMax>(table, "ResourceApplyAdaMax");
  add_real_update<AdamWithAmsgrad>(table, "ResourceApplyAdamWithAmsgrad");
  add_real_update<AddSign>(table, "ApplyAddSign");
  add_real_update<AddSign>(table, "ResourceApplyAddSign");
  add_real_update<PowerSign>(table, "ApplyPowerSign");
  add_real_update<PowerSign>(table, "ResourceApplyPowerSign");
  add_real_update<ProximalAdagrad>(table, "ApplyProximalAdagrad");
  add_real_update<ProximalAdagrad>(table, "ResourceApplyProximalAdagrad");
  add_rows_update<ProximalAdagrad>(table, "SparseApplyProximalAdagrad");
  add_rows_update<ProximalAdagrad>(table, "ResourceSparseApplyProximalAdagrad");
  add_update<RmsProp>(table, "ApplyRMSProp");
  add_update<RmsProp>(table, "ResourceApplyRMSProp");
  add_update<CenteredRmsProp>(table, "ApplyCenteredRMSProp");
  add_update<CenteredRmsProp>(table, "ResourceApplyCenteredRMSProp");
}

}  // namespace emplace::cuda
