/// DenseTable: a table in one array of buckets, which a key finds by its hash and steps that grow; two keys that are
/// never used mark buckets that are empty, and those whose key is gone. What it exports are the buckets as they stand,
/// so hashes and steps are TensorFlow's (MutableDenseHashTable in core/kernels/lookup_table_op.cc).
#pragma once

#include <memory>
#include <utility>

#include "core/ops/lookup/table.h"

namespace emplace {

class DenseTable final : public Table {
 public:
  /// InvalidArgument: no such table can be. `empty` and `deleted` are the keys that are never used.
  static Result<std::unique_ptr<Table>> make(TableForm form, const Tensor& empty, const Tensor& deleted,
                                             int64_t num_buckets, float most_load);

  int64_t size() const override { return entries_; }
  Status insert(const Tensor& keys, const Tensor& values) override;
  Status remove(const Tensor& keys) override;
  Status import(const Tensor& keys, const Tensor& values) override;
  Status find(const Tensor& keys, const Tensor& missing, Tensor& out) const override;
  std::pair<Shape, Shape> export_shapes() const override { return {keys_.shape(), values_.shape()}; }
  void copy_to(Tensor& keys, Tensor& values) const override;
  Status check_import(const Shape& keys, const Shape& values) const override;

 private:
  DenseTable(TableForm made_for, Tensor empty, Tensor deleted, float most_load);
  Status allocate(int64_t num_buckets);
  Status grow(int64_t num_buckets);
  /// `reserved`: what keys that are never used do: they are passed over, or an error.
  enum class Reserved : uint8_t { kSkip, kRefuse };
  Status put(const Tensor& keys, const Tensor& values, int64_t count, Reserved reserved);
  /// Of keys: as many as there are, or an error.
  Result<int64_t> count_of(const Tensor& keys) const;
  Status check_reserved(const Tensor& keys, int64_t row) const;
  uint64_t hash(const Tensor& keys, int64_t row) const;
  bool same_key(const Tensor& a, int64_t i, const Tensor& b, int64_t j) const;
  /// The bucket of a key; -1: it is not there; -2: the buckets are none that it can be looked for in.
  int64_t bucket_of(const Tensor& keys, int64_t row) const;

  const Tensor empty_, deleted_;
  const float most_load_;
  const int64_t key_width_, value_width_;
  int64_t entries_ = 0;
  Tensor keys_, values_;  // [buckets, width]
};

}  // namespace emplace
