#include "core/op/table_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/base/assert.h"

namespace emplace {
namespace {

// By DType number; scripts/make-op-tables has the same letters.
constexpr std::string_view kLetters = " fdiBhbSFl?qQzgkKHDeRVIL54321nNmM0";
static_assert(kLetters.size() == kDTypeCount);

DType dtype_of_letter(char c) {
  size_t at = kLetters.find(c);
  EMPLACE_ASSERT(at != std::string_view::npos && at != 0, "tables hold known dtype letters only");
  return static_cast<DType>(at);
}

// Walks over one line.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool done() const { return text_.empty(); }
  char peek() const { return text_.empty() ? '\0' : text_.front(); }
  bool accept(std::string_view token) {
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) { EMPLACE_ASSERT(accept(token), "make-op-tables writes this form"); }

  std::string_view until(std::string_view stops) {
    size_t end = std::min(text_.find_first_of(stops), text_.size());
    std::string_view out = text_.substr(0, end);
    text_.remove_prefix(end);
    return out;
  }
  std::string_view word() {
    size_t end = 0;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_')) ++end;
    std::string_view out = text_.substr(0, end);
    text_.remove_prefix(end);
    return out;
  }
  DType letter() {
    DType t = dtype_of_letter(peek());
    text_.remove_prefix(1);
    return t;
  }
  std::vector<DType> letters(std::string_view stops) {
    std::vector<DType> out;
    for (char c : until(stops)) out.push_back(dtype_of_letter(c));
    return out;
  }
  int64_t integer() {
    int64_t v = 0;
    auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), v);
    EMPLACE_ASSERT(error == std::errc(), "make-op-tables writes an integer here");
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return v;
  }
  float number() {
    float v = 0;
    auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), v);
    EMPLACE_ASSERT(error == std::errc(), "make-op-tables writes a number here");
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return v;
  }
  // A JSON string of ASCII.
  std::string quoted() {
    expect("\"");
    std::string out;
    while (!accept("\"")) {
      if (accept("\\")) {
        char c = peek();
        out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
      } else {
        out += peek();
      }
      EMPLACE_ASSERT(!done(), "make-op-tables closes its strings");
      text_.remove_prefix(1);
    }
    return out;
  }
  template <class F>
  auto list(char close, F item) {
    std::vector<decltype(item())> out;
    while (peek() != close) {
      out.push_back(item());
      accept(",");
    }
    text_.remove_prefix(1);
    return out;
  }

 private:
  std::string_view text_;
};

Shape read_shape(Reader& r) {
  if (r.accept("?")) return Shape::unknown();
  r.expect("[");
  auto dims = r.list(']', [&] { return r.integer(); });
  return Shape(std::span<const int64_t>(dims));
}

Tensor read_tensor(Reader& r) {
  DType dtype = r.letter();
  EMPLACE_ASSERT(dtype == DType::kUInt8, "the one tensor default there is (ImageSummary) is uint8");
  Shape shape = read_shape(r);
  r.expect("{");
  auto values = r.list('}', [&] { return static_cast<uint8_t>(r.integer()); });
  return Tensor::of<uint8_t>(shape, values);
}

AttrValue read_list(Reader& r, AttrKind kind) {
  r.expect("[");
  switch (kind) {
    case AttrKind::kString:
      return AttrValue::list_of(kind, r.list(']', [&] { return r.quoted(); }));
    case AttrKind::kInt:
      return AttrValue::list_of(kind, r.list(']', [&] { return r.integer(); }));
    case AttrKind::kFloat:
      return AttrValue::list_of(kind, r.list(']', [&] { return r.number(); }));
    case AttrKind::kType:
      return AttrValue::list_of(kind, r.list(']', [&] { return r.letter(); }));
    case AttrKind::kShape:
      return AttrValue::list_of(kind, r.list(']', [&] { return read_shape(r); }));
    case AttrKind::kFunc:
      r.expect("]");
      return AttrValue::list_of(kind, std::vector<FuncValue>{});
    default:
      EMPLACE_ASSERT(false, "no op has a default of another list type");
      return {};
  }
}

