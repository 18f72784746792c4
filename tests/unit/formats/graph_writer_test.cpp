// write_graph(): what it wrote is read back as the same graph.
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/cat.h"
#include "core/formats/graph_writer.h"
#include "tests/unit/read_gz.h"
#include "tests/unit/source_dir.h"

namespace emplace {
namespace {

struct Valid {
  explicit Valid(std::shared_ptr<const Source> from) : source(std::move(from)), file(load(source, {}, problems)) {
    if (problems.empty()) validate(*file, problems, &misfits);
  }
  explicit Valid(const std::string& text) : Valid(Source::from_text("g.json", text)) {}

  Problems problems, misfits;
  std::shared_ptr<const Source> source;
  std::unique_ptr<GraphFile> file;
};

bool same_value(const AttrValue& a, const AttrValue& b);

bool same_part(const Tensor& a, const Tensor& b) {
  return (!a.raw() && !b.raw() && a.shape() == b.shape()) || same_bytes(a, b);
}
bool same_part(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }
bool same_part(const FuncValue& a, const FuncValue& b) {
  if (a.name != b.name || a.attrs.size() != b.attrs.size()) return false;
  for (size_t i = 0; i < a.attrs.size(); ++i) {
    if (a.attrs[i].first != b.attrs[i].first || !same_value(a.attrs[i].second, b.attrs[i].second)) return false;
  }
  return true;
}
template <class T>
bool same_part(const T& a, const T& b) {
  return a == b;
}
template <class T>
bool same_part(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_part(static_cast<T>(a[i]), static_cast<T>(b[i]))) return false;
  }
  return true;
}

// A message says nothing about the members of a list without any.
bool is_empty_list(const AttrValue& v) {
  return v.type().list && v.visit([]<class T>(const T& list) {
    if constexpr (requires { list.empty(); }) return list.empty();
    return true;
  });
}

bool same_value(const AttrValue& a, const AttrValue& b) {
  if (is_empty_list(a) && is_empty_list(b)) return true;
  return a.type() == b.type() && a.visit([&]<class T>(const T& v) {
    const T* other = b.get_if<T>();
    return other && same_part(v, *other);
  });
}

std::string inputs_text(const Graph& g, NodeId id) {
  std::string out;
  for (const Endpoint& e : g.inputs(id)) append(out, g.name(e.node), ":", e.slot, " ");
  for (const Endpoint& e : g.controls(id)) append(out, "^", g.name(e.node), " ");
  return out;
}

void check_same(const Graph& a, const Graph& b) {
  REQUIRE(a.num_nodes() == b.num_nodes());
  for (NodeId id = 0; id < a.num_nodes(); ++id) {
    INFO(a.name(id) << " = " << a.op(id));
    REQUIRE(a.name(id) == b.name(id));
    REQUIRE(a.op(id) == b.op(id));
    CHECK(a.requested_device(id) == b.requested_device(id));
    CHECK(inputs_text(a, id) == inputs_text(b, id));
    CHECK(a.attrs(id).entries().size() == b.attrs(id).entries().size());
    for (const auto& [name, value] : a.attrs(id).entries()) {
      INFO("attr " << name);
      const AttrValue* other = b.attrs(id).find(name);
      REQUIRE(other);
      CHECK(same_value(*value, *other));
    }
  }
}

/// Writes, reads and writes again.
void check_round_trip(const Valid& first) {
  REQUIRE(first.problems.to_string(*first.source) == "");
  const std::string text = write_graph(*first.file);
  Valid second(text);
  REQUIRE(second.problems.to_string(*second.source) == "");
  check_same(first.file->graph, second.file->graph);
  CHECK(write_graph(*second.file) == text);
}

}  // namespace

TEST_CASE("the graphs of graphs/ are written and read back") {
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/graphs")) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path().string());
    check_round_trip(Valid(Source::open(entry.path().string()).take()));
  }
}

TEST_CASE("published graphs are written and read back") {
  std::istringstream lines(read_gz("placement/graphs.jsonl.gz"));
  int graphs = 0;
  for (std::string line; std::getline(lines, line); ++graphs) {
    nlohmann::json g = nlohmann::json::parse(line);
    INFO(g["name"]);
    check_round_trip(Valid(g["graph"].dump()));
  }
  CHECK(graphs > 10);
}

