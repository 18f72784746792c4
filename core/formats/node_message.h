/// NodeMessage: a NodeDef in binary form, put together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/shape.h"
#include "core/formats/proto/wire_writer.h"
#include "core/tensor/tensor.h"

namespace emplace {

class NodeMessage {
 public:
  NodeMessage(std::string_view name, std::string_view op, std::string_view device = {});
  NodeMessage(const NodeMessage&) = delete;

  /// In a GraphDef's form: "node", "node:1", "^node".
  NodeMessage& input(std::string_view name);
  NodeMessage& type(std::string_view attr, DType value);
  NodeMessage& types(std::string_view attr, const std::vector<DType>& values);
  NodeMessage& integer(std::string_view attr, int64_t value);
  NodeMessage& text(std::string_view attr, std::string_view value);
  NodeMessage& shape(std::string_view attr, const Shape& value);
  NodeMessage& tensor(std::string_view attr, const Tensor& value);
  /// An attr as another node has it: the entry of its map.
  NodeMessage& entry(std::string_view bytes);

  std::string take() { return std::move(bytes_); }

 private:
  template <class F>
  NodeMessage& attr(std::string_view name, const F& write);

  std::string bytes_;
  proto::WireWriter writer_{bytes_};
};

/// A Const of that value.
std::string const_message(std::string_view name, const Tensor& value, std::string_view device = {});

/// As the message `field` of another one.
void write_shape_message(proto::WireWriter& writer, uint32_t field, const Shape& shape);
void write_tensor_message(proto::WireWriter& writer, uint32_t field, const Tensor& value);

}  // namespace emplace
