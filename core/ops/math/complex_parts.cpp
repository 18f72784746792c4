// Complex, Real, Imag, ComplexAbs, Angle: complex numbers made of two real ones, and taken apart.
#include <cmath>

#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

constexpr double kCostNs = 1;

struct RealPart {
  template <class T>
  static T of(std::complex<T> x) {
    return x.real();
  }
};
struct ImaginaryPart {
  template <class T>
  static T of(std::complex<T> x) {
    return x.imag();
  }
};
struct Magnitude {
  template <class T>
  static T of(std::complex<T> x) {
    return std::hypot(x.real(), x.imag());
  }
};
struct Direction {
  template <class T>
  static T of(std::complex<T> x) {
    return std::atan2(x.imag(), x.real());
  }
};

template <class F, class T>
Status take_apart(KernelContext& c) {
  const auto* in = c.in<std::complex<T>>(0);
  T* out = c.out<T>(0);
  c.parallel_for(c.output(0).num_elements(), kCostNs, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = F::of(in[i]);
  });
  return ok_status();
}

template <class F>
Result<std::unique_ptr<Kernel>> part_kernel(const KernelInit& init) {
  return init.attrs.type("T") == DType::kComplex64 ? stateless<take_apart<F, float>>(init)
                                                   : stateless<take_apart<F, double>>(init);
}

template <class T>
class Join final : public Kernel {
 public:
  explicit Join(const KernelInit&) {}
  Status run(KernelContext& c) override {
    // One element stands for as many as the other input has: these are the shapes that TensorFlow's users write.
    const Shape &a = c.input(0).shape(), &b = c.input(1).shape(), &whole = c.output(0).shape();
    const Walk real(a, whole), imaginary(b, whole);
    const T *re = c.in<T>(0), *im = c.in<T>(1);
    auto* out = c.out<std::complex<T>>(0);
    c.parallel_for(c.output(0).num_elements(), kCostNs, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = {re[real.at(i)], im[imaginary.at(i)]};
    });
    return ok_status();
  }

 private:
  /// Where the element of a broadcast input lies that belongs to an element of the output.
  class Walk {
   public:
    Walk(const Shape& in, const Shape& out)
        : same_(in == out), out_(out), strides_(static_cast<size_t>(out.rank()), 0) {
      int64_t stride = 1;
      for (int d = in.rank() - 1; d >= 0; --d) {
        if (in.dim(d) != 1) strides_[static_cast<size_t>(d + out.rank() - in.rank())] = stride;
        stride *= in.dim(d);
      }
    }
    int64_t at(int64_t i) const {
      if (same_) return i;
      int64_t place = 0;
      for (int d = out_.rank() - 1; d >= 0; --d) {
        place += i % out_.dim(d) * strides_[static_cast<size_t>(d)];
        i /= out_.dim(d);
      }
      return place;
    }

   private:
    const bool same_;
    const Shape& out_;
    std::vector<int64_t> strides_;
  };
};

Result<std::unique_ptr<Kernel>> join_kernel(const KernelInit& init) {
  return init.attrs.type("T") == DType::kFloat ? make<Join<float>>(init) : make<Join<double>>(init);
}

/// Complex(re, im), of type `attr` of the forward node.
Value joined(GradientContext& g, Value re, Value im, std::string_view attr) {
  return g.add("Complex", {re, im}, {{"Tout", AttrValue::of(g.attrs().type(attr))}});
}

Status real_gradient(GradientContext& g) {
  g.set(0, joined(g, g.grad(0), g.zeros_like(g.grad(0)), "T"));
  return g.status();
}

Status imaginary_gradient(GradientContext& g) {
  g.set(0, joined(g, g.zeros_like(g.grad(0)), g.grad(0), "T"));
  return g.status();
}

Status magnitude_gradient(GradientContext& g) {
  const Value zeros = g.zeros_like(g.grad(0));
  const Value along = g.add("Mul", {joined(g, g.grad(0), zeros, "T"), g.input(0)});
  g.set(0, g.add("DivNoNan", {along, joined(g, g.output(0), zeros, "T")}));
  return g.status();
}

// -dy / (im + i re).
Status angle_gradient(GradientContext& g) {
  const Value dy = g.grad(0);
  const DType type = g.type(dy);
  g.wait_for(dy);
  const Value re = g.add("Real", {g.input(0)}, {{"Tout", AttrValue::of(type)}});
  const Value im = g.add("Imag", {g.input(0)}, {{"Tout", AttrValue::of(type)}});
  const Value turned = g.add("Reciprocal", {joined(g, im, re, "T")});
  g.set(0, g.mul(g.neg(joined(g, dy, g.scalar(type, 0, "Const"), "T")), turned));
  return g.status();
}

Status join_gradient(GradientContext& g) {
  const AttrValue type = AttrValue::of(g.attrs().type("T"));
  g.set_binary(g.add("Real", {g.grad(0)}, {{"Tout", type}}), g.add("Imag", {g.grad(0)}, {{"Tout", type}}));
  return g.status();
}

OpDef part_op(std::string_view name, std::string_view doc, KernelMaker maker) {
  return OpDef(name).doc(doc).shape(shape_unchanged).kernel_attr("T").cpu(kComplexes, maker);
}

}  // namespace

OpDef real_op() {
  return part_op("Real", "The real parts of complex numbers.", part_kernel<RealPart>).gradient(real_gradient);
}
OpDef imag_op() {
  return part_op("Imag", "The imaginary parts of complex numbers.", part_kernel<ImaginaryPart>)
      .gradient(imaginary_gradient);
}
OpDef complex_abs_op() {
  return part_op("ComplexAbs", "The absolute values of complex numbers.", part_kernel<Magnitude>)
      .gradient(magnitude_gradient);
}
OpDef angle_op() {
  return part_op("Angle", "The directions of complex numbers, from -pi to pi.", part_kernel<Direction>)
      .gradient(angle_gradient);
}
OpDef complex_op() {
  return OpDef("Complex")
      .doc("Complex numbers of real and imaginary parts.")
      .shape(shape_broadcast)
      .kernel_attr("T")
      .cpu(kFloatDouble, join_kernel)
      .gradient(join_gradient);
}

}  // namespace emplace
