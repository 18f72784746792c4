// ParseTensor, SerializeTensor: tensors as TensorProto messages. DecodePaddedRaw: numbers whose bytes texts are, cut or
// filled up to one length. DecodeCompressed: what compressed texts hold.
#include <zlib.h>

#include <algorithm>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/text/serialized_tensor.h"
#include "core/ops/text/text_map.h"

namespace emplace {
namespace {

Status parse_tensor_cpu(KernelContext& c) {
  if (c.input(0).shape().rank() != 0)
    return invalid_argument(cat("Expected `serialized` to be a scalar, got shape: ", c.input(0).shape().to_string()));
  ASSIGN_OR_RETURN(const SerializedTensor found, SerializedTensor::of(*c.in<std::string>(0)));
  if (found.type != c.output(0).dtype()) {
    return invalid_argument(cat("Type mismatch between parsed tensor (", dtype_tf_name(found.type), ") and dtype (",
                                dtype_tf_name(c.output(0).dtype()), ")"));
  }
  RETURN_IF_ERROR(c.allocate_output(0, found.shape));
  return found.copy_to(c.output(0));
}

Status parse_tensor_shape(ShapeContext& c) { return c.with_rank(0, 0).take_status(); }

Status serialize_tensor_cpu(KernelContext& c) {
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{}));
  *c.out<std::string>(0) = serialize_tensor(c.input(0));
  return ok_status();
}

Status padded_raw_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> length, scalar_value(c, 1));
  if (!c.input(0).rank_known()) return ok_status();
  int64_t count = -1;
  if (length) {
    const auto size = static_cast<int64_t>(dtype_size(c.output_type(0)));
    if (*length <= 0 || *length % size != 0) {
      return invalid_argument(cat("fixed_length (", *length,
                                  ") must be positive and a multiple of the size of the output data type (", size,
                                  ")"));
    }
    count = *length / size;
  }
  c.set_output(0, concat_shapes(c.input(0), Shape{count}));
  return ok_status();
}

class DecodePaddedRaw final : public Kernel {
 public:
  explicit DecodePaddedRaw(const KernelInit& init) : little_(init.attrs.flag("little_endian")) {}
  Status run(KernelContext& c) override {
    const Tensor& in = c.input(0);
    if (c.input(1).shape().rank() != 0)
      return invalid_argument(cat("k must be scalar, got shape ", c.input(1).shape().to_string()));
    const int64_t length = *c.in<int32_t>(1);
    const auto size = static_cast<int64_t>(dtype_size(c.output(0).dtype()));
    if (length <= 0) return invalid_argument(cat("fixed_length must be positive, got ", length));
    if (length % size != 0) {
      return invalid_argument(
          cat("fixed_length (", length, ") must be a multiple of the size of the output data type (", size, ")"));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, concat_shapes(in.shape(), Shape{length / size})));
    char* out = static_cast<char*>(c.output(0).raw());
    for (int64_t i = 0; i < in.num_elements(); ++i, out += length) {
      const std::string& text = in.data<std::string>()[i];
      const auto count = static_cast<int64_t>(std::min(text.size(), static_cast<size_t>(length)));
      std::fill(std::copy_n(text.data(), count, out), out + length, '\0');
      for (int64_t at = 0; !little_ && at < length; at += size) std::reverse(out + at, out + at + size);
    }
    return ok_status();
  }

 private:
  bool little_;
};

/// `form`: zlib's window bits. What comes out may be a thousand times as long: the limit is asked as it grows.
Result<std::string> inflated(KernelContext& c, std::string_view text, int form) {
  z_stream stream{};
  if (inflateInit2(&stream, form) != Z_OK) return resource_exhausted("no memory to decompress");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // NOLINT: zlib only reads it
  stream.avail_in = static_cast<uInt>(text.size());
  std::string out;
  char buffer[4096];
  int result = Z_OK;
  Status room;
  size_t asked = size_t{1} << 20;
  while (result == Z_OK && stream.avail_in > 0 && room.ok()) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    result = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer, sizeof buffer - stream.avail_out);
    if (out.size() < asked) continue;
    asked *= 2;
    room = c.allocate_scratch(DType::kUInt8, Shape{static_cast<int64_t>(asked)}).take_status();
  }
  inflateEnd(&stream);
  RETURN_IF_ERROR(std::move(room));
  if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) return out;
  return Status(Code::kDataLoss, cat("inflate() failed with error ", result, ": not compressed so, or damaged"));
}

