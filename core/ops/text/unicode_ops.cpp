// UnicodeDecode, UnicodeDecodeWithOffsets, UnicodeEncode, UnicodeTranscode: texts as characters, and back.
// UnicodeScript: the scripts of characters.
#include <algorithm>

#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/ragged/row_splits.h"
#include "core/ops/text/letters.h"
#include "core/ops/text/text_map.h"
#include "core/ops/text/unicode.h"

namespace emplace {
namespace {

Status decode_shape(ShapeContext& c) {
  const int64_t texts = elements_or_unknown(c.input(0));
  c.set_output(0, Shape{texts < 0 ? -1 : texts + 1});
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, Shape{-1});
  return ok_status();
}

/// A vector less than the splits are.
Status encode_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(0, 1).take_status());
  ASSIGN_OR_RETURN(const Shape splits, c.with_rank(1, 1));
  c.set_output(0, Shape{splits.dim(0) < 0 ? -1 : splits.dim(0) - 1});
  return ok_status();
}

class UnicodeDecode final : public Kernel {
 public:
  explicit UnicodeDecode(const KernelInit& init)
      : encoding_(encoding_named(init.attrs.text("input_encoding"))), policy_(CharacterPolicy::of(init.attrs, true)) {}

  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(encoding_.status());
    RETURN_IF_ERROR(policy_.status());
    const Tensor& in = c.input(0);
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{in.num_elements() + 1}));
    ScratchVector<int32_t> values;
    ScratchVector<int64_t> offsets, ends{0};
    for (int64_t i = 0; i < in.num_elements(); ++i) {
      const std::string_view text = in.data<std::string>()[i];
      for (size_t at = 0; at < text.size();) {
        const ReadCharacter read = first_character(*encoding_, text.substr(at));
        ASSIGN_OR_RETURN(const std::optional<char32_t> value, policy_->judge(read.value));
        if (value) {
          values.push_back(static_cast<int32_t>(*value));
          offsets.push_back(static_cast<int64_t>(at));
        }
        at += read.bytes;
      }
      ends.push_back(static_cast<int64_t>(values.size()));
    }
    with_index(c.output(0).dtype(), [&]<class I>(I) {
      for (size_t i = 0; i < ends.size(); ++i) c.out<I>(0)[i] = static_cast<I>(ends[i]);
    });
    RETURN_IF_ERROR(ensure_output(c, 1, Shape{static_cast<int64_t>(values.size())}));
    std::copy(values.begin(), values.end(), c.out<int32_t>(1));
    if (c.num_outputs() < 3) return ok_status();
    RETURN_IF_ERROR(ensure_output(c, 2, Shape{static_cast<int64_t>(offsets.size())}));
    std::copy(offsets.begin(), offsets.end(), c.out<int64_t>(2));
    return ok_status();
  }

 private:
  Result<Encoding> encoding_;
  Result<CharacterPolicy> policy_;
};

class UnicodeEncode final : public Kernel {
 public:
  explicit UnicodeEncode(const KernelInit& init)
      : encoding_(encoding_named(init.attrs.text("output_encoding"))),
        policy_(CharacterPolicy::of(init.attrs, false)) {}

  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(encoding_.status());
    RETURN_IF_ERROR(policy_.status());
    RETURN_IF_ERROR(check_splits(c.input(1), "input_splits", c.input(0).num_elements()));
    const RowSplits splits(c.input(1));
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{splits.rows()}));
    for (int64_t row = 0; row < splits.rows(); ++row) {
      std::string text;
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        const int32_t number = c.in<int32_t>(0)[i];
        std::optional<char32_t> value;
        if (is_character(number)) value = static_cast<char32_t>(number);
        if (!value && policy_->errors == CharacterPolicy::Errors::kStrict)
          return invalid_argument("Code point is out of range for Unicode, or a noncharacter.");
        ASSIGN_OR_RETURN(value, policy_->judge(value));
        if (value) append_character(*encoding_, *value, text);
      }
      c.out<std::string>(0)[row] = std::move(text);
    }
    return ok_status();
  }

 private:
  Result<Encoding> encoding_;
  Result<CharacterPolicy> policy_;
};

class UnicodeTranscode final : public Kernel {
 public:
  explicit UnicodeTranscode(const KernelInit& init)
      : from_(encoding_named(init.attrs.text("input_encoding"))),
        to_(encoding_named(init.attrs.text("output_encoding"))),
        policy_(CharacterPolicy::of(init.attrs, true)) {}

  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(from_.status());
    RETURN_IF_ERROR(to_.status());
    RETURN_IF_ERROR(policy_.status());
    return map_texts<std::string>(c, [&](const std::string& in) -> Result<std::string> {
      std::string out;
      for (std::string_view text = in; !text.empty();) {
        const ReadCharacter read = first_character(*from_, text);
        ASSIGN_OR_RETURN(const std::optional<char32_t> value, policy_->judge(read.value));
        if (value) append_character(*to_, *value, out);
        text.remove_prefix(read.bytes);
      }
      return out;
    });
  }

 private:
  Result<Encoding> from_, to_;
  Result<CharacterPolicy> policy_;
};

Status unicode_script_cpu(KernelContext& c) {
  RETURN_IF_ERROR(ensure_output(c, 0, c.input(0).shape()));
  std::transform(c.in<int32_t>(0), c.in<int32_t>(0) + c.input(0).num_elements(), c.out<int32_t>(0), script_of);
  return ok_status();
}

}  // namespace

OpDef unicode_decode_op() {
  return OpDef("UnicodeDecode")
      .doc("The characters of texts as numbers, with the splits between texts.")
      .shape(decode_shape)
      .kernel_attr("Tsplits")
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, make<UnicodeDecode>)
      .not_differentiable();
}
OpDef unicode_decode_with_offsets_op() {
  return OpDef("UnicodeDecodeWithOffsets")
      .doc("UnicodeDecode, and at which byte of its text each character begins.")
      .shape(decode_shape)
      .kernel_attr("Tsplits")
      .cpu<int64_t>(make<UnicodeDecode>)  // with int32 TensorFlow's ends the process
      .not_differentiable();
}
OpDef unicode_encode_op() {
  return OpDef("UnicodeEncode")
      .doc("Texts of characters that are numbers, with splits between the texts.")
      .shape(encode_shape)
      .kernel_attr("Tsplits")
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, make<UnicodeEncode>)
      .not_differentiable();
}
OpDef unicode_script_op() {
  return OpDef("UnicodeScript")
      .doc("ICU's number of the script that each character is of, -1 for what is no character.")
      .shape(shape_unchanged)
      .cpu(stateless<unicode_script_cpu>);
}
OpDef unicode_transcode_op() {
  return OpDef("UnicodeTranscode")
      .doc("Each text in another encoding.")
      .shape(shape_unchanged)
      .cpu(make<UnicodeTranscode>);
}

}  // namespace emplace
