#include "tests/unit/ops/sample_graph.h"

#include <map>
#include <random>

#include "core/base/cat.h"
#include "core/op/op_table.h"

namespace emplace::testing {
namespace {

std::string trim(std::string text) {
  const size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// Cuts at `separator` outside of brackets and quotes.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (char c : text) {
    if (c == '\'') quoted = !quoted;
    depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    if (c == separator && depth == 0 && !quoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) part = trim(part);
  return parts;
}

const std::map<std::string, std::string> kTypes = {{"f32", "float32"}, {"f64", "float64"}, {"i32", "int32"},
                                                   {"i64", "int64"},   {"u64", "uint64"},  {"bool", "bool"}};

struct Maker {
  double low, high;
  SampleGraph graph;
  std::string nodes, node_inputs, attrs;
  std::mt19937_64 random{7};

  double draw(double a, double b) { return a + (b - a) * static_cast<double>(random() >> 11) * 0x1p-53; }

  // "f32[2,3] uniform(-2,2)", "[0,1]" or "3".
  void add_input(const std::string& value) {
    const size_t bracket = value.find('[');
    auto type = bracket == std::string::npos ? kTypes.end() : kTypes.find(value.substr(0, bracket));
    append(node_inputs, node_inputs.empty() ? "" : ", ");
    if (type == kTypes.end()) {
      node_inputs += value;
      return;
    }
    const size_t end = value.find(']');
    Shape shape;
    for (const std::string& dim : split(value.substr(bracket + 1, end - bracket - 1), ',')) {
      if (!dim.empty()) shape.add_dim(std::stoll(dim));
    }
    double from = -2, to = 2;
    if (const size_t range = value.find("uniform("); range != std::string::npos) {
      auto ends = split(value.substr(range + 8, value.find(')', range) - range - 8), ',');
      from = std::stod(ends[0]), to = std::stod(ends[1]);
    } else if (const std::string rest = trim(value.substr(end + 1)); !rest.empty()) {
      from = to = std::stod(rest);
    }
    const int64_t count = *shape.checked_num_elements();
    const std::string dims = value.substr(bracket, end - bracket + 1);
    if (type->second == "float32" || type->second == "float64") {
      if (low != high) from = low, to = high;
      std::vector<double> data;
      for (int64_t i = 0; i < count; ++i) data.push_back(draw(from, to));
      const std::string name = cat("x", graph.inputs.size());
      append(nodes, "{\"name\": \"", name,
             "\", \"op\": \"Placeholder\", \"attr\": {\"dtype\": \"float64\", \"shape\": ", dims, "}},\n");
      append(node_inputs, '"', name, '"');
      graph.inputs.emplace_back(name, Tensor::of<double>(shape, data));
      return;
    }
    append(node_inputs, "{\"dtype\": \"", type->second, "\", \"shape\": ", dims, ", \"data\": [");
    for (int64_t i = 0; i < count; ++i) {
      append(node_inputs, i > 0 ? ", " : "");
      if (type->second == "bool")
        node_inputs += draw(0, 1) < 0.5 ? "true" : "false";
      else
        append(node_inputs, static_cast<int64_t>(draw(from, to)));
    }
    node_inputs += "]}";
  }

  void add_attr(const std::string& name, std::string value) {
    if (value.front() == '\'')
      value = cat('"', value.substr(1, value.size() - 2), '"');
    else if (value.find_first_of("0123456789[-") != 0 && value != "true" && value != "false")
      value = cat('"', value, '"');
    append(attrs, attrs.empty() ? "" : ", ", '"', name, "\": ", value);
  }
};

}  // namespace

SampleGraph sample_graph(const OpDef& op, const std::string& sample, double low, double high) {
  OpTable table;
  const OpSignature& signature = *table.find(op.name());
  Maker maker{low, high, {}, {}, {}, {}};
  for (const std::string& item : split(sample, ';')) {
    const size_t equals = item.find('=');
    const std::string name = trim(item.substr(0, equals)), value = trim(item.substr(equals + 1));
    if (signature.find_attr(name) >= 0) {
      maker.add_attr(name, value);
    } else {
      for (const std::string& part : split(value, ',')) maker.add_input(part);
    }
  }
  maker.graph.text = cat("{\"node\": [", maker.nodes, "{\"name\": \"y\", \"op\": \"", op.name(), "\", \"input\": [",
                         maker.node_inputs, "], \"attr\": {", maker.attrs, "}}]}");
  return std::move(maker.graph);
}

}  // namespace emplace::testing
