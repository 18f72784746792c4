// ExtractVolumePatches: each window of a volume as a row of its cells.
#include <algorithm>
#include <cstring>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/image/image_patches.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status volume_patches_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape volumes, c.with_rank(0, 5));
  for (const std::string_view name : {"ksizes", "strides"}) {
    const std::vector<int64_t>& given = c.attrs().integers(name);
    if (given.size() != 5) {
      return invalid_argument(cat("ExtractVolumePatches requires the ", name == "strides" ? "stride" : name,
                                  " attribute to contain 5 values, but got: ", given.size()));
    }
    for (const int64_t v : given) {
      if (v < INT32_MIN || v > INT32_MAX)
        return invalid_argument(cat("Attr ", name, " has value ", v, " out of range for an int32"));
    }
  }
  ASSIGN_OR_RETURN(const VolumePatches patches, volume_patches(c.attrs(), volumes));
  c.set_output(0, patches.out);
  return ok_status();
}

/// Copies bytes: a cell is one run of them.
class ExtractVolumePatches final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    RETURN_IF_ERROR(check_volume_patch_attrs(init.attrs));
    return owned_kernel(new ExtractVolumePatches(init.attrs));
  }
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const VolumePatches p, volume_patches(attrs_, c.input(0).shape()));
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    if (c.output(0).num_elements() == 0) return ok_status();
    const int64_t cell = p.depth * element_stride(c.input(0).dtype());
    const int64_t window = p.z.taps * p.y.taps * p.x.taps, row = p.x.out * window * cell;
    const double cost = 2.0 * static_cast<double>(p.x.out * window) + 0.05 * static_cast<double>(row);
    c.parallel_for(p.batch * p.z.out * p.y.out, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t plane = i / p.y.out;
        const char* volume =
            static_cast<const char*>(c.input(0).raw()) + plane / p.z.out * p.z.in * p.y.in * p.x.in * cell;
        copy_row(p, volume, plane % p.z.out, i % p.y.out, cell, static_cast<char*>(c.output(0).raw()) + i * row);
      }
    });
    return ok_status();
  }

 private:
  static void copy_row(const VolumePatches& p, const char* volume, int64_t oz, int64_t oy, int64_t cell, char* to) {
    for (int64_t ox = 0; ox < p.x.out; ++ox) {
      const int64_t left = ox * p.x.stride - p.x.before;
      for (int64_t k = 0; k < p.z.taps * p.y.taps; ++k, to += p.x.taps * cell) {
        const int64_t z = oz * p.z.stride - p.z.before + k / p.y.taps, y = oy * p.y.stride - p.y.before + k % p.y.taps;
        if (z < 0 || z >= p.z.in || y < 0 || y >= p.y.in)
          std::memset(to, 0, static_cast<size_t>(p.x.taps * cell));
        else
          copy_cells(p.x, volume + (z * p.y.in + y) * p.x.in * cell, left, cell, to);
      }
    }
  }
  /// Cells of a line of the volume from `left` on; zeros for those that are not there.
  static void copy_cells(const PatchAxis& x, const char* line, int64_t left, int64_t cell, char* to) {
    const int64_t before = std::clamp<int64_t>(-left, 0, x.taps);
    const int64_t end = std::clamp<int64_t>(x.in - left, before, x.taps);
    std::memset(to, 0, static_cast<size_t>(before * cell));
    std::memcpy(to + before * cell, line + (left + before) * cell, static_cast<size_t>((end - before) * cell));
    std::memset(to + end * cell, 0, static_cast<size_t>((x.taps - end) * cell));
  }

  explicit ExtractVolumePatches(const Attrs& attrs) : attrs_(attrs) {}
  Attrs attrs_;
};

