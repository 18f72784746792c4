#include "core/ops/lookup/text_columns.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/ops/text/parse_number.h"

namespace emplace {
namespace {

Status check_type(const TextColumn& column) {
  std::string role(column.role);
  role[0] = static_cast<char>(role[0] - 'a' + 'A');
  const auto wrong = [&](std::string_view what, std::string_view wanted) {
    return invalid_argument(cat(role, " index for ", what, " requires table ", column.role, " dtype of ", wanted,
                                ", got ", dtype_tf_name(column.type)));
  };
  const bool integer = column.type == DType::kInt32 || column.type == DType::kInt64;
  if (column.index == TextColumn::kLineNumber && column.type != DType::kInt64) return wrong("line number", "int64");
  if (column.index == TextColumn::kWholeLine && !integer && column.type != DType::kString)
    return wrong("whole line", "integer or string");
  return ok_status();
}

template <class T>
Status set_number(std::string_view field, int64_t line, Tensor& out) {
  const std::optional<T> number = parse_number<T>(field);
  if (!number)
    return invalid_argument(
        cat("Field ", field, " in line ", line, " is not a valid ", dtype_tf_name(dtype_of<T>), "."));
  out.data<T>()[line] = *number;
  return ok_status();
}

Status set_field(std::string_view field, int64_t line, Tensor& out) {
  switch (out.dtype()) {
    case DType::kInt32:
      return set_number<int32_t>(field, line, out);
    case DType::kInt64:
      return set_number<int64_t>(field, line, out);
    case DType::kFloat:
      return set_number<float>(field, line, out);
    case DType::kDouble:
      return set_number<double>(field, line, out);
    case DType::kString:
      out.data<std::string>()[line] = field;
      return ok_status();
    default:
      return invalid_argument(cat("Data type ", dtype_tf_name(out.dtype()), " not supported."));
  }
}

/// The lines of a text, one after the other: without their ends, which a carriage return belongs to.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  bool next() {
    if (at_ >= text_.size()) return false;
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    line_ = text_.substr(at_, end - at_);
    std::erase(line_, '\r');
    at_ = end + 1;
    return true;
  }
  const std::string& line() const { return line_; }
  /// Behind the line.
  size_t position() const { return std::min(at_, text_.size()); }

 private:
  std::string_view text_;
  size_t at_ = 0;
  std::string line_;
};

std::vector<std::string_view> split(std::string_view line, char delimiter) {
  std::vector<std::string_view> fields;
  for (size_t end = 0; end != line.npos; line.remove_prefix(std::min(end + 1, line.size()))) {
    end = line.find(delimiter);
    fields.push_back(line.substr(0, end));
    if (end == line.npos) break;
  }
  return fields;
}

struct Reader {
  const std::string& file;
  std::span<const TextColumn> columns;
  char delimiter;
  int64_t most_columns = 0;  // that a line must have

  Status read(const std::string& line, int64_t number, std::vector<Tensor>& out) const {
    std::vector<std::string_view> fields;
    if (most_columns > 0) fields = split(line, delimiter);
    if (static_cast<int64_t>(fields.size()) < most_columns) {
      return invalid_argument(cat("Invalid number of columns in ", file, " line ", number, " (", line,
                                  ") : expected at least ", most_columns, " got ", fields.size()));
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      const TextColumn& column = columns[i];
      if (column.index == TextColumn::kLineNumber) {
        out[i].data<int64_t>()[number] = number + column.offset;
      } else {
        const std::string_view field =
            column.index == TextColumn::kWholeLine ? line : fields[static_cast<size_t>(column.index)];
        RETURN_IF_ERROR(set_field(field, number, out[i]));
      }
    }
    return ok_status();
  }
};

}  // namespace

Result<std::vector<Tensor>> read_columns(const std::string& file, std::string_view text,
                                         std::span<const TextColumn> columns, char delimiter, int64_t lines) {
  Reader reader{file, columns, delimiter};
  for (const TextColumn& column : columns) {
    RETURN_IF_ERROR(check_type(column));
    reader.most_columns = std::max(reader.most_columns, column.index + 1);
  }
  const int64_t there = std::count(text.begin(), text.end(), '\n') + (text.empty() || text.ends_with('\n') ? 0 : 1);
  if (there == 0) return out_of_range("Read less bytes than requested");
  if (lines == 0) return out_of_range(cat("Finished reading 0 of lines from ", file));
  const int64_t wanted = lines < 0 ? there : lines;
  std::vector<Tensor> out;
  for (const TextColumn& column : columns) {
    ASSIGN_OR_RETURN(Tensor made, Tensor::allocate(column.type, Shape{std::min(there, wanted)}));
    out.push_back(std::move(made));
  }
  Lines source(text);
  for (int64_t i = 0; i < std::min(there, wanted); ++i) {
    source.next();
    if (source.line().empty())
      return invalid_argument(
          cat("Invalid content in ", file, ": empty line found at position ", source.position(), "."));
    RETURN_IF_ERROR(reader.read(source.line(), i, out));
  }
  if (there < wanted)
    return invalid_argument(cat("Invalid vocab_size in ", file, ": expected ", wanted, " but got ", there));
  return out;
}

}  // namespace emplace
