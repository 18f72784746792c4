#include "core/formats/proto/message_fields.h"

#include <algorithm>
#include <map>

namespace emplace::proto {

MessageFields::MessageFields(Message message, std::string_view bytes, WireError& error) {
  constexpr size_t kUsual = 6;
  found_.reserve(kUsual);
  const Field* last_of_oneof = nullptr;
  for (WireReader reader(bytes, error); reader.next();) {
    const Field* field = find_field(message, reader.field());
    const bool packed = field && field->repeated() && reader.type() == WireType::kBytes;
    if (!field || (wire_type(field->kind) != reader.type() && !packed)) {
      ++unknown_;
      continue;
    }
    if (field->label == Label::kOneof) {
      if (last_of_oneof && last_of_oneof != field) {
        std::erase_if(found_, [&](const Found& f) { return f.field == last_of_oneof; });
      }
      last_of_oneof = field;
    }
    Found& f = at(*field);
    if (reader.type() == WireType::kBytes) {
      if (wire_type(field->kind) != WireType::kBytes) {
        reader.numbers(wire_type(field->kind), [&](uint64_t n) { f.numbers.push_back(n); });
        continue;
      }
      if (!field->repeated() && field->kind != Kind::kMessage) f.pieces.clear();
      f.pieces.push_back(reader.bytes());
    } else {
      if (!field->repeated()) f.numbers.clear();
      f.numbers.push_back(reader.number());
    }
  }
  std::sort(found_.begin(), found_.end(),
            [](const Found& a, const Found& b) { return a.field->number < b.field->number; });
}

MessageFields::Found& MessageFields::at(const Field& field) {
  for (Found& f : found_) {
    if (f.field == &field) return f;
  }
  return found_.emplace_back(Found{&field, {}, {}});
}

const MessageFields::Found* MessageFields::find(std::string_view name) const {
  auto f = std::find_if(found_.begin(), found_.end(), [&](const Found& one) { return one.field->name == name; });
  return f == found_.end() ? nullptr : &*f;
}

std::vector<std::string_view> MessageFields::messages(const Found& f) {
  if (f.field->label == Label::kMap) return entries(f);
  if (f.field->repeated() || f.pieces.size() < 2) return f.pieces;
  std::string& all = merged_.emplace_front();
  for (std::string_view piece : f.pieces) all += piece;
  return {all};
}

std::vector<std::string_view> MessageFields::entries(const Found& f) const {
  constexpr size_t kFew = 16;  // so many are found faster one by one
  std::vector<std::string_view> keys, out;
  std::map<std::string_view, size_t> places;
  const bool few = f.pieces.size() <= kFew;
  for (std::string_view entry : f.pieces) {
    const std::string_view key = entry_key(entry);
    const auto at = few ? static_cast<size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin())
                        : places.try_emplace(key, out.size()).first->second;
    if (at < out.size()) {
      out[at] = entry;
      continue;
    }
    out.push_back(entry);
    if (few) keys.push_back(key);
  }
  return out;
}

std::string_view text_field(std::string_view message, uint32_t field) {
  WireError ignored;
  std::string_view text;
  for (WireReader reader(message, ignored); reader.next();) {
    if (reader.is(field, WireType::kBytes)) text = reader.bytes();
  }
  return text;
}

std::string_view entry_key(std::string_view entry) {
  WireError ignored;
  std::string_view key;
  for (WireReader reader(entry, ignored); reader.next();) {
    if (reader.field() != 1) continue;
    key = reader.type() == WireType::kBytes ? reader.bytes() : reader.whole();
  }
  return key;
}

}  // namespace emplace::proto
