// SparseCross, SparseCrossV2, SparseCrossHashed: every combination of one feature of each column, row by row, as texts
// that are joined or as numbers that are hashed together.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/base/cat.h"
#include "core/base/farmhash.h"
#include "core/op/op_def.h"
#include "core/ops/sparse/cross_columns.h"
#include "core/ops/sparse/joined_hash.h"
#include "core/ops/text/sip_hash.h"

namespace emplace {
namespace {

Status cross_shape(ShapeContext& c) {
  c.set_output(0, Shape{-1, 2});
  c.set_output(1, Shape{-1});
  c.set_output(2, Shape{2});
  return ok_status();
}

/// What TensorFlow hashes of a number: as many bytes as its DataType has.
std::string_view hashed_bytes(const int64_t& number) { return {reinterpret_cast<const char*>(&number), 4}; }

class Crossing : public Kernel {
 public:
  explicit Crossing(const KernelInit& init)
      : sparse_(static_cast<int>(init.attrs.integer("N"))),
        dense_(static_cast<int>(init.attrs.types("dense_types").size())) {}

  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(columns_.take(c, sparse_, dense_));
    RETURN_IF_ERROR(begin(c));
    std::vector<int64_t> firsts;
    int64_t total = 0, widest = 0;
    for (size_t k = 0; k < columns_.rows().size(); ++k) {
      firsts.push_back(total);
      int64_t count = 1;
      bool too_many = false;
      for (size_t i = 0; i < columns_.count(); ++i)
        too_many |= __builtin_mul_overflow(count, columns_.run(k, i).count, &count);
      too_many |= __builtin_add_overflow(total, count, &total);
      if (too_many) return resource_exhausted("the features have more combinations than can be counted");
      widest = std::max(widest, count);
    }
    RETURN_IF_ERROR(c.allocate_output(0, Shape{total, 2}));
    RETURN_IF_ERROR(c.allocate_output(1, Shape{total}));
    RETURN_IF_ERROR(c.allocate_output(2, Shape{2}));
    c.out<int64_t>(2)[0] = columns_.batch();
    c.out<int64_t>(2)[1] = widest;
    constexpr double kNsPerCross = 50;
    const auto rows = static_cast<int64_t>(columns_.rows().size());
    const double cost = kNsPerCross * static_cast<double>(total) / static_cast<double>(std::max<int64_t>(rows, 1));
    c.parallel_for(rows, cost, [&](int64_t from, int64_t to) {
      for (int64_t k = from; k < to; ++k) cross(c, static_cast<size_t>(k), firsts[static_cast<size_t>(k)]);
    });
    return ok_status();
  }

 protected:
  /// Reads the inputs behind the columns, and prepares what all rows share.
  virtual Status begin(const KernelContext&) { return ok_status(); }
  /// Result `at` of output 1, of these values of the columns.
  virtual void put(KernelContext& c, int64_t at, const std::vector<int64_t>& features) const = 0;
  int inputs_of_columns() const { return 3 * sparse_ + dense_; }

  CrossColumns columns_;

 private:
  // The last column's feature changes fastest.
  void cross(KernelContext& c, size_t k, int64_t first) const {
    std::vector<int64_t> features;
    for (size_t i = 0; i < columns_.count(); ++i) features.push_back(columns_.run(k, i).first);
    int64_t* place = c.out<int64_t>(0) + 2 * first;
    for (int64_t n = 0;; ++n) {
      *place++ = columns_.rows()[k];
      *place++ = n;
      put(c, first + n, features);
      size_t i = features.size();
      for (; i > 0; --i) {
        const CrossRun run = columns_.run(k, i - 1);
        if (++features[i - 1] < run.first + run.count) break;
        features[i - 1] = run.first;
      }
      if (i == 0) return;
    }
  }

  const int sparse_, dense_;
};

class TextCrossing : public Crossing {
 public:
  using Crossing::Crossing;

 protected:
  void put(KernelContext& c, int64_t at, const std::vector<int64_t>& features) const override {
    std::string& text = c.out<std::string>(1)[at];
    text.clear();
    for (size_t i = 0; i < features.size(); ++i) {
      if (i > 0) text += separator_;
      const Tensor& values = columns_.values(i);
      text += values.dtype() == DType::kString ? values.data<std::string>()[features[i]]
                                               : std::to_string(values.data<int64_t>()[features[i]]);
    }
  }
  std::string separator_ = "_X_";
};

class SeparatedCrossing final : public TextCrossing {
 public:
  using TextCrossing::TextCrossing;

 protected:
  Status begin(const KernelContext& c) override {
    const Tensor& separator = c.input(inputs_of_columns());
    if (separator.shape().rank() != 0) {
      return invalid_argument(
          cat("Input separator should be a scalar. Received: a tensor of shape ", separator.shape().to_string()));
    }
    separator_ = *separator.data<std::string>();
    return ok_status();
  }
};

/// Each feature is a number, and each combination of them another.
class NumberCrossing : public Crossing {
 public:
  using Crossing::Crossing;

