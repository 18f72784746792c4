/// A picture of training curves as SVG: the loss on the left axis, metrics on the right one, over steps.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace emplace {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // step, value; steps ascend
};

/// `curves`: the loss first, then metrics (may be none). Where it falls far, the loss has a logarithmic axis.
std::string plot_svg(const std::string& title, const std::vector<Curve>& curves);

}  // namespace emplace
