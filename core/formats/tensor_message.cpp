#include "core/formats/tensor_message.h"

#include "core/formats/wire_tensor.h"

namespace emplace {

Result<Tensor> tensor_of_message(std::string_view message) {
  // Of a text nothing is left in place.
  const auto source = std::make_shared<ProtoSource>(Source::from_text("", ""), GraphFormat::kGraphDef, false);
  const LoadOptions options;
  Problems problems;
  GraphFile file;
  file.source = source;
  JsonReader no_json({}, problems, file.graph.texts_.arena());
  LoadContext context{*source, options, problems, file, no_json, options.max_fill_bytes, false, false, nullptr};
  WireContext w{context, *source};
  std::optional<Tensor> tensor = read_wire_tensor(w, message);
  if (tensor) return std::move(*tensor);
  return invalid_argument(problems.empty() ? "a damaged tensor" : problems.list().front().message);
}

}  // namespace emplace