/// What arrived at each cell of each window is added to the cell that it was, by a sparse matrix of ones: a row for
/// each cell of a volume, a column for each cell of its windows. Patches of the cells' numbers, from 1 on, tell.
Status volume_patches_gradient(GradientContext& g) {
  constexpr DType kLong = DType::kInt64;
  const Shape &in = g.shape(g.input(0)), &out = g.shape(g.output(0));
  std::vector<int64_t> cells{1}, windows{1};
  int64_t cell_count = 1, tap_count = 1, window_count = 1;
  const std::vector<int64_t>& taps = g.attrs().integers("ksizes");
  for (int i = 1; i < 4; ++i) {
    if (in.dim(i) < 0 || out.dim(i) < 0) {
      return invalid_argument(cat("the gradient of ExtractVolumePatches wants to know the sizes of volumes, not ",
                                  in.to_string(), ": give the placeholder a shape"));
    }
    cells.push_back(in.dim(i));
    windows.push_back(out.dim(i));
    if (__builtin_mul_overflow(cell_count, in.dim(i), &cell_count) ||
        __builtin_mul_overflow(window_count, out.dim(i), &window_count) ||
        __builtin_mul_overflow(tap_count, taps[static_cast<size_t>(i)], &tap_count)) {
      return invalid_argument(cat("volumes of shape ", in.to_string(), " have too many cells"));
    }
  }
  int64_t row_count = 0;
  if (__builtin_mul_overflow(window_count, tap_count, &row_count))
    return invalid_argument(cat("windows of shape ", out.to_string(), " have too many cells"));
  const Value sizes = g.shape_of(g.input(0)), batch = g.element(sizes, 0), depth = g.element(sizes, 4);

  const auto count = [&](int64_t from, int64_t to) {
    return g.range(g.index(from, "range/start", kLong), g.index(to, "range/limit", kLong),
                   g.index(1, "range/delta", kLong));
  };
  cells.push_back(1);
  const Value from = g.add("ExtractVolumePatches", {g.reshape(count(1, cell_count + 1), cells)},
                           g.copy_attrs({"ksizes", "strides", "padding"}));
  windows.push_back(tap_count);
  const Value to = g.reshape(count(0, row_count), windows);
  const Value pairs =
      g.add("ConcatV2", {g.expand_dims(from, -1), g.expand_dims(to, -1), g.index(-1, "concat/axis")}, {}, "concat");
  const Value places = g.reshape(pairs, std::vector<int64_t>{-1, 2});
  const Value ones = g.ones(g.ints({row_count}, "ones/shape"), g.type(g.grad(0)));
  const Value inside =
      g.add("SparseSlice",
            {places, ones, g.ints({cell_count + 1, row_count}, "SparseTensor/dense_shape", kLong),
             g.ints({1, 0}, "SparseSlice/start", kLong), g.ints({cell_count, row_count}, "SparseSlice/size", kLong)});

  std::vector<Value> arrived{batch};
  for (int i = 1; i < 4; ++i) arrived.push_back(g.index(out.dim(i), cat("Reshape/shape/", i)));
  for (size_t i = 1; i < 4; ++i) arrived.push_back(g.index(taps[i], cat("Reshape/shape/", i + 3)));
  arrived.push_back(depth);
  const Value by_place =
      g.transpose(g.reshape(g.grad(0), g.pack(arrived)), g.ints({1, 2, 3, 4, 5, 6, 0, 7}, "transpose/perm"));
  const Value flat = g.reshape(by_place, g.pack({g.index(-1, "Reshape/shape/0"), g.mul(batch, depth)}));
  const Value sums = g.add("SparseTensorDenseMatMul", {inside, inside.output(1), inside.output(2), flat}, {},
                           "SparseTensorDenseMatMul/SparseTensorDenseMatMul");
  std::vector<Value> volume;
  for (int i = 1; i < 4; ++i) volume.push_back(g.index(in.dim(i), cat("Reshape/shape/", i - 1)));
  volume.push_back(batch);
  volume.push_back(depth);
  g.set(0, g.transpose(g.reshape(sums, g.pack(volume)), g.ints({3, 0, 1, 2, 4}, "transpose/perm")));
  return g.status();
}

}  // namespace

OpDef extract_volume_patches_op() {
  return OpDef("ExtractVolumePatches")
      .doc("The windows of volumes, the cells of each in a row.")
      .shape(volume_patches_shape)
      .cpu(kRealNumbers, ExtractVolumePatches::create)
      .gradient(volume_patches_gradient);
}

}  // namespace emplace
