/// Table: what the handles of hash tables refer to: a value for each key. Unlike other resources of that form it
/// belongs to the session, which keeps it over the steps, but for one without a name, which its last handle ends.
/// Errors in TensorFlow's words (core/kernels/lookup_table_op.cc, core/framework/lookup_interface.cc).
#pragma once

#include <string_view>
#include <utility>

#include "core/ops/kit/step_resource.h"

namespace emplace {

/// What a table is made for.
struct TableForm {
  DType key_type = DType::kInvalid, value_type = DType::kInvalid;
  Shape key_shape = Shape{}, value_shape = Shape{};  // of one
  bool is_mutable = true;                            // else it is filled once, and may then be asked
};

class Table : public StepResource {
 public:
  static constexpr std::string_view kKind = "a table";
  explicit Table(TableForm made_for) : StepResource(kKind), form(std::move(made_for)) {}
  Table(const Table&) = delete;
  virtual ~Table() = default;

  const TableForm form;

  // The rest is guarded by `mutex`, which the caller holds. Types fit, and shapes as the checks below ask for.

  virtual int64_t size() const = 0;
  virtual bool filled() const { return true; }
  /// Of a table that is filled once: all of it, or, where it is full already, nothing if that is as much. `keys` and
  /// `values` are vectors of one length.
  virtual Status fill(const Tensor& keys, const Tensor& values);
  /// Of a mutable one: what is there already gets the new value.
  virtual Status insert(const Tensor& keys, const Tensor& values) = 0;
  virtual Status remove(const Tensor& keys) = 0;
  /// All that was there goes; one that is filled once takes it as its initializer's.
  virtual Status import(const Tensor& keys, const Tensor& values) = 0;
  /// `out` gets the value of each key, or what `missing` has: one value, or one for each key.
  virtual Status find(const Tensor& keys, const Tensor& missing, Tensor& out) const = 0;
  /// The shapes of all keys and all values, and these.
  virtual std::pair<Shape, Shape> export_shapes() const = 0;
  virtual void copy_to(Tensor& keys, Tensor& values) const = 0;
  /// "Expected shape [2] for value, got [3]": may they be imported?
  virtual Status check_import(const Shape& keys, const Shape& values) const;
};

/// Do the sizes of `keys` end with those of one key?
Status check_key_shape(const TableForm& form, const Shape& keys);
/// What `find` makes of keys of that shape. REQUIRES: check_key_shape().
Shape shape_of_values(const TableForm& form, const Shape& keys);
/// "Expected shape [2] for value, got [3]".
Status check_value_shape(const Shape& wanted, const Shape& values);

/// The bytes of an element, or its text.
std::string_view element_bytes(const Tensor& t, int64_t i);
void set_element(Tensor& t, int64_t i, std::string_view bytes);

}  // namespace emplace
