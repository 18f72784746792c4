#include "core/formats/main_graph.h"

#include <algorithm>
#include <vector>

#include "core/base/cat.h"
#include "core/formats/proto/field_tables.h"

namespace emplace {
namespace {

using proto::number;
using proto::WireError;
using proto::WireReader;
using proto::WireType;

std::vector<std::string_view> tags_of(std::string_view meta_graph) {
  WireError ignored;
  std::vector<std::string_view> tags;
  for (WireReader reader(meta_graph, ignored); reader.next();) {
    if (!reader.is(number(proto::kMetaGraphDefFields, "meta_info_def"), WireType::kBytes)) continue;
    for (WireReader info(reader.bytes(), ignored); info.next();) {
      if (info.is(number(proto::kMetaGraphDefMetaInfoDefFields, "tags"), WireType::kBytes))
        tags.push_back(info.bytes());
    }
  }
  return tags;
}

std::string_view graph_of(const ProtoSource& source, std::string_view meta_graph, Problems& problems) {
  WireError error;
  const char* found = nullptr;
  std::string_view graph;
  for (WireReader reader(meta_graph, error); reader.next();) {
    if (!reader.is(number(proto::kMetaGraphDefFields, "graph_def"), WireType::kBytes)) continue;
    if (found) problems.add(source.position_of(reader.tag_at()), "a second graph in one MetaGraph");
    found = reader.tag_at();
    graph = reader.bytes();
  }
  if (error.failed()) {
    problems.add(source.position_of(error.at), std::move(error.message));
  } else if (!found) {
    problems.add(kNoPosition, "a MetaGraph without a graph");
  }
  return graph;
}

std::string_view serving_graph(const ProtoSource& source, Problems& problems) {
  WireError error;
  std::vector<std::string_view> meta_graphs;
  for (WireReader reader(source.wire(), error); reader.next();) {
    if (reader.is(number(proto::kSavedModelFields, "meta_graphs"), WireType::kBytes))
      meta_graphs.push_back(reader.bytes());
  }
  if (error.failed()) return problems.add(source.position_of(error.at), std::move(error.message)), std::string_view();
  std::string all;
  for (std::string_view meta_graph : meta_graphs) {
    const std::vector<std::string_view> tags = tags_of(meta_graph);
    if (meta_graphs.size() == 1 || (tags.size() == 1 && tags[0] == "serve"))
      return graph_of(source, meta_graph, problems);
    all += all.empty() ? "" : "; ";
    for (size_t i = 0; i < tags.size(); ++i) append(all, i > 0 ? "," : "", tags[i]);
  }
  problems.add(kNoPosition, all.empty()
                                ? std::string("a SavedModel without a graph")
                                : cat("a SavedModel of several graphs and none is tagged serve; there are: ", all));
  return {};
}

}  // namespace

std::string_view main_graph(const ProtoSource& source, Problems& problems) {
  switch (source.format()) {
    case GraphFormat::kMetaGraph:
      return graph_of(source, source.wire(), problems);
    case GraphFormat::kSavedModel:
      return serving_graph(source, problems);
    default:
      return source.wire();
  }
}

}  // namespace emplace
