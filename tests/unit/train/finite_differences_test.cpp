#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "core/graph/node_kernel.h"
#include "core/place/placement.h"
#include "core/run/session.h"
#include "core/train/gradients.h"
#include "tests/unit/formats/loading.h"
#include "tests/unit/ops/sample_graph.h"
#include "tests/unit/run/run_case.h"

namespace emplace::testing {
namespace {

/// Where an op is not defined or not smooth on the range of its sample: another one.
const std::map<std::string_view, std::pair<double, double>> kRanges = {
    {"Acos", {-0.9, 0.9}},    {"Acosh", {1.1, 3}},    {"Asin", {-0.9, 0.9}},      {"Atanh", {-0.9, 0.9}},
    {"Log", {0.2, 2}},        {"Log1p", {-0.5, 2}},   {"Pow", {0.3, 2}},          {"Rsqrt", {0.3, 2}},
    {"Sqrt", {0.3, 2}},       {"Xlogy", {0.3, 2}},    {"Div", {0.5, 2}},          {"RealDiv", {0.5, 2}},
    {"Xdivy", {0.5, 2}},      {"DivNoNan", {0.5, 2}}, {"FloorMod", {0.55, 0.95}}, {"Inv", {0.3, 2}},
    {"Reciprocal", {0.3, 2}}, {"Tan", {-1, 1}},       {"LogSoftmax", {-2, 2}},    {"Softmax", {-2, 2}},
    {"Lgamma", {0.3, 2}},     {"Digamma", {0.3, 2}},  {"Polygamma", {0.5, 3}},    {"Zeta", {1.5, 3}}};

/// loss = sum of y * weight, with weights between 0.5 and 1.5, and its gradients.
class Differentiated {
 public:
  explicit Differentiated(const SampleGraph& sample) : loaded_(sample.text) {
    REQUIRE(loaded_.errors() == "");
    Problems problems;
    validate(*file(), problems);
    INFO(sample.text);
    const std::string errors = problems.to_string(*file()->source);
    if (errors.find("of double is not in the list") != std::string::npos)
      return;  // float32 is too coarse for differences
    REQUIRE(errors == "");
    for (const auto& [name, value] : sample.inputs) feeds_.emplace_back(Endpoint{file()->graph.find(name), 0}, value);
    const NodeType& type = file()->graph.type(y().node);
    usable_ = !feeds_.empty() && kFloating.has(base_type(type.output_types[0])) && cpu_kernel(type) != nullptr &&
              file()->graph.output_shape(y()).fully_known();
    if (usable_) build();
  }

  bool usable() const { return usable_; }
  size_t num_inputs() const { return feeds_.size(); }
  Tensor& input(size_t i) { return feeds_[i].second; }
  bool has_gradient(size_t i) const { return gradients_[i].node != kNoNode; }
  Tensor gradient(size_t i) { return run(gradients_[i]); }
  double loss() { return *run(loss_).data<double>(); }

 private:
  GraphFile* file() { return loaded_.operator->(); }
  Endpoint y() { return {file()->graph.find("y"), 0}; }

  void build() {
    GraphEditor edit(*file());
    const Shape shape = edit.shape(y());
    Tensor weight = Tensor::allocate(DType::kDouble, shape).take();
    for (int64_t i = 0; i < weight.num_elements(); ++i)
      weight.data<double>()[i] = 0.5 + 0.37 * static_cast<double>(i % 4);
    std::vector<int32_t> axes;
    for (int i = 0; i < shape.rank(); ++i) axes.push_back(i);
    Endpoint weighed =
        edit.add_output({.name = "weighed", .op = "Mul", .inputs = {y(), edit.constant("weight", weight)}});
    loss_ = edit.add_output(
        {.name = "loss", .op = "Sum", .inputs = {weighed, edit.constant("axes", i32({shape.rank()}, axes))}});
    std::vector<Endpoint> xs;
    for (const auto& [x, value] : feeds_) xs.push_back(x);
    auto gradients = add_gradients(edit, loss_, xs);
    REQUIRE(gradients.status().message() == "");
    Problems problems;
    edit.finish(problems);
    REQUIRE(problems.to_string(*file()->source) == "");
    for (Endpoint e : gradients->of) gradients_.push_back(edit.new_id(e));
    for (auto& [x, value] : feeds_) x = edit.new_id(x);
    loss_ = edit.new_id(loss_);
    std::vector<std::string> offenders;
    placement_ = place(*file(), machine_.devices, {}, offenders).take();
  }

  Tensor run(Endpoint e) {
    SessionOptions options;
    options.fetches = {e};
    options.feeds = feeds_;
    options.inter_op_threads = options.intra_op_threads = 1;
    auto session = Session::create(*file(), machine_.devices, placement_, std::move(options));
    REQUIRE(session.status().message() == "");
    std::vector<Tensor> outputs;
    REQUIRE((*session)->step(outputs).message() == "");
    return outputs[0];
  }

  Loaded loaded_;
  RunCase machine_;
  Placement placement_;
  std::vector<std::pair<Endpoint, Tensor>> feeds_;
  std::vector<Endpoint> gradients_;
  Endpoint loss_;
  bool usable_ = false;
};

/// Compares at most this many elements of each input.
constexpr int64_t kElements = 12;

int64_t compare_with_differences(Differentiated& d) {
  constexpr double kStep = 1e-5;
  if (std::fabs(d.loss()) > 1e100) return 0;  // the largest number, of an empty segment: no difference can be seen
  const double margin = 1e-7 + 1e-11 * std::fabs(d.loss());  // the rounding of the loss over the step
  int64_t compared = 0;
  for (size_t i = 0; i < d.num_inputs(); ++i) {
    if (!d.has_gradient(i)) continue;
    const Tensor gradient = d.gradient(i);
    REQUIRE(gradient.shape() == d.input(i).shape());
    const int64_t count = gradient.num_elements(), stride = count / kElements + 1;
    for (int64_t k = 0; k < count; k += stride, ++compared) {
      double* x = d.input(i).data<double>() + k;
      const double here = *x;
      *x = here + kStep;
      const double above = d.loss();
      *x = here - kStep;
      const double below = d.loss();
      *x = here;
      const double wanted = (above - below) / (2 * kStep);
      INFO("input " << i << ", element " << k);
      CHECK(gradient.data<double>()[k] == Approx(wanted).epsilon(1e-6).margin(margin));
    }
  }
  return compared;
}

}  // namespace

TEST_CASE("gradients of all op samples are those of finite differences") {
  std::map<std::string, int64_t> compared;
  for (std::string_view name : OpLibrary::names()) {
    const OpDef& op = *OpLibrary::find(name);
    // The cross entropy's gradient supposes labels that sum to 1, as TensorFlow's does; those of its sample do not.
    if (!op.gradient_function() || name == "SoftmaxCrossEntropyWithLogits") continue;
    auto range = kRanges.find(name);
    for (const std::string& sample : op.samples()) {
      INFO(name << ": " << sample);
      Differentiated d(sample_graph(op, sample, range == kRanges.end() ? 0 : range->second.first,
                                    range == kRanges.end() ? 0 : range->second.second));
      if (d.usable()) compared[std::string(name)] += compare_with_differences(d);
    }
  }
  // The ops whose samples are made for it; none may fall out unnoticed.
  int64_t ops = 0;
  for (const auto& [name, count] : compared) ops += count > 0;
  CHECK(ops >= 60);
}

}  // namespace emplace::testing
