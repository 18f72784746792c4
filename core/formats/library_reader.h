/// `library` of a graph file: FunctionDefLibrary (function.proto). Signatures are read before the nodes that may call
/// the functions are settled, bodies at the end.
#pragma once

#include "core/formats/load_context.h"

namespace emplace {

/// Takes the next value, the library: the signatures go into GraphFile::library.
void read_library_signatures(LoadContext& c);

/// Reads the bodies of the library at `position` as graphs: an _Arg node for each argument, the function's nodes, a
/// _Retval node for each result. REQUIRES: the signatures were read.
void read_library_bodies(LoadContext& c, size_t position);

}  // namespace emplace
