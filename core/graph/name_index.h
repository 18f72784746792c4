/// NameIndex: from names to 32-bit numbers, by open addressing. The texts stay with the owner, who tells them by
/// number; a slot is 8 bytes: 32 bits of the name's hash and the number.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace emplace {

/// Moves, but does not copy.
class NameIndex {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  void reserve(size_t names) {
    size_t want = std::bit_ceil(names * 2 + 16);
    if (want > num_slots_) grow(want);
  }
  /// Brings the place of a name with this hash() near, for an insert() or find() soon.
  void prefetch(uint32_t tag) const {
    if (num_slots_ > 0) __builtin_prefetch(&slots_[home(tag)]);
  }

  /// The number of `name`, or kNone. `text_of(number)` is the text of a number.
  template <class TextOf>
  uint32_t find(std::string_view name, const TextOf& text_of) const {
    if (num_slots_ == 0) return kNone;
    uint32_t tag = hash(name);
    for (size_t i = home(tag);; i = (i + 1) & mask()) {
      if (slots_[i] == kEmpty) return kNone;
      if (tag_of(slots_[i]) == tag && text_of(number_of(slots_[i])) == name) return number_of(slots_[i]);
    }
  }

  /// The number of `name`; if it has none yet, `number`, which it gets.
  template <class TextOf>
  uint32_t insert(std::string_view name, uint32_t number, const TextOf& text_of) {
    return insert(name, hash(name), number, text_of);
  }
  template <class TextOf>
  uint32_t insert(std::string_view name, uint32_t tag, uint32_t number, const TextOf& text_of) {
    if (size_ * 2 >= num_slots_) grow(num_slots_ == 0 ? 32 : num_slots_ * 2);
    for (size_t i = home(tag);; i = (i + 1) & mask()) {
      if (slots_[i] == kEmpty) {
        slots_[i] = uint64_t{tag} << 32 | number;
        ++size_;
        return number;
      }
      if (tag_of(slots_[i]) == tag && text_of(number_of(slots_[i])) == name) return number_of(slots_[i]);
    }
  }

  /// Every number n becomes new_numbers[n].
  void renumber(std::span<const uint32_t> new_numbers) {
    for (uint64_t& slot : slots()) {
      if (slot != kEmpty) slot = (slot & ~uint64_t{0xffffffff}) | new_numbers[number_of(slot)];
    }
  }

  static uint32_t hash(std::string_view s) {
    const char* p = s.data();
    size_t n = s.size();
    uint64_t h = n * 0x9e3779b97f4a7c15u;
    for (; n > 16; p += 16, n -= 16) h = mix(load(p, 8) ^ h, load(p + 8, 8) ^ 0xa0761d6478bd642fu);
    uint64_t a = 0, b = 0;
    if (n >= 8) {
      a = load(p, 8), b = load(p + n - 8, 8);
    } else if (n >= 4) {
      a = load(p, 4), b = load(p + n - 4, 4);
    } else if (n > 0) {
      a = load(p, 1) << 16 | load(p + n / 2, 1) << 8 | load(p + n - 1, 1);
    }
    return static_cast<uint32_t>(mix(a ^ h ^ 0xe7037ed1a0b428dbu, b ^ 0x8ebc6af09c88c6e3u) >> 16);
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};  // number kNone is never stored

  __extension__ using Wide = unsigned __int128;

  static uint64_t load(const char* p, size_t n) {
    uint64_t v = 0;
    std::memcpy(&v, p, n);
    return v;
  }
  static uint64_t mix(uint64_t a, uint64_t b) {
    auto product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  static uint32_t tag_of(uint64_t slot) { return static_cast<uint32_t>(slot >> 32); }
  static uint32_t number_of(uint64_t slot) { return static_cast<uint32_t>(slot); }
  size_t mask() const { return num_slots_ - 1; }
  std::span<uint64_t> slots() { return {slots_.get(), num_slots_}; }
  // The upper bits of the tag, so that growing needs no text and writes in ascending order.
  size_t home(uint32_t tag) const { return (uint64_t{tag} * num_slots_) >> 32; }

  void grow(size_t num_slots);

  struct Free {
    void operator()(uint64_t* p) const { std::free(p); }
  };
  std::unique_ptr<uint64_t[], Free> slots_;  // a power of two of them, at most half in use
  size_t num_slots_ = 0;
  size_t size_ = 0;
};

}  // namespace emplace
