/// Which cards the plug-in's kernels were compiled for.
#pragma once

#include <string>
#include <string_view>

namespace emplace::cuda {

/// Does code for `targets` run on a card of this compute capability? They are written as CMAKE_CUDA_ARCHITECTURES is,
/// with commas: "75-virtual,90-real". Machine code ("real") runs on cards of its generation that are not older than it,
/// virtual code on every card that is not; without either word it is both. "90a" is for 9.0 alone.
bool targets_fit(std::string_view targets, int major, int minor);
/// For messages: "7.5 and newer, 9.0".
std::string targets_text(std::string_view targets);
/// What this plug-in was compiled for.
std::string_view built_targets();

}  // namespace emplace::cuda
