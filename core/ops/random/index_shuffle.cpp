// RandomIndexShuffle: where an index goes in a permutation of 0 to max_index that a seed stands for. The permutation is
// a block cipher (Simon, Beaulieu et al., 2013) of as many bits as the largest index has, repeated while it leads out
// of the range (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

/// The cipher of blocks of two words of `bits` bits each (8 to 32).
class Simon {
 public:
  Simon(const std::array<uint32_t, 3>& key, int bits, int64_t rounds)
      : key_(key), bits_(bits), rounds_(rounds), mask_((uint64_t{1} << bits) - 1) {}

  uint64_t encrypt(uint64_t block) const {
    constexpr uint64_t kConstant = 0xfffffffc, kSequence = 0x7369f885192c0ef5;
    uint64_t left = block >> bits_ & mask_, right = block & mask_;
    uint64_t keys[3] = {key_[0] & mask_, key_[1] & mask_, key_[2] & mask_}, sequence = kSequence & mask_;
    for (int64_t i = 0; i < rounds_; ++i) {
      uint64_t key = keys[i % 3];
      if (i >= 3) {
        const uint64_t last = keys[(i - 1) % 3];
        key ^= (kConstant & mask_) ^ (sequence & 1) ^ right_turned(last, 3) ^ right_turned(last, 4);
        keys[i % 3] = key;
        sequence >>= 1;
      }
      left ^= mixed(right) ^ key;
      std::swap(left, right);
    }
    return left << bits_ | right;
  }

 private:
  uint64_t left_turned(uint64_t x, int by) const { return (x << by | x >> (bits_ - by)) & mask_; }
  uint64_t right_turned(uint64_t x, int by) const { return (x >> by | x << (bits_ - by)) & mask_; }
  uint64_t mixed(uint64_t x) const { return (left_turned(x, 1) & left_turned(x, 8)) ^ left_turned(x, 2); }

  const std::array<uint32_t, 3> key_;
  const int bits_;
  const int64_t rounds_;
  const uint64_t mask_;
};

uint64_t shuffled(uint64_t index, const std::array<uint32_t, 3>& seed, uint64_t largest, int64_t rounds) {
  if (largest == 0) return 0;
  const int bits = static_cast<int>(std::ceil(std::log2(static_cast<double>(largest))));
  const Simon cipher(seed, std::max(bits + bits % 2, 16) / 2, rounds);
  do {
    index = cipher.encrypt(index);
  } while (index > largest);
  return index;
}

/// Of any integer type of 4 or 8 bytes: as the bits of a 64-bit one.
uint64_t word_at(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::kUInt32) return t.data<uint32_t>()[i];
  return t.dtype() == DType::kUInt64 ? t.data<uint64_t>()[i] : static_cast<uint64_t>(int_at(t, i));
}

Status index_shuffle_shape(ShapeContext& c) {
  const Shape &index = c.input(0), &seed = c.input(1), &largest = c.input(2);
  if (!index.rank_known() || !seed.rank_known() || !largest.rank_known()) return ok_status();
  const bool one = index.rank() == 0 && seed.rank() == 1 && largest.rank() == 0;
  c.set_output(0, one ? Shape{} : Shape{-1});
  return ok_status();
}

class RandomIndexShuffle final : public Kernel {
 public:
  explicit RandomIndexShuffle(const KernelInit& init) : rounds_(init.attrs.integer("rounds")) {}

  Status run(KernelContext& c) override {
    const Tensor &index = c.input(0), &seed = c.input(1), &largest = c.input(2);
    const int64_t n = std::max({index.num_elements(), largest.num_elements(), seed.num_elements() / 3});
    RETURN_IF_ERROR(check_shapes(index.shape(), seed.shape(), largest.shape(), n));
    const bool one = index.shape().rank() == 0 && seed.shape().rank() == 1 && largest.shape().rank() == 0;
    RETURN_IF_ERROR(ensure_output(c, 0, one ? Shape{} : Shape{n}));
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = index.shape().rank() == 0 ? 0 : i, last = largest.shape().rank() == 0 ? 0 : i;
      RETURN_IF_ERROR(check_values(index, at, largest, last));
      const int64_t row = seed.shape().rank() == 1 ? 0 : 3 * i;
      std::array<uint32_t, 3> key;
      for (int64_t k = 0; k < 3; ++k) key[static_cast<size_t>(k)] = static_cast<uint32_t>(word_at(seed, row + k));
      const uint64_t to = shuffled(word_at(index, at), key, word_at(largest, last), rounds_);
      if (element_stride(index.dtype()) == 8)
        static_cast<uint64_t*>(c.output(0).raw())[i] = to;
      else
        static_cast<uint32_t*>(c.output(0).raw())[i] = static_cast<uint32_t>(to);
    }
    return ok_status();
  }

 private:
  Status check_shapes(const Shape& index, const Shape& seed, const Shape& largest, int64_t n) const {
    const auto one_or_each = [&](const Shape& s) { return s.rank() == 0 || (s.rank() == 1 && s.dim(0) == n); };
    if (!one_or_each(index)) return invalid_argument(cat("Index must be a scalar or vector, is ", index.to_string()));
    const bool of_three = seed.rank() >= 1 && seed.dim_from_end(1) == 3;
    if (!of_three || seed.rank() > 2 || (seed.rank() == 2 && seed.dim(0) != n))
      return invalid_argument(
          cat("Seed must be a vector of size [3] or a matrix of size [", n, ", 3] but got ", seed.to_string(), "."));
    if (!one_or_each(largest))
      return invalid_argument(
          cat("Maxval must be a scalar or a vector of the same size as index but got ", largest.to_string()));
    if (rounds_ < 4 || rounds_ % 2 != 0)
      return invalid_argument(cat("rounds must be even and at least 4, is ", rounds_));
    return ok_status();
  }
  static Status check_values(const Tensor& index, int64_t at, const Tensor& largest, int64_t last) {
    const bool is_signed = kSigned.has(index.dtype());
    const uint64_t i = word_at(index, at), max = word_at(largest, last);
    if (is_signed && static_cast<int64_t>(i) < 0)
      return invalid_argument(cat("index must be >= 0 but was ", static_cast<int64_t>(i)));
    if (is_signed && static_cast<int64_t>(max) < 0)
      return invalid_argument(cat("max_index must be >= 0 but was ", static_cast<int64_t>(max)));
    return i <= max ? ok_status() : invalid_argument(cat("max_index must be >= index, but ", max, " < ", i));
  }

  const int64_t rounds_;
};

}  // namespace

OpDef random_index_shuffle_op() {
  return OpDef("RandomIndexShuffle")
      .doc("Where an index goes in the permutation of 0 to max_index that a seed stands for.")
      .shape(index_shuffle_shape)
      .kernel_attr("dtype")
      .cpu(DTypeSet{DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64}, make<RandomIndexShuffle>)
      .not_differentiable();
}

}  // namespace emplace
