// Pad, PadV2 (a border of one value), MirrorPad (a border of reflected values) and its gradient.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/row_ops.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/strided_copy.h"

namespace emplace {
namespace {

Status pad_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape paddings, c.with_rank(1, 2));
  RETURN_IF_ERROR(require_dim(paddings.dim(1), 2).take_status());
  Shape in = c.input(0);
  if (paddings.dim(0) >= 0) {
    ASSIGN_OR_RETURN(in, require_rank(in, paddings.dim(0)));
  } else if (in.rank_known()) {
    paddings.dim(0) = in.rank();
  }
  const Tensor* values = c.input_value(1);
  if (values == nullptr) {
    if (in.rank_known()) c.set_output(0, Shape::unknown_dims(in.rank()));
    return ok_status();
  }
  for (int i = 0; i < in.rank(); ++i) {
    int64_t before = int_at(*values, 2 * i), after = int_at(*values, 2 * i + 1);
    if (before < 0 || after < 0) return invalid_argument("Paddings must be non-negative");
    ASSIGN_OR_RETURN(int64_t both, add_dims(before, after));
    ASSIGN_OR_RETURN(in.dim(i), add_dims(in.dim(i), both));
  }
  c.set_output(0, in);
  return ok_status();
}

// Sizes before and after, one pair a dimension, checked against the input.
Result<Shape> padded_shape(const Shape& in, const Tensor& paddings) {
  const Shape& s = paddings.shape();
  if (s.rank() != 2 || s.dim(1) != 2) {
    return invalid_argument(cat("paddings must be a matrix with 2 columns: ", s.to_string()));
  }
  if (s.dim(0) != in.rank()) {
    return invalid_argument(
        cat("The first dimension of paddings must be the rank of inputs", s.to_string(), " ", in.to_string()));
  }
  Shape out = in;
  for (int i = 0; i < in.rank(); ++i) {
    int64_t before = int_at(paddings, 2 * i), after = int_at(paddings, 2 * i + 1);
    if (before < 0 || after < 0) return invalid_argument(cat("Paddings must be non-negative: ", before, " ", after));
    ASSIGN_OR_RETURN(int64_t both, add_dims(before, after));
    ASSIGN_OR_RETURN(out.dim(i), add_dims(in.dim(i), both));
  }
  return out;
}

// The way back: what MirrorPad's input was, for an output of that shape.
Result<Shape> unpadded_shape(const Shape& in, const Tensor& paddings) {
  const Shape& s = paddings.shape();
  if (s.rank() != 2 || s.dim(1) != 2 || s.dim(0) != in.rank()) {
    return invalid_argument(cat("paddings must be a matrix with 2 columns and ", in.rank(), " rows: ", s.to_string()));
  }
  Shape out = in;
  for (int i = 0; i < in.rank(); ++i) {
    int64_t before = int_at(paddings, 2 * i), after = int_at(paddings, 2 * i + 1), dim = in.dim(i);
    if (before < 0 || after < 0) return invalid_argument(cat("Paddings must be non-negative: ", before, ", ", after));
    if (dim < 0) continue;
    if (before > dim || after > dim - before) {
      return invalid_argument(cat("Total paddings must be no greater than the input dimension size: ", before, ", ",
                                  after, " greater than ", dim));
    }
    out.dim(i) = dim - before - after;
  }
  return out;
}

// A border mirrors at most what lies inside; REFLECT leaves out the edge.
Status check_mirror(const Shape& inside, const Tensor& paddings, bool reflect) {
  for (int i = 0; i < inside.rank(); ++i) {
    int64_t before = int_at(paddings, 2 * i), after = int_at(paddings, 2 * i + 1), dim = inside.dim(i);
    int64_t most = reflect ? dim - 1 : dim;
    if (before <= most && after <= most) continue;
    return invalid_argument(cat(reflect ? "paddings must be less than the dimension size: "
                                        : "paddings must be no greater than the dimension size: ",
                                before, ", ", after, reflect ? " not less than " : " greater than ", dim));
  }
  return ok_status();
}

// Puts the input where the paddings leave it in an output of that shape.
void copy_inside(KernelContext& c, const Shape& shape) {
  const Tensor& in = c.input(0);
  ScratchVector<int64_t> in_strides = row_major_strides(in.shape()), out_strides = row_major_strides(shape);
  StridedCopy copy;
  for (size_t i = 0; i < in_strides.size(); ++i) {
    copy.add(in.shape().dim(static_cast<int>(i)), in_strides[i], out_strides[i]);
    copy.out_offset += int_at(c.input(1), 2 * static_cast<int64_t>(i)) * out_strides[i];
  }
  copy.run(*c.parallel_, in.dtype(), in.raw(), c.output(0).raw());
}

