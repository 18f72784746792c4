// Fingerprint: 8 bytes for each row of a tensor, by FarmHash.
#include "core/base/cat.h"
#include "core/base/farmhash.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

constexpr std::string_view kFarmHash = "farmhash64";

Status fingerprint_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape data, c.with_rank_at_least(0, 1));
  RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  const Tensor* method = c.input_value(1);
  const bool known = method && method->data<std::string>()[0] == kFarmHash;
  c.set_output(0, Shape{dim_or_unknown(data, 0), known ? 8 : -1});
  return ok_status();
}

/// Low bytes first on every machine.
void write_number(uint64_t number, uint8_t* to) {
  for (int k = 0; k < 8; ++k) to[k] = static_cast<uint8_t>(number >> (8 * k));
}

/// Of one text its own; of several that of their fingerprints.
uint64_t fingerprint_of_texts(const std::string* texts, int64_t n) {
  if (n == 1) return fingerprint64(*texts);
  ScratchVector<uint8_t> numbers(static_cast<size_t>(8 * n));
  for (int64_t k = 0; k < n; ++k) write_number(fingerprint64(texts[k]), numbers.data() + 8 * k);
  return fingerprint64({reinterpret_cast<const char*>(numbers.data()), numbers.size()});
}

Status fingerprint_cpu(KernelContext& c) {
  const Tensor &data = c.input(0), &method = c.input(1);
  if (data.shape().rank() < 1)
    return invalid_argument(cat("`data` should have at least one dimension: ", data.shape().to_string()));
  if (method.shape().rank() != 0)
    return invalid_argument(cat("`method` should be a scalar string: ", method.shape().to_string()));
  if (const std::string& name = *c.in<std::string>(1); name != kFarmHash)
    return invalid_argument(cat("Unsupported fingerprint method: ", name, "; there is ", kFarmHash));
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{data.shape().dim(0), 8}));
  if (data.dtype() == DType::kResource) return invalid_argument("Data type not supported: resource");
  const int64_t rows = data.shape().dim(0), row = rows > 0 ? data.num_elements() / rows : 0;
  const auto bytes = static_cast<size_t>(row * element_stride(data.dtype()));
  c.parallel_for(rows, 20 + 0.2 * static_cast<double>(bytes), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const bool texts = data.dtype() == DType::kString;
      write_number(texts ? fingerprint_of_texts(data.data<std::string>() + i * row, row)
                         : fingerprint64({static_cast<const char*>(element_at(data, i * row)), bytes}),
                   c.out<uint8_t>(0) + 8 * i);
    }
  });
  return ok_status();
}

}  // namespace

OpDef fingerprint_op() {
  return OpDef("Fingerprint")
      .doc("A fingerprint of 8 bytes for each row of data.")
      .shape(fingerprint_shape)
      .value_inputs({1})
      .cpu(kMovable, stateless<fingerprint_cpu>);
}

}  // namespace emplace
