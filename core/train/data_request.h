/// DataRequest: which files feed which placeholders: the `data` key of the graph file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph_file.h"

namespace emplace {

/// What one placeholder gets from a file.
struct FeedRequest {
  NamedRef placeholder;
  std::string file;                // its own one, a real path; empty: that of the data set
  std::string columns;             // of a CSV file or a matrix: "0-63", "64", "label", "a,c,7-9"; empty: all
  std::string key;                 // of the array in an .npz; empty: the placeholder's name
  double scale = 1, offset = 0;    // value * scale + offset
  std::optional<Shape> shape;      // of a sample; absent: the placeholder's
  int64_t position = kNoPosition;  // of what the graph file says about it
};

struct DataSet {
  std::string file;            // a real path; empty: every feed names its own
  std::optional<bool> header;  // of a CSV file: is its first line one? Absent: if one of its fields is not a number
  std::vector<FeedRequest> feeds;
  int64_t position = kNoPosition;
};

struct DataRequest {
  std::optional<DataSet> train, test;
};

}  // namespace emplace
