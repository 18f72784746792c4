// DecodeCSV: the fields of lines, each as a tensor of its type.
#include <algorithm>
#include <vector>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/text/parse_number.h"

namespace emplace {
namespace {

/// Takes a line apart.
class CsvLine {
 public:
  /// `quotes`: fields may stand in quotes.
  CsvLine(std::string_view line, char delimiter, bool quotes) : line_(line), delimiter_(delimiter), quotes_(quotes) {}

  /// False at the end. What comes behind the last delimiter is a field as well.
  Result<bool> next(std::string& field) {
    field.clear();
    while (at_ < line_.size() && is_break(line_[at_])) ++at_;
    if (at_ >= line_.size()) {
      const bool has_last = !line_.empty() && line_.back() == delimiter_ && !done_;
      done_ = true;
      return has_last;
    }
    RETURN_IF_ERROR(quotes_ && line_[at_] == '"' ? quoted(field) : plain(field));
    return true;
  }

 private:
  static bool is_break(char x) { return x == '\n' || x == '\r'; }

  Status plain(std::string& field) {
    for (; at_ < line_.size() && line_[at_] != delimiter_; ++at_) {
      if ((quotes_ && line_[at_] == '"') || is_break(line_[at_]))
        return invalid_argument("Unquoted fields cannot have quotes/CRLFs inside");
      field += line_[at_];
    }
    ++at_;
    return ok_status();
  }

  Status quoted(std::string& field) {
    ++at_;
    const auto ends = [&] { return line_[at_] == '"' && (at_ + 1 == line_.size() || line_[at_ + 1] == delimiter_); };
    while (at_ + 1 < line_.size() && !ends()) {
      if (line_[at_] == '"') {
        if (line_[at_ + 1] != '"') return invalid_argument("Quote inside a string has to be escaped by another quote");
        ++at_;
      }
      field += line_[at_++];
    }
    if (at_ >= line_.size() || !ends())
      return invalid_argument("Quoted field has to end with quote followed by delim or end");
    at_ += 2;
    return ok_status();
  }

  const std::string_view line_;
  const char delimiter_;
  const bool quotes_;
  size_t at_ = 0;
  bool done_ = false;
};

class DecodeCsv final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make_kernel(const KernelInit& init) {
    auto kernel = std::make_unique<DecodeCsv>();
    const Attrs& attrs = init.attrs;
    const std::string& delimiter = attrs.text("field_delim");
    if (delimiter.size() != 1) return invalid_argument(cat("field_delim should be only 1 char, got '", delimiter, "'"));
    kernel->delimiter_ = delimiter[0];
    kernel->quotes_ = attrs.flag("use_quote_delim");
    kernel->missing_ = attrs.text("na_value");
    kernel->columns_ = attrs.integers("select_cols");
    if (!kernel->columns_.empty() && kernel->columns_.size() != init.output_types.size())
      return invalid_argument("select_cols should match output size");
    for (size_t i = 0; i < kernel->columns_.size(); ++i) {
      if (kernel->columns_[i] < 0 || (i > 0 && kernel->columns_[i] <= kernel->columns_[i - 1]))
        return invalid_argument("select_cols should be non-negative, strictly increasing indices");
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(KernelContext& c) override {
    for (int i = 1; i < c.num_inputs(); ++i) {
      if (c.input(i).num_elements() > 1) {
        return invalid_argument(
            cat("There should only be 1 default per field but field ", i - 1, " has ", c.input(i).num_elements()));
      }
    }
    for (int i = 0; i < c.num_outputs(); ++i) RETURN_IF_ERROR(ensure_output(c, i, c.input(0).shape()));
    std::vector<std::string> fields;
    for (int64_t record = 0; record < c.input(0).num_elements(); ++record) {
      RETURN_IF_ERROR(read_fields(c.in<std::string>(0)[record], fields));
      if (fields.size() != static_cast<size_t>(c.num_outputs()))
        return invalid_argument(
            cat("Expect ", c.num_outputs(), " fields but have ", fields.size(), " in record ", record));
      for (int i = 0; i < c.num_outputs(); ++i) RETURN_IF_ERROR(put(c, i, record, fields[static_cast<size_t>(i)]));
    }
    return ok_status();
  }

 private:
  Status read_fields(std::string_view line, std::vector<std::string>& fields) const {
    fields.clear();
    CsvLine rest(line, delimiter_, quotes_);
    std::string field;
    for (int64_t number = 0;; ++number) {
      if (!columns_.empty() && fields.size() == columns_.size()) return ok_status();
      ASSIGN_OR_RETURN(const bool there, rest.next(field));
      if (!there) return ok_status();
      if (columns_.empty() || columns_[fields.size()] == number) fields.push_back(field);
    }
  }

  Status put(KernelContext& c, int i, int64_t record, const std::string& field) const {
    const DType type = c.output(i).dtype();
    if (field.empty() || field == missing_) {
      if (c.input(i + 1).num_elements() == 0)
        return invalid_argument(cat("Field ", i, " is required but missing in record ", record, "!"));
      copy_elements(type, c.input(i + 1).raw(), element_at(c.output(i), record), 1);
      return ok_status();
    }
    switch (type) {
      case DType::kInt32:
        return put_number<int32_t>(c, i, record, field);
      case DType::kInt64:
        return put_number<int64_t>(c, i, record, field);
      case DType::kFloat:
        return put_number<float>(c, i, record, field);
      case DType::kDouble:
        return put_number<double>(c, i, record, field);
      default:
        c.out<std::string>(i)[record] = field;
        return ok_status();
    }
  }

  template <class T>
  static Status put_number(KernelContext& c, int i, int64_t record, const std::string& field) {
    const std::optional<T> number = parse_number<T>(field);
    if (!number) {
      return invalid_argument(
          cat("Field ", i, " in record ", record, " is not a valid ", dtype_tf_name(dtype_of<T>), ": ", field));
    }
    c.out<T>(i)[record] = *number;
    return ok_status();
  }

  char delimiter_ = ',';
  bool quotes_ = true;
  std::string missing_;           // what stands for a field that is missing, beside nothing
  std::vector<int64_t> columns_;  // empty: all
};

Status decode_csv_shape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    const Shape& filling = c.input(i);
    if (!filling.rank_known()) continue;
    if (filling.rank() > 1) {
      return invalid_argument(
          cat("Shape of a default must be a length-0 or length-1 vector, or a scalar, got ", filling.to_string()));
    }
    if (filling.rank() == 1 && filling.dim(0) > 1)
      return invalid_argument(
          cat("Shape of a default must be a length-0 or length-1 vector, or a scalar, got ", filling.to_string()));
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(0));
  return ok_status();
}

}  // namespace

OpDef decode_csv_op() {
  return OpDef("DecodeCSV")
      .doc("The fields of lines, each as a tensor of its type; what a line lacks is that field's default.")
      .shape(decode_csv_shape)
      .cpu(DecodeCsv::make_kernel);
}

}  // namespace emplace
