/// Dataset: the samples of one data set, in memory, by placeholder.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_file.h"
#include "core/train/csv.h"
#include "core/train/data_request.h"
#include "core/train/sample_array.h"

namespace emplace {

/// What is wrong with data: with what the graph file says about them, and with the files themselves (whole messages,
/// with file, line and column).
struct DataProblems {
  Problems graph;
  std::string files;
  Code code = Code::kInvalidArgument;  // ResourceExhausted if files were too large for the host's memory
  bool empty() const { return graph.empty() && files.empty(); }
};

/// Immutable once read; any thread may read it.
class Dataset {
 public:
  /// Reads what `request` names. `which` ("train", "test") is for messages. Null if there were problems.
  /// REQUIRES: a validated file.
  static std::unique_ptr<Dataset> read(const GraphFile& file, const DataSet& request, std::string_view which,
                                       DataProblems& problems);

  int64_t rows() const { return rows_; }
  const std::vector<Endpoint>& placeholders() const { return placeholders_; }
  int64_t sample_bytes() const;
  /// The one batch size that a placeholder's shape allows; 0: any.
  int64_t fixed_batch() const { return fixed_batch_; }

  /// These rows' values, a tensor per placeholder; tensors of the right size are written over.
  Status gather(std::span<const int64_t> rows, std::vector<Tensor>& batch) const;

  /// Every class that the data give a sparse cross entropy below `loss` is one that its logits have.
  void check_labels(const GraphFile& file, Endpoint loss, DataProblems& problems) const;

  /// "digits.csv:17", "images.npy, row 16": where a sample came from.
  std::string where(size_t placeholder, int64_t row) const;

 private:
  friend class DatasetReader;
  struct Part {
    SampleArray samples;
    Shape shape;  // of a sample, as the placeholder takes it
    DType dtype;  // of the placeholder
    std::string file;
    std::shared_ptr<const Source> source;  // of a CSV file, with
    std::shared_ptr<const CsvLines> lines;
    int64_t first_column = 0;
  };

  std::string out_of_range_label(const Part& part, int64_t row, int64_t label, int64_t classes) const;

  std::vector<Endpoint> placeholders_;
  std::vector<Part> parts_;  // by placeholder
  int64_t rows_ = 0, fixed_batch_ = 0;
};

}  // namespace emplace
