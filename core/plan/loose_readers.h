/// LooseReaders: can all who read a constant read it where its file has it, at whatever address?
#pragma once

#include <cstdint>
#include <vector>

#include "core/device/device.h"
#include "core/graph/graph.h"
#include "core/partition/program.h"

namespace emplace {

/// Looks at the program when it is first asked. Not thread-safe.
class LooseReaders {
 public:
  LooseReaders(const Graph& graph, const DeviceSet& devices, const Program& program)
      : graph_(graph), devices_(devices), program_(program) {}

  /// Everybody who reads value `v`, through Identity and its like, too: kernels that read_loose(), and copies to other
  /// memories, which take bytes.
  bool all_of(ValueId v);

 private:
  struct Reader {
    InstructionId instruction;
    uint32_t input;
  };
  void find_readers();
  bool reads(const Reader& reader);

  const Graph& graph_;
  const DeviceSet& devices_;
  const Program& program_;
  std::vector<uint32_t> first_;  // by value, into readers_; one more than there are values
  std::vector<Reader> readers_;
  std::vector<char> is_fetched_;  // by value
};

}  // namespace emplace
