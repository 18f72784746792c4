#include "core/train/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "core/base/cat.h"
#include "core/base/printable.h"

namespace emplace {
namespace {

constexpr double kWidth = 960, kHeight = 540;
constexpr double kLeft = 80, kRight = 880, kTop = 64, kBottom = 476;  // of the plotting area
// Okabe and Ito's colours, which most colour-blind people tell apart; the loss has the first.
constexpr std::array<const char*, 7> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#000000"};
constexpr size_t kMostPoints = 800;  // of a drawn line: one per pixel

std::string fixed(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", v);
  return text;
}

std::string tick_text(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", std::abs(v) < 1e-12 ? 0.0 : v);
  return text;
}

/// 1, 2 or 5 times a power of ten: about `count` steps over the span.
double nice_step(double span, int count) {
  double raw = span / count, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

/// From values to places.
class Axis {
 public:
  Axis(double low, double high, double from, double to, bool logarithmic) : from_(from), to_(to), log_(logarithmic) {
    if (!(high > low)) low -= low == 0 ? 1 : std::abs(low) / 2, high += high == 0 ? 1 : std::abs(high) / 2;
    low_ = log_ ? std::log10(low) : low;
    high_ = log_ ? std::log10(high) : high;
    if (log_ && high_ - low_ < 1) low_ = std::floor(low_), high_ = std::ceil(high_);
  }

  /// Widens the ends to ticks.
  Axis& rounded(int count) {
    double step = log_ ? 1 : nice_step(high_ - low_, count);
    low_ = std::floor(low_ / step + 1e-9) * step;
    high_ = std::ceil(high_ / step - 1e-9) * step;
    return *this;
  }

  double place(double v) const {
    double at = log_ ? std::log10(std::max(v, 1e-300)) : v;
    return from_ + (std::clamp(at, low_, high_) - low_) / (high_ - low_) * (to_ - from_);
  }

  std::vector<double> ticks(int count) const {
    std::vector<double> out;
    double step = log_ ? std::max(1.0, std::ceil((high_ - low_) / count)) : nice_step(high_ - low_, count);
    for (double at = std::ceil(low_ / step - 1e-9) * step; at <= high_ + step * 1e-9; at += step)
      out.push_back(log_ ? std::pow(10.0, at) : at);
    return out;
  }

 private:
  double from_, to_, low_ = 0, high_ = 1;
  bool log_;
};

void text_at(std::string& svg, double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  append(svg, "<text x=\"", fixed(x), "\" y=\"", fixed(y), "\" text-anchor=\"", anchor, "\" ", more, ">",
         html_text(text), "</text>\n");
}

void line(std::string& svg, double x1, double y1, double x2, double y2, const char* style) {
  append(svg, "<line x1=\"", fixed(x1), "\" y1=\"", fixed(y1), "\" x2=\"", fixed(x2), "\" y2=\"", fixed(y2), "\" ",
         style, "/>\n");
}

/// Means of neighbours, so that no line has more points than there are pixels.
std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& points) {
  if (points.size() <= kMostPoints) return points;
  std::vector<std::pair<double, double>> out;
  for (size_t bin = 0; bin < kMostPoints; ++bin) {
    size_t begin = bin * points.size() / kMostPoints, end = (bin + 1) * points.size() / kMostPoints;
    double x = 0, y = 0;
    for (size_t i = begin; i < end; ++i) x += points[i].first, y += points[i].second;
    out.emplace_back(x / static_cast<double>(end - begin), y / static_cast<double>(end - begin));
  }
  return out;
}

/// The mean over a window around each point: the trend of a noisy curve.
std::vector<std::pair<double, double>> smoothed(const std::vector<std::pair<double, double>>& points) {
  const auto n = static_cast<std::ptrdiff_t>(points.size());
  const std::ptrdiff_t half = n / 50;
  std::vector<double> sums{0};
  for (const auto& p : points) sums.push_back(sums.back() + p.second);
  std::vector<std::pair<double, double>> out;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    std::ptrdiff_t begin = std::max<std::ptrdiff_t>(i - half, 0), end = std::min(i + half + 1, n);
    out.emplace_back(
        points[static_cast<size_t>(i)].first,
        (sums[static_cast<size_t>(end)] - sums[static_cast<size_t>(begin)]) / static_cast<double>(end - begin));
  }
  return out;
}

class Picture {
 public:
  Picture(const std::string& title, const std::vector<Curve>& curves)
      : curves_(curves), x_(x_axis()), loss_(loss_axis()), metrics_(metric_axis()) {
    append(svg_,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 540\" width=\"960\" height=\"540\" "
           "font-family=\"sans-serif\" font-size=\"13\">\n",
           "<rect width=\"960\" height=\"540\" fill=\"white\"/>\n");
    text_at(svg_, (kLeft + kRight) / 2, 24, "middle", title, "font-size=\"16\" font-weight=\"bold\"");
  }

  std::string draw() {
    draw_axes();
    for (size_t i = 0; i < curves_.size(); ++i) draw_curve(i);
    draw_legend();
    return svg_ + "</svg>\n";
  }

 private:
  bool has_metrics() const { return curves_.size() > 1; }

  Axis x_axis() const {
    double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
    for (const Curve& c : curves_) {
      if (!c.points.empty()) low = std::min(low, c.points.front().first), high = std::max(high, c.points.back().first);
    }
    return high < low ? Axis(0, 1, kLeft, kRight, false) : Axis(low, high, kLeft, kRight, false);
  }

