#include "core/train/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/cat.h"
#include "core/base/stop.h"
#include "core/base/suggest.h"
#include "core/tensor/element.h"

namespace emplace {
namespace {

/// A field as it stands in the text.
struct Field {
  std::string_view text;  // without the quotes around it
  bool quoted = false;
};

std::string_view trimmed(std::string_view text) {
  size_t from = text.find_first_not_of(" \t"), to = text.find_last_not_of(" \t");
  return from == std::string_view::npos ? std::string_view() : text.substr(from, to - from + 1);
}

class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }

  /// The next line that is not blank. False at the end, or at a quote that is never closed: then bad() says where.
  bool next(std::vector<Field>& fields) {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    if (at_ >= text_.size()) return false;
    start_ = at_;
    fields.clear();
    for (;;) {
      if (fields.size() == fields.capacity() && !has_room(2 * fields.size())) return false;
      if (!field(fields.emplace_back())) return false;
      if (at_ >= text_.size() || text_[at_] != ',') break;
      ++at_;
    }
    return true;
  }
  size_t start() const { return start_; }
  size_t position() const { return at_; }
  void seek(size_t at) { at_ = at; }
  std::optional<size_t> bad() const { return bad_; }
  /// Not OK: the line has more fields than the host's memory allows.
  const Status& refused() const { return refused_; }

 private:
  /// For so many fields, in one of the longest lines.
  bool has_room(size_t fields) {
    constexpr size_t kNoMatter = 4096;
    if (fields > kNoMatter) refused_ = memory_.resize(static_cast<int64_t>(fields * sizeof(Field)));
    return refused_.ok();
  }

  bool field(Field& f) {
    if (at_ < text_.size() && text_[at_] == '"') return quoted(f);
    size_t end = text_.find_first_of(",\r\n", at_);
    if (end == std::string_view::npos) end = text_.size();
    f.text = text_.substr(at_, end - at_);
    at_ = end;
    return true;
  }

  bool quoted(Field& f) {
    size_t open = at_++;
    size_t close = text_.find('"', at_);
    // A doubled quote stands for one quote and does not end the field.
    while (close != std::string_view::npos && close + 1 < text_.size() && text_[close + 1] == '"')
      close = text_.find('"', close + 2);
    if (close == std::string_view::npos) return bad_ = open, false;
    f = {text_.substr(at_, close - at_), true};
    at_ = close + 1;
    if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n' && text_[at_] != '\r') return bad_ = at_, false;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0, start_ = 0;
  std::optional<size_t> bad_;
  HostShare memory_{HostUse::kData};
  Status refused_;
};

std::string unquoted(const Field& f) {
  std::string out;
  std::string_view rest = f.text;
  for (size_t at = 0; f.quoted && (at = rest.find("\"\"")) != std::string_view::npos; rest.remove_prefix(at + 2))
    out += rest.substr(0, at + 1);
  return out += rest;
}

/// Whole numbers are quick to read, and most fields are short ones.
bool parse_number(std::string_view word, double& value) {
  if (!word.empty() && word.size() <= 9) {
    int64_t whole = 0;
    size_t i = word[0] == '-' ? 1 : 0;
    for (; i < word.size() && word[i] >= '0' && word[i] <= '9'; ++i) whole = whole * 10 + (word[i] - '0');
    if (i == word.size() && i > (word[0] == '-' ? 1u : 0u))
      return value = static_cast<double>(word[0] == '-' ? -whole : whole), true;
  }
  auto parsed = parse_element<double>(word);
  if (parsed.ok()) value = *parsed;
  return parsed.ok();
}

class TableReader {
 public:
  TableReader(const Source& source, const std::vector<CsvSelection>& selections, Problems& problems)
      : source_(source), text_(source.text()), selections_(selections), problems_(problems), lines_(text_) {}

