#include "core/graph/function_attrs.h"

namespace emplace {
namespace {

constexpr std::string_view kMark = "(function)";  // first of the set; no attr has such a name

}  // namespace

void keep_own_attrs(Graph& body, OwnAttrs attrs) {
  static const AttrValue kNothing;
  std::vector<Attrs::Entry> entries{{kMark, &kNothing}};
  for (auto& attr : attrs)
    entries.emplace_back(body.keep(attr.first), &body.attr_values_.emplace_back(std::move(attr.second)));
  body.attr_sets_.push_back(std::move(entries));
}

Attrs own_attrs(const Graph& body) {
  for (auto set = body.attr_sets_.rbegin(); set != body.attr_sets_.rend(); ++set) {
    if (!set->empty() && set->front().first == kMark) return Attrs(*set);
  }
  return {};
}

}  // namespace emplace
