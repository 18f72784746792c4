/// Whether a graph file still fails: a command of the user's, or emplace itself with the flags at hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace emplace {

class ReduceCheck {
 public:
  /// `command`: "CMD {}", which ends with 0 while the failure is there. Or `condition`: "exits=139", "says=REGEX",
  /// "diverges", "places=NODE@DEVICE", of emplace with `flags`. InvalidArgument: neither, both, or no such condition.
  static Result<ReduceCheck> make(const std::string& command, const std::string& condition,
                                  std::vector<std::string> flags, double timeout_s);

  Result<bool> fails(const std::string& file) const;
  /// Leaves out flags without which the file fails, too. Not of a command of the user's, nor of an exit code that is no
  /// crash, which another failure would have as well; not the sides of a comparison, nor, of a placement, the devices.
  Status drop_flags(const std::string& file, int64_t& tries);
  /// Of places=NODE@DEVICE; else empty.
  const std::string& node() const { return node_; }
  /// "exit 139 as before"
  std::string what() const;
  /// The command that shows it, for a person.
  std::string command_for(const std::string& file) const;

 private:
  enum class Kind { kCommand, kExits, kSays, kDiverges, kPlaces };
  std::vector<std::string> words_for(const std::string& file) const;

  Kind kind_ = Kind::kCommand;
  std::string command_, text_, node_, device_;
  int code_ = 0;
  std::vector<std::string> flags_;
  double timeout_s_ = 0;
};

}  // namespace emplace