// Bytes. Shorter lines than these are better copied all together.
constexpr int64_t kEnoughForLines = 64;

// Of a padded tensor, lines of all that lies behind each other along the last axis that has a border: each element is
// written once.
struct PaddedLines {
  int axis;
  int64_t inner;                    // elements of the axes behind it
  int64_t line, before, run, left;  // elements: of a line, of the border, of the input, of the border behind it
};

PaddedLines padded_lines(const Shape& in, const Shape& out, const Tensor& paddings) {
  PaddedLines p{in.rank() - 1, 1, 1, 0, 1, 0};
  for (; p.axis > 0 && in.dim(p.axis) == out.dim(p.axis); --p.axis) p.inner *= in.dim(p.axis);
  p.line = out.dim(p.axis) * p.inner;
  p.before = int_at(paddings, 2 * p.axis) * p.inner;
  p.run = in.dim(p.axis) * p.inner;
  p.left = p.line - p.before - p.run;
  return p;
}

template <class E>
void write_lines(KernelContext& c, const Shape& shape, const PaddedLines& p, const E& value) {
  const Shape& in = c.input(0).shape();
  const E* from = static_cast<const E*>(c.input(0).raw());
  E* to = static_cast<E*>(c.output(0).raw());
  const int64_t lines = c.output(0).num_elements() / p.line;
  c.parallel_for(lines, static_cast<double>(p.line) * 0.1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = i, line = 0, lines_behind = 1;  // of the input
      bool inside = true;
      for (int d = p.axis; d-- > 0; rest /= shape.dim(d)) {
        const int64_t at = rest % shape.dim(d) - int_at(c.input(1), 2 * static_cast<int64_t>(d));
        inside = inside && at >= 0 && at < in.dim(d);
        line += at * lines_behind;
        lines_behind *= in.dim(d);
      }
      E* out = to + i * p.line;
      if (!inside) {
        std::fill_n(out, p.line, value);
        continue;
      }
      std::fill_n(out, p.before, value);
      std::copy_n(from + line * p.run, p.run, out + p.before);
      std::fill_n(out + p.before + p.run, p.left, value);
    }
  });
}

Status pad_with(KernelContext& c, const void* value) {
  const Tensor& in = c.input(0);
  ASSIGN_OR_RETURN(Shape shape, padded_shape(in.shape(), c.input(1)));
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  Tensor& out = c.output(0);
  if (out.num_elements() == 0) return ok_status();
  if (!(shape == in.shape()) && in.num_elements() > 0 && !c.parallel_->mover()) {
    const PaddedLines lines = padded_lines(in.shape(), shape, c.input(1));
    if (lines.run * element_stride(in.dtype()) >= kEnoughForLines) {
      with_element(in.dtype(), [&]<class E>(const E&) { write_lines(c, shape, lines, *static_cast<const E*>(value)); });
      return ok_status();
    }
  }
  if (!(shape == in.shape())) fill_elements(*c.parallel_, out.dtype(), value, out.raw(), out.num_elements());
  if (in.num_elements() == 0) return ok_status();
  copy_inside(c, shape);
  return ok_status();
}

Status pad_cpu(KernelContext& c) {
  return with_element(c.input(0).dtype(), [&]<class E>(E zero) { return pad_with(c, &zero); });
}

Status pad_v2_cpu(KernelContext& c) {
  if (c.input(2).shape().rank() != 0) {
    return invalid_argument(cat("Constant_values must be a scalar. Found: ", c.input(2).shape().to_string()));
  }
  return pad_with(c, c.input(2).raw());
}

// One axis of a padded tensor: `outer` lines of rows of `run` elements.
struct MirrorAxis {
  int64_t before, size, after, run, outer;
};

