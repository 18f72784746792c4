#include "core/device/gpu_pool.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/base/assert.h"
#include "core/base/cat.h"
#include "core/base/units.h"

namespace emplace {
namespace {

constexpr int64_t kUnit = 256;                      // blocks are multiples of it
constexpr int64_t kLargestStep = int64_t{1} << 30;  // of growth ahead of need

int64_t rounded(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

// How far before the end of its pages a tensor begins in guard mode: at what kernels load at once. With
// EMPLACE_GPU_GUARD=exact small ones do not end before it either, which only the stand-in's processor puts up with.
int64_t guarded_bytes(int64_t bytes) {
  constexpr int64_t kAtOnce = 16;
  static const bool kExact = [] {
    const char* guard = std::getenv("EMPLACE_GPU_GUARD");
    return guard && std::string_view(guard) == "exact";
  }();
  return kExact && bytes < kAtOnce ? bytes : rounded(bytes, kAtOnce);
}

}  // namespace

class GpuPool::PooledBuffer final : public Buffer {
 public:
  PooledBuffer(GpuPool& pool, void* data, int64_t offset, int64_t bytes, bool persistent)
      : Buffer(data, static_cast<size_t>(bytes)), pool_(pool), offset_(offset), persistent_(persistent) {}
  ~PooledBuffer() override {
    std::lock_guard lock(pool_.mutex_);
    (persistent_ ? pool_.persistent_ : pool_.transient_) -= static_cast<int64_t>(size_);
    pool_.give_back(offset_);
  }

