// StringToNumber, StringToHashBucketFast, DecodeRaw: numbers for texts.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/farmhash.h"
#include "core/op/op_def.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/text/parse_number.h"
#include "core/ops/text/text_map.h"

namespace emplace {
namespace {

template <class T>
Status to_number_cpu(KernelContext& c) {
  return map_texts<T>(c, [](const std::string& text) -> Result<T> {
    if (const std::optional<T> number = parse_number<T>(text)) return *number;
    return invalid_argument(cat("StringToNumberOp could not correctly convert string: ", text));
  });
}

class HashBucket final : public Kernel {
 public:
  explicit HashBucket(const KernelInit& init) : buckets_(static_cast<uint64_t>(init.attrs.integer("num_buckets"))) {}
  Status run(KernelContext& c) override {
    return map_texts<int64_t>(
        c, [&](const std::string& text) { return static_cast<int64_t>(fingerprint64(text) % buckets_); });
  }

 private:
  uint64_t buckets_;
};

Status decode_raw_shape(ShapeContext& c) {
  c.set_output(0, c.input(0).rank_known() ? concat_shapes(c.input(0), Shape{-1}) : Shape::unknown());
  return ok_status();
}

/// The bytes of a number's parts, both ways round.
size_t part_bytes(DType type) {
  return dtype_size(type) / (type == DType::kComplex64 || type == DType::kComplex128 ? 2 : 1);
}

class DecodeRaw final : public Kernel {
 public:
  explicit DecodeRaw(const KernelInit& init) : little_(init.attrs.flag("little_endian")) {}
  Status run(KernelContext& c) override {
    const Tensor& in = c.input(0);
    const DType type = c.output(0).dtype();
    const size_t size = dtype_size(type), length = in.num_elements() > 0 ? in.data<std::string>()[0].size() : 0;
    for (int64_t i = 1; i < in.num_elements(); ++i) {
      if (in.data<std::string>()[i].size() == length) continue;
      return invalid_argument(cat("DecodeRaw requires input strings to all be the same size, but element ", i,
                                  " has size ", in.data<std::string>()[i].size(), " != ", length));
    }
    if (length % size != 0) {
      return invalid_argument(cat("Input to DecodeRaw has length ", length, " that is not a multiple of ", size,
                                  ", the size of ", dtype_tf_name(type)));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, concat_shapes(in.shape(), Shape{static_cast<int64_t>(length / size)})));
    char* out = static_cast<char*>(c.output(0).raw());
    for (int64_t i = 0; i < in.num_elements() && length > 0; ++i)
      std::copy_n(in.data<std::string>()[i].data(), length, out + static_cast<size_t>(i) * length);
    const size_t all = length * static_cast<size_t>(in.num_elements()), part = part_bytes(type);
    for (size_t at = 0; !little_ && at < all; at += part) std::reverse(out + at, out + at + part);
    if (type == DType::kBool) std::transform(out, out + all, out, [](char x) { return static_cast<char>(x != 0); });
    return ok_status();
  }

 private:
  bool little_;
};

}  // namespace

OpDef string_to_number_op() {
  return OpDef("StringToNumber")
      .doc("The number that each text is.")
      .shape(shape_unchanged)
      .kernel_attr("out_type")
      .cpu<float>(stateless<to_number_cpu<float>>)
      .cpu<double>(stateless<to_number_cpu<double>>)
      .cpu<int32_t>(stateless<to_number_cpu<int32_t>>)
      .cpu<int64_t>(stateless<to_number_cpu<int64_t>>)
      .cpu<uint32_t>(stateless<to_number_cpu<uint32_t>>)
      .cpu<uint64_t>(stateless<to_number_cpu<uint64_t>>)
      .not_differentiable();
}
OpDef string_to_hash_bucket_fast_op() {
  return OpDef("StringToHashBucketFast")
      .doc("A number below num_buckets for each text: its FarmHash fingerprint, modulo that.")
      .shape(shape_unchanged)
      .cpu(make<HashBucket>)
      .not_differentiable();
}
OpDef decode_raw_op() {
  return OpDef("DecodeRaw")
      .doc("The numbers whose bytes each text is, along a new last axis.")
      .shape(decode_raw_shape)
      .kernel_attr("out_type")
      .cpu(DTypeSet{DType::kHalf, DType::kFloat, DType::kDouble, DType::kInt32, DType::kUInt16, DType::kUInt8,
                    DType::kInt16, DType::kInt8, DType::kInt64, DType::kComplex64, DType::kComplex128, DType::kBool,
                    DType::kBFloat16},
           make<DecodeRaw>)
      .not_differentiable();
}

}  // namespace emplace
