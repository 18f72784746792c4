#include "core/train/dataset.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core/base/cat.h"
#include "core/tensor/npy.h"
#include "core/train/batches.h"
#include "core/train/train_options.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

/// A folder with data files, and a graph beside them.
class Case {
 public:
  Case() { fs::create_directories(folder_); }
  ~Case() { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

  /// The data set of a file whose `data` is {"train": SET}; x is float32 [-1,2,2], n int64 [-1].
  std::unique_ptr<Dataset> read(const std::string& set) {
    std::string text =
        cat(R"({"node": [{"name": "x", "op": "Placeholder", "attr": {"dtype": "float32", "shape": [-1, 2, 2]}},
      {"name": "n", "op": "Placeholder", "attr": {"dtype": "int64", "shape": [-1]}}], "data": {"train": )",
            set, "}}");
    Problems found;
    file_ = load(Source::from_text(path("g.json"), text), {}, found);
    validate(*file_, found);
    TrainRequest train;
    DataRequest data;
    read_train_keys(*file_, {}, train, data, found);
    REQUIRE(found.empty());
    problems = {};
    std::unique_ptr<Dataset> read = Dataset::read(*file_, *data.train, "train", problems);
    text_ = problems.files + problems.graph.to_string(*file_->source);
    return read;
  }
  bool says(const std::string& part) const { return text_.find(part) != std::string::npos; }

  DataProblems problems;

 private:
  fs::path folder_ = fs::temp_directory_path() / cat("emplace_dataset_", getpid());
  std::unique_ptr<GraphFile> file_;
  std::string text_;
};

std::vector<float> x_of(const Dataset& data, std::vector<int64_t> rows) {
  std::vector<Tensor> batch;
  REQUIRE(data.gather(rows, batch).ok());
  CHECK(batch[0].shape() == Shape{static_cast<int64_t>(rows.size()), 2, 2});
  return {batch[0].flat<float>().begin(), batch[0].flat<float>().end()};
}

}  // namespace

TEST_CASE("CSV columns take the placeholder's shape") {
  Case c;
  c.write("d.csv", "1,2,3,4,7\n5,6,7,8,9\n");
  auto data = c.read(R"({"file": "d.csv", "feed": {"x": {"columns": "0-3", "scale": 0.5}, "n": "4"}})");
  REQUIRE(data);
  CHECK(data->rows() == 2);
  CHECK(x_of(*data, {1, 0}) == std::vector<float>{2.5, 3, 3.5, 4, 0.5, 1, 1.5, 2});
  CHECK(data->where(0, 1).ends_with("d.csv:2"));
}

TEST_CASE("arrays of .npy and .npz, by name and by key") {
  Case c;
  std::vector<uint8_t> pixels = {0, 1, 2, 3, 4, 5, 6, 255};
  std::vector<int32_t> labels = {3, 4};
  Tensor images = Tensor::of<uint8_t>(Shape{2, 4}, pixels), numbers = Tensor::of<int32_t>(Shape{2}, labels);
  REQUIRE(write_npz(c.path("d.npz"), {{"x", images}, {"labels", numbers}}).ok());
  REQUIRE(write_npy(c.path("n.npy"), numbers).ok());
  for (const char* set : {R"({"file": "d.npz", "feed": {"x": {"scale": 0.5}, "n": "labels"}})",
                          R"({"file": "d.npz", "feed": {"x": {"key": "x", "scale": 0.5}, "n": {"file": "n.npy"}}})"}) {
    auto data = c.read(set);
    REQUIRE(data);
    CHECK(x_of(*data, {1}) == std::vector<float>{2, 2.5, 3, 127.5});
  }
  CHECK_FALSE(c.read(R"({"file": "d.npz", "feed": {"x": "image"}})"));
  CHECK(c.says("no array 'image'; it has x, labels"));
}

TEST_CASE("IDX images and the labels beside them") {
  Case c;
  c.write("t-images-idx3-ubyte", "\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02"s + "\x01\x02\x03\x04\x05\x06\x07\x08"s);
  c.write("t-labels-idx1-ubyte", "\0\0\x08\x01\0\0\0\x02\x09\x03"s);
  auto data = c.read(R"({"file": "t-images-idx3-ubyte", "feed": {"x": {"offset": -1}, "n": "labels"}})");
  REQUIRE(data);
  CHECK(x_of(*data, {1}) == std::vector<float>{4, 5, 6, 7});
}

TEST_CASE("what does not fit the placeholder is told") {
  Case c;
  c.write("d.csv", "1,2,3,4,7\n5,6,7,8,9\n");
  c.write("long.csv", "1\n2\n3\n");
  CHECK_FALSE(c.read(R"({"file": "d.csv", "feed": {"x": {"columns": "0-2"}}})"));
  CHECK(c.says("has shape [3], the placeholder takes batches of shape [?,2,2]"));
  CHECK_FALSE(c.read(R"({"file": "d.csv", "feed": {"x": {"columns": "0-3", "shape": [4]}}})"));
  CHECK(c.says("(as [4])"));
  CHECK_FALSE(c.read(R"({"file": "d.csv", "feed": {"n": {"columns": "0", "scale": 0.5}}})"));
  CHECK(c.says("wanted a whole number: placeholder 'n' is int64"));
  CHECK_FALSE(c.read(R"({"file": "d.csv", "feed": {"x": {"columns": "0-3"}, "n": {"file": "long.csv"}}})"));
  CHECK(c.says("has 3 rows"));
  CHECK_FALSE(c.read(R"({"feed": {"x": {"columns": "0-3"}}})"));
  CHECK(c.says("no file"));
}

TEST_CASE("batches come in order, whoever reads them") {
  Case c;
  std::string text;
  for (int i = 0; i < 50; ++i) append(text, i, ",0,0,0\n");
  c.write("d.csv", text);
  auto data = c.read(R"({"file": "d.csv", "feed": {"x": {}}})");
  REQUIRE(data);
  SampleOrder order(50, 7, true, false, 3), same = order;
  Batches batches(*data, order, {}, 30);
  DataPosition position;
  Batch batch;
  for (int i = 0; i < 30; ++i) {
    auto next = batches.next(std::move(batch));
    REQUIRE(next.ok());
    batch = next.take();
    std::vector<int64_t> rows = same.take(position);
    REQUIRE(batch.rows == rows);
    for (size_t k = 0; k < rows.size(); ++k) CHECK(batch.values[0].data<float>()[4 * k] == static_cast<float>(rows[k]));
    CHECK(batch.next.epoch == position.epoch);
    CHECK(batch.next.row == position.row);
  }
}

}  // namespace emplace
