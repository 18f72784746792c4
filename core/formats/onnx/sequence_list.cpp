#include "core/formats/onnx/sequence_list.h"

#include "core/base/cat.h"
#include "core/formats/onnx/body_graph.h"

namespace emplace {
namespace {

Endpoint empty_list(OnnxBlock& b, DType type) {
  return b.make("EmptyTensorList", {b.int32(-1), b.int32(-1)}, {{"element_dtype", attr_of(type)}});
}

/// The steps go on while the counter is below the count.
std::string below_count(OnnxBlock& b, const Endpoints& inputs) {
  Endpoints none, arguments;
  OnnxFunctionMaker maker(b, none);
  for (Endpoint e : inputs) arguments.push_back(maker.argument(b.type(e), Shape::unknown()));
  const Endpoints more = maker.build([&](OnnxBlock& in) {
    return Endpoints{in.make("Less", {arguments[0], arguments[1]})};
  });
  return maker.finish(cat(b.prefix(), "_cond"), more, false);
}

}  // namespace

Endpoint onnx_element_shape(OnnxBlock& b, const Shape& element) {
  return element.rank_known() ? b.ints32(Ints(element.dims().begin(), element.dims().end())) : b.int32(-1);
}

Endpoint onnx_pushed(OnnxBlock& b, Endpoint list, Endpoint value) {
  return b.make("TensorListPushBack", {list, value});
}

Endpoint onnx_list(OnnxBlock& b, const OnnxSequence& s, DType type) {
  if (s.is_list()) return s.list;
  Endpoint list = empty_list(b, type);
  for (Endpoint e : s.tensors) list = onnx_pushed(b, list, e);
  return list;
}

OnnxSequence onnx_sequence_of(OnnxBlock& b, const OnnxValue& value) {
  if (value.sequence) return *value.sequence;
  OnnxSequence s{.tensors = {value.tensor}, .type = b.type(value.tensor), .element = b.shape(value.tensor)};
  s.optional_tensor = true;
  return s;
}

Endpoint onnx_list_length(OnnxBlock& b, Endpoint list) {
  return b.cast(b.make("TensorListLength", {list}), DType::kInt64);
}

Endpoint onnx_list_item(OnnxBlock& b, Endpoint list, Endpoint i, DType type, const Shape& element) {
  const Endpoint at = b.cast(i, DType::kInt32);
  return b.make("TensorListGetItem", {list, at, onnx_element_shape(b, element)}, {{"element_dtype", attr_of(type)}});
}

Endpoints onnx_stepped(
    OnnxBlock& b, Endpoint count, const Endpoints& states,
    const std::function<Endpoints(OnnxBlock&, Endpoint, const Endpoints&, const OnnxOutside&)>& step) {
  if (b.failed()) return {};
  Endpoints captures, arguments;
  OnnxFunctionMaker maker(b, captures);
  const Endpoint i = maker.argument(DType::kInt64, Shape{}), most = maker.argument(DType::kInt64, Shape{});
  for (Endpoint e : states) arguments.push_back(maker.argument(b.type(e), b.shape(e)));
  const OnnxOutside outside = [&](Endpoint e) { return maker.body().capture(e, b.frame().body()); };
  const Endpoints results = maker.build([&](OnnxBlock& in) {
    Endpoints all{in.add(i, in.int64(1)), most};
    const Endpoints next = step(in, i, arguments, outside);
    all.insert(all.end(), next.begin(), next.end());
    return all;
  });
  const std::string body = maker.finish(cat(b.prefix(), "_body"), results, true);
  if (b.failed()) return {};
  Endpoints inputs{b.int64(0), count};
  inputs.insert(inputs.end(), states.begin(), states.end());
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  const std::string condition = below_count(b, inputs);
  Endpoints all = b.make_many("StatelessWhile", inputs, inputs.size(),
                              {{"cond", function_attr(condition)}, {"body", function_attr(body)}});
  return Endpoints(all.begin() + 2, all.begin() + 2 + static_cast<std::ptrdiff_t>(states.size()));
}

Endpoint onnx_mapped_list(OnnxBlock& b, Endpoint count, DType type,
                          const std::function<Endpoint(OnnxBlock&, Endpoint, const OnnxOutside&)>& make) {
  const Endpoints made =
      onnx_stepped(b, count, {empty_list(b, type)},
                   [&](OnnxBlock& in, Endpoint i, const Endpoints& list, const OnnxOutside& outside) {
                     return Endpoints{onnx_pushed(in, list[0], make(in, i, outside))};
                   });
  return b.failed() ? Endpoint{} : made[0];
}

OnnxSequenceParts onnx_parts(OnnxBlock& b, const OnnxSequence& s) {
  const Shape flat{-1};
  const auto size_list = [](OnnxBlock& in, Endpoint e) {
    return in.make("Shape", {e}, {{"out_type", attr_of(DType::kInt64)}});
  };
  const auto joined = [&](Endpoint list, DType type) {
    return b.make_many("TensorListConcatV2", {list, onnx_element_shape(b, flat), b.ints({})}, 2,
                       {{"element_dtype", attr_of(type)}, {"shape_type", attr_of(DType::kInt32)}});
  };
  Endpoint values, sizes;
  if (s.is_list()) {
    const Endpoint count = onnx_list_length(b, s.list);
    values = onnx_mapped_list(b, count, s.type, [&](OnnxBlock& in, Endpoint i, const OnnxOutside& outside) {
      return in.reshape(onnx_list_item(in, outside(s.list), i, s.type, s.element), {-1});
    });
    sizes = onnx_mapped_list(b, count, DType::kInt64, [&](OnnxBlock& in, Endpoint i, const OnnxOutside& outside) {
      return size_list(in, onnx_list_item(in, outside(s.list), i, s.type, s.element));
    });
  } else {
    values = empty_list(b, s.type), sizes = empty_list(b, DType::kInt64);
    for (Endpoint e : s.tensors)
      values = onnx_pushed(b, values, b.reshape(e, {-1})), sizes = onnx_pushed(b, sizes, size_list(b, e));
  }
  const Endpoint all = joined(values, s.type)[0];
  const Endpoints shapes = joined(sizes, DType::kInt64);
  return {all, shapes[0], shapes[1]};
}

OnnxSequence onnx_sequence_of_parts(OnnxBlock& b, const OnnxSequenceParts& parts, const Shape& element) {
  const Shape flat{-1};
  const DType type = b.type(parts.values);
  OnnxSequence s{.type = type, .element = element};
  const auto split = [&](Endpoint from, Endpoint lengths) {
    return b.make("TensorListSplit", {from, onnx_element_shape(b, flat), lengths});
  };
  if (element.rank_known() && element.rank() == 1) {
    s.list = split(parts.values, parts.sizes);
    return s;
  }
  const Endpoint shapes = split(parts.sizes, parts.ranks);
  const Endpoint count = b.make("Size", {parts.ranks}, {{"out_type", attr_of(DType::kInt64)}});
  const auto shape_at = [&](OnnxBlock& in, Endpoint i, const OnnxOutside& outside) {
    return onnx_list_item(in, outside(shapes), i, DType::kInt64, flat);
  };
  const Endpoint lengths =
      onnx_mapped_list(b, count, DType::kInt64, [&](OnnxBlock& in, Endpoint i, const OnnxOutside& outside) {
        return in.reduce("Prod", shape_at(in, i, outside), {0}, false);
      });
  const Endpoint counts =
      b.make("TensorListStack", {lengths, onnx_element_shape(b, Shape{})}, {{"element_dtype", attr_of(DType::kInt64)}});
  const Endpoint pieces = split(parts.values, counts);
  s.list = onnx_mapped_list(b, count, type, [&](OnnxBlock& in, Endpoint i, const OnnxOutside& outside) {
    return in.reshape_to(onnx_list_item(in, outside(pieces), i, type, flat), shape_at(in, i, outside));
  });
  return s;
}

}  // namespace emplace
