/// A hash of a run's training data, by which a checkpoint recognises the data that it belongs to.
#pragma once

#include <string>

#include "core/train/data_request.h"

namespace emplace {

/// Of the bytes of the files that `data` names, wherever they lie: 16 hexadecimal digits. Cancelled and
/// DeadlineExceeded as stop_status() says.
Result<std::string> data_fingerprint(const DataSet& data);

}  // namespace emplace
