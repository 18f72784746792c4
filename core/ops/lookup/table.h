/// Table: what the handles of hash tables refer to: a value for each key. Unlike other resources of that form it
/// belongs to the session, which keeps it over the steps. Errors in TensorFlow's words
/// (core/kernels/lookup_table_op.cc).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/host_allocator.h"
#include "core/ops/kit/step_resource.h"

namespace emplace {

class Table : public StepResource {
 public:
  static constexpr std::string_view kKind = "a table";
  Table() : StepResource(kKind) {}

  // Constant once the table is made.
  DType key_type = DType::kInvalid, value_type = DType::kInvalid;
  bool is_mutable = false;  // else it is filled once, and may then be asked

  // The rest is guarded by `mutex`, which the caller holds.

  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  /// Of a table that is filled once: all of it, or, where it is full already, nothing if that is as much. `keys` and
  /// `values` are vectors of one length.
  Status fill(const Tensor& keys, const Tensor& values);
  /// Of a mutable one: what is there already gets the new value.
  void insert(const Tensor& keys, const Tensor& values);
  void remove(const Tensor& keys);
  void clear() { entries_.clear(); }
  /// `out[i]` is the value of `keys[i]`, or what `missing` has: one value, or, in a mutable table, one for each key.
  Status find(const Tensor& keys, const Tensor& missing, Tensor& out) const;
  /// All of it, in the order of the keys. REQUIRES: tensors of size() elements.
  void copy_to(Tensor& keys, Tensor& values) const;
  bool filled() const { return is_mutable || filled_; }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  /// Elements as bytes, or as their texts.
  using Text = std::basic_string<char, std::char_traits<char>, EntryAllocator<char>>;
  using Entries = std::unordered_map<Text, Text, Hash, std::equal_to<>, EntryAllocator<std::pair<const Text, Text>>>;

  Entries entries_;
  bool filled_ = false;
};

}  // namespace emplace
