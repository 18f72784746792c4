/// The problem of automatic placement as plain numbers: nodes in groups, what they cost where, what tensors cross, and
/// the machine. Nothing here knows of graphs or files. Times are microseconds, memory is bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace emplace::autoplace {

inline constexpr double kNever = std::numeric_limits<double>::infinity();
/// Sets of devices are bits of one word.
inline constexpr size_t kMaxDevices = 64;

enum class Goal : uint8_t { kLatency, kThroughput };

/// Where groups are: a device for each.
using Assignment = std::vector<uint16_t>;

struct Machine {
  struct Unit {
    bool gpu = false;
    int lanes = 1;             // nodes at a time; 0: without limit
    bool copy_overlap = true;  // of a GPU: copies run beside compute; else they take its lane
    double memory = 0;         // 0: without limit
  };
  struct Line {
    double latency_us = 0, us_per_byte = 0;
    bool direct = true;  // false: through the host's memory, in two copies
  };
  std::vector<Unit> units;
  std::vector<Line> lines;  // from * units.size() + to
  int threads = 0;          // that all devices share: at most so many nodes and copies at once; 0: no such limit
  uint16_t host = 0;        // the CPU beside which host arguments of GPU kernels live

  size_t size() const { return units.size(); }
  const Line& line(size_t from, size_t to) const { return lines[from * units.size() + to]; }
  /// The device in whose memory a value is that a kernel on `device` has; `host`: in host memory if that is a GPU.
  uint16_t memory_of(uint16_t device, bool host_value) const { return host_value && units[device].gpu ? host : device; }
};

/// Lists of different lengths, one after the other.
template <class T>
class Rows {
 public:
  Rows() = default;
  /// `row_of(i)`: which row item i belongs to; items keep their order.
  template <class RowOf>
  Rows(size_t rows, const std::vector<T>& items, const RowOf& row_of) : first_(rows + 1), items_(items.size()) {
    for (size_t i = 0; i < items.size(); ++i) ++first_[row_of(i) + 1];
    for (size_t r = 0; r < rows; ++r) first_[r + 1] += first_[r];
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (size_t i = 0; i < items.size(); ++i) items_[next[row_of(i)]++] = items[i];
  }
  std::span<const T> of(size_t row) const { return {items_.data() + first_[row], first_[row + 1] - first_[row]}; }

 private:
  std::vector<uint32_t> first_{0};
  std::vector<T> items_;
};

struct TensorFact {
  uint32_t node = 0;  // that makes it
  double bytes = 0;
  bool host_on_gpu = false;  // a kernel on a GPU leaves it in host memory
  double split_us = 0;       // more for who makes it if it is read elsewhere: it runs as one with its readers
};
/// An input of a node.
struct Use {
  uint32_t node = 0, tensor = 0;
  bool host_on_gpu = false;  // a kernel on a GPU wants it in host memory
};

struct Problem {
  // As given. Nodes are numbered so that who makes a tensor comes before who reads it.
  Machine machine;
  Goal goal = Goal::kLatency;
  uint32_t num_nodes = 0, num_groups = 0;
  std::vector<uint32_t> group;       // by node
  std::vector<double> us;            // node * devices + device; kNever: not known, or cannot be there
  std::vector<double> memory;        // group * devices + device
  std::vector<uint64_t> candidates;  // by group, a bit for each device; at least one
  Assignment original;               // TensorFlow's
  std::vector<uint32_t> scope;       // by node: the innermost scope of its name; empty: names tell nothing
  std::vector<uint32_t> around;      // by scope: the one around it; its own number: there is none
  std::vector<TensorFact> tensors;
  std::vector<Use> uses;

  // Made by finish().
  Rows<Use> inputs, readers;           // by node; by tensor
  Rows<uint32_t> outputs, members;     // tensors by node; nodes by group
  Rows<uint32_t> neighbours;           // by group
  std::vector<double> group_us;        // group * devices + device
  std::vector<uint32_t> free_groups;   // with more than one candidate
  std::vector<uint16_t> device_class;  // devices that can change places have one number: that of the first
  Rows<uint32_t> touching;             // tensors that a group makes or reads, each once

  /// REQUIRES: what is given is consistent. Drops uses that say the same twice.
  void finish();

  size_t devices() const { return machine.size(); }
  double node_us(uint32_t node, uint16_t device) const { return us[node * devices() + device]; }
  double group_us_on(uint32_t g, uint16_t device) const { return group_us[g * devices() + device]; }
  double group_memory(uint32_t g, uint16_t device) const { return memory[g * devices() + device]; }
  bool can_be(uint32_t g, uint16_t device) const { return candidates[g] >> device & 1; }
  /// One copy over a line.
  double copy_us(uint32_t tensor, size_t from, size_t to) const {
    const Machine::Line& line = machine.line(from, to);
    return line.latency_us + tensors[tensor].bytes * line.us_per_byte;
  }
  /// From memory to memory, the way there in one or two copies.
  double way_us(uint32_t tensor, size_t from, size_t to) const {
    if (from == to) return 0;
    if (machine.line(from, to).direct) return copy_us(tensor, from, to);
    return copy_us(tensor, from, machine.host) + copy_us(tensor, machine.host, to);
  }
  uint16_t made_in(uint32_t tensor, uint16_t device) const {
    return machine.memory_of(device, tensors[tensor].host_on_gpu);
  }
  bool fits(const Assignment& at) const;
  /// Bytes on a device, by the groups there.
  double memory_used(const Assignment& at, uint16_t device) const;
};

/// Numbers that look random, the same for one seed on every machine.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 0x1234567U) {}
  uint64_t next();
  /// In [0, n). REQUIRES: n > 0.
  uint32_t below(uint32_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }
  /// In [0, 1).
  double share() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace emplace::autoplace
