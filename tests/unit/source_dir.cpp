// In a file of its own: the only one whose command line names the folder, so compiler caches work for all others.
#include "tests/unit/source_dir.h"

std::string source_dir() { return EMPLACE_SOURCE_DIR; }
