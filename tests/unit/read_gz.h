/// A gzip file of tests/data, unpacked.
#pragma once

#include <string>

/// `path` below tests/data. Fails the test if the file cannot be read.
std::string read_gz(const std::string& path);