  CsvTable read(std::optional<bool> header) {
    if (!lines_.next(fields_)) {
      if (!report_quote()) problems_.add(0, "an empty file; wanted rows of numbers");
      return {};
    }
    width_ = fields_.size();
    HostShare of_names(HostUse::kData);
    const size_t bytes = lines_.position() - lines_.start() + width_ * sizeof(std::string);
    if (Status status = of_names.resize(static_cast<int64_t>(bytes)); !status.ok()) return refused(status), CsvTable();
    std::vector<std::string> names;
    for (const Field& f : fields_) names.emplace_back(unquoted({trimmed(f.text), f.quoted}));
    for (const CsvSelection& s : selections_) {
      if (!select(s, names)) return {};
    }
    bool has_header = header ? *header : first_line_is_header();
    if (!has_header) {
      for (size_t i = 0; i < selections_.size(); ++i) {
        if (by_name_[i])
          return fail_at(0,
                         cat("feed '", selections_[i].feed, "': columns by name ('", selections_[i].columns,
                             "'), but the first line is not a header"),
                         "number them from 0");
      }
      lines_.seek(lines_.start());
    }
    const HostUseScope use(HostUse::kData);
    if (!read_rows()) return {};
    if (table_.lines.empty()) return fail_at(static_cast<int64_t>(text_.size()), "a header and no rows", "");
    finish();
    return std::move(table_);
  }

 private:
  CsvTable fail_at(int64_t at, std::string message, std::string hint) {
    problems_.add(at, std::move(message), std::move(hint));
    return {};
  }

  bool report_quote() {
    if (!lines_.refused().ok()) return !refused(lines_.refused());
    if (!lines_.bad()) return false;
    problems_.add(static_cast<int64_t>(*lines_.bad()), "a quote out of place",
                  "a quoted field ends with a quote, then a comma or the line's end");
    return true;
  }

  /// A column's number, from its name or its digits. Names go first.
  std::optional<int64_t> column(std::string_view word, const std::vector<std::string>& names, bool& named) {
    auto found = std::find(names.begin(), names.end(), word);
    int64_t number = -1;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    bool digits = error == std::errc() && end == word.data() + word.size() && number >= 0;
    if (digits) return number;
    if (found == names.end()) return std::nullopt;
    named = true;
    return found - names.begin();
  }

  bool select(const CsvSelection& s, const std::vector<std::string>& names) {
    std::vector<int64_t>& list = table_.columns.emplace_back();
    bool named = false;
    for (std::string_view rest = s.columns; !rest.empty();) {
      size_t comma = rest.find(',');
      std::string_view word = trimmed(rest.substr(0, comma));
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
      size_t dash = word.find('-', 1);
      auto first = column(word, names, named), last = first;
      if (!first && dash != std::string_view::npos) {
        first = column(trimmed(word.substr(0, dash)), names, named);
        last = column(trimmed(word.substr(dash + 1)), names, named);
      }
      if (!first || !last) return no_column(s, word, names);
      for (int64_t c : {*first, *last}) {
        if (c >= static_cast<int64_t>(names.size())) return too_few(s, c);
      }
      if (*first > *last) {
        problems_.add(0, cat("feed '", s.feed, "': columns '", word, "' run backwards"));
        return false;
      }
      for (int64_t c = *first; c <= *last; ++c) list.push_back(c);
    }
    if (s.columns.empty()) {
      for (size_t c = 0; c < names.size(); ++c) list.push_back(static_cast<int64_t>(c));
    }
    by_name_.push_back(named);
    return true;
  }

  static std::string columns_text(size_t count) { return cat(count, count == 1 ? " column" : " columns"); }

  /// Of a line without a comma: what stands in their place.
  std::string why_few_columns() const {
    if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff")) return "the file is UTF-16, wanted UTF-8";
    if (fields_.size() != 1) return {};
    const size_t other = fields_[0].text.find_first_of(";\t|");
    if (other == std::string_view::npos) return {};
    return fields_[0].text[other] == '\t'
               ? "columns end with a comma here, not with a tab"
               : cat("columns end with a comma here, not with '", fields_[0].text.substr(other, 1), "'");
  }

