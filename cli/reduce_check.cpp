#include "cli/reduce_check.h"

#include <algorithm>
#include <charconv>

#include "cli/run_process.h"
#include "cli/side.h"
#include "core/base/cat.h"
#include "core/base/expression.h"
#include "core/device/device_text.h"

namespace emplace {
namespace {

/// A pattern that this name alone matches.
std::string pattern_of(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::string_view(".[]{}()\\*+?^$|").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

bool says_devices(std::string_view flag) {
  constexpr std::string_view kFlags[] = {"--devices",      "--simulate-gpus", "--visible-devices",
                                         "--device-count", "--logical-gpus",  "--master"};
  return std::find(std::begin(kFlags), std::end(kFlags), flag) != std::end(kFlags);
}

}  // namespace

Result<ReduceCheck> ReduceCheck::make(const std::string& command, const std::string& condition,
                                      std::vector<std::string> flags, double timeout_s) {
  if (command.empty() == condition.empty())
    return invalid_argument("wanted --check 'CMD {}' or --while exits=N|says=REGEX|diverges|places=NODE@DEVICE");
  ReduceCheck check;
  check.flags_ = std::move(flags);
  check.timeout_s_ = timeout_s;
  check.command_ = command;
  if (!command.empty()) {
    if (command.find("{}") == std::string::npos)
      return invalid_argument(cat("--check '", command, "': {} stands for the graph's file"));
    return check;
  }
  const size_t equals = condition.find('=');
  const std::string word = condition.substr(0, equals);
  check.text_ = equals == std::string::npos ? "" : condition.substr(equals + 1);
  const char* end = check.text_.data() + check.text_.size();
  const size_t at = check.text_.rfind('@');
  if (word == "diverges" && check.text_.empty()) {
    check.kind_ = Kind::kDiverges;
  } else if (word == "exits" && std::from_chars(check.text_.data(), end, check.code_).ptr == end && check.code_ > 0 &&
             check.code_ < 256) {
    check.kind_ = Kind::kExits;
  } else if (word == "says" && !check.text_.empty()) {
    check.kind_ = Kind::kSays;
    if (!Expression(check.text_, Expression::Match::kLine).sound())
      return invalid_argument(cat("--while says: '", check.text_, "' is not a regular expression"));
  } else if (word == "places" && at != std::string::npos && at > 0) {
    check.kind_ = Kind::kPlaces;
    check.node_ = check.text_.substr(0, at);
    check.device_ = check.text_.substr(at + 1);
    if (check.device_.empty() || !device_as_typed(check.device_))
      return invalid_argument(
          cat("--while places: '", check.device_, "' is not a device name; wanted GPU:0 or the like"));
  } else {
    return invalid_argument(
        cat("--while '", condition, "': wanted exits=N, says=REGEX, diverges or places=NODE@DEVICE"));
  }
  return check;
}

std::vector<std::string> ReduceCheck::words_for(const std::string& file) const {
  if (kind_ == Kind::kCommand) {
    std::string line = command_;
    for (size_t at = line.find("{}"); at != std::string::npos; at = line.find("{}", at + file.size()))
      line.replace(at, 2, file);
    return {"/bin/sh", "-c", line};
  }
  const char* command = kind_ == Kind::kDiverges ? "compare" : kind_ == Kind::kPlaces ? "place" : "run";
  std::vector<std::string> words = {"/proc/self/exe", command, file};
  words.insert(words.end(), flags_.begin(), flags_.end());
  if (kind_ == Kind::kDiverges) words.emplace_back("--no-save");
  if (kind_ == Kind::kPlaces) {
    words.push_back(cat("--nodes=", pattern_of(node_)));
    words.push_back(cat("--device=", device_));
  }
  return words;
}

Result<bool> ReduceCheck::fails(const std::string& file) const {
  ASSIGN_OR_RETURN(ProcessEnd end, run_process(words_for(file), timeout_s_));
  switch (kind_) {
    case Kind::kCommand:
      return end.code == 0;
    case Kind::kExits:
      return end.code == code_;
    case Kind::kSays:
      std::replace(end.said.begin(), end.said.end(), '\0', ' ');
      return Expression(text_, Expression::Match::kLine).matches(end.said);
    case Kind::kDiverges:
      return end.code == 7;
    case Kind::kPlaces:
      return end.code == 0;  // 2: no such node is there
  }
  return false;
}

Status ReduceCheck::drop_flags(const std::string& file, int64_t& tries) {
  constexpr int kFirstOfSignals = 129;
  if (kind_ == Kind::kCommand || (kind_ == Kind::kExits && code_ < kFirstOfSignals)) return ok_status();
  const auto stays = [&](std::string_view flag) {
    const std::string_view name = flag.substr(0, flag.find('='));
    return name == "--a" || name == "--b" || (kind_ == Kind::kPlaces && says_devices(name));
  };
  for (size_t i = flags_.size(); i-- > 0;) {
    if (stays(flags_[i])) continue;
    ReduceCheck without = *this;
    without.flags_.erase(without.flags_.begin() + static_cast<std::ptrdiff_t>(i));
    ++tries;
    ASSIGN_OR_RETURN(const bool failed, without.fails(file));
    if (failed) *this = std::move(without);
  }
  return ok_status();
}

std::string ReduceCheck::what() const {
  switch (kind_) {
    case Kind::kCommand:
      return "the check passes as before";
    case Kind::kExits:
      return cat("exit ", code_, " as before");
    case Kind::kSays:
      return cat("says '", text_, "' as before");
    case Kind::kDiverges:
      return "diverges as before";
    case Kind::kPlaces:
      break;
  }
  return cat(node_, " on ", device_, " as before");
}

std::string ReduceCheck::command_for(const std::string& file) const {
  std::vector<std::string> words = words_for(file);
  if (kind_ == Kind::kCommand) return words[2];
  std::string line = cat("emplace ", words[1], " ", file);
  for (const std::string& flag : flags_)
    append(line, " ", flag.find_first_of(" '*|;&$") == std::string::npos ? flag : shell_word(flag));
  return line;
}

}  // namespace emplace
