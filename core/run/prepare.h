/// From a program to a prepared one: shapes settled, constants placed, kernels made and prepared. Memory comes later
/// (core/run/binding.h), when it is known how much there is to be had.
#pragma once

#include <cstddef>
#include <vector>

#include "core/run/prepared_program.h"

namespace emplace {

/// `feeds`: values of the request's. Errors carry a node's name.
Status prepare(PreparedProgram& p, const std::vector<Tensor>& feeds);

/// What kernels take beside their outputs goes into the plan, of `at_once` instructions at one time: the largest.
/// After the memory plan.
void count_workspaces(PreparedProgram& p, size_t at_once);

}  // namespace emplace
