/// What the type of a node says about containers and where they live: datasets, lists of tensors, optionals
/// (colocation_graph.cc, and the types that TensorFlow's ops declare).
#pragma once

#include "core/graph/graph.h"

namespace emplace {

/// One output, DT_VARIANT, and a name such as MapDataset or ParallelMapDatasetV2.
bool is_dataset_op(const NodeType& type);
/// The op declares that its output lives in host memory: datasets, MutexLock, containers of strings.
bool declares_host_output(const NodeType& type);

enum class ListMemory { kUndecided, kHost, kDevice };
/// What a TensorList op says about the memory of its list; kUndecided for other ops and for lists of variants.
ListMemory tensor_list_memory(const NodeType& type);

}  // namespace emplace
