/// The types that TensorFlow infers for what lists hold: of some ops, the list's elements are of the type of what is
/// put in (its forward type inference, forward_type_inference.cc, which runs before placement).
#pragma once

#include <span>
#include <string_view>

namespace emplace {

/// The inputs of `op` that say what its list holds; of other ops that make lists, TensorFlow asks their attrs only.
std::span<const int> inputs_that_type_elements(std::string_view op);

}  // namespace emplace