 protected:
  virtual uint64_t number(const Tensor& values, int64_t i, bool dense) const = 0;
  void put_number(KernelContext& c, int64_t at, uint64_t hash) const {
    const uint64_t below =
        buckets_ > 0 ? static_cast<uint64_t>(buckets_) : static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    c.out<int64_t>(1)[at] = static_cast<int64_t>(hash % below);
  }
  uint64_t feature(const std::vector<int64_t>& features, size_t i) const {
    return number(columns_.values(i), features[i], columns_.is_dense(i));
  }

  int64_t buckets_ = 0;
};

class KeyedCrossing final : public NumberCrossing {
 public:
  explicit KeyedCrossing(const KernelInit& init)
      : NumberCrossing(init), key_(static_cast<uint64_t>(init.attrs.integer("hash_key"))) {
    buckets_ = init.attrs.integer("num_buckets");
  }

 protected:
  uint64_t number(const Tensor& values, int64_t i, bool) const override {
    return values.dtype() == DType::kString ? fingerprint64(values.data<std::string>()[i])
                                            : static_cast<uint64_t>(values.data<int64_t>()[i]);
  }
  void put(KernelContext& c, int64_t at, const std::vector<int64_t>& features) const override {
    uint64_t hash = key_;
    for (size_t i = 0; i < features.size(); ++i) hash = joined_hash(hash, feature(features, i));
    put_number(c, at, hash);
  }

 private:
  const uint64_t key_;
};

class SaltedCrossing final : public NumberCrossing {
 public:
  using NumberCrossing::NumberCrossing;

 protected:
  Status begin(const KernelContext& c) override {
    const Tensor &buckets = c.input(inputs_of_columns()), &strong = c.input(inputs_of_columns() + 1);
    const Tensor& salt = c.input(inputs_of_columns() + 2);
    if (buckets.num_elements() != 1 || strong.num_elements() != 1)
      return invalid_argument("num_buckets and strong_hash must be scalars");
    if (salt.num_elements() != 2)
      return invalid_argument(cat("Input \"salt\" must have length 2 but has length ", salt.num_elements()));
    buckets_ = int_at(buckets, 0);
    strong_ = *strong.data<bool>();
    for (int i = 0; i < 2; ++i) salt_[i] = static_cast<uint64_t>(int_at(salt, i));
    return ok_status();
  }
  uint64_t number(const Tensor& values, int64_t i, bool dense) const override {
    const bool text = values.dtype() == DType::kString;
    if (!text && !strong_ && dense) return static_cast<uint64_t>(values.data<int64_t>()[i]);
    const std::string_view bytes = text ? values.data<std::string>()[i] : hashed_bytes(values.data<int64_t>()[i]);
    return strong_ ? SipHash(salt_[0], salt_[1]).of(bytes) : fingerprint64(bytes);
  }
  void put(KernelContext& c, int64_t at, const std::vector<int64_t>& features) const override {
    uint64_t hash = feature(features, 0);
    for (size_t i = 1; i < features.size(); ++i) hash = joined_hash(hash, feature(features, i));
    put_number(c, at, hash);
  }

 private:
  bool strong_ = false;
  uint64_t salt_[2] = {};
};

/// SparseCross hashes where its output is a number. TensorFlow's texts have the numbers of the types.
Result<std::unique_ptr<Kernel>> make_cross(const KernelInit& init) {
  if (init.attrs.type("internal_type") == DType::kString) {
    const auto has_numbers = [&](std::string_view attr) {
      const std::vector<DType>& types = init.attrs.types(attr);
      return std::find(types.begin(), types.end(), DType::kInt64) != types.end();
    };
    if (has_numbers("sparse_types"))
      return invalid_argument("Input values should be of internal type 7 but received 9");
    if (has_numbers("dense_types")) return invalid_argument("Dense inputs should be of internal type 7 but received 9");
  }
  return init.output_types[1] == DType::kInt64 ? make<KeyedCrossing>(init) : make<TextCrossing>(init);
}

}  // namespace

OpDef sparse_cross_op() {
  return OpDef("SparseCross")
      .doc("Every combination of one feature of each column, row by row: texts that are joined by _X_, or hashes.")
      .shape(cross_shape)
      .kernel_attr("out_type")
      .cpu(DTypeSet{DType::kInt64, DType::kString}, make_cross)
      .not_differentiable();
}
OpDef sparse_cross_v2_op() {
  return OpDef("SparseCrossV2")
      .doc("Every combination of one feature of each column, row by row, as texts that are joined by sep.")
      .shape(cross_shape)
      .cpu(make<SeparatedCrossing>)
      .not_differentiable();
}
OpDef sparse_cross_hashed_op() {
  return OpDef("SparseCrossHashed")
      .doc("Every combination of one feature of each column, row by row, as a number: a hash, modulo num_buckets.")
      .shape(cross_shape)
      .cpu(make<SaltedCrossing>)
      .not_differentiable();
}

}  // namespace emplace
