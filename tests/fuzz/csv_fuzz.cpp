// CSV files of any bytes: the first line says which columns to take as what, the rest is the file. A table has a row
// per line, and every position that it tells lies in the text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/train/csv.h"
#include "tests/fuzz/exact_source.h"

using namespace emplace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(bytes.find('\n'), size);
  const std::string columns(bytes.substr(0, line));
  const auto source = std::make_shared<ExactSource>(bytes.substr(std::min(line + 1, size)));
  for (const auto& header : {std::optional<bool>(), std::optional(true), std::optional(false)}) {
    Problems problems;
    const CsvTable table = read_csv(*source, header,
                                    {{columns, "x", DType::kFloat, 0.5, 1},
                                     {"0", "n", DType::kInt8, 1, 0},
                                     {"", "s", DType::kString, 1, 0},
                                     {columns, "b", DType::kBool, 1, 0}},
                                    problems);
    if (problems.empty() == table.arrays.empty()) std::abort();
    for (const Tensor& array : table.arrays) {
      if (array.shape().dim(0) != static_cast<int64_t>(table.lines.size())) std::abort();
    }
    for (const int64_t at : table.lines) {
      const int64_t field = csv_field_position(source->text(), at, 0);
      if (at < 0 || field < at || field > static_cast<int64_t>(source->text().size())) std::abort();
    }
    static_cast<void>(problems.to_string(*source));
  }
  return 0;
}
