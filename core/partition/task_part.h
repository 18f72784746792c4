/// part_of(): what one task runs of a program that several tasks run together. Nothing is sent to make it: every task
/// cuts the whole graph as all others do, and keeps its own part.
#pragma once

#include "core/graph/graph_file.h"
#include "core/partition/program.h"

namespace emplace {

/// The instructions of `task`, in the order of the whole program, on its own devices by its own ids
/// (devices_of_task()). A copy from or to another task is a kSend here and a kReceive there, under one number; so is a
/// control edge between tasks. A loop is on every task that has a node of it, and one of its NextIterations tells all
/// of them in each iteration whether there is another. Constants are not sent but made where they are read. Whoever
/// runs its part in order waits only for what others do without waiting for it.
///
/// Unimplemented, with the nodes and tasks: a variable that is used from another task.
Result<Program> part_of(const GraphFile& file, const Program& whole, const TaskMap& tasks, TaskId task);

/// SHA-256 of kind, node, device and operands of all instructions: equal where two tasks cut the same program.
std::string program_hash(const Graph& graph, const DeviceSet& devices, const Program& program);

}  // namespace emplace
