/// The top folder of the tree, for tests that read tests/data.
#pragma once

#include <string>

std::string source_dir();
