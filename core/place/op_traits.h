/// What TensorFlow's placer knows about single ops by name (colocation_graph.cc, placer.cc, and the types that
/// ops declare for what lives in host memory).
#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace emplace {

/// Shape, Size, Rank: placed with their input.
bool is_metadata_op(std::string_view op);
/// Identity, RefIdentity: placed with their source where nothing speaks against it.
bool is_identity_op(std::string_view op);
/// A reference or resource input does not tie this op to its source.
bool is_exempt_from_resource_colocation(std::string_view op);
/// One output, DT_VARIANT, and a name such as MapDataset or ParallelMapDatasetV2.
bool is_dataset_op(const NodeType& type);
/// Identity, Switch, Merge, Enter, Exit, NextIteration, SymbolicGradient: they pass on where their input lives.
bool passes_host_memory_on(std::string_view op);
/// The op declares that its output lives in host memory: datasets, MutexLock, containers of strings.
bool declares_host_output(const NodeType& type);

enum class ListMemory { kUndecided, kHost, kDevice };
/// What a TensorList op says about the memory of its list; kUndecided for other ops and for lists of variants.
ListMemory tensor_list_memory(const NodeType& type);

}  // namespace emplace