TEST_CASE("every kind of value survives being written") {
  check_round_trip(Valid(R"({"node": [
    {"name": "f", "op": "Const", "attr": {"value": [1.5, "NaN", "Infinity", "-Infinity", -0.0, 1e-45]}},
    {"name": "nans", "op": "Const", "attr": {"dtype": {"type": "DT_FLOAT"}, "value": {"tensor": {"dtype": "DT_FLOAT", "tensor_shape": {"dim": [{"size": "2"}]}, "tensor_content": "AQDAfwAAwP8="}}}},
    {"name": "d", "op": "Const", "attr": {"value": {"dtype": "float64", "data": [0.1, -0.0, "NaN"]}}},
    {"name": "h", "op": "Const", "attr": {"value": {"dtype": "float16", "data": [0.1, "Infinity", -0.0]}}},
    {"name": "bf", "op": "Const", "attr": {"value": {"dtype": "bfloat16", "data": [0.1, 3]}}},
    {"name": "i64", "op": "Const", "attr": {"value": {"dtype": "int64", "data": [9223372036854775807, -9223372036854775808]}}},
    {"name": "u64", "op": "Const", "attr": {"value": {"dtype": "uint64", "data": [18446744073709551615, 0]}}},
    {"name": "i8", "op": "Const", "attr": {"value": {"dtype": "int8", "data": [-128, 127]}}},
    {"name": "b", "op": "Const", "attr": {"value": [true, false]}},
    {"name": "c", "op": "Const", "attr": {"value": {"dtype": "complex64", "data": [[1, -2], [0, 3]]}}},
    {"name": "s", "op": "Const", "attr": {"value": {"dtype": "string", "data": ["text", "", {"base64": "/wD+"}]}}},
    {"name": "none", "op": "Const", "attr": {"value": {"dtype": "float32", "shape": [0, 3], "data": []}}},
    {"name": "scalar", "op": "Const", "attr": {"value": 3}},
    {"name": "equal", "op": "Const", "attr": {"value": {"dtype": "int32", "shape": [1000], "fill": 7}}},
    {"name": "many", "op": "Const", "attr": {"value": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]}},
    {"name": "open", "op": "Placeholder", "attr": {"dtype": "float32", "shape": null}},
    {"name": "partly", "op": "Placeholder", "attr": {"dtype": "float32", "shape": [-1, 3], "_note": "kept", "_class": ["loc:@many"]}}]})"));
}

TEST_CASE("variables in short form and literals are written as the nodes that they stand for") {
  Valid file(R"({"node": [
    {"name": "w", "op": "Variable", "initial_value": [[1, 2]], "device": "/cpu:0"},
    {"name": "r", "op": "Variable", "initial_value": [3], "resource": true},
    {"device": "/gpu:0", "scope": "s", "node": [{"name": "y", "op": "Sum", "input": ["w", [0, 1], "^r/Assign"]}]}]})");
  check_round_trip(file);
  CHECK(write_graph(*file.file).find("w/Assign") != std::string::npos);
}

TEST_CASE("what a file says beside its nodes is kept") {
  Valid first(R"({"node": [{"name": "x", "op": "Placeholder", "attr": {"dtype": "float32", "shape": [2]}},
                           {"name": "y", "op": "Mine", "input": ["x"]}, {"name": "t", "op": "NoOp"}],
    "fetch": ["y"], "target": ["t"], "init": ["t"], "feed": {"x": [1, "NaN"]},
    "config": {/* why not */ "allow_soft_placement": true, "device_count": {"GPU": 2}}, // ends here
    "op_def": [{"name": "Mine", "input_arg": [{"name": "a", "type": "DT_FLOAT"}], "output_arg": [{"name": "b", "type": "DT_FLOAT"}]}],
    "kernel_def": [{"op": "Mine", "device_type": "CPU"}],
    "train": {"loss": "y \" // no comment"}, "data": {"train": {"file": "a.csv"}},
    "cluster": {"worker": ["host:2222"]}, "versions": {"producer": 27, "min_consumer": 1}})");
  check_round_trip(first);
  Valid second(write_graph(*first.file));
  const GraphFile& f = *second.file;
  CHECK(f.fetch.at(0).name == "y");
  CHECK(f.target.at(0).name == "t");
  CHECK(f.init.at(0).name == "t");
  CHECK(same_bytes(f.feed.at(0).second, first.file->feed.at(0).second));
  CHECK(f.config.allow_soft_placement == true);
  CHECK(f.config.device_count.at("GPU") == 2);
  CHECK(f.train_json == R"({"loss":"y \" // no comment"})");
  CHECK(f.data_json == R"({"train":{"file":"a.csv"}})");
  CHECK(f.cluster.at("worker").at(0) == "host:2222");
  CHECK(f.producer == 27);
  CHECK(f.min_consumer == 1);
}

TEST_CASE("a library is kept") {
  Valid first(
      R"({"node": [{"name": "x", "op": "Const", "attr": {"value": [1]}}, {"name": "y", "op": "twice", "input": ["x"]}],
    "library": {"function": [{"signature": {"name": "twice", "input_arg": [{"name": "a", "type": "DT_FLOAT"}], "output_arg": [{"name": "b", "type": "DT_FLOAT"}]},
      "node_def": [{"name": "sum", "op": "AddV2", "input": ["a", "a"], "attr": {"T": {"type": "DT_FLOAT"}}}], "ret": {"b": "sum:z:0"}}]}})");
  check_round_trip(first);
  Valid second(write_graph(*first.file));
  CHECK(second.file->library.at("twice").body->num_nodes() == 3);
}

}  // namespace emplace
