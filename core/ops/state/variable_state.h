/// What the kernels of variables share: writing a value by the rule of Variable (core/op/kernel.h).
#pragma once

#include "core/op/kernel.h"
#include "core/op/shape_context.h"
#include "core/ops/kit/nd_index.h"
#include "core/ops/kit/row_ops.h"

namespace emplace {

/// variable = value (a copy). REQUIRES: the caller holds variable.mutex.
Status store_value(KernelContext& c, Variable& variable, const Tensor& value);
/// variable = op(variable, value), element by element. REQUIRES: as above, and equal shapes.
Status update_value(KernelContext& c, Variable& variable, const Tensor& value, RowOp op);
/// Makes the variable's buffer one that nobody else holds, with the same elements. REQUIRES: as above, initialised.
Status own_value(KernelContext& c, Variable& variable);

/// The variable behind a VariableV2 or VarHandleOp node, from its attrs `container` and `shared_name`.
Result<Variable*> find_variable(const KernelInit& init);

/// What reading a variable that nobody assigned says: through a reference, through a handle.
Status uninitialized(const Variable& variable);
Status no_such_variable(const Variable& variable);
/// What a read or an assignment (`verb`) of another type says.
Status wrong_type(const Variable& variable, std::string_view verb, DType got);
/// What a change by updates of another type says.
Status updates_of_other_type(const Variable& variable, DType updates);
/// The slices that `indices` name for `updates`, or what ResourceScatterNd* say of either. REQUIRES: the caller holds
/// variable.mutex.
Result<NdIndex> updated_slices(const Variable& variable, const Tensor& indices, const Tensor& updates);

/// What reading through a handle gives; whoever writes the variable meanwhile does so in a buffer of its own. Takes
/// variable.mutex.
Result<Tensor> value_behind_handle(Variable& variable, DType type);

}  // namespace emplace
