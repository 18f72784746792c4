/// ProtoSource: a file that holds a protobuf message, in binary or as text: GraphDef, MetaGraphDef or SavedModel; in
/// binary ONNX's ModelProto.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/graph_format.h"
#include "core/formats/proto/text_reader.h"
#include "core/formats/proto/wire_reader.h"
#include "core/graph/source.h"

namespace emplace {

class ProtoSource final : public Source {
 public:
  /// Reads a text at once; what is wrong with it is in text_problems().
  ProtoSource(std::shared_ptr<const Source> file, GraphFormat format, bool binary, std::vector<std::string> tags = {});

  GraphFormat format() const { return format_; }
  /// Of the MetaGraph that is wanted of a SavedModel; empty: the one for serving.
  const std::vector<std::string>& tags() const { return tags_; }
  /// The message in binary form: the file's own bytes, or what its text says.
  std::string_view wire() const { return wire_; }
  /// Where a byte of wire() stands in the file; kNoPosition for any other byte.
  int64_t position_of(const char* in_wire) const;
  const Problems& text_problems() const { return text_problems_; }
  /// What was made of the file and must live as long as it: called while the file is loaded, by one thread.
  void keep(std::shared_ptr<const Source> made) const { made_.push_back(std::move(made)); }

  void forget(size_t begin, size_t end) const override { file_->forget(begin, end); }
  bool binary() const override { return binary_; }
  /// "node 'conv1' (number 17), attr 'shape'": what stands around a byte of a binary file; empty: nothing with a name.
  std::string context(size_t offset) const override;

 private:
  std::shared_ptr<const Source> file_;
  GraphFormat format_;
  bool binary_;
  std::vector<std::string> tags_;
  std::string text_wire_;
  std::string_view wire_;
  proto::TextPositions text_positions_;
  Problems text_problems_;
  mutable std::vector<std::shared_ptr<const Source>> made_;
};

proto::Message message_of(GraphFormat format);

}  // namespace emplace
