#include "core/formats/used_functions.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace emplace {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// A text that is also the name of a function may be that: nothing is left out that somebody calls.
class CalledFunctions {
 public:
  explicit CalledFunctions(const OrderedJson& library) {
    for (const OrderedJson& function : list_of(library, "function", "function")) {
      const OrderedJson name = name_of(function);
      if (name.is_string()) functions_.emplace(name.get<std::string>(), &function);
    }
    for (const OrderedJson& gradient : list_of(library, "gradient", "gradient")) {
      const OrderedJson& name = member(gradient, "function_name", "functionName");
      if (name.is_string()) gradients_.emplace(name.get<std::string>(), &gradient);
    }
  }

  void look_at(const OrderedJson& nodes) {
    find_names(nodes);
    while (!open_.empty()) {
      const std::string name = open_.back();
      open_.pop_back();
      find_names(*functions_.at(name));
      for (auto [at, end] = gradients_.equal_range(name); at != end; ++at) find_names(*at->second);
    }
  }
  bool uses(const OrderedJson& name) const { return name.is_string() && used_.count(name.get<std::string>()) > 0; }

  static const OrderedJson& member(const OrderedJson& object, const char* key, const char* camel) {
    static const OrderedJson kNone;
    if (!object.is_object()) return kNone;
    const auto at = object.contains(key) ? object.find(key) : object.find(camel);
    return at == object.end() ? kNone : *at;
  }
  static const OrderedJson& list_of(const OrderedJson& object, const char* key, const char* camel) {
    static const OrderedJson kNone = OrderedJson::array();
    const OrderedJson& list = member(object, key, camel);
    return list.is_array() ? list : kNone;
  }
  static OrderedJson name_of(const OrderedJson& function) {
    return member(member(function, "signature", "signature"), "name", "name");
  }

 private:
  void find_names(const OrderedJson& value) {
    if (value.is_structured()) {
      for (const OrderedJson& inner : value) find_names(inner);
    } else if (value.is_string()) {
      const auto& name = value.get_ref<const std::string&>();
      if (functions_.count(name) > 0 && used_.insert(name).second) open_.push_back(name);
    }
  }

  std::map<std::string, const OrderedJson*> functions_;
  std::multimap<std::string, const OrderedJson*> gradients_;
  std::set<std::string> used_;
  std::vector<std::string> open_;  // used, and not looked at
};

}  // namespace

void keep_used_functions(const OrderedJson& nodes, OrderedJson& members) {
  const OrderedJson library = std::move(members["library"]);
  members.erase("library");
  CalledFunctions used(library);
  used.look_at(nodes);
  OrderedJson functions = OrderedJson::array(), gradients = OrderedJson::array();
  for (const OrderedJson& function : CalledFunctions::list_of(library, "function", "function")) {
    if (used.uses(CalledFunctions::name_of(function))) functions.push_back(function);
  }
  for (const OrderedJson& gradient : CalledFunctions::list_of(library, "gradient", "gradient")) {
    if (used.uses(CalledFunctions::member(gradient, "function_name", "functionName"))) gradients.push_back(gradient);
  }
  if (functions.empty() && gradients.empty()) return;
  members["library"]["function"] = std::move(functions);
  if (!gradients.empty()) members["library"]["gradient"] = std::move(gradients);
}

}  // namespace emplace
