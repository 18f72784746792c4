/// What ops of ai.onnx.ml share: their lists of numbers, the labels of classes, and what becomes of scores. Where ONNX
/// says little of them, this is what ONNX Runtime does.
#pragma once

#include <optional>
#include <vector>

#include "core/formats/onnx/block.h"

namespace emplace {

/// A list of floats; none if the node has no such attribute.
std::optional<std::vector<float>> onnx_floats(OnnxBlock& b, std::string_view name);
/// The same as a vector.
std::optional<Endpoint> onnx_float_list(OnnxBlock& b, std::string_view name);
/// A list of strings as a vector.
std::optional<Endpoint> onnx_string_list(OnnxBlock& b, std::string_view name);
/// The first input as float32 [N,count]; fails where it has another number of features.
Endpoint onnx_features(OnnxBlock& b, int64_t count);

/// Labels of the classes, `ints` or `strings` being the attributes that may have them; none, and the block fails, if
/// there are none.
std::optional<Endpoint> onnx_class_labels(OnnxBlock& b, std::string_view ints, std::string_view strings);
/// The label at each of these places.
Endpoint onnx_labels_at(OnnxBlock& b, Endpoint labels, Endpoint places);
/// Where an element stands in a list: is it there at all, and the first such place. NaN is equal to itself from version
/// 4 on.
struct OnnxListPlace {
  Endpoint found, place;
};
OnnxListPlace onnx_find_in_list(OnnxBlock& b, Endpoint element, Endpoint keys);
/// The column of each row's greatest score.
Endpoint onnx_best_column(OnnxBlock& b, Endpoint scores);

/// [N,C] after the node's post_transform.
Endpoint onnx_transformed_scores(OnnxBlock& b, Endpoint scores);
/// The same by the number of the transformation: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT.
Endpoint onnx_transformed_scores(OnnxBlock& b, Endpoint scores, int64_t how);
/// The same of [N,count] that are no classes: a single one stays as it is, unless it is PROBIT.
Endpoint onnx_transformed_target(OnnxBlock& b, Endpoint scores, int64_t count);
/// Of one score [N,1] of two classes those of both.
Endpoint onnx_scores_of_two(OnnxBlock& b, Endpoint score);

}  // namespace emplace
