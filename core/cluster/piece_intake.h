/// PieceIntake: what tasks push to one task's part of a session, on its way into the inbox: chunks are put together,
/// and who runs ahead in a loop is answered once there is room.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "core/cluster/inbox.h"
#include "core/cluster/protocol.h"
#include "core/cluster/transport.h"

namespace emplace {

/// Thread-safe.
class PieceIntake {
 public:
  /// `tasks`: how many there are in the session.
  explicit PieceIntake(size_t tasks) : tasks_(tasks) {}
  ~PieceIntake();

  Inbox& inbox() { return inbox_; }

  /// Files what has come. InvalidArgument: no such task, or a chunk that is part of nothing; ResourceExhausted.
  Status take(message::PushMessage push);
  /// Answers a request that brought pieces, which was taken: now, or, of a loop, once there is room.
  void answer(IncomingRequest* request, uint64_t step, uint32_t from, bool of_loop);
  /// Something was taken from the inbox.
  void taken();
  /// Answers it now, if it waits here.
  void let_go(IncomingRequest* request);
  /// Forgets what has come of this step, and those before; all are answered.
  void end(uint64_t step);
  /// No step begins any longer.
  void close();

  /// Of tensors whose chunks have not all come: who says that much more will come is refused.
  static constexpr size_t kMostPartBytes = size_t{4} << 30;

 private:
  using Key = std::tuple<uint64_t, uint32_t, uint64_t>;  // step, copy, iteration
  /// A tensor whose chunks have not all come.
  struct Part {
    Tensor value;
    std::vector<bool> here;  // by chunk
    size_t left;             // chunks that are not copied yet
  };

  void let_go_of_all(uint64_t step);
  Status take_chunk(uint64_t step, TaskId from, const message::ChunkMessage& chunk);
  /// With mutex_ held. Null: it was here before, or its step is over.
  Result<std::shared_ptr<Part>> part_of(const Key& key, const message::ChunkMessage& chunk);

  Inbox inbox_;
  const size_t tasks_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<Key, std::shared_ptr<Part>> parts_;
  size_t part_bytes_ = 0;
  std::vector<std::pair<TaskId, IncomingRequest*>> waiting_;
};

}  // namespace emplace