 private:
  GpuPool& pool_;
  int64_t offset_;
  bool persistent_;
};

GpuPool::GpuPool(Options options, std::function<Result<PageSource*>()> open)
    : options_(std::move(options)), open_(std::move(open)) {}

GpuPool::~GpuPool() {
  if (!source_) return;
  (void)source_->wait_idle();
  for (auto p = pieces_.begin(); p != pieces_.end();) {
    if (p->second.state == State::kUnmapped) {
      ++p;
      continue;
    }
    auto first = p;
    int64_t bytes = 0;
    while (p != pieces_.end() && p->second.state != State::kUnmapped) bytes += (p++)->second.bytes;
    (void)source_->unmap(base_ + first->first, bytes);
  }
  source_->release(base_, reserved_);
}

Status GpuPool::start() {
  if (base_) return ok_status();
  ASSIGN_OR_RETURN(PageSource * source, open_());
  int64_t page = source->page_bytes();
  // Addresses are free, and room for pages to move to; but `ulimit -v` may leave few of them.
  const int64_t least = rounded(options_.limit, page);
  int64_t reserved = 4 * least;
  Result<std::byte*> range = source->reserve(reserved);
  for (int64_t fewer : {2 * least, rounded(least + least / 8, page), least}) {
    if (range.ok()) break;
    range = source->reserve(reserved = fewer);
  }
  ASSIGN_OR_RETURN(base_, std::move(range));
  source_ = source;
  page_ = page;
  reserved_ = reserved;
  pieces_[0] = {reserved_, State::kUnmapped};
  int64_t all = whole_pages();
  if (options_.grows || options_.guards || all == 0) return ok_status();
  RETURN_IF_ERROR(source_->map(base_, all));
  mapped_ = all;
  cut(pieces_.begin(), 0, all, State::kFree);
  return ok_status();
}

Result<Tensor> GpuPool::allocate(DType dtype, const Shape& shape, bool persistent) {
  if (dtype == DType::kString || dtype_size(dtype) == 0) return Tensor::allocate(dtype, shape);
  auto count = shape.checked_num_elements();
  int64_t bytes = 0;
  bool fits = count && !__builtin_mul_overflow(*count, static_cast<int64_t>(dtype_size(dtype)), &bytes) &&
              bytes <= options_.limit;
  std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(start());
  bytes = std::max<int64_t>(bytes, 1);
  Result<int64_t> offset = !fits             ? resource_exhausted("")
                           : options_.guards ? take_guarded(bytes)
                                             : take(rounded(bytes, kUnit));
  if (!offset.ok() && offset.status().code() != Code::kResourceExhausted) return offset.take_status();
  if (!offset.ok()) {
    return resource_exhausted(cat("OOM when allocating tensor with shape", shape.to_string(), " and type ",
                                  dtype_tf_name(dtype), " on ", options_.device_name, " by allocator ",
                                  options_.allocator_name, ": ", refusal(fits ? bytes : INT64_MAX, offset.status())));
  }
  int64_t size = rounded(bytes, kUnit);
  (persistent ? persistent_ : transient_) += size;
  peak_transient_ = std::max(peak_transient_, transient_);
  std::byte* data = base_ + *offset;
  if (options_.guards) data += rounded(bytes, page_) - guarded_bytes(bytes);
  return Tensor::wrap(dtype, shape, data, std::make_shared<PooledBuffer>(*this, data, *offset, size, persistent));
}

Status GpuPool::map_block(int64_t bytes) {
  if (bytes == 0) return ok_status();
  std::lock_guard lock(mutex_);
  EMPLACE_ASSERT(!block_, "one block for all planned tensors of a device");
  RETURN_IF_ERROR(start());
  Result<int64_t> offset = take(rounded(bytes, kUnit));
  if (!offset.ok() && offset.status().code() != Code::kResourceExhausted) return offset.take_status();
  if (!offset.ok()) {
    return resource_exhausted(
        cat("no room for the planned tensors of ", options_.device_name, ": ", refusal(bytes, offset.status())));
  }
  block_ = base_ + *offset;
  block_bytes_ = rounded(bytes, kUnit);
  return ok_status();
}

// What could be had at once, once free pages have moved; limit and use. `asked`: INT64_MAX for more than the limit, and
// perhaps more than can be counted. `why`: take()'s.
std::string GpuPool::refusal(int64_t asked, const Status& why) const {
  int64_t largest = free_.empty() ? 0 : free_.rbegin()->first, left = whole_pages() - mapped_;
  for (const auto& [bytes, offset] : free_)
    left += std::max<int64_t>((offset + bytes) / page_ * page_ - rounded(offset, page_), 0);
  for (auto p = pieces_.begin(); p != pieces_.end() && why.message().empty(); ++p) {
    if (p->second.state != State::kUnmapped) continue;
    const bool behind_free = p != pieces_.begin() && std::prev(p)->second.state == State::kFree;
    largest =
        std::max(largest, std::min(left, p->second.bytes) + (behind_free ? std::prev(p)->second.bytes % page_ : 0));
  }
  std::string pages =
      whole_pages() < options_.limit ? cat(" (", size_text(whole_pages()), " in whole pages)") : std::string();
  const std::string limit =
      cat(size_text(options_.limit), pages, ", ", size_text(persistent_ + transient_ + block_bytes_), " in use");
  if (asked == INT64_MAX) return cat("more than all of the limit of ", limit, "; a smaller batch needs less");
  return cat("asked for ", size_text(asked), ", ", size_text(largest), " free in one piece of ", limit, ": ",
             size_text(std::max<int64_t>(asked - largest, 0)), " short", why.message(), "; a smaller batch needs less");
}

Result<int64_t> GpuPool::take(int64_t bytes) {
  auto fit = free_.lower_bound({bytes, 0});
  if (fit == free_.end()) {
    RETURN_IF_ERROR(grow(bytes));
    fit = free_.lower_bound({bytes, 0});
    EMPLACE_ASSERT(fit != free_.end(), "growth makes a piece that is large enough");
  }
  int64_t offset = fit->second;
  cut(pieces_.find(offset), offset, bytes, State::kUsed);
  return offset;
}

void GpuPool::give_back(int64_t offset) {
  if (options_.guards) return give_back_guarded(offset);
  set_state(pieces_.find(offset), State::kFree);
}

// Pages, and addresses of one more.
Result<int64_t> GpuPool::take_guarded(int64_t bytes) {
  const int64_t pages = rounded(bytes, page_);
  if (mapped_ + pages > whole_pages()) return resource_exhausted("");
  for (auto p = pieces_.begin(); p != pieces_.end(); ++p) {
    if (p->second.state != State::kUnmapped || p->second.bytes < pages + page_) continue;
    const int64_t offset = p->first;
    RETURN_IF_ERROR(source_->map(base_ + offset, pages));
    mapped_ += pages;
    cut(p, offset, pages + page_, State::kUsed);
    return offset;
  }
  return resource_exhausted("; no addresses are left");
}

void GpuPool::give_back_guarded(int64_t offset) {
  const auto piece = pieces_.find(offset);
  const int64_t pages = piece->second.bytes - page_;
  (void)source_->wait_idle();
  (void)source_->unmap(base_ + offset, pages);
  mapped_ -= pages;
  set_state(piece, State::kUnmapped);
}

// Maps pages so that some free piece has `bytes`: behind a free piece if there is one, so that little is mapped anew.
Status GpuPool::grow(int64_t bytes) {
  for (int attempt = 0;; ++attempt) {
    auto best = pieces_.end();
    int64_t least = 0;
    for (auto p = pieces_.begin(); p != pieces_.end(); ++p) {
      if (p->second.state != State::kUnmapped) continue;
      int64_t before =
          p != pieces_.begin() && std::prev(p)->second.state == State::kFree ? std::prev(p)->second.bytes : 0;
      auto after = std::next(p);
      int64_t behind = after != pieces_.end() && after->second.state == State::kFree ? after->second.bytes : 0;
      int64_t need = rounded(std::max<int64_t>(bytes - before, 1), page_);
      if (need > p->second.bytes) {
        if (before + p->second.bytes + behind < bytes) continue;
        need = p->second.bytes;
      }
      if (best == pieces_.end() || need < least) best = p, least = need;
    }
    int64_t left = whole_pages() - mapped_;
    if (best != pieces_.end() && least <= left) {
      int64_t ahead =
          std::clamp(rounded(std::min(mapped_, kLargestStep), page_), least, std::min(left, best->second.bytes));
      Status mapped = source_->map(base_ + best->first, ahead);
      if (!mapped.ok() && ahead > least) mapped = source_->map(base_ + best->first, ahead = least);
      if (mapped.ok()) {
        mapped_ += ahead;
        cut(best, best->first, ahead, State::kFree);
        return ok_status();
      }
      if (mapped.code() != Code::kResourceExhausted) return mapped;
      if (attempt > 0) return resource_exhausted(cat("; the card has no more (", mapped.message(), ")"));
    }
    if (attempt > 0) return resource_exhausted("");
    RETURN_IF_ERROR(move_free_pages());
  }
}

// Takes the pages away from where they are free, so that they can be mapped elsewhere.
Status GpuPool::move_free_pages() {
  RETURN_IF_ERROR(source_->wait_idle());
  auto pieces = free_;
  for (const auto& [bytes, offset] : pieces) {
    int64_t begin = rounded(offset, page_), end = (offset + bytes) / page_ * page_;
    if (begin >= end) continue;
    RETURN_IF_ERROR(source_->unmap(base_ + begin, end - begin));
    mapped_ -= end - begin;
    cut(pieces_.find(offset), begin, end - begin, State::kUnmapped);
  }
  return ok_status();
}

// Gives [offset, offset + bytes) of a piece another state; what is left before and behind keeps its own.
void GpuPool::cut(Pieces::iterator piece, int64_t offset, int64_t bytes, State state) {
  const int64_t begin = piece->first;
  const auto old = piece->second;
  if (old.state == State::kFree) free_.erase({old.bytes, begin});
  int64_t rest = begin + old.bytes - offset - bytes;
  auto put = [&](int64_t at, int64_t size) {
    pieces_[at] = {size, old.state};
    if (old.state == State::kFree) free_.insert({size, at});
  };
  pieces_.erase(piece);
  if (offset > begin) put(begin, offset - begin);
  if (rest > 0) put(offset + bytes, rest);
  set_state(pieces_.emplace(offset, Piece{bytes, State::kUsed}).first, state);
}

// A used piece becomes what it is to be, and one with neighbours of that state.
GpuPool::Pieces::iterator GpuPool::set_state(Pieces::iterator piece, State state) {
  piece->second.state = state;
  if (state == State::kUsed) return piece;
  auto join = [&](Pieces::iterator first, Pieces::iterator second) {
    for (auto p : {first, second}) {
      if (state == State::kFree) free_.erase({p->second.bytes, p->first});
    }
    first->second.bytes += second->second.bytes;
    pieces_.erase(second);
    return first;
  };
  if (auto next = std::next(piece); next != pieces_.end() && next->second.state == state) piece = join(piece, next);
  if (piece != pieces_.begin() && std::prev(piece)->second.state == state) piece = join(std::prev(piece), piece);
  if (state == State::kFree) free_.insert({piece->second.bytes, piece->first});
  return piece;
}

int64_t GpuPool::usable() const {
  std::lock_guard lock(mutex_);
  return whole_pages();
}
int64_t GpuPool::persistent_bytes() const {
  std::lock_guard lock(mutex_);
  return persistent_;
}
int64_t GpuPool::peak_transient_bytes() const {
  std::lock_guard lock(mutex_);
  return peak_transient_;
}
int64_t GpuPool::mapped_bytes() const {
  std::lock_guard lock(mutex_);
  return mapped_;
}

}  // namespace emplace