class DecodeCompressed final : public Kernel {
 public:
  explicit DecodeCompressed(int form) : form_(form) {}
  static Result<std::unique_ptr<Kernel>> make_kernel(const KernelInit& init) {
    constexpr int kWindow = 15, kGzip = 16;
    const std::string& type = init.attrs.text("compression_type");
    if (!type.empty() && type != "ZLIB" && type != "GZIP")
      return invalid_argument(cat("Only ZLIB, GZIP or NONE are supported compressions, got '", type, "'"));
    return std::unique_ptr<Kernel>(std::make_unique<DecodeCompressed>(type.empty()     ? 0
                                                                      : type == "GZIP" ? kWindow + kGzip
                                                                                       : kWindow));
  }
  Status run(KernelContext& c) override {
    return map_texts<std::string>(c, [&](const std::string& text) -> Result<std::string> {
      if (form_ == 0) return text;
      return inflated(c, text, form_);
    });
  }

 private:
  const int form_;  // 0: not compressed
};

/// MurmurHash64A with TensorFlow's seed.
uint64_t old_hash(std::string_view text) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995, kSeed = 0xDECAFCAFFE;
  constexpr int kShift = 47;
  uint64_t hash = kSeed ^ (text.size() * kFactor);
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t word = 0;
    for (size_t i = 0; i < 8; ++i) word |= uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
    word *= kFactor;
    word ^= word >> kShift;
    word *= kFactor;
    hash ^= word;
    hash *= kFactor;
  }
  for (size_t i = text.size(); i > 0; --i) hash ^= uint64_t{static_cast<unsigned char>(text[i - 1])} << (8 * (i - 1));
  if (!text.empty()) hash *= kFactor;
  hash ^= hash >> kShift;
  hash *= kFactor;
  return hash ^ (hash >> kShift);
}

class OldHashBucket final : public Kernel {
 public:
  explicit OldHashBucket(const KernelInit& init) : buckets_(static_cast<uint64_t>(init.attrs.integer("num_buckets"))) {}
  Status run(KernelContext& c) override {
    return map_texts<int64_t>(c,
                              [&](const std::string& text) { return static_cast<int64_t>(old_hash(text) % buckets_); });
  }

 private:
  const uint64_t buckets_;
};

}  // namespace

OpDef parse_tensor_op() {
  return OpDef("ParseTensor")
      .doc("The tensor that a TensorProto message holds.")
      .shape(parse_tensor_shape)
      .cpu(stateless<parse_tensor_cpu>)
      .provides_outputs()
      .not_differentiable();
}
OpDef serialize_tensor_op() {
  return OpDef("SerializeTensor")
      .doc("The TensorProto message of a tensor.")
      .shape(shape_scalar)
      .cpu(kAllData, stateless<serialize_tensor_cpu>)
      .not_differentiable();
}
OpDef decode_padded_raw_op() {
  return OpDef("DecodePaddedRaw")
      .doc(
          "The numbers whose bytes each text is, along a new last axis; texts are cut or filled up with zeros to one "
          "length.")
      .shape(padded_raw_shape)
      .kernel_attr("out_type")
      .value_inputs({1})
      .cpu(DTypeSet{DType::kBFloat16, DType::kFloat, DType::kDouble, DType::kInt8, DType::kInt16, DType::kInt32,
                    DType::kInt64, DType::kUInt8, DType::kUInt16},
           make<DecodePaddedRaw>)
      .not_differentiable();
}
OpDef decode_compressed_op() {
  return OpDef("DecodeCompressed")
      .doc("What texts that are compressed by zlib or gzip hold.")
      .shape(shape_unchanged)
      .cpu(DecodeCompressed::make_kernel);
}
OpDef string_to_hash_bucket_op() {
  return OpDef("StringToHashBucket")
      .doc("A number below num_buckets for each text: an older hash, modulo that.")
      .shape(shape_unchanged)
      .cpu(make<OldHashBucket>)
      .not_differentiable();
}

}  // namespace emplace