// Each row of the border is a copy of the row as far inside; `skip` is 1 where the edge itself is not repeated.
void mirror(KernelContext& c, Tensor& t, const MirrorAxis& a, int64_t skip) {
  const int64_t length = a.before + a.size + a.after;
  auto border = [&](int64_t rows, int64_t from, int64_t to, int64_t direction) {
    StridedCopy copy;
    copy.add(a.outer, length * a.run, length * a.run);
    copy.add(rows, direction * a.run, -direction * a.run);
    copy.add(a.run, 1, 1);
    copy.in_offset = from * a.run;
    copy.out_offset = to * a.run;
    copy.run(*c.parallel_, t.dtype(), t.raw(), t.raw());
  };
  border(a.before, a.before + skip, a.before - 1, 1);
  border(a.after, a.before + a.size - 1 - skip, a.before + a.size, -1);
}

class MirrorPad final : public Kernel {
 public:
  explicit MirrorPad(const KernelInit& init) : reflect_(init.attrs.text("mode") == "REFLECT") {}

  Status run(KernelContext& c) override {
    const Tensor& in = c.input(0);
    ASSIGN_OR_RETURN(Shape shape, padded_shape(in.shape(), c.input(1)));
    RETURN_IF_ERROR(check_mirror(in.shape(), c.input(1), reflect_));
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    Tensor& out = c.output(0);
    if (out.num_elements() == 0) return ok_status();
    copy_inside(c, shape);
    // From the innermost axis outwards: each step makes whole blocks that the next one copies.
    ScratchVector<int64_t> strides = row_major_strides(shape);
    for (int d = shape.rank(); d-- > 0;) {
      int64_t before = int_at(c.input(1), 2 * d), after = int_at(c.input(1), 2 * d + 1);
      if (before == 0 && after == 0) continue;
      int64_t run = strides[static_cast<size_t>(d)];
      MirrorAxis axis{before, in.shape().dim(d), after, run, out.num_elements() / (shape.dim(d) * run)};
      mirror(c, out, axis, reflect_ ? 1 : 0);
    }
    return ok_status();
  }

 private:
  bool reflect_;
};

Status mirror_pad_grad_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape paddings, c.with_rank(1, 2));
  RETURN_IF_ERROR(require_dim(paddings.dim(1), 2).take_status());
  Shape in = c.input(0);
  if (paddings.dim(0) >= 0) {
    ASSIGN_OR_RETURN(in, require_rank(in, paddings.dim(0)));
  }
  if (!in.rank_known()) return ok_status();
  const Tensor* values = c.input_value(1);
  if (values == nullptr) {
    c.set_output(0, Shape::unknown_dims(in.rank()));
    return ok_status();
  }
  ASSIGN_OR_RETURN(Shape out, unpadded_shape(in, *values));
  c.set_output(0, out);
  return ok_status();
}

// The border of one axis is added to the rows that it mirrors.
void fold(KernelContext& c, DType type, void* data, const MirrorAxis& a, int64_t skip) {
  int64_t length = a.before + a.size + a.after, stride = element_stride(type);
  if (Mover* mover = c.parallel_->mover()) {
    auto at_row = [&](int64_t row) { return static_cast<char*>(data) + row * a.run * stride; };
    const Mover::Axis lines{a.outer, length * a.run, length * a.run}, row{a.run, 1, 1};
    const Mover::Axis before[] = {lines, {a.before, -a.run, a.run}, row},
                      after[] = {lines, {a.after, a.run, -a.run}, row};
    if (a.before > 0) mover->add(type, before, at_row(a.before - 1), at_row(a.before + skip));
    if (a.after > 0) mover->add(type, after, at_row(a.before + a.size), at_row(a.before + a.size - 1 - skip));
    return;
  }
  RowOp add = row_add(type);
  auto at = [&](int64_t line, int64_t row) {
    return static_cast<char*>(data) + (line * length + row) * a.run * stride;
  };
  c.parallel_for(a.outer, 0.2 * static_cast<double>((a.before + a.after) * a.run * stride),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t line = begin; line < end; ++line) {
                     for (int64_t i = 0; i < a.before; ++i)
                       add(at(line, a.before + skip + i), at(line, a.before - 1 - i), a.run);
                     for (int64_t i = 0; i < a.after; ++i) {
                       add(at(line, a.before + a.size - 1 - skip - i), at(line, a.before + a.size + i), a.run);
                     }
                   }
                 });
}

class MirrorPadGrad final : public Kernel {
 public:
  explicit MirrorPadGrad(const KernelInit& init) : skip_(init.attrs.text("mode") == "REFLECT" ? 1 : 0) {}

