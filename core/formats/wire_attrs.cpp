#include "core/formats/wire_attrs.h"

#include <algorithm>
#include <bit>

#include "core/base/cat.h"
#include "core/formats/attr_reader.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/message_fields.h"
#include "core/formats/wire_tensor.h"

namespace emplace {
namespace {

using proto::number;
using proto::WireReader;
using proto::WireType;

constexpr size_t kMostShared = 1024;  // bytes of an attr set: longer ones are read every time
constexpr size_t kMostValue = 64;     // of a value

std::optional<FuncValue> read_function_value(WireContext& w, std::string_view message, int depth) {
  FuncValue out;
  for (WireReader reader(message, w.error); reader.next();) {
    if (reader.is(number(proto::kNameAttrListFields, "name"), WireType::kBytes)) out.name = reader.bytes();
    if (!reader.is(number(proto::kNameAttrListFields, "attr"), WireType::kBytes)) continue;
    std::string_view value;
    for (WireReader entry(reader.bytes(), w.error); entry.next();) {
      if (entry.is(2, WireType::kBytes)) value = entry.bytes();
    }
    std::optional<AttrValue> read = read_wire_attr(w, value, {}, depth + 1);
    if (!read) return std::nullopt;
    out.attrs.emplace_back(proto::entry_key(reader.bytes()), std::move(*read));
  }
  if (!w.sound()) return std::nullopt;
  return out;
}

/// The members of a list: of one kind, or none at all.
class ListReader {
 public:
  ListReader(WireContext& w, int depth) : w_(w), depth_(depth) {}

  std::optional<AttrValue> read(std::string_view message) {
    for (WireReader reader(message, w_.error); good_ && reader.next();) read_member(reader);
    if (!w_.sound() || !good_) return std::nullopt;
    return out_ ? std::move(*out_) : AttrValue({AttrKind::kNone, true}, std::monostate{});
  }

 private:
  template <class T>
  std::vector<T>* list_of(WireReader& reader, AttrKind kind) {
    if (!out_) out_ = AttrValue::list_of(kind, std::vector<T>());
    if (out_->type().kind != kind) {
      w_.problem(reader.tag_at(), "a list with members of two kinds");
      return good_ = false, nullptr;
    }
    return const_cast<std::vector<T>*>(&out_->get<std::vector<T>>());
  }

  template <class T>
  void add(WireReader& reader, AttrKind kind, std::optional<T> value) {
    if (!value) {
      good_ = false;
    } else if (auto* list = list_of<T>(reader, kind)) {
      list->push_back(std::move(*value));
    }
  }

  template <class T, class F>
  void add_numbers(WireReader& reader, AttrKind kind, WireType wire, const F& convert) {
    if (reader.type() != wire && reader.type() != WireType::kBytes) return;
    if (reader.type() == WireType::kBytes && reader.bytes().empty()) return;
    if (auto* list = list_of<T>(reader, kind)) reader.numbers(wire, [&](uint64_t n) { list->push_back(convert(n)); });
  }

  void read_member(WireReader& reader) {
    using proto::kAttrValueListValueFields;
    const bool bytes = reader.type() == WireType::kBytes;
    switch (reader.field()) {
      case number(kAttrValueListValueFields, "s"):
        if (bytes) add(reader, AttrKind::kString, std::optional(std::string(reader.bytes())));
        break;
      case number(kAttrValueListValueFields, "i"):
        add_numbers<int64_t>(reader, AttrKind::kInt, WireType::kVarint, proto::as_int64);
        break;
      case number(kAttrValueListValueFields, "f"):
        add_numbers<float>(reader, AttrKind::kFloat, WireType::kFixed32,
                           [](uint64_t n) { return std::bit_cast<float>(static_cast<uint32_t>(n)); });
        break;
      case number(kAttrValueListValueFields, "b"):
        add_numbers<bool>(reader, AttrKind::kBool, WireType::kVarint, [](uint64_t n) { return n != 0; });
        break;
      case number(kAttrValueListValueFields, "type"):
        add_numbers<DType>(reader, AttrKind::kType, WireType::kVarint, [&](uint64_t n) {
          std::optional<DType> dtype = read_wire_dtype(w_, n, reader.tag_at());
          good_ = good_ && dtype;
          return dtype.value_or(DType::kInvalid);
        });
        break;
      case number(kAttrValueListValueFields, "shape"):
        if (bytes) add(reader, AttrKind::kShape, read_wire_shape(w_, reader.bytes()));
        break;
      case number(kAttrValueListValueFields, "tensor"):
        if (bytes) add(reader, AttrKind::kTensor, read_wire_tensor(w_, reader.bytes()));
        break;
      case number(kAttrValueListValueFields, "func"):
        if (bytes) add(reader, AttrKind::kFunc, read_function_value(w_, reader.bytes(), depth_));
        break;
      default:
        break;
    }
  }

