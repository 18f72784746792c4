/// What the page's script (page.js) shows, as JSON. Nodes are numbered scope by scope, as ScopeTree::leaves has them.
#pragma once

#include <string>

#include "core/report/draw/scope_tree.h"

namespace emplace {

/// Safe inside <script>: no '<' is in it. Texts are printable().
std::string page_data(const Picture& picture, const ScopeTree& tree, const std::vector<bool>& open, DrawColor color);

}  // namespace emplace
