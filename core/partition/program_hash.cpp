// Part of core/partition/task_part.h: what a program is, in 64 digits.
#include "core/base/sha256.h"
#include "core/partition/task_part.h"

namespace emplace {
namespace {

// Collects numbers and texts, which the hash gets in large pieces.
class HashedText {
 public:
  void add(uint64_t number) {
    char bytes[sizeof number];
    for (char& byte : bytes) {
      byte = static_cast<char>(number & 0xff);
      number >>= 8;
    }
    add_bytes({bytes, sizeof bytes});
  }
  void add(std::string_view text) {
    add(uint64_t{text.size()});
    add_bytes(text);
  }
  std::string finish() {
    hash_.update(buffer_);
    return hash_.finish();
  }

 private:
  void add_bytes(std::string_view bytes) {
    constexpr size_t kPiece = 64 << 10;
    buffer_.append(bytes);
    if (buffer_.size() < kPiece) return;
    hash_.update(buffer_);
    buffer_.clear();
  }

  Sha256 hash_;
  std::string buffer_;
};

}  // namespace

std::string program_hash(const Graph& graph, const DeviceSet& devices, const Program& program) {
  HashedText text;
  for (const Device& d : devices.devices) text.add(d.name);
  for (const Instruction& s : program.instructions) {
    text.add(static_cast<uint64_t>(s.kind) | uint64_t{s.may_be_dead} << 8 | uint64_t{s.device} << 16 |
             uint64_t{s.num_inputs} << 32);
    text.add(s.node == kNoNode ? std::string_view() : graph.name(s.node));
    for (const ValueId v : program.inputs(s)) text.add(uint64_t{v});
    for (const ValueId v : program.outputs(s))
      text.add(uint64_t{v} | uint64_t{program.values[v].home} << 32 |
               static_cast<uint64_t>(program.values[v].dtype) << 48);
    for (const InstructionId c : program.controls_of(s)) text.add(uint64_t{c});
  }
  for (const ValueId v : program.feeds) text.add(uint64_t{v});
  for (const ValueId v : program.fetches) text.add(uint64_t{v});
  return text.finish();
}

}  // namespace emplace