AttrValue read_value(Reader& r, AttrType type) {
  if (type.list) return read_list(r, type.kind);
  switch (type.kind) {
    case AttrKind::kString:
      return AttrValue::of(r.quoted());
    case AttrKind::kInt:
      return AttrValue::of(r.integer());
    case AttrKind::kFloat:
      return AttrValue::of(r.number());
    case AttrKind::kBool:
      return AttrValue::of(r.word() == "true");
    case AttrKind::kType:
      return AttrValue::of(r.letter());
    case AttrKind::kShape:
      return AttrValue::of(read_shape(r));
    case AttrKind::kTensor:
      return AttrValue::of(read_tensor(r));
    default:
      EMPLACE_ASSERT(false, "no op has a default of another type");
      return {};
  }
}

AttrType read_attr_type(Reader& r) {
  std::string_view word = r.word();
  bool list = word == "list" && r.accept("(");
  if (list) {
    word = r.word();
    r.expect(")");
  }
  for (AttrKind kind : {AttrKind::kString, AttrKind::kInt, AttrKind::kFloat, AttrKind::kBool, AttrKind::kType,
                        AttrKind::kShape, AttrKind::kTensor, AttrKind::kFunc}) {
    if (attr_type_name({kind, false}) == word) return {kind, list};
  }
  EMPLACE_ASSERT(false, "tables hold known attr types only");
  return {};
}

AttrSignature read_attr(Reader& r) {
  AttrSignature a;
  a.name = r.word();
  r.expect(":");
  a.type = read_attr_type(r);
  if (r.accept("{")) {
    if (a.type.kind == AttrKind::kType) {
      a.allowed_values = AttrValue::list_of(AttrKind::kType, r.letters("}"));
      r.expect("}");
    } else {
      a.allowed_values = AttrValue::list_of(AttrKind::kString, r.list('}', [&] { return r.quoted(); }));
    }
  }
  if (r.accept(">=")) a.minimum = r.integer();
  if (r.accept("=")) a.default_value = read_value(r, a.type);
  return a;
}

// Attrs follow the arguments in the text, so references to them are names until all is read.
struct PendingArg {
  ArgSignature arg;
  std::string_view number, type, list;
};

PendingArg read_arg(Reader& r) {
  PendingArg p;
  p.arg.is_ref = r.accept("&");
  p.arg.name = r.word();
  r.expect(":");
  Reader ahead = r;
  std::string_view number = ahead.word();
  if (!number.empty() && ahead.accept("*")) {
    p.number = number;
    r = ahead;
  }
  if (r.accept("$")) {
    p.type = r.word();
  } else if (r.accept("@")) {
    p.list = r.word();
  } else {
    p.arg.type = r.letter();
  }
  return p;
}

std::vector<PendingArg> read_args(Reader& r) {
  std::vector<PendingArg> out;
  r.expect("(");
  while (!r.accept(")")) {
    out.push_back(read_arg(r));
    r.accept(" ");
  }
  r.expect(" ");
  return out;
}

std::vector<ArgSignature> resolve(std::vector<PendingArg> pending, const OpSignature& op) {
  std::vector<ArgSignature> out;
  for (PendingArg& p : pending) {
    p.arg.number_attr = op.find_attr(p.number);
    p.arg.type_attr = op.find_attr(p.type);
    p.arg.type_list_attr = op.find_attr(p.list);
    out.push_back(std::move(p.arg));
  }
  return out;
}

void read_flags(Reader& r, OpSignature& op) {
  while (r.accept(" ")) {
    std::string_view flag = r.word();
    if (flag == "is_stateful") op.is_stateful = true;
    if (flag == "is_aggregate") op.is_aggregate = true;
    if (flag == "is_commutative") op.is_commutative = true;
    if (flag == "allows_uninitialized_input") op.allows_uninitialized_input = true;
    if (flag == "is_distributed_communication") op.is_distributed_communication = true;
    if (flag == "deprecated") {
      r.expect("=");
      op.deprecated_since = static_cast<int>(r.integer());
      r.expect(":");
      op.deprecation = r.quoted();
    }
  }
}

