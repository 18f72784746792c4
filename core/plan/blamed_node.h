/// The node in an error's message, as TensorFlow writes it.
#pragma once

#include <string_view>

#include "core/base/status.h"

namespace emplace {

/// "\n\t [[{{node NAME}}]]" behind the message, unless there is one already.
Status attach_node(Status status, std::string_view node_name);

}  // namespace emplace
