// TF.js models: weights from files beside the model, whole and quantised; and real models.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/base/cat.h"
#include "tests/unit/formats/loading.h"
#include "tests/unit/source_dir.h"

using namespace emplace;

namespace {

// A model with one Const `c`, whose value stands in two files of the folder.
class Model {
 public:
  Model(const std::string& weight, const std::string& dtype, const std::string& bytes) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/a.bin") << bytes.substr(0, bytes.size() / 2);
    std::ofstream(folder_ + "/b.bin") << bytes.substr(bytes.size() / 2);
    std::ofstream(folder_ + "/model.json") << cat(
        R"({"weightsManifest": [{"paths": ["a.bin", "b.bin"], "weights": [{"name": "unused", "shape": [1], "dtype": "bool"}, )",
        weight, R"(]}],
            "format": "graph-model", "signature": {"inputs": {}, "outputs": {"out": {"name": "c:0"}}},
            "modelTopology": {"node": [{"name": "c", "op": "Const", "attr": {"dtype": {"type": ")",
        dtype, R"("}, "value": {"tensor": {"dtype": ")", dtype,
        R"(", "tensorShape": {"dim": [{"size": "2"}]}}}}}], "versions": {"producer": 175}}})");
    auto source = Source::open(folder_ + "/model.json").take();
    file = load(source, {}, problems);
    errors = problems.to_string(*source);
  }
  ~Model() { std::filesystem::remove_all(folder_); }

  const Tensor& value() const {
    return Attrs(file->graph.written_attrs(file->graph.find("c"))).find("value")->get<Tensor>();
  }

  Problems problems;
  std::string errors;
  std::unique_ptr<GraphFile> file;

 private:
  std::string folder_ = "tfjs_test.tmp";
};

std::string weight(const char* dtype, const char* more = "") {
  return cat(R"({"name": "c", "shape": [2], "dtype": ")", dtype, "\"", more, "}");
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string out(1, '\1');  // the unused weight
  for (T v : values) out.append(reinterpret_cast<const char*>(&v), sizeof v);
  return out;
}

}  // namespace

TEST_CASE("weights come from the files of the manifest") {
  Model floats(weight("float32"), "DT_FLOAT", raw<float>({1.5f, -2}));
  REQUIRE(floats.errors == "");
  CHECK(floats.value().data<float>()[1] == -2);
  CHECK(floats.file->fetch.at(0).name == "c:0");
  CHECK(floats.file->producer == 175);
  CHECK(Model(weight("int32"), "DT_INT32", raw<int32_t>({3, -4})).value().data<int32_t>()[1] == -4);
  CHECK(Model(weight("int32"), "DT_INT64", raw<int32_t>({3, -4})).value().data<int64_t>()[1] == -4);
  Model texts(weight("string"), "DT_STRING", std::string("\1\2\0\0\0ab\0\0\0\0", 11));
  REQUIRE(texts.errors == "");
  CHECK(texts.value().data<std::string>()[0] == "ab");
}

TEST_CASE("quantised weights are scaled, int32 is rounded, float16 widened") {
  const char* q8 = R"(, "quantization": {"scale": 0.5, "min": -1, "dtype": "uint8"})";
  CHECK(Model(weight("float32", q8), "DT_FLOAT", raw<uint8_t>({0, 255})).value().data<float>()[1] == 126.5f);
  CHECK(Model(weight("int32", q8), "DT_INT32", raw<uint8_t>({0, 4})).value().data<int32_t>()[1] == 1);
  const char* q16 = R"(, "quantization": {"scale": 2, "min": 10, "dtype": "uint16"})";
  CHECK(Model(weight("float32", q16), "DT_FLOAT", raw<uint16_t>({0, 65535})).value().data<float>()[1] == 131080.0f);
  CHECK(
      Model(weight("float32", R"(, "quantization": {"dtype": "float16"})"), "DT_FLOAT", raw<uint16_t>({0x3c00, 0xc100}))
          .value()
          .data<float>()[1] == -2.5f);
}

TEST_CASE("weights that do not fit are told") {
  CHECK(Model(weight("float32"), "DT_FLOAT", raw<float>({1})).problems.list().at(0).message ==
        "the weight files end inside weight 'c'");
  CHECK(Model(weight("float32"), "DT_FLOAT", raw<float>({1, 2, 3})).problems.list().at(0).message ==
        "the weight files hold 4 bytes more than the manifest says");
  CHECK(Model(weight("float32"), "DT_INT32", raw<float>({1, 2})).problems.list().at(0).message ==
        "weight 'c' is float32[2]; its node says int32[2]");
  CHECK(Model(weight("int64"), "DT_INT64", raw<int64_t>({1, 2})).problems.count() == 1);
  CHECK(Loaded(R"({"format": "layers-model"})").problems().count() == 1);
  Loaded escape(
      R"({"modelTopology": {"node": []}, "weightsManifest": [{"paths": ["../../../../../../../../../etc/passwd"], "weights": []}]})");
  CHECK(escape.error() == "file '../../../../../../../../../etc/passwd' lies outside the graph file's folder");
}

TEST_CASE("real TF.js models have the nodes and edges that protobuf counts in them") {
  struct Counts {
    const char* path;
    size_t nodes, ops, inputs, controls;
    int producer;
  };
  for (const Counts& want :
       {Counts{"basic-pitch/model.json", 500, 28, 539, 0, 561},
        Counts{"blazeface-front/blazeface-front.json", 165, 10, 180, 0, 440},
        Counts{"dense_model/model.json", 5, 4, 4, 2, 175},
        Counts{"facemesh-detection-short/facemesh-detection-short.json", 196, 14, 218, 0, 0},
        Counts{"rn_graph_model/model.json", 6, 5, 5, 2, 134}, Counts{"tfjs-inference/model.json", 3, 3, 2, 0, 175}}) {
    CAPTURE(want.path);
    auto source = Source::open(cat(source_dir(), "/tests/data/tfjs/", want.path)).take();
    Problems problems;
    auto file = load(source, {}, problems);
    REQUIRE(problems.to_string(*source) == "");
    const Graph& g = file->graph;
    std::set<std::string_view> ops;
    size_t inputs = 0, controls = 0;
    for (NodeId id = 0; id < g.num_nodes(); ++id) {
      ops.insert(g.op(id));
      inputs += g.inputs(id).size();
      controls += g.controls(id).size();
    }
    CHECK(g.num_nodes() == want.nodes);
    CHECK(ops.size() == want.ops);
    CHECK(inputs == want.inputs);
    CHECK(controls == want.controls);
    CHECK(file->producer == want.producer);
  }
}
