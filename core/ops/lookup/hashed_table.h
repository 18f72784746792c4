/// HashedTable: a table whose keys are single elements, of single values or rows of them.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/host_allocator.h"
#include "core/ops/lookup/table.h"

namespace emplace {

class HashedTable final : public Table {
 public:
  explicit HashedTable(TableForm made_for);

  int64_t size() const override { return static_cast<int64_t>(entries_.size()); }
  bool filled() const override { return form.is_mutable || filled_; }
  Status fill(const Tensor& keys, const Tensor& values) override;
  Status insert(const Tensor& keys, const Tensor& values) override;
  Status remove(const Tensor& keys) override;
  Status import(const Tensor& keys, const Tensor& values) override;
  Status find(const Tensor& keys, const Tensor& missing, Tensor& out) const override;
  std::pair<Shape, Shape> export_shapes() const override;
  /// In the order of the keys.
  void copy_to(Tensor& keys, Tensor& values) const override;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  /// Elements as bytes, or as their texts; several texts of one value each have their length before them.
  using Text = std::basic_string<char, std::char_traits<char>, EntryAllocator<char>>;
  using Entries = std::unordered_map<Text, Text, Hash, std::equal_to<>, EntryAllocator<std::pair<const Text, Text>>>;

  bool lists_texts() const;
  Text value_at(const Tensor& values, int64_t row) const;
  void set_value(Tensor& out, int64_t row, std::string_view bytes) const;

  Entries entries_;
  const int64_t width_;  // elements of one value
  bool filled_ = false;
};

}  // namespace emplace