  bool no_column(const CsvSelection& s, std::string_view word, const std::vector<std::string>& names) {
    Suggestion suggestion(word);
    for (const std::string& name : names) suggestion.offer(name);
    std::string hint = why_few_columns();
    if (hint.empty()) hint = suggestion.text();
    if (hint.empty()) hint = "columns are named as in the header line, or numbered from 0: \"0-63\", \"64\", \"label\"";
    problems_.add(0, cat("feed '", s.feed, "': there is no column '", word, "' among ", names.size()), std::move(hint));
    return false;
  }

  bool too_few(const CsvSelection& s, int64_t c) {
    problems_.add(static_cast<int64_t>(lines_.start()),
                  cat("feed '", s.feed, "': found ", columns_text(width_), ", wanted column ", c, " (counted from 0)"),
                  why_few_columns());
    return false;
  }

  /// Text where numbers are wanted, and no number beside it: one bad field does not make a header of a row. A column's
  /// own index counts as a name, as pandas writes it.
  bool first_line_is_header() const {
    for (bool named : by_name_) {
      if (named) return true;
    }
    bool text = false;
    for (size_t i = 0; i < selections_.size(); ++i) {
      if (selections_[i].dtype == DType::kString) continue;
      for (int64_t c : table_.columns[i]) {
        std::string_view word = trimmed(fields_[static_cast<size_t>(c)].text);
        double value = 0;
        bool number = parse_number(word, value);
        if (number && value != static_cast<double>(c)) return false;
        text |= !number && !word.empty();
      }
    }
    return text;
  }

  /// No more rows than this are left: each has a line, and a comma between any two of its fields.
  int64_t most_rows() const {
    const std::string_view rest = text_.substr(std::min(lines_.position(), text_.size()));
    int64_t lines = 1;
    for (size_t at = rest.find('\n'), seen = 0; at != std::string_view::npos; at = rest.find('\n', at + 1)) {
      lines += at + 1 < rest.size() && rest[at + 1] != '\n' && rest[at + 1] != '\r';
      if (at - seen < kForgetEvery) continue;
      if (stop_requested()) break;
      seen = at;
      source_.forget(0, text_.size() - rest.size() + at);
    }
    // A file of the old Mac has '\r' alone.
    if (lines == 1) lines += std::count(rest.begin(), rest.end(), '\r');
    return std::min(lines, static_cast<int64_t>(rest.size() / width_) + 1);
  }

  bool make_room() {
    const int64_t rows = most_rows();
    room_ = static_cast<size_t>(rows);
    for (size_t i = 0; i < selections_.size(); ++i) {
      const Shape shape{rows, static_cast<int64_t>(table_.columns[i].size())};
      Result<Tensor> array = Tensor::allocate(selections_[i].dtype, shape);
      if (!array.ok()) return refused(array.status());
      table_.arrays.push_back(array.take());
    }
    if (Status status = table_.memory.resize(rows * static_cast<int64_t>(sizeof(int64_t))); !status.ok())
      return refused(status);
    table_.lines.reserve(static_cast<size_t>(rows));
    return true;
  }
  bool refused(const Status& status) {
    problems_.add(0, status.message(), {}, status.code());
    return false;
  }

  bool read_rows() {
    if (!make_room()) return false;
    size_t forgotten = 0;
    constexpr size_t kLookEvery = 4096;  // rows
    while (lines_.next(fields_)) {
      if (table_.lines.size() % kLookEvery == 0 && stop_requested()) return false;
      if (fields_.size() != width_) {
        problems_.add(static_cast<int64_t>(lines_.start()),
                      cat("found ", columns_text(fields_.size()), ", wanted ", width_, " as in the first line"),
                      why_few_columns());
        return false;
      }
      if (table_.lines.size() == room_) {
        problems_.add(static_cast<int64_t>(lines_.start()), "the file was changed while it was read");
        return false;
      }
      const auto row = static_cast<int64_t>(table_.lines.size());
      table_.lines.push_back(static_cast<int64_t>(lines_.start()));
      for (size_t i = 0; i < selections_.size(); ++i) {
        int64_t at = row * static_cast<int64_t>(table_.columns[i].size());
        for (int64_t c : table_.columns[i]) {
          if (!take(selections_[i], fields_[static_cast<size_t>(c)], c, table_.arrays[i], at++) && problems_.full())
            return false;
        }
      }
      if (lines_.start() - forgotten < kForgetEvery) continue;
      forgotten = lines_.start();
      source_.forget(0, forgotten);
    }
    return !report_quote() && problems_.empty();
  }

