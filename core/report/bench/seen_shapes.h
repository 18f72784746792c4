/// SeenShapes: what shapes tensors had in a step, for graphs that leave some open, such as the size of a batch.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "core/base/shape.h"
#include "core/run/observer.h"

namespace emplace {

/// Of the last time that a tensor was there.
class SeenShapes final : public RunObserver {
 public:
  bool needs_values() const override { return false; }
  Status finished(const ObservedInstruction& what, std::span<const Tensor> outputs) override {
    if (!looks_ || what.is_copy()) return ok_status();
    for (uint32_t slot = 0; slot < outputs.size(); ++slot) see({what.node, slot}, outputs[slot]);
    return ok_status();
  }
  /// Steps that are timed come from here on.
  void stop_looking() { looks_ = false; }
  /// For tensors that no node makes, but are fed.
  void see(Endpoint tensor, const Tensor& value) {
    if (value.valid()) shapes_.insert_or_assign(key_of(tensor), value.shape());
  }
  /// Null if it was not seen.
  const Shape* find(Endpoint tensor) const {
    const auto at = shapes_.find(key_of(tensor));
    return at == shapes_.end() ? nullptr : &at->second;
  }

 private:
  static uint64_t key_of(Endpoint e) { return uint64_t{e.node} << 32 | e.slot; }

  std::unordered_map<uint64_t, Shape> shapes_;
  bool looks_ = true;
};

}  // namespace emplace
