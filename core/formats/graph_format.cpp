#include "core/formats/graph_format.h"

namespace emplace {
namespace {

struct NamedFormat {
  std::string_view name;
  GraphFormat format;
};
constexpr NamedFormat kFormats[] = {{"json", GraphFormat::kJson},
                                    {"graphdef", GraphFormat::kGraphDef},
                                    {"metagraph", GraphFormat::kMetaGraph},
                                    {"savedmodel", GraphFormat::kSavedModel},
                                    {"onnx", GraphFormat::kOnnx}};

}  // namespace

std::optional<GraphFormat> parse_graph_format(std::string_view name) {
  for (const NamedFormat& f : kFormats) {
    if (f.name == name) return f.format;
  }
  return std::nullopt;
}

std::string_view graph_format_name(GraphFormat format) {
  for (const NamedFormat& f : kFormats) {
    if (f.format == format) return f.name;
  }
  return {};
}

}  // namespace emplace
