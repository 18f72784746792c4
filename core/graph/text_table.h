/// TextTable: the texts of a graph that nodes name by number (ops, requested devices), each kept once; and an arena for
/// all other texts that are not in the source.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>

#include "core/base/text_arena.h"
#include "core/graph/name_index.h"

namespace emplace {

class TextTable {
 public:
  TextTable();
  TextTable(TextTable&&) noexcept;
  TextTable& operator=(TextTable&&) noexcept;
  ~TextTable();

  /// Number 0 is the empty text.
  std::string_view operator[](uint32_t id) const { return texts_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
  /// The number of a text, which is copied if it is new.
  uint32_t intern(std::string_view text);

  /// A copy of `text` that lives as long as this table, or one that share()s with it.
  std::string_view keep(std::string_view text) { return arena_->keep(text); }
  TextArena& arena() const { return *arena_; }
  /// From now on texts are kept in the arena of `other`.
  void share(const TextTable& other) { arena_ = other.arena_; }
  /// The texts of `other` by the same numbers, in the same arena. REQUIRES: there is none here yet.
  void share_all(const TextTable& other);

 private:
  std::deque<std::string_view> texts_;
  NameIndex index_;
  std::shared_ptr<TextArena> arena_;
};

}  // namespace emplace
