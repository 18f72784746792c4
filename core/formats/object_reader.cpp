#include "core/formats/object_reader.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/suggest.h"

namespace emplace {

bool same_key(std::string_view key, std::string_view field) {
  size_t k = 0;
  for (size_t f = 0; f < field.size(); ++f, ++k) {
    if (k == key.size()) return false;
    char c = field[f];
    if (c == '_' && key[k] != '_' && f + 1 < field.size()) {
      c = field[++f];
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    if (key[k] != c) return false;
  }
  return k == key.size();
}

namespace {

[[gnu::cold]] void skip_other(JsonReader& reader, JsonReader::Kind found, JsonReader::Kind kind,
                              std::string_view what) {
  size_t at = reader.position();
  reader.skip();
  if (reader.failed()) return;
  const char* hint = found != JsonReader::Kind::kString ? ""
                     : kind == JsonReader::Kind::kArray ? "a list stands in brackets, also of one: [...]"
                     : kind == JsonReader::Kind::kBool  ? "without quotes: true or false"
                                                        : "";
  reader.problem(at, cat(what, ": found ", kind_name(found), ", wanted ", kind_name(kind)), hint);
}

/// Is `key` one of a graph file, and `what` a part of such a file?
bool belongs_beside(std::string_view what, std::string_view key) {
  constexpr std::string_view kParts[] = {"train", "data", "a data set", "config", "a node"};
  constexpr std::string_view kKeys[] = {"fetch",   "target",  "init",  "feed", "config",
                                        "library", "cluster", "train", "data", "node"};
  return std::find(std::begin(kParts), std::end(kParts), what) != std::end(kParts) &&
         std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

/// Is `key` one of the session's configuration, which others write beside the nodes?
bool belongs_into_config(std::string_view what, std::string_view key) {
  constexpr std::string_view kKeys[] = {"allow_soft_placement",
                                        "device_count",
                                        "gpu_options",
                                        "log_device_placement",
                                        "inter_op_parallelism_threads",
                                        "intra_op_parallelism_threads"};
  return what == "a graph file" && std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

}  // namespace

bool expect(JsonReader& reader, JsonReader::Kind kind, std::string_view what) {
  JsonReader::Kind found = reader.peek();
  if (found == kind) return true;
  skip_other(reader, found, kind, what);
  return false;
}

ObjectReader::ObjectReader(JsonReader& reader, std::span<const std::string_view> keys, const char* what,
                           std::string_view about_keys)
    : reader_(reader), keys_(keys), what_(what), about_keys_(about_keys) {
  open_ = expect(reader, JsonReader::Kind::kObject, what);
  start_ = reader.position();
  if (open_) reader.enter_object();
}

// Writers keep the order of the fields, mostly: the one after the last found is tried first.
int ObjectReader::find(std::string_view key) {
  auto expected = static_cast<size_t>(field_) + 1;
  if (expected < keys_.size() && keys_[expected] == key) return static_cast<int>(expected);
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] == key) return static_cast<int>(i);
  }
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (same_key(key, keys_[i])) return static_cast<int>(i);
  }
  return -1;
}

void ObjectReader::unknown_key() {
  constexpr size_t kListed = 12;
  std::string hint = belongs_beside(what_, key_) ? cat("'", key_, "' belongs at the top of the file, beside 'node'")
                     : belongs_into_config(what_, key_) ? cat("'", key_, "' belongs in \"config\": {...}")
                                                        : did_you_mean(key_, keys_);
  if (hint.empty()) hint = about_keys_;
  if (hint.empty() && keys_.size() <= kListed) {
    for (std::string_view key : keys_) append(hint, hint.empty() ? "there are " : ", ", key);
  }
  reader_.problem(key_position_, cat("unknown key '", key_, "' in ", what_), std::move(hint));
  reader_.skip();
}

void ObjectReader::repeated_key() {
  reader_.problem(key_position_, cat("key '", key_, "' stands twice in ", what_));
  reader_.skip();
}

bool ObjectReader::next() {
  if (!open_) return false;
  if (field_ >= 0 && reader_.position() == value_position_) reader_.skip();
  for (;;) {
    if (!reader_.next_key(key_)) return open_ = false;
    value_position_ = reader_.position();
    key_position_ = reader_.position_of(key_);
    if (key_position_ != value_position_) --key_position_;  // to its quote
    int field = find(key_);
    if (field < 0) {
      unknown_key();
      continue;
    }
    if (has(field)) {
      repeated_key();
      continue;
    }
    seen_ |= uint64_t{1} << field;
    if (reader_.peek() == JsonReader::Kind::kNull) {
      reader_.take_null();
      continue;
    }
    value_position_ = reader_.position();
    field_ = field;
    return true;
  }
}

}  // namespace emplace
