#include "core/graph/source.h"

#include <algorithm>
#include <cstring>

#include "core/base/cat.h"

namespace emplace {
namespace {

class OwnedText final : public Source {
 public:
  OwnedText(std::string name, std::string text) : owned_(std::move(text)) {
    name_ = std::move(name);
    text_ = owned_;
  }

 private:
  std::string owned_;
};

}  // namespace

std::shared_ptr<const Source> Source::from_text(std::string name, std::string text) {
  return std::make_shared<OwnedText>(std::move(name), std::move(text));
}

void Source::move_out(std::string_view bytes, void* to) const {
  constexpr size_t kPiece = size_t{4} << 20;  // two of the tensor's huge pages
  const bool own = bytes.data() >= text_.data() && bytes.data() + bytes.size() <= text_.data() + text_.size();
  const size_t begin = own ? static_cast<size_t>(bytes.data() - text_.data()) : 0;
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    const size_t n = std::min(kPiece, bytes.size() - at);
    std::memcpy(static_cast<char*>(to) + at, bytes.data() + at, n);
    if (own && n == kPiece) forget(begin, begin + at + n);
  }
}

Source::Lines Source::lines_before(size_t offset) const {
  constexpr size_t kPiece = 4096;
  const auto walk = [this](Lines at, size_t begin, size_t end) {
    for (; (begin = text_.substr(0, end).find('\n', begin)) != std::string_view::npos; ++begin)
      at = {at.breaks + 1, begin + 1};
    return at;
  };
  const size_t piece = offset / kPiece;
  Lines before;
  {
    const std::lock_guard lock(mutex_);
    if (pieces_.empty()) pieces_.emplace_back();
    for (size_t i = pieces_.size(); i <= piece; ++i)
      pieces_.push_back(walk(pieces_.back(), (i - 1) * kPiece, i * kPiece));
    before = pieces_[piece];
  }
  return walk(before, piece * kPiece, offset);
}

Source::LineColumn Source::locate(size_t offset) const {
  offset = std::min(offset, text_.size());
  const Lines before = lines_before(offset);
  std::string_view line = text_.substr(before.start, text_.find('\n', offset) - before.start);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return {1 + before.breaks, 1 + static_cast<int64_t>(offset - before.start), line};
}

std::string Source::where(size_t offset) const {
  if (binary()) {
    const std::string around = context(offset);
    return cat(name_, ": byte ", offset, around.empty() ? "" : ", ", around);
  }
  offset = std::min(offset, text_.size());
  const Lines before = lines_before(offset);
  return cat(name_, ":", 1 + before.breaks, ":", 1 + offset - before.start);
}

}  // namespace emplace