  Axis loss_axis() const {
    double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
    for (const auto& [x, y] : curves_.front().points) low = std::min(low, y), high = std::max(high, y);
    if (high < low) low = 0, high = 1;
    constexpr double kFarFall = 50;
    bool logarithmic = low > 0 && high / low > kFarFall;
    if (!logarithmic && low > 0 && low < high / 3) low = 0;
    return Axis(low, high, kBottom, kTop, logarithmic).rounded(6);
  }

  Axis metric_axis() const {
    double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
    for (size_t i = 1; i < curves_.size(); ++i) {
      for (const auto& [x, y] : curves_[i].points) low = std::min(low, y), high = std::max(high, y);
    }
    if (high < low) low = 0, high = 1;
    if (low >= 0 && high <= 1 && high > 0.5) high = 1;  // a share
    return Axis(low, high, kBottom, kTop, false).rounded(6);
  }

  void draw_axes() {
    for (double v : x_.ticks(8)) {
      line(svg_, x_.place(v), kTop, x_.place(v), kBottom, "stroke=\"#eeeeee\"");
      line(svg_, x_.place(v), kBottom, x_.place(v), kBottom + 5, "stroke=\"#444444\"");
      text_at(svg_, x_.place(v), kBottom + 20, "middle", tick_text(v), "fill=\"#444444\"");
    }
    for (double v : loss_.ticks(6)) {
      line(svg_, kLeft, loss_.place(v), kRight, loss_.place(v), "stroke=\"#e4e4e4\"");
      line(svg_, kLeft - 5, loss_.place(v), kLeft, loss_.place(v), "stroke=\"#444444\"");
      text_at(svg_, kLeft - 9, loss_.place(v) + 4, "end", tick_text(v), cat("fill=\"", kColors[0], "\"").c_str());
    }
    if (has_metrics()) {
      for (double v : metrics_.ticks(6)) {
        line(svg_, kRight, metrics_.place(v), kRight + 5, metrics_.place(v), "stroke=\"#444444\"");
        text_at(svg_, kRight + 9, metrics_.place(v) + 4, "start", tick_text(v), "fill=\"#444444\"");
      }
    }
    append(svg_, "<rect x=\"", fixed(kLeft), "\" y=\"", fixed(kTop), "\" width=\"", fixed(kRight - kLeft),
           "\" height=\"", fixed(kBottom - kTop), "\" fill=\"none\" stroke=\"#444444\"/>\n");
    text_at(svg_, (kLeft + kRight) / 2, kBottom + 46, "middle", "step");
    text_at(svg_, 0, 0, "middle", curves_.front().name,
            cat("fill=\"", kColors[0], "\" transform=\"translate(22 270) rotate(-90)\"").c_str());
    if (has_metrics())
      text_at(svg_, 0, 0, "middle", curves_.size() == 2 ? curves_[1].name : "metrics",
              "transform=\"translate(944 270) rotate(90)\"");
  }

  void draw_curve(size_t i) {
    const Curve& curve = curves_[i];
    if (curve.points.empty()) return;
    const Axis& axis = i == 0 ? loss_ : metrics_;
    constexpr size_t kNoisy = 100;
    bool noisy = curve.points.size() >= kNoisy;
    if (noisy) polyline(thinned(curve.points), axis, color(i), "stroke-width=\"1\" stroke-opacity=\"0.3\"");
    polyline(thinned(noisy ? smoothed(curve.points) : curve.points), axis, color(i), "stroke-width=\"2\"");
    constexpr size_t kFew = 60;
    if (curve.points.size() > kFew) return;
    for (const auto& [x, y] : curve.points) {
      append(svg_, "<circle cx=\"", fixed(x_.place(x)), "\" cy=\"", fixed(axis.place(y)), "\" r=\"2.5\" fill=\"",
             color(i), "\"/>\n");
    }
  }

  void polyline(const std::vector<std::pair<double, double>>& points, const Axis& axis, const char* stroke,
                const char* style) {
    append(svg_, "<polyline fill=\"none\" stroke=\"", stroke, "\" stroke-linejoin=\"round\" ", style, " points=\"");
    for (const auto& [x, y] : points) append(svg_, fixed(x_.place(x)), ",", fixed(axis.place(y)), " ");
    svg_ += "\"/>\n";
  }

  /// Above the plotting area, from the left.
  void draw_legend() {
    double x = kLeft;
    for (size_t i = 0; i < curves_.size(); ++i) {
      line(svg_, x, kTop - 16, x + 24, kTop - 16, cat("stroke=\"", color(i), "\" stroke-width=\"3\"").c_str());
      std::string label = curves_[i].name;
      if (!curves_[i].points.empty())
        append(label, " ", tick_text(std::round(curves_[i].points.back().second * 1e5) / 1e5), " at the end");
      text_at(svg_, x + 30, kTop - 12, "start", label);
      x += 56 + 7.2 * static_cast<double>(label.size());
    }
  }

  static const char* color(size_t i) { return kColors[i % kColors.size()]; }

  const std::vector<Curve>& curves_;
  Axis x_, loss_, metrics_;
  std::string svg_;
};

}  // namespace

std::string plot_svg(const std::string& title, const std::vector<Curve>& curves) {
  return Picture(title, curves).draw();
}

}  // namespace emplace
