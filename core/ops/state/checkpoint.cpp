// Checkpoints as nodes: what a graph's own saver is made of.
#include "core/base/cat.h"
#include "core/op/checkpoint_access.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/tensor/mapped_buffer.h"

namespace emplace {
namespace {

Status unknown_outputs(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, Shape::unknown());
  return ok_status();
}

Status no_access() { return failed_precondition("no checkpoint can be touched here"); }

Status wrong_sizes(std::string_view names, int64_t count, int64_t wanted) {
  return invalid_argument(cat("Got ", count, " ", names, ", expected ", wanted));
}

/// Output `i` becomes a tensor of a checkpoint. A copy: a variable that gets it may write there.
Status restore_output(KernelContext& c, int i, CheckpointAccess& access, const std::string& prefix,
                      const std::string& key, const std::string& part) {
  ASSIGN_OR_RETURN(const Tensor value, access.read(prefix, key, part, *c.parallel_));
  if (const DType wanted = c.output(i).dtype(); value.dtype() != wanted)
    return invalid_argument(cat("tensor_name = ", key, "; expected dtype ", dtype_tf_name(wanted),
                                " does not equal original dtype ", dtype_tf_name(value.dtype())));
  RETURN_IF_ERROR(c.allocate_output(i, value.shape()));
  if (const auto* lent = dynamic_cast<const MappedBuffer*>(value.buffer().get())) {
    lent->move_out(c.output(i).raw(), *c.parallel_);
    return ok_status();
  }
  if (value.num_elements() > 0) copy_elements(value.dtype(), value.raw(), c.output(i).raw(), value.num_elements());
  return ok_status();
}

const std::string& scalar_text(const KernelContext& c, int i) { return *c.in<std::string>(i); }

Status check_scalar(const KernelContext& c, int i, std::string_view what) {
  if (c.input(i).num_elements() == 1) return ok_status();
  return invalid_argument(
      cat("Input ", i, " (", what, ") must be a string scalar; got a tensor of size ", c.input(i).num_elements()));
}

class RestoreV2 final : public Kernel {
 public:
  explicit RestoreV2(const KernelInit& init) : access_(init.checkpoints) {}

  Status run(KernelContext& c) override {
    if (!access_) return no_access();
    RETURN_IF_ERROR(check_scalar(c, 0, "prefix"));
    const int64_t count = c.num_outputs();
    if (c.input(1).num_elements() != count) return wrong_sizes("tensor names", c.input(1).num_elements(), count);
    if (c.input(2).num_elements() != count) return wrong_sizes("shapes and slices", c.input(2).num_elements(), count);
    for (int i = 0; i < c.num_outputs(); ++i) {
      RETURN_IF_ERROR(
          restore_output(c, i, *access_, scalar_text(c, 0), c.in<std::string>(1)[i], c.in<std::string>(2)[i]));
    }
    return ok_status();
  }

 private:
  CheckpointAccess* access_;
};

/// Restore, and RestoreSlice, which has a third input.
class RestoreOne final : public Kernel {
 public:
  explicit RestoreOne(const KernelInit& init) : access_(init.checkpoints) {}

  Status run(KernelContext& c) override {
    if (!access_) return no_access();
    static constexpr std::string_view kNames[] = {"file_pattern", "tensor_name", "shape_and_slice"};
    for (int i = 0; i < c.num_inputs(); ++i) RETURN_IF_ERROR(check_scalar(c, i, kNames[i]));
    const std::string part = c.num_inputs() > 2 ? scalar_text(c, 2) : std::string();
    return restore_output(c, 0, *access_, scalar_text(c, 0), scalar_text(c, 1), part);
  }

 private:
  CheckpointAccess* access_;
};

/// Save, and SaveSlices, which has a third input before the tensors.
class SaveVersion1 final : public Kernel {
 public:
  SaveVersion1(const KernelInit& init, bool in_parts) : access_(init.checkpoints), first_(in_parts ? 3 : 2) {}

  Status run(KernelContext& c) override {
    if (!access_) return no_access();
    RETURN_IF_ERROR(check_scalar(c, 0, "filename"));
    const int64_t count = c.num_inputs() - first_;
    if (c.input(1).num_elements() != count) return wrong_sizes("tensor names", c.input(1).num_elements(), count);
    if (first_ == 3 && c.input(2).num_elements() != count)
      return wrong_sizes("shapes and slices", c.input(2).num_elements(), count);
    std::vector<CheckpointPart> parts;
    parts.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      const std::string part = first_ == 3 ? c.in<std::string>(2)[i] : std::string();
      parts.push_back({c.in<std::string>(1)[i], part, c.input(first_ + i)});
    }
    return access_->write_file(scalar_text(c, 0), parts);
  }

