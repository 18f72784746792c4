/// Which argument of an op an input belongs to.
#pragma once

#include <span>

#include "core/op/attr_value.h"
#include "core/op/signature.h"

namespace emplace {

struct ArgumentPlace {
  int argument = -1;  // index in OpSignature::inputs; -1: the op has no such input
  int member = 0;     // place within a sequence argument
};

/// Where input `input` of `num_inputs` belongs. The length of a sequence is its number or list attr as written; one
/// sequence may go without and takes what the others leave.
ArgumentPlace argument_of_input(const OpSignature& op, Attrs written, int num_inputs, int input);

}  // namespace emplace
