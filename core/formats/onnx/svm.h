/// The products and probabilities of ai.onnx.ml's support vector machines.
#pragma once

#include <vector>

#include "core/formats/onnx/block.h"

namespace emplace {

/// Most classes of which probabilities are made: the body of their loop has nodes for each.
inline constexpr int64_t kMostCoupledClasses = 64;

/// Pairs of classes in the order of their scores: (0,1), (0,2) ... (1,2) ...
std::vector<std::pair<int64_t, int64_t>> onnx_class_pairs(int64_t classes);

/// The node's kernel of x [N,C] and vectors [V,C], `vectors` being their numbers: [N,V].
Endpoint onnx_svm_kernel(OnnxBlock& b, Endpoint x, const std::vector<float>& vectors, int64_t count);

/// Chances [N,classes] from those of the first class of each pair [N,pairs], as LIBSVM couples them: a loop of at most
/// a hundred rounds that ends for a row when it has settled. REQUIRES: classes <= kMostCoupledClasses.
Endpoint onnx_coupled_chances(OnnxBlock& b, Endpoint of_pairs, int64_t classes);

}  // namespace emplace