  /// A field, converted: element `to` of the array.
  bool take(const CsvSelection& s, const Field& field, int64_t c, Tensor& array, int64_t to) {
    if (s.dtype == DType::kString) return take_text(field, array.data<std::string>()[to]);
    std::string_view word = trimmed(field.text);
    auto at = static_cast<int64_t>((word.empty() ? field.text : word).data() - text_.data());
    double value = 0;
    if (!parse_number(word, value)) {
      problems_.add(at,
                    word.empty() ? cat("column ", c, ": an empty field, wanted a number")
                                 : cat("column ", c, ": found '", word.substr(0, 40), "', wanted a number"),
                    table_.lines.size() == 1
                        ? "a first line with numbers is a row; \"header\": true beside the file makes it a header"
                        : "");
      return false;
    }
    value = value * s.scale + s.offset;
    if (is_integer(s.dtype) && !(value == std::trunc(value) && std::abs(value) <= 9007199254740992.0)) {
      problems_.add(at, cat("column ", c, ": found ", word, ", wanted a whole number: placeholder '", s.feed, "' is ",
                            dtype_name(s.dtype)));
      return false;
    }
    return store(s, value, c, at, array, to);
  }

  /// A text that is too long for the string object itself takes memory beside.
  bool take_text(const Field& field, std::string& to) {
    const auto more = static_cast<int64_t>(field.text.size() > sizeof(std::string) / 2 ? field.text.size() : 0);
    if (Status status = table_.memory.resize(table_.memory.bytes() + more); !status.ok()) return refused(status);
    to = unquoted(field);
    return true;
  }

  bool store(const CsvSelection& s, double value, int64_t c, int64_t position, Tensor& array, int64_t to) {
    bool fits = true;
    with_type(s.dtype, [&]<class T>() {
      if constexpr (std::is_integral_v<T>) {
        fits = value >= static_cast<double>(std::numeric_limits<T>::min()) &&
               value <= static_cast<double>(std::numeric_limits<T>::max());
        if (fits) array.data<T>()[to] = static_cast<T>(value);
      } else if constexpr (!std::is_same_v<T, std::string> && !std::is_same_v<T, std::complex<float>> &&
                           !std::is_same_v<T, std::complex<double>>) {
        array.data<T>()[to] = number_as<T>(value);
      }
    });
    if (!fits) {
      problems_.add(position, cat("column ", c, ": ", value, " is out of the range of ", dtype_name(s.dtype),
                                  " (placeholder '", s.feed, "')"));
    }
    return fits;
  }

  /// There was room for more rows than there are.
  void finish() {
    const auto rows = static_cast<int64_t>(table_.lines.size());
    for (Tensor& array : table_.arrays) array = array.reshaped(Shape{rows, array.shape().dim(1)});
  }

  static constexpr size_t kForgetEvery = size_t{16} << 20;  // bytes
  size_t room_ = 0;                                         // rows that the arrays have

  const Source& source_;
  std::string_view text_;
  const std::vector<CsvSelection>& selections_;
  Problems& problems_;
  LineReader lines_;
  std::vector<Field> fields_;
  size_t width_ = 0;
  std::vector<bool> by_name_;
  CsvTable table_;
};

}  // namespace

CsvTable read_csv(const Source& source, std::optional<bool> header, const std::vector<CsvSelection>& selections,
                  Problems& problems) {
  return TableReader(source, selections, problems).read(header);
}

int64_t csv_field_position(std::string_view text, int64_t line, int64_t column) {
  LineReader reader(text);
  reader.seek(static_cast<size_t>(line));
  std::vector<Field> fields;
  if (!reader.next(fields) || column >= static_cast<int64_t>(fields.size())) return line;
  return fields[static_cast<size_t>(column)].text.data() - text.data();
}

}  // namespace emplace
