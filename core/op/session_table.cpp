#include "core/op/session_table.h"

#include <algorithm>
#include <string>

#include "core/base/cat.h"

namespace emplace {

bool names_table(Attrs attrs) {
  static constexpr std::string_view kAttrs[] = {"key_dtype", "value_dtype", "container", "shared_name",
                                                "use_node_name_sharing"};
  return std::all_of(std::begin(kAttrs), std::end(kAttrs), [&](auto name) { return attrs.find(name) != nullptr; });
}

Variable& table_keeper(VariableStore& variables, Attrs attrs, std::string_view node_name) {
  const std::string& shared = attrs.text("shared_name");
  const bool own = shared.empty() && !attrs.flag("use_node_name_sharing");
  const std::string container = cat(own ? "\nown table\n" : "\ntable\n", attrs.text("container"));
  return variables.find_or_create(container, shared.empty() ? std::string(node_name) : shared, DType::kResource,
                                  Shape{});
}

SessionTable* kept_table(const Variable& keeper) {
  return keeper.value.valid() ? dynamic_cast<SessionTable*>(keeper.value.buffer().get()) : nullptr;
}

}  // namespace emplace
