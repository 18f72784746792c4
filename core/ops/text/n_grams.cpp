// StringNGrams: runs of neighbouring texts of a row, joined.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

Status n_grams_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 1).take_status());
  ASSIGN_OR_RETURN(const Shape splits, c.with_rank(1, 1));
  c.set_output(0, Shape{-1});
  c.set_output(1, splits);
  return ok_status();
}

class StringNGrams final : public Kernel {
 public:
  explicit StringNGrams(const KernelInit& init)
      : separator_(init.attrs.text("separator")),
        left_pad_(init.attrs.text("left_pad")),
        right_pad_(init.attrs.text("right_pad")),
        widths_(init.attrs.integers("ngram_widths")),
        pad_width_(limited(init.attrs.integer("pad_width"))),
        keeps_short_(init.attrs.flag("preserve_short_sequences")) {
    for (int64_t& width : widths_) width = limited(width);
  }

  Status run(KernelContext& c) override {
    const Tensor& splits = c.input(1);
    RETURN_IF_ERROR(check(c.input(0), splits));
    RETURN_IF_ERROR(ensure_output(c, 1, splits.shape()));
    const int64_t rows = std::max<int64_t>(splits.num_elements() - 1, 0);
    int64_t total = 0;
    with_index(splits.dtype(), [&]<class I>(I) {
      if (rows == 0 && splits.num_elements() > 0) c.out<I>(1)[0] = 0;
      for (int64_t row = 0; row < rows; ++row) {
        c.out<I>(1)[row] = static_cast<I>(total);
        total += count_in(int_at(splits, row + 1) - int_at(splits, row));
        c.out<I>(1)[row + 1] = static_cast<I>(total);
      }
    });
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{total}));
    std::string* out = c.out<std::string>(0);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t begin = int_at(splits, row), length = int_at(splits, row + 1) - begin;
      const std::string* texts = c.in<std::string>(0) + begin;
      const std::string* before = out;
      for (int64_t width : widths_) {
        for (int64_t i = 0, n = count(length, width); i < n; ++i) *out++ = joined(texts, i, n, width, padding(width));
      }
      // A row that is too short for all widths is one by itself, padded.
      if (keeps_short_ && out == before && length > 0)
        *out++ = joined(texts, 0, 1, length + 2 * std::max<int64_t>(pad_width_, 0), std::max<int64_t>(pad_width_, 0));
    }
    return ok_status();
  }

 private:
  /// Where sums of such still are numbers; runs of that many texts fit nowhere.
  static int64_t limited(int64_t width) { return std::clamp<int64_t>(width, INT32_MIN, INT32_MAX); }
  static Status check(const Tensor& data, const Tensor& splits) {
    const int64_t n = splits.num_elements();
    if (n == 0) return ok_status();
    if (int_at(splits, 0) != 0) return invalid_argument(cat("First split value must be 0, got ", int_at(splits, 0)));
    for (int64_t i = 1, before = 0; i < n; ++i) {
      const int64_t split = int_at(splits, i);
      if (split < before || split > data.num_elements())
        return invalid_argument(
            cat("Invalid split value ", split, ", must be in [", before, ", ", data.num_elements(), "]"));
      before = split;
    }
    if (int_at(splits, n - 1) != data.num_elements())
      return invalid_argument(
          cat("Last split value must be data size. Expected ", data.num_elements(), ", got ", int_at(splits, n - 1)));
    return ok_status();
  }

  int64_t padding(int64_t width) const { return pad_width_ < 0 ? width - 1 : std::min(pad_width_, width - 1); }
  int64_t count(int64_t length, int64_t width) const {
    return std::max<int64_t>(0, length + 2 * padding(width) - width + 1);
  }
  int64_t count_in(int64_t length) const {
    int64_t n = 0;
    for (int64_t width : widths_) n += count(length, width);
    return keeps_short_ && length > 0 && n == 0 ? 1 : n;
  }

  /// Number `i` of `n` of that width; `texts`: of the row.
  std::string joined(const std::string* texts, int64_t i, int64_t n, int64_t width, int64_t pad) const {
    const int64_t left = std::max<int64_t>(0, pad - i), right = std::max<int64_t>(0, pad - (n - i - 1));
    const std::string* first = texts + (left > 0 ? 0 : i - pad);
    std::string out;
    const auto append = [&](const std::string& text, int64_t at) { out.append(at > 0 ? separator_ : "").append(text); };
    for (int64_t at = 0; at < width; ++at)
      append(at < left ? left_pad_ : at < width - right ? first[at - left] : right_pad_, at);
    return out;
  }

  std::string separator_, left_pad_, right_pad_;
  std::vector<int64_t> widths_;
  int64_t pad_width_;  // negative: as many as a run has, less one
  bool keeps_short_;
};

}  // namespace

OpDef string_n_grams_op() {
  return OpDef("StringNGrams")
      .doc("Of each row, given by splits, the runs of so many neighbouring texts, joined.")
      .shape(n_grams_shape)
      .kernel_attr("Tsplits")
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, make<StringNGrams>)
      .not_differentiable();
}

}  // namespace emplace
