/// Is an attr's value what the op asks for? TensorFlow's words (ValidateAttrValue in op_def_util.cc).
#pragma once

#include <string>

#include "core/op/signature.h"

namespace emplace {

/// Empty if `value` fits; else what is wrong. An attr of a function body may be a placeholder: it fits.
std::string attr_mismatch(const AttrSignature& attr, const AttrValue& value);

/// For a text that is not among the allowed ones: which of them is meant; else empty.
std::string attr_hint(const AttrSignature& attr, const AttrValue& value);

}  // namespace emplace
