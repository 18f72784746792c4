#include "core/ops/random/random_state.h"

#include "core/base/cat.h"

namespace emplace {
namespace {

uint64_t hash(std::string_view text) {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325;
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3;
  return h;
}

PhiloxStream stream_of(const KernelInit& init) {
  const int64_t seed = init.attrs.integer("seed"), seed2 = init.attrs.integer("seed2");
  if (seed == 0 && seed2 == 0) return {init.random_seed, 0, hash(init.node_name)};
  return {static_cast<uint64_t>(seed), 0, static_cast<uint64_t>(seed2)};
}

}  // namespace

Result<PhiloxStream> philox_from_seed(const Tensor& seed) {
  ASSIGN_OR_RETURN(const PhiloxStart start, philox_start_from_seed(seed));
  return PhiloxStream(start.key, start.counter_low, start.counter_high);
}

Result<PhiloxStart> philox_start_from_seed(const Tensor& seed) {
  if (seed.num_elements() != 2)
    return invalid_argument(cat("seed must have shape [2], not ", seed.shape().to_string()));
  if (seed.dtype() != DType::kInt32 && seed.dtype() != DType::kInt64)
    return invalid_argument(cat("Invalid seed type: ", dtype_name(seed.dtype())));
  constexpr uint64_t kKey = 0x02461e293ec8f720;
  const PhiloxStream scramble(kKey, static_cast<uint64_t>(int_at(seed, 0)), static_cast<uint64_t>(int_at(seed, 1)));
  const auto w = scramble.block(0);
  return PhiloxStart{w[0] | static_cast<uint64_t>(w[1]) << 32, 0, w[2] | static_cast<uint64_t>(w[3]) << 32};
}

Result<PhiloxStream> philox_from_counter(const Tensor& key, const Tensor& counter, const Tensor& alg) {
  const int64_t algorithm = int_at(alg, 0);
  if (algorithm != kPhilox && algorithm != kAutomatic)
    return invalid_argument(cat("Unsupported algorithm id: ", algorithm));
  if (counter.num_elements() < 2) {
    return invalid_argument(
        cat("counter must be a vector with at least 2 elements; got shape: ", counter.shape().to_string()));
  }
  return PhiloxStream(key.data<uint64_t>()[0], counter.data<uint64_t>()[0], counter.data<uint64_t>()[1]);
}

RandomState::RandomState(const KernelInit& init)
    : start_(stream_of(init)), drawn_(init.random_blocks ? *init.random_blocks : own_) {}

PhiloxStream RandomState::reserve(uint64_t blocks) {
  PhiloxStream now = start_;
  now.skip(drawn_.fetch_add(blocks));
  return now;
}

}  // namespace emplace
