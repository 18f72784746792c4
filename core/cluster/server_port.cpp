#include "core/cluster/server_port.h"

#include <utility>

#include "core/base/cat.h"
#include "core/base/units.h"

namespace emplace {

Status ServerPort::listen(Transport& transport, const std::string& address, const TransportOptions& options) {
  std::string error;
  port_.reset(transport.listen(address, options, this, &error));
  return port_ ? ok_status() : Status(Code::kUnknown, cat(error, " at ", address));
}

void ServerPort::close() {
  port_.reset();
  lasting_.close();
}

void ServerPort::connection_refused(const std::string& why) {
  constexpr std::chrono::seconds kAgain{10};
  const auto now = std::chrono::steady_clock::now();
  int64_t count = 0;
  {
    std::lock_guard lock(mutex_);
    ++refused_;
    if (told_.time_since_epoch().count() != 0 && now - told_ < kAgain) return;
    told_ = now;
    count = std::exchange(refused_, 0);
  }
  if (say_) say_(cat("warning: ", counted(count, "connection"), " refused: ", why));
}

}  // namespace emplace
