/// AttrValue: the value of an op's attribute (TensorFlow's AttrValue, attr_value.proto), and Attrs, a node's
/// attributes by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/shape.h"
#include "core/tensor/tensor.h"

namespace emplace {

enum class AttrKind : uint8_t { kNone, kString, kInt, kFloat, kBool, kType, kShape, kTensor, kFunc, kPlaceholder };

/// The declared type of an attr: a kind, or a list of it. Text form "type", "list(int)", as in OpDef.
struct AttrType {
  AttrKind kind = AttrKind::kNone;
  bool list = false;
  bool operator==(const AttrType&) const = default;
};
std::string attr_type_name(AttrType t);

class AttrValue;

/// A function by name, with attrs.
struct FuncValue {
  std::string name;
  std::vector<std::pair<std::string, AttrValue>> attrs;
};

class AttrValue {
 public:
  using Storage = std::variant<std::monostate, std::string, int64_t, float, bool, DType, Shape, Tensor, FuncValue,
                               std::vector<std::string>, std::vector<int64_t>, std::vector<float>, std::vector<bool>,
                               std::vector<DType>, std::vector<Shape>, std::vector<Tensor>, std::vector<FuncValue>>;
  // Not inline: a variant of so many types is slow to compile, and nearly every file includes this one.
  AttrValue();
  /// `type` tells apart what the storage alone cannot: kPlaceholder from kString.
  AttrValue(AttrType type, Storage value);
  AttrValue(const AttrValue& other);
  AttrValue(AttrValue&& other) noexcept;
  AttrValue& operator=(const AttrValue& other);
  AttrValue& operator=(AttrValue&& other) noexcept;
  ~AttrValue();

  static AttrValue of(std::string v);
  static AttrValue of(int64_t v);
  static AttrValue of(float v);
  static AttrValue of(bool v);
  static AttrValue of(DType v);
  static AttrValue of(Shape v);
  static AttrValue of(Tensor v);
  template <class T>
  static AttrValue list_of(AttrKind kind, std::vector<T> v) {
    return {{kind, true}, std::move(v)};
  }

  /// kNone for a list without members whose kind nobody stated ({"list": {}}): it fits every list type.
  AttrType type() const { return type_; }
  /// REQUIRES: the value is of that kind.
  template <class T>
  const T& get() const {
    return std::get<T>(value_);
  }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  /// Calls f with the value as the type that it has.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), value_);
  }

 private:
  AttrType type_;
  Storage value_;
};

/// Attributes by name, sorted as written plus defaults. A view: the graph (or whoever made it) owns the values.
class Attrs {
 public:
  using Entry = std::pair<std::string_view, const AttrValue*>;
  Attrs() = default;
  explicit Attrs(std::span<const Entry> entries) : entries_(entries) {}

  std::span<const Entry> entries() const { return entries_; }
  /// Null if there is no such attr.
  const AttrValue* find(std::string_view name) const;

  // For validated nodes: the attr exists and has that type.
  int64_t integer(std::string_view name) const;
  float number(std::string_view name) const;
  bool flag(std::string_view name) const;
  DType type(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const Shape& shape(std::string_view name) const;
  const Tensor& tensor(std::string_view name) const;
  const std::vector<int64_t>& integers(std::string_view name) const;
  const std::vector<float>& numbers(std::string_view name) const;
  const std::vector<std::string>& texts(std::string_view name) const;
  const std::vector<DType>& types(std::string_view name) const;
  const std::vector<Shape>& shapes(std::string_view name) const;

 private:
  const AttrValue& at(std::string_view name) const;
  std::span<const Entry> entries_;
};

}  // namespace emplace
