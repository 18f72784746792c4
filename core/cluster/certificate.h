/// For how long a certificate is valid: its owner is told before the other end refuses it, which says less.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace emplace {

/// Of the first certificate in a PEM text. FailedPrecondition: it has expired, or is not valid yet, and since or until
/// when. OK also where it cannot be read: that is for whoever uses it to say. `now`: "2026-11-27 23:53:43", UTC.
Status check_validity(std::string_view pem, std::string_view now);

/// The time, so written.
std::string utc_now();

}  // namespace emplace