  Status prepare(KernelContext& c) override {
    constexpr int64_t kUnit = 256;  // pools hand out multiples of it
    const int64_t bytes = c.input(0).num_elements() * static_cast<int64_t>(storage_size(c.input(0).dtype()));
    folded_bytes_ = (bytes + kUnit - 1) / kUnit * kUnit;
    return ok_status();
  }
  Workspace workspace() const override { return {folded_bytes_}; }
  Status run(KernelContext& c) override {
    const Tensor &in = c.input(0), &paddings = c.input(1);
    ASSIGN_OR_RETURN(Shape shape, unpadded_shape(in.shape(), paddings));
    RETURN_IF_ERROR(check_mirror(shape, paddings, skip_ == 1));
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    if (in.num_elements() == 0 || c.output(0).num_elements() == 0) return ok_status();
    ASSIGN_OR_RETURN(Tensor folded, c.allocate_scratch(in.dtype(), in.shape()));
    copy_elements(*c.parallel_, in.dtype(), in.raw(), folded.raw(), in.num_elements());
    ScratchVector<int64_t> in_strides = row_major_strides(in.shape()), out_strides = row_major_strides(shape);
    StridedCopy inside;
    for (int d = 0; d < shape.rank(); ++d) {
      int64_t before = int_at(paddings, 2 * d), after = int_at(paddings, 2 * d + 1);
      int64_t run = in_strides[static_cast<size_t>(d)];
      MirrorAxis axis{before, shape.dim(d), after, run, in.num_elements() / (in.shape().dim(d) * run)};
      if (before > 0 || after > 0) fold(c, in.dtype(), folded.raw(), axis, skip_);
      inside.add(shape.dim(d), run, out_strides[static_cast<size_t>(d)]);
      inside.in_offset += before * run;
    }
    inside.run(*c.parallel_, in.dtype(), folded.raw(), c.output(0).raw());
    return ok_status();
  }

 private:
  int64_t skip_, folded_bytes_ = 0;
};

// dx is the inside of dy; the value of the border has no gradient.
Status pad_gradient(GradientContext& g) {
  Value x = g.input(0), paddings = g.input(1);
  Value first_column = g.pack({g.rank_of(x), g.index(1, "stack/1")});
  Value before = g.add("Slice", {paddings, g.ints({0, 0}, "Slice/begin"), first_column});
  Value begin = g.reshape(before, std::vector<int64_t>{-1});
  g.set(0, g.add("Slice", {g.grad(0), begin, g.shape_of(x, g.type(begin))}));
  return g.status();
}

Status mirror_pad_gradient(GradientContext& g) {
  g.set(0, g.add("MirrorPadGrad", {g.grad(0), g.input(1)}, g.copy_attrs({"mode"})));
  return g.status();
}

// Folding the border in is linear, and its transpose is the mirror again.
Status mirror_pad_grad_gradient(GradientContext& g) {
  g.set(0, g.add("MirrorPad", {g.grad(0), g.input(1)}, g.copy_attrs({"mode"})));
  return g.status();
}

}  // namespace

OpDef pad_op() {
  return OpDef("Pad")
      .doc("A border of zeros, as wide as paddings says before and after each dimension.")
      .shape(pad_shape)
      .cpu(kMovable, stateless<pad_cpu>)
      .value_inputs({1})
      .gradient(pad_gradient);
}
OpDef pad_v2_op() {
  return OpDef("PadV2")
      .doc("A border of the given value, as wide as paddings says before and after each dimension.")
      .shape(pad_shape)
      .cpu(kMovable, stateless<pad_v2_cpu>)
      .value_inputs({1})
      .gradient(pad_gradient);
}
OpDef mirror_pad_op() {
  return OpDef("MirrorPad")
      .doc("A border that mirrors what lies inside: REFLECT leaves out the edge itself, SYMMETRIC repeats it.")
      .shape(pad_shape)
      .cpu(kMovable, make<MirrorPad>)
      .value_inputs({1})
      .gradient(mirror_pad_gradient);
}

OpDef mirror_pad_grad_op() {
  return OpDef("MirrorPadGrad")
      .doc("The gradient of MirrorPad: the border is added to what it mirrors.")
      .shape(mirror_pad_grad_shape)
      .cpu(kNumbers, make<MirrorPadGrad>)
      .value_inputs({1})
      .gradient(mirror_pad_grad_gradient)
      .sample("input=f32[4,5] uniform(-2,2); paddings=[[1,1],[0,2]]; mode='SYMMETRIC'");
}

}  // namespace emplace
