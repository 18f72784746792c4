// StringSplit, StringSplitV2: the parts of texts, as a sparse matrix with a row for each text.
#include <algorithm>
#include <string_view>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

using Parts = ScratchVector<std::string_view>;

Status split_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 1).take_status());
  RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  c.set_output(0, Shape{-1, 2});
  c.set_output(1, Shape{-1});
  c.set_output(2, Shape{2});
  return ok_status();
}

/// At each of the delimiters; bytes, if there are none.
void split_at_any(std::string_view text, std::string_view delimiters, bool skips_empty, Parts& parts) {
  if (text.empty()) return;
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) parts.push_back(text.substr(i, 1));
    return;
  }
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(delimiters, begin), text.size());
    if (!skips_empty || end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// As Python's str.split() without a separator, but what is left after `most` splits is a part even if it is empty.
void split_at_blanks(std::string_view text, int64_t most, Parts& parts) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const auto skip = [&] { text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size())); };
  skip();
  for (int64_t splits = 1; !text.empty(); ++splits) {
    const size_t end = std::min(text.find_first_of(kBlanks), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
    skip();
    if (splits == most) return parts.push_back(text);
  }
}

void split_at(std::string_view text, std::string_view separator, int64_t most, Parts& parts) {
  size_t end = text.find(separator);
  for (int64_t splits = 0; end != text.npos && splits != most; ++splits) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
    end = text.find(separator);
  }
  parts.push_back(text);
}

/// `split(text, parts)` appends a text's parts.
template <class F>
Status split_rows(KernelContext& c, std::string_view separator_name, const F& split) {
  const Shape &in = c.input(0).shape(), &separator = c.input(1).shape();
  if (in.rank() != 1) return invalid_argument("input must be a vector, got shape: " + in.to_string());
  if (separator.rank() != 0)
    return invalid_argument(cat(separator_name, " must be a scalar, got shape: ", separator.to_string()));
  Parts parts;
  ScratchVector<int64_t> places;  // (row, column)
  int64_t widest = 0;
  for (int64_t row = 0; row < in.dim(0); ++row) {
    const size_t before = parts.size();
    split(std::string_view(c.in<std::string>(0)[row]), parts);
    const auto width = static_cast<int64_t>(parts.size() - before);
    widest = std::max(widest, width);
    for (int64_t column = 0; column < width; ++column) places.insert(places.end(), {row, column});
  }
  const auto count = static_cast<int64_t>(parts.size());
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{count, 2}));
  RETURN_IF_ERROR(ensure_output(c, 1, Shape{count}));
  RETURN_IF_ERROR(ensure_output(c, 2, Shape{2}));
  std::copy(places.begin(), places.end(), c.out<int64_t>(0));
  std::copy(parts.begin(), parts.end(), c.out<std::string>(1));
  c.out<int64_t>(2)[0] = in.dim(0);
  c.out<int64_t>(2)[1] = widest;
  return ok_status();
}

class StringSplit final : public Kernel {
 public:
  explicit StringSplit(const KernelInit& init) : skips_empty_(init.attrs.flag("skip_empty")) {}
  Status run(KernelContext& c) override {
    return split_rows(c, "delimiter", [&](std::string_view text, Parts& parts) {
      split_at_any(text, *c.in<std::string>(1), skips_empty_, parts);
    });
  }

 private:
  bool skips_empty_;
};

class StringSplitV2 final : public Kernel {
 public:
  explicit StringSplitV2(const KernelInit& init) : most_(init.attrs.integer("maxsplit")) {}
  Status run(KernelContext& c) override {
    return split_rows(c, "sep", [&](std::string_view text, Parts& parts) {
      const std::string& separator = *c.in<std::string>(1);
      if (most_ == 0) {
        parts.push_back(text);
      } else {
        separator.empty() ? split_at_blanks(text, most_, parts) : split_at(text, separator, most_, parts);
      }
    });
  }

 private:
  int64_t most_;  // negative: no limit
};

}  // namespace

OpDef string_split_op() {
  return OpDef("StringSplit")
      .doc("The parts of each text between any of the delimiters, as a sparse matrix.")
      .shape(split_shape)
      .cpu(make<StringSplit>)
      .not_differentiable();
}
OpDef string_split_v2_op() {
  return OpDef("StringSplitV2")
      .doc("The parts of each text between separators, or white space if that is empty, as a sparse matrix.")
      .shape(split_shape)
      .cpu(make<StringSplitV2>);
}

}  // namespace emplace
