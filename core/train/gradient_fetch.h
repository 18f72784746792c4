/// Gradients that a fetch asks for: "gradients(LOSS,X)" names the gradient of the sum of LOSS with respect to X.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph_file.h"

namespace emplace {

struct GradientName {
  std::string_view loss, x;
};

/// Nothing if `name` is not of that form. Blanks around the two names do not count.
std::optional<GradientName> parse_gradient_name(std::string_view name);

/// Tensors with names that are not those of nodes.
using NamedTensors = std::map<std::string, Endpoint, std::less<>>;

/// Adds the gradients among `fetches` to the graph, those of one loss together, as one call of tf.gradients() does, and
/// tells which tensor has which name. Adds a problem for each that there is not. The file is validated again; see
/// validate() for `contradictions`. REQUIRES: a validated file.
NamedTensors add_fetched_gradients(GraphFile& file, std::span<const NamedRef> fetches, bool colocate,
                                   Problems& problems, Problems* contradictions);

}  // namespace emplace
