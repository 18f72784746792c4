#include "core/cluster/piece_intake.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/base/cat.h"

namespace emplace {

using message::ChunkMessage;
using message::kChunkBytes;

namespace {

Status no_part() { return invalid_argument("a chunk that is no part of a tensor"); }

/// The bytes of the tensor that it is a part of.
Result<size_t> whole_bytes(const ChunkMessage& chunk) {
  const std::optional<DType> dtype = dtype_from_number(chunk.dtype);
  if (!dtype || is_ref(*dtype) || *dtype == DType::kVariant || *dtype == DType::kString || dtype_size(*dtype) == 0 ||
      chunk.shape.size() > kMaxRank ||
      std::any_of(chunk.shape.begin(), chunk.shape.end(), [](int64_t d) { return d < 0; }))
    return no_part();
  const std::optional<int64_t> count = Shape{std::span<const int64_t>(chunk.shape)}.checked_num_elements();
  if (!count || static_cast<uint64_t>(*count) > SIZE_MAX / 2 / dtype_size(*dtype)) return no_part();
  const size_t bytes = static_cast<size_t>(*count) * dtype_size(*dtype);
  const size_t chunks = bytes / kChunkBytes + (bytes % kChunkBytes != 0);
  if (chunk.number >= chunks) return no_part();
  const size_t wanted = chunk.number + 1 < chunks ? kChunkBytes : bytes - (chunks - 1) * kChunkBytes;
  return chunk.data.size() == wanted ? Result<size_t>(bytes) : no_part();
}

}  // namespace

PieceIntake::~PieceIntake() { close(); }

Status PieceIntake::take(message::PushMessage push) {
  if (push.from >= tasks_) return invalid_argument(cat("pieces of task ", push.from, " of ", tasks_));
  const auto from = static_cast<TaskId>(push.from);
  std::vector<Inbox::Arrived> pieces;
  for (message::PieceMessage& piece : push.pieces)
    pieces.push_back({piece.copy, {std::move(piece.value), piece.dead, piece.iteration}});
  if (!pieces.empty()) inbox_.file_all(push.step, std::move(pieces), from);
  for (const ChunkMessage& chunk : push.chunks) RETURN_IF_ERROR(take_chunk(push.step, from, chunk));
  return ok_status();
}

Result<std::shared_ptr<PieceIntake::Part>> PieceIntake::part_of(const Key& key, const ChunkMessage& chunk) {
  ASSIGN_OR_RETURN(const size_t bytes, whole_bytes(chunk));
  if (!inbox_.awaits(std::get<0>(key))) return std::shared_ptr<Part>();
  std::shared_ptr<Part>& part = parts_[key];
  if (!part) {
    const Shape shape{std::span<const int64_t>(chunk.shape)};
    Result<Tensor> value = bytes > kMostPartBytes - part_bytes_
                               ? resource_exhausted(cat("a tensor of ", bytes, " bytes, of which one chunk has come"))
                               : Tensor::allocate(*dtype_from_number(chunk.dtype), shape);
    if (!value.ok()) return parts_.erase(key), value.take_status();
    const size_t chunks = (bytes + kChunkBytes - 1) / kChunkBytes;
    part = std::make_shared<Part>(Part{value.take(), std::vector<bool>(chunks), chunks});
    part_bytes_ += bytes;
  }
  const auto dims = part->value.shape().dims();
  if (static_cast<int>(part->value.dtype()) != chunk.dtype ||
      !std::equal(dims.begin(), dims.end(), chunk.shape.begin(), chunk.shape.end()))
    return no_part();
  if (part->here[chunk.number]) return std::shared_ptr<Part>();
  part->here[chunk.number] = true;
  return part;
}

Status PieceIntake::take_chunk(uint64_t step, TaskId from, const ChunkMessage& chunk) {
  const Key key{step, chunk.copy, chunk.iteration};
  std::shared_ptr<Part> part;
  {
    std::lock_guard lock(mutex_);
    ASSIGN_OR_RETURN(part, part_of(key, chunk));
  }
  if (!part) return ok_status();
  std::memcpy(static_cast<char*>(part->value.raw()) + chunk.number * kChunkBytes, chunk.data.data(), chunk.data.size());
  {
    std::lock_guard lock(mutex_);
    if (--part->left > 0) return ok_status();
    const auto found = parts_.find(key);
    if (found == parts_.end() || found->second != part) return ok_status();  // its step has ended meanwhile
    part_bytes_ -= part->value.size_bytes();
    parts_.erase(found);
  }
  inbox_.file(step, chunk.copy, {std::move(part->value), false, chunk.iteration}, from);
  return ok_status();
}

void PieceIntake::answer(IncomingRequest* request, uint64_t step, uint32_t from, bool of_loop) {
  {
    std::lock_guard lock(mutex_);
    if (of_loop && from < tasks_ && inbox_.awaits(step) && !inbox_.has_room(static_cast<TaskId>(from))) {
      waiting_.emplace_back(static_cast<TaskId>(from), request);
      return;
    }
  }
  request->answer({});
}

void PieceIntake::taken() {
  std::vector<IncomingRequest*> answered;
  {
    std::lock_guard lock(mutex_);
    if (waiting_.empty()) return;
    std::erase_if(waiting_, [&](const auto& waits) {
      const bool has_room = inbox_.has_room(waits.first);
      if (has_room) answered.push_back(waits.second);
      return has_room;
    });
  }
  for (IncomingRequest* request : answered) request->answer({});
}

void PieceIntake::let_go(IncomingRequest* request) {
  {
    std::lock_guard lock(mutex_);
    if (std::erase_if(waiting_, [&](const auto& waits) { return waits.second == request; }) == 0) return;
  }
  request->answer({});
}

void PieceIntake::end(uint64_t step) {
  inbox_.end(step);
  let_go_of_all(step);
}

void PieceIntake::close() {
  inbox_.abort(UINT64_MAX);
  let_go_of_all(UINT64_MAX);
}

void PieceIntake::let_go_of_all(uint64_t step) {
  std::vector<std::pair<TaskId, IncomingRequest*>> waiting;
  {
    std::lock_guard lock(mutex_);
    for (auto part = parts_.begin(); part != parts_.end() && std::get<0>(part->first) <= step;) {
      part_bytes_ -= part->second->value.size_bytes();
      part = parts_.erase(part);
    }
    waiting.swap(waiting_);
  }
  for (const auto& [from, request] : waiting) request->answer({});
}

}  // namespace emplace
