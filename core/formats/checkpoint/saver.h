/// Which tensors of a checkpoint a graph's saver gives to which variables and tables: read off the graph, without
/// running it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/checkpoint/bundle.h"
#include "core/graph/graph_file.h"

namespace emplace {

/// A tensor of a checkpoint, or a part of one.
struct SavedTensor {
  std::string key;
  TensorSlice slice;
};

/// Variables that an assignment of what RestoreV2 reads sets, by their nodes' names: in the graph itself (TF1) or in
/// the function that one of its nodes calls (TF2); and what stands for the same object of Python.
std::map<std::string, SavedTensor, std::less<>> saver_of(const GraphFile& file);

/// A table and what its keys and values are restored from.
struct SavedTable {
  std::string node;
  SavedTensor keys, values;
};

/// The tables of the main graph that the saver fills.
std::vector<SavedTable> saved_tables(const GraphFile& file);

/// Does the saver restore what saver_of() does not name: the contents of tables? Then its nodes have to run.
bool restores_more_than_variables(const GraphFile& file);

/// "5 3 0,3:-": the sizes of the whole, then of each dimension where the part begins and how long it is, or all of it.
/// "": the whole. Nothing if the text is none of these.
std::optional<TensorSlice> parse_slice(std::string_view text);

}  // namespace emplace
