#include "core/formats/library_cut.h"

#include <map>
#include <set>
#include <vector>

#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/message_fields.h"
#include "core/formats/proto/wire_writer.h"

namespace emplace {
namespace {

using proto::number;
using proto::text_field;
using proto::WireError;
using proto::WireReader;
using proto::WireType;
using proto::WireWriter;

class UsedFunctions {
 public:
  UsedFunctions(std::string_view graph, WireError& error) : error_(error) {
    for (WireReader reader(graph, error); reader.next();) {
      if (reader.is(number(proto::kGraphDefFields, "library"), WireType::kBytes)) read_library(reader.bytes());
    }
    for (WireReader reader(graph, error); reader.next();) {
      if (reader.is(number(proto::kGraphDefFields, "node"), WireType::kBytes)) use_of_node(reader.bytes());
    }
    while (!left_.empty()) {
      const std::string_view name = left_.back();
      left_.pop_back();
      use(gradients_[name]);
      for (WireReader reader(bodies_[name], error_); reader.next();) {
        if (reader.is(number(proto::kFunctionDefFields, "node_def"), WireType::kBytes)) use_of_node(reader.bytes());
      }
    }
  }

  bool has(std::string_view function) const { return used_.contains(function); }

  static std::string_view name_of(std::string_view function) {
    return text_field(text_field(function, number(proto::kFunctionDefFields, "signature")),
                      number(proto::kOpDefFields, "name"));
  }

 private:
  void read_library(std::string_view library) {
    using proto::kFunctionDefLibraryFields;
    for (WireReader reader(library, error_); reader.next();) {
      if (reader.is(number(kFunctionDefLibraryFields, "function"), WireType::kBytes))
        bodies_[name_of(reader.bytes())] = reader.bytes();
      if (reader.is(number(kFunctionDefLibraryFields, "gradient"), WireType::kBytes))
        gradients_[text_field(reader.bytes(), number(proto::kGradientDefFields, "function_name"))] =
            text_field(reader.bytes(), number(proto::kGradientDefFields, "gradient_func"));
      if (reader.is(number(kFunctionDefLibraryFields, "registered_gradients"), WireType::kBytes))
        registered_[text_field(reader.bytes(), number(proto::kRegisteredGradientFields, "registered_op_type"))] =
            text_field(reader.bytes(), number(proto::kRegisteredGradientFields, "gradient_func"));
    }
  }

  void use(std::string_view name) {
    if (bodies_.contains(name) && used_.insert(name).second) left_.push_back(name);
  }

  void use_of_node(std::string_view node) {
    for (WireReader reader(node, error_); reader.next();) {
      if (reader.is(number(proto::kNodeDefFields, "op"), WireType::kBytes)) use(reader.bytes());
      if (reader.is(number(proto::kNodeDefFields, "attr"), WireType::kBytes)) use_of_entry(reader.bytes(), 0);
    }
  }

  /// Of a map from names to AttrValues. A node may name a gradient of its own, tf.custom_gradient's.
  void use_of_entry(std::string_view entry, int depth) {
    const std::string_view value = text_field(entry, number(proto::kNodeDefAttrEntryFields, "value"));
    if (text_field(entry, number(proto::kNodeDefAttrEntryFields, "key")) == "_gradient_op_type") {
      const auto found = registered_.find(text_field(value, number(proto::kAttrValueFields, "s")));
      if (found != registered_.end()) use(found->second);
    }
    for (WireReader reader(value, error_); reader.next() && depth < proto::kMaxDepth;) {
      if (reader.is(number(proto::kAttrValueFields, "func"), WireType::kBytes)) use_of_list(reader.bytes(), depth);
      if (!reader.is(number(proto::kAttrValueFields, "list"), WireType::kBytes)) continue;
      for (WireReader list(reader.bytes(), error_); list.next();) {
        if (list.is(number(proto::kAttrValueListValueFields, "func"), WireType::kBytes))
          use_of_list(list.bytes(), depth);
      }
    }
  }

  /// Of a NameAttrList: a function and its attrs.
  void use_of_list(std::string_view list, int depth) {
    for (WireReader reader(list, error_); reader.next();) {
      if (reader.is(number(proto::kNameAttrListFields, "name"), WireType::kBytes)) use(reader.bytes());
      if (reader.is(number(proto::kNameAttrListFields, "attr"), WireType::kBytes))
        use_of_entry(reader.bytes(), depth + 1);
    }
  }

  WireError& error_;
  std::map<std::string_view, std::string_view> bodies_, gradients_, registered_;
  std::set<std::string_view> used_;
  std::vector<std::string_view> left_;
};

std::string used_part(std::string_view library, const UsedFunctions& used, WireError& error) {
  using proto::kFunctionDefLibraryFields;
  std::string out;
  for (WireReader reader(library, error); reader.next();) {
    const bool function = reader.is(number(kFunctionDefLibraryFields, "function"), WireType::kBytes);
    const bool gradient = reader.is(number(kFunctionDefLibraryFields, "gradient"), WireType::kBytes);
    if (function && !used.has(UsedFunctions::name_of(reader.bytes()))) continue;
    if (gradient && !used.has(text_field(reader.bytes(), number(proto::kGradientDefFields, "function_name")))) continue;
    const bool registered = reader.is(number(kFunctionDefLibraryFields, "registered_gradients"), WireType::kBytes);
    if (registered && !used.has(text_field(reader.bytes(), number(proto::kRegisteredGradientFields, "gradient_func"))))
      continue;
    out += reader.whole();
  }
  return out;
}

}  // namespace

std::string without_unused_functions(std::string_view graph, WireError& error) {
  const UsedFunctions used(graph, error);
  std::string out;
  WireWriter writer(out);
  for (WireReader reader(graph, error); reader.next();) {
    if (!reader.is(number(proto::kGraphDefFields, "library"), WireType::kBytes)) {
      out += reader.whole();
    } else if (const std::string library = used_part(reader.bytes(), used, error); !library.empty()) {
      writer.bytes(reader.field(), library);
    }
  }
  return out;
}

}  // namespace emplace