AttrValue read_constraint_value(Reader& r) {
  constexpr std::string_view kStops = "| ";
  auto more = [&] { return !r.done() && kStops.find(r.peek()) == std::string_view::npos; };
  if (r.accept("#")) {
    std::vector<int64_t> values;
    for (; more(); r.accept(",")) values.push_back(r.integer());
    return AttrValue::list_of(AttrKind::kInt, std::move(values));
  }
  if (r.accept("!")) {
    std::vector<bool> values;
    for (char c : r.until(kStops)) values.push_back(c == 't');
    return AttrValue::list_of(AttrKind::kBool, std::move(values));
  }
  if (r.peek() == '"') {
    std::vector<std::string> values;
    for (; more(); r.accept(",")) values.push_back(r.quoted());
    return AttrValue::list_of(AttrKind::kString, std::move(values));
  }
  return AttrValue::list_of(AttrKind::kType, r.letters(kStops));
}

}  // namespace

std::string_view lines_of(std::string_view table, std::string_view op) {
  if (op.empty() || op.front() == '#') return {};  // a comment is not an op
  // Lines that sort before `op`: those whose first word does.
  auto starts_before = [&](size_t at) {
    std::string_view line = table.substr(at);
    return line.substr(0, line.find(' ')) < op;
  };
  size_t low = 0, high = table.size();  // both at line starts (or the end)
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    size_t start = table.rfind('\n', middle == 0 ? 0 : middle - 1);
    start = start == std::string_view::npos || start < low ? low : start + 1;
    if (starts_before(start)) {
      size_t end = table.find('\n', start);
      low = end == std::string_view::npos ? table.size() : end + 1;
    } else {
      high = start;
    }
  }
  size_t end = low;
  while (end < table.size() && table.substr(end).starts_with(op) && table.substr(end + op.size()).starts_with(' ')) {
    end = std::min(table.find('\n', end), table.size() - 1) + 1;
  }
  return table.substr(low, end - low);
}

OpSignature read_op_line(std::string_view line) {
  Reader r(line);
  OpSignature op;
  op.name = r.word();
  r.expect(" ");
  auto inputs = read_args(r);
  auto outputs = read_args(r);
  r.expect("[");
  while (!r.accept("]")) {
    op.attrs.push_back(read_attr(r));
    r.accept(" ");
  }
  op.inputs = resolve(std::move(inputs), op);
  op.outputs = resolve(std::move(outputs), op);
  read_flags(r, op);
  EMPLACE_ASSERT(r.done(), "nothing follows the flags of an op");
  return op;
}

void read_kernel_line(std::string_view line, std::vector<KernelSignature>& kernels) {
  Reader r(line);
  r.until(" ");
  r.expect(" ");
  KernelSignature kernel;
  kernel.device_type = r.word();
  if (r.accept("@")) kernel.label = r.word();
  if (r.accept("!")) kernel.priority = static_cast<int>(r.integer());
  size_t varying = 0;
  std::vector<AttrValue> alternatives;  // of constraint `varying`, without its first
  while (r.accept(" ")) {
    if (r.accept("<")) {
      while (!r.done()) {
        kernel.host_memory_args.emplace_back(r.word());
        r.accept(",");
      }
      break;
    }
    std::string name(r.word());
    r.expect("=");
    kernel.constraints.push_back({std::move(name), read_constraint_value(r)});
    while (r.accept("|")) {
      varying = kernel.constraints.size() - 1;
      alternatives.push_back(read_constraint_value(r));
    }
  }
  EMPLACE_ASSERT(r.done(), "host memory arguments end a kernel");
  kernels.push_back(kernel);
  for (AttrValue& value : alternatives) {
    kernel.constraints[varying].allowed_values = std::move(value);
    kernels.push_back(kernel);
  }
}

}  // namespace emplace
