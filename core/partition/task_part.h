/// WholeProgram: a program that several tasks run together, and what one task runs of it. Nothing is sent to make that:
/// every task cuts the whole graph as all others do, and keeps its own part.
#pragma once

#include <string>

#include "core/graph/graph_file.h"
#include "core/partition/crossings.h"
#include "core/partition/program.h"

namespace emplace {

/// Never changed once it is made, so that parts may be made on several threads. A part takes time by its own size.
class WholeProgram {
 public:
  /// All but `whole` outlive it.
  WholeProgram(const GraphFile& file, const DeviceSet& devices, const TaskMap& tasks, Program whole);
  WholeProgram(const WholeProgram&) = delete;
  WholeProgram& operator=(const WholeProgram&) = delete;

  /// The instructions of `task`, in the order of the whole program, on its own devices by its own ids
  /// (devices_of_task()). A copy from or to another task is a kSend here and a kReceive there, under one number; so is
  /// a control edge between tasks. A loop is on every task that has a node of it, and one of its NextIterations tells
  /// all of them in each iteration whether there is another. Constants are not sent but made where they are read.
  /// Whoever runs its part in order waits only for what others do without waiting for it.
  ///
  /// Unimplemented, with the nodes and tasks: a variable that is used from another task.
  Result<Program> part_of(TaskId task) const;

  const Program program;
  const std::string hash;

 private:
  const GraphFile& file_;
  const TaskMap& tasks_;
  const Crossings crossings_;
};

/// SHA-256 of kind, node, device and operands of all instructions: equal where two tasks cut the same program.
std::string program_hash(const Graph& graph, const DeviceSet& devices, const Program& program);

}  // namespace emplace