  WireContext& w_;
  int depth_;
  std::optional<AttrValue> out_;
  bool good_ = true;
};

template <class T>
std::optional<AttrValue> wrapped(AttrKind kind, std::optional<T> value) {
  if (!value) return std::nullopt;
  return AttrValue({kind, false}, std::move(*value));
}

std::optional<AttrValue> read_single(WireContext& w, const WireReader& reader, int depth) {
  using proto::kAttrValueFields;
  switch (reader.field()) {
    case number(kAttrValueFields, "s"):
      return AttrValue::of(std::string(reader.bytes()));
    case number(kAttrValueFields, "i"):
      return AttrValue::of(proto::as_int64(reader.number()));
    case number(kAttrValueFields, "f"):
      return AttrValue::of(std::bit_cast<float>(static_cast<uint32_t>(reader.number())));
    case number(kAttrValueFields, "b"):
      return AttrValue::of(reader.number() != 0);
    case number(kAttrValueFields, "type"):
      return wrapped(AttrKind::kType, read_wire_dtype(w, reader.number(), reader.tag_at()));
    case number(kAttrValueFields, "shape"):
      return wrapped(AttrKind::kShape, read_wire_shape(w, reader.bytes()));
    case number(kAttrValueFields, "tensor"):
      return wrapped(AttrKind::kTensor, read_wire_tensor(w, reader.bytes()));
    case number(kAttrValueFields, "func"):
      return wrapped(AttrKind::kFunc, read_function_value(w, reader.bytes(), depth));
    case number(kAttrValueFields, "list"):
      return ListReader(w, depth).read(reader.bytes());
    default:
      return AttrValue({AttrKind::kPlaceholder, false}, std::string(reader.bytes()));
  }
}

}  // namespace

std::optional<AttrValue> read_wire_attr(WireContext& w, std::string_view message, AttrType declared, int depth) {
  if (depth > proto::kMaxDepth) {
    w.problem(message.data(), cat("more than ", proto::kMaxDepth, " messages inside each other"));
    return std::nullopt;
  }
  std::optional<AttrValue> out;
  bool seen = false;
  for (WireReader reader(message, w.error); reader.next();) {
    const proto::Field* field = proto::find_field(proto::Message::kAttrValue, reader.field());
    if (!field || proto::wire_type(field->kind) != reader.type()) continue;
    seen = true;  // of a oneof the last one counts
    out = read_single(w, reader, depth);
    if (!out) return std::nullopt;
  }
  if (!w.sound()) return std::nullopt;
  return seen ? std::move(out) : zero_attr(declared);
}

WireAttrs::OpSets& WireAttrs::sets_of(uint32_t op) {
  if (op >= sets_.size()) sets_.resize(op + size_t{1});
  if (!sets_[op]) {
    sets_[op] = std::make_unique<OpSets>();
    sets_[op]->signature = w_.c.signature(graph_.text(op));
  }
  return *sets_[op];
}

uint32_t WireAttrs::read(uint32_t op, const std::vector<std::string_view>& entries, std::string_view region) {
  if (entries.empty()) return 0;
  OpSets& known = sets_of(op);
  auto take = [&](uint32_t i) {
    ++known.hits;
    known.last = i;
    return known.sets[i].second;
  };
  if (region.size() > kMostShared) region = {};
  if (!region.empty() && !known.sets.empty() && known.sets[known.last].first == region) return take(known.last);
  auto text_of = [&](uint32_t i) { return known.sets[i].first; };
  if (!known.worthwhile()) region = {};
  if (!region.empty()) {
    const uint32_t found = known.index.find(region, text_of);
    if (found != NameIndex::kNone) return take(found);
  }
  const int64_t problems = w_.c.problems.count();
  const uint32_t set = read_set(known.signature, entries);
  if (!region.empty() && w_.c.problems.count() == problems) {
    known.last = static_cast<uint32_t>(known.sets.size());
    known.index.insert(region, known.last, text_of);
    known.sets.push_back({region, set});
  }
  return set;
}

uint32_t WireAttrs::read_set(const OpSignature* signature, const std::vector<std::string_view>& entries) {
  std::vector<Attrs::Entry> attrs;
  attrs.reserve(entries.size());
  NameIndex index;  // of the first `indexed` keys, where there are many
  uint32_t indexed = 0;
  const auto key_of = [&](uint32_t i) -> std::string_view { return attrs[i].first; };
  const auto find = [&](std::string_view name) -> const AttrValue** {
    constexpr size_t kFew = 32;
    if (attrs.size() <= kFew) {
      const auto same =
          std::find_if(attrs.begin(), attrs.end(), [&](const Attrs::Entry& e) { return e.first == name; });
      return same == attrs.end() ? nullptr : &same->second;
    }
    for (; indexed < attrs.size(); ++indexed) index.insert(key_of(indexed), indexed, key_of);
    const uint32_t same = index.find(name, key_of);
    return same == NameIndex::kNone ? nullptr : &attrs[same].second;
  };
  for (std::string_view bytes : entries) {
    std::string_view name, value;
    for (WireReader entry(bytes, w_.error); entry.next();) {
      if (entry.is(number(proto::kNodeDefAttrEntryFields, "key"), WireType::kBytes)) name = entry.bytes();
      if (entry.is(number(proto::kNodeDefAttrEntryFields, "value"), WireType::kBytes)) value = entry.bytes();
    }
    if (!w_.sound()) continue;
    const AttrValue* read = read_value(value, declared_attr_type(signature, name));
    if (!read) continue;
    if (const AttrValue** same = find(name)) {
      *same = read;  // of a key the last one counts
    } else {
      attrs.push_back({name, read});
    }
  }
  graph_.attr_sets_.push_back(std::move(attrs));
  return static_cast<uint32_t>(graph_.attr_sets_.size() - 1);
}

const AttrValue* WireAttrs::read_value(std::string_view value, AttrType declared) {
  auto keep = [&](std::optional<AttrValue> read) {
    return read ? &graph_.attr_values_.emplace_back(std::move(*read)) : nullptr;
  };
  if (value.empty() || value.size() > kMostValue) return keep(read_wire_attr(w_, value, declared));
  auto text_of = [&](uint32_t i) { return values_[i].first; };
  const uint32_t found = values_index_.find(value, text_of);
  if (found != NameIndex::kNone) return values_[found].second;
  const AttrValue* read = keep(read_wire_attr(w_, value, declared));
  if (!read) return nullptr;
  values_index_.insert(value, static_cast<uint32_t>(values_.size()), text_of);
  values_.push_back({value, read});
  return read;
}

}  // namespace emplace
