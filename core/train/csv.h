/// Reading CSV files of numbers: RFC 4180 (quoted fields, doubled quotes, CRLF), an optional header line, blank lines
/// skipped. What is wrong is told with line and column.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/host_memory.h"
#include "core/graph/source.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// Columns of the file that become one array, and what becomes of their fields.
struct CsvSelection {
  std::string columns;          // "0-63", "64", "label", "a,c,7-9"; empty: all
  std::string feed;             // for messages
  DType dtype = DType::kFloat;  // numbers or bool or string
  double scale = 1, offset = 0;
};

/// Where its rows begin in the text.
struct CsvLines {
  std::vector<int64_t> starts;
  HostShare memory;
};

/// A text by the name that people know its file by. REQUIRES: the text stays.
class NamedText final : public Source {
 public:
  NamedText(std::string name, std::string_view text) {
    name_ = std::move(name);
    text_ = text;
  }
};

struct CsvTable {
  std::vector<Tensor> arrays;                 // per selection: [rows, columns]
  std::vector<std::vector<int64_t>> columns;  // per selection: which they are
  std::vector<int64_t> lines;                 // per row: where it begins in the text
  HostShare memory{HostUse::kData};           // of `lines`, and of long texts
};

/// `header`: is the first line one? Nothing: if fields of it that a selection wants as numbers are text, and none of
/// them is a number (other than its column's own). A problem leaves the table without arrays.
CsvTable read_csv(const Source& source, std::optional<bool> header, const std::vector<CsvSelection>& selections,
                  Problems& problems);

/// Where field `column` of the line that begins at `line` stands.
int64_t csv_field_position(std::string_view text, int64_t line, int64_t column);

}  // namespace emplace
