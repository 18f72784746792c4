#include "core/base/expression.h"

namespace emplace {

Expression::Expression(const std::string& pattern, Match match)
    : code_(match == Match::kWhole ? regcomp(&regex_, ("^(" + pattern + ")$").c_str(), REG_EXTENDED | REG_NOSUB)
                                   : regcomp(&regex_, pattern.c_str(), REG_EXTENDED | REG_NOSUB | REG_NEWLINE)) {}

Expression::~Expression() {
  if (sound()) regfree(&regex_);
}

std::string Expression::what_is_wrong() const {
  char why[200];
  regerror(code_, &regex_, why, sizeof why);
  return why;
}

}  // namespace emplace