 private:
  CheckpointAccess* access_;
  const int first_;
};

Result<std::unique_ptr<Kernel>> save_whole(const KernelInit& init) {
  return owned_kernel(new SaveVersion1(init, false));
}
Result<std::unique_ptr<Kernel>> save_slices(const KernelInit& init) {
  return owned_kernel(new SaveVersion1(init, true));
}

class SaveV2 final : public Kernel {
 public:
  explicit SaveV2(const KernelInit& init) : access_(init.checkpoints) {}

  Status run(KernelContext& c) override {
    if (!access_) return no_access();
    RETURN_IF_ERROR(check_scalar(c, 0, "prefix"));
    const int64_t count = c.num_inputs() - 3;
    if (c.input(1).num_elements() != count) return wrong_sizes("tensor names", c.input(1).num_elements(), count);
    if (c.input(2).num_elements() != count) return wrong_sizes("shapes and slices", c.input(2).num_elements(), count);
    std::vector<CheckpointPart> parts;
    parts.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) parts.push_back({c.in<std::string>(1)[i], c.in<std::string>(2)[i], c.input(i + 3)});
    return access_->write(scalar_text(c, 0), parts);
  }

 private:
  CheckpointAccess* access_;
};

class MergeV2Checkpoints final : public Kernel {
 public:
  explicit MergeV2Checkpoints(const KernelInit& init)
      : access_(init.checkpoints),
        remove_(init.attrs.flag("delete_old_dirs")),
        missing_ok_(init.attrs.flag("allow_missing_files")) {}

  Status run(KernelContext& c) override {
    if (!access_) return no_access();
    RETURN_IF_ERROR(check_scalar(c, 1, "destination_prefix"));
    const auto prefixes = c.input(0).flat<std::string>();
    return access_->merge(std::vector<std::string>(prefixes.begin(), prefixes.end()), scalar_text(c, 1), remove_,
                          missing_ok_);
  }

 private:
  CheckpointAccess* access_;
  const bool remove_, missing_ok_;
};

}  // namespace

OpDef restore_op() {
  return OpDef("Restore")
      .doc("A tensor of a checkpoint, by its key.")
      .shape(unknown_outputs)
      .kernel_attr("dt")
      .cpu(make<RestoreOne>)
      .provides_outputs()
      .not_differentiable();
}
OpDef restore_slice_op() {
  return OpDef("RestoreSlice")
      .doc("A tensor of a checkpoint by its key, or a part of it.")
      .shape(unknown_outputs)
      .kernel_attr("dt")
      .cpu(make<RestoreOne>)
      .provides_outputs()
      .not_differentiable();
}
OpDef restore_v2_op() {
  return OpDef("RestoreV2")
      .doc("Tensors of a checkpoint, or parts of them, by their keys.")
      .traits({.restores = true})
      .shape(unknown_outputs)
      .cpu(make<RestoreV2>)
      .provides_outputs()
      .not_differentiable();
}
OpDef save_op() {
  return OpDef("Save")
      .doc("Writes tensors into a checkpoint of version 1, which is one file.")
      .shape(shape_none)
      .cpu(save_whole)
      .not_differentiable();
}
OpDef save_slices_op() {
  return OpDef("SaveSlices")
      .doc("Writes tensors, or parts of them, into a checkpoint of version 1, which is one file.")
      .shape(shape_none)
      .cpu(save_slices)
      .not_differentiable();
}
OpDef save_v2_op() {
  return OpDef("SaveV2")
      .doc("Writes tensors, or parts of them, into a checkpoint PREFIX.index, PREFIX.data-00000-of-00001.")
      .shape(shape_none)
      .cpu(make<SaveV2>)
      .not_differentiable();
}
OpDef merge_v2_checkpoints_op() {
  return OpDef("MergeV2Checkpoints")
      .doc("Several checkpoints become one of several data files.")
      .shape(shape_none)
      .cpu(make<MergeV2Checkpoints>)
      .not_differentiable();
}

}  // namespace emplace
