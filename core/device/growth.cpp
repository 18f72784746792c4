#include "core/device/growth.h"

#include <string_view>

#include "core/base/cat.h"

namespace emplace {

Growth settle_growth(bool asked, const char* forced) {
  Growth growth{asked, {}, {}};
  if (!forced) return growth;
  const std::string_view text = forced;
  const int original = asked ? 1 : 0;
  if (text != "true" && text != "false") {
    growth.error = cat("The TF_FORCE_GPU_ALLOW_GROWTH environment variable is set but could not be parsed: \"", text,
                       "\". Valid values are \"true\" or \"false\". Using original config value of ", original, ".");
    return growth;
  }
  growth.allowed = text == "true";
  if (growth.allowed != asked) {
    growth.warning =
        cat("Overriding allow_growth setting because the TF_FORCE_GPU_ALLOW_GROWTH environment variable is set. "
            "Original config value was ",
            original, ".");
  }
  return growth;
}

}  // namespace emplace
