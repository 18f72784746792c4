#include "core/graph/text_table.h"

namespace emplace {

TextTable::TextTable() : texts_{std::string_view{}}, arena_(std::make_shared<TextArena>()) {}
TextTable::TextTable(TextTable&&) noexcept = default;
TextTable& TextTable::operator=(TextTable&&) noexcept = default;
TextTable::~TextTable() = default;

uint32_t TextTable::intern(std::string_view text) {
  if (text.empty()) return 0;
  auto text_of = [this](uint32_t id) { return texts_[id]; };
  uint32_t id = index_.find(text, text_of);
  if (id != NameIndex::kNone) return id;
  id = size();
  texts_.push_back(keep(text));
  index_.insert(texts_.back(), id, text_of);
  return id;
}

void TextTable::share_all(const TextTable& other) {
  share(other);
  for (uint32_t id = 1; id < other.size(); ++id) intern(other[id]);
}

}  // namespace emplace
