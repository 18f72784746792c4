#include "core/train/plot.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace emplace {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a picture has axes with ticks, a legend, both curves, and no number that is none") {
  Curve loss{"loss", {}}, accuracy{"accuracy (test)", {{100, 0.5}, {200, 0.9}}};
  for (int i = 1; i <= 200; ++i) loss.points.emplace_back(i, 2.3 * std::exp(-i / 100.0));
  std::string svg = plot_svg("a <b> & c", {loss, accuracy});
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(has(svg, "a &lt;b&gt; &amp; c"));
  CHECK(has(svg, ">step<"));
  CHECK(has(svg, ">accuracy (test)<"));
  CHECK(has(svg, ">50<"));
  CHECK(has(svg, ">0.9 at the end<") == false);
  CHECK(has(svg, "accuracy (test) 0.9 at the end"));
  CHECK_FALSE(has(svg, "nan"));
  CHECK_FALSE(has(svg, "inf"));
}

TEST_CASE("no point, one point, equal values and a far fall can be drawn") {
  for (const Curve& curve : {Curve{"loss", {}}, Curve{"loss", {{1, 2}}}, Curve{"loss", {{1, 0}, {2, 0}}},
                             Curve{"loss", {{1, 1000}, {2, 1e-6}}}}) {
    std::string svg = plot_svg("t", {curve});
    CHECK_FALSE(has(svg, "nan"));
    CHECK_FALSE(has(svg, "inf"));
    CHECK(svg.size() < 20000);
  }
}

}  // namespace emplace
