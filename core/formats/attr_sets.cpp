#include "core/formats/attr_sets.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/attr_reader.h"
#include "core/formats/object_reader.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

constexpr size_t kLongestShared = 1024;  // of an attr object's text: longer ones are read every time
constexpr size_t kLongestValue = 64;     // of a value's text

bool is_plain(JsonReader& reader) { return reader.peek() != Kind::kObject || !is_attr_message(reader); }

// The first name that stands twice, if any.
std::string_view repeated_name(const std::vector<Attrs::Entry>& attrs) {
  std::vector<std::string_view> names;
  names.reserve(attrs.size());
  for (const auto& entry : attrs) names.push_back(entry.first);
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  return twice == names.end() ? std::string_view() : *twice;
}

}  // namespace

AttrSets::OpSets& AttrSets::sets_of(uint32_t op) {
  if (op >= sets_.size()) sets_.resize(op + size_t{1});
  if (!sets_[op]) {
    sets_[op] = std::make_unique<OpSets>();
    sets_[op]->signature = c_.signature(graph_.text(op));
  }
  return *sets_[op];
}

uint32_t AttrSets::add(std::vector<Attrs::Entry> attrs) {
  if (attrs.empty()) return 0;
  graph_.attr_sets_.push_back(std::move(attrs));
  return static_cast<uint32_t>(graph_.attr_sets_.size() - 1);
}

const AttrValue* AttrSets::type_value(DType type) {
  const AttrValue*& value = types_[static_cast<size_t>(type)];
  if (!value) value = keep(AttrValue::of(type));
  return value;
}

uint32_t AttrSets::read(uint32_t op) {
  if (c_.reader.peek() != Kind::kObject) {
    expect(c_.reader, Kind::kObject, "attr");
    return 0;
  }
  OpSets& known = sets_of(op);
  auto take = [&](uint32_t i) {
    ++known.hits;
    known.last = i;
    c_.reader.take_glanced(c_.source.text().substr(c_.reader.position(), known.sets[i].first.size()));
    return known.sets[i].second;
  };
  if (!known.sets.empty() && c_.reader.begins_with(known.sets[known.last].first)) return take(known.last);
  auto text_of = [&](uint32_t i) { return known.sets[i].first; };
  std::string_view text = known.worthwhile() ? c_.reader.glance(kLongestShared) : std::string_view();
  if (!text.empty()) {
    uint32_t found = known.index.find(text, text_of);
    if (found != NameIndex::kNone) return take(found);
  }
  int64_t problems = c_.problems.count();
  uint32_t set = add(read_object(known.signature));
  if (!text.empty() && c_.problems.count() == problems) {
    known.last = static_cast<uint32_t>(known.sets.size());
    known.index.insert(text, known.last, text_of);
    known.sets.push_back({text, set});
  }
  return set;
}

// A plain tensor waits for the attr `dtype`, which may come after it.
std::vector<Attrs::Entry> AttrSets::read_object(const OpSignature* signature) {
  struct Late {
    size_t entry, position;
  };
  JsonReader& reader = c_.reader;
  std::vector<Attrs::Entry> attrs;
  std::vector<Late> late;
  size_t start = reader.position();
  reader.enter_object();
  for (std::string_view name; reader.next_key(name);) {
    if (reader.peek() == Kind::kNull && declared_attr_type(signature, name).kind != AttrKind::kShape) {
      reader.take_null();
      continue;
    }
    AttrType declared = declared_attr_type(signature, name);
    if (declared == AttrType{AttrKind::kTensor, false} && is_plain(reader)) {
      late.push_back({attrs.size(), reader.position()});
      attrs.push_back({name, nullptr});
      reader.skip();
    } else {
      attrs.push_back({name, read_value(name, declared, DType::kInvalid)});
    }
  }
  size_t after = reader.position();
  if (!late.empty()) {
    const AttrValue* stated = Attrs(attrs).find("dtype");
    const DType* type = stated ? stated->get_if<DType>() : nullptr;
    for (const Late& l : late) {
      reader.seek(l.position);
      attrs[l.entry].second =
          read_value(attrs[l.entry].first, {AttrKind::kTensor, false}, type ? *type : DType::kInvalid);
    }
    reader.seek(after);
  }
  if (std::string_view twice = repeated_name(attrs); !twice.empty())
    reader.problem(start, cat("attr '", twice, "' stands twice"));
  std::erase_if(attrs, [](const Attrs::Entry& e) { return e.second == nullptr; });
  return attrs;
}

// Null, and a problem told, if the value is wrong. Equal short texts share a value.
const AttrValue* AttrSets::read_value(std::string_view name, AttrType declared, DType tensor_type) {
  c_.reader.peek();
  size_t start = c_.reader.position();
  auto value = read_attr(c_, name, declared, tensor_type);
  if (!value) return nullptr;
  size_t size = c_.reader.position() - start;
  std::string_view text = c_.source.text().substr(start, size);
  bool by_name = declared.kind == AttrKind::kNone && !text.starts_with('{');  // its meaning was guessed from its name
  if (size > kLongestValue || by_name || value->type().kind == AttrKind::kTensor) return keep(std::move(*value));
  Values& known = values_[static_cast<size_t>(declared.kind) * 2 + declared.list];
  auto next = static_cast<uint32_t>(known.values.size());
  uint32_t found = known.index.insert(text, next, [&](uint32_t i) { return known.values[i].first; });
  if (found == next) known.values.push_back({text, keep(std::move(*value))});
  return known.values[found].second;
}

}  // namespace emplace
