#include "cuda/targets.h"

#include <cuda_runtime.h>

#include <charconv>
#include <cstdlib>
#include <vector>

#include "core/base/cat.h"

namespace emplace::cuda {
namespace {

struct Target {
  int number = 0;  // 90
  bool alone = false, real = false, ptx = false;
};

std::vector<Target> parse(std::string_view text) {
  std::vector<Target> targets;
  while (!text.empty()) {
    std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(one.size());
    if (!text.empty()) text.remove_prefix(1);
    Target t;
    const auto [rest, error] = std::from_chars(one.data(), one.data() + one.size(), t.number);
    if (error != std::errc()) continue;
    one.remove_prefix(static_cast<size_t>(rest - one.data()));
    t.alone = one.starts_with('a') || one.starts_with('f');
    t.real = !one.ends_with("-virtual");
    t.ptx = !one.ends_with("-real");
    targets.push_back(t);
  }
  return targets;
}

bool fits(const Target& t, int major, int minor) {
  const int number = 10 * major + minor;
  if (t.alone) return number == t.number;
  return (t.real && t.number / 10 == major && t.number <= number) || (t.ptx && t.number <= number);
}

}  // namespace

bool targets_fit(std::string_view targets, int major, int minor) {
  for (const Target& t : parse(targets)) {
    if (fits(t, major, minor)) return true;
  }
  return false;
}

std::string targets_text(std::string_view targets) {
  std::string out;
  for (const Target& t : parse(targets))
    append(out, out.empty() ? "" : ", ", t.number / 10, ".", t.number % 10, t.ptx && !t.alone ? " and newer" : "");
  return out;
}

std::string_view built_targets() {
#ifdef EMPLACE_STANDIN
  const char* pretended = std::getenv("EMPLACE_STANDIN_TARGETS");
  return pretended ? pretended : "10-virtual";
#else
  return EMPLACE_CUDA_TARGETS;
#endif
}

}  // namespace emplace::cuda
