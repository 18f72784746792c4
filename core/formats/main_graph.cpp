#include "core/formats/main_graph.h"

#include <set>
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

std::string text_of_tags(const std::vector<std::string_view>& tags) {
  std::string out;
  for (std::string_view tag : tags) append(out, out.empty() ? "" : ",", tag);
  return out;
}

/// The MetaGraph of a SavedModel whose tags are those wanted, or by default `serve`, or the only one.
std::string_view chosen_meta_graph(const ProtoSource& source, Problems& problems) {
  WireError error;
  const std::set<std::string_view> wanted(source.tags().begin(), source.tags().end());
  std::vector<std::string_view> meta_graphs;
  for (WireReader reader(source.wire(), error); reader.next();) {
    if (reader.is(number(proto::kSavedModelFields, "meta_graphs"), WireType::kBytes))
      meta_graphs.push_back(reader.bytes());
  }
  if (error.failed()) return problems.add(source.position_of(error.at), std::move(error.message)), std::string_view();
  std::string all;
  for (std::string_view meta_graph : meta_graphs) {
    const std::vector<std::string_view> tags = tags_of(meta_graph);
    const bool by_default = meta_graphs.size() == 1 || (tags.size() == 1 && tags[0] == "serve");
    if (wanted.empty() ? by_default : std::set<std::string_view>(tags.begin(), tags.end()) == wanted) return meta_graph;
    append(all, all.empty() ? "" : "; ", text_of_tags(tags));
  }
  const std::string found = wanted.empty() ? "several graphs and none is tagged serve"
                                           : cat("no graph tagged ", text_of_tags({wanted.begin(), wanted.end()}));
  problems.add(
      kNoPosition,
      meta_graphs.empty() ? "a SavedModel without a graph" : cat("a SavedModel of ", found, "; there are: ", all),
      meta_graphs.empty() ? "" : "choose one: --tags TAG,TAG");
  return {};
}

}  // namespace

std::string_view main_graph(const ProtoSource& source, Problems& problems) {
  switch (source.format()) {
    case GraphFormat::kMetaGraph:
    case GraphFormat::kSavedModel: {
      const std::string_view meta_graph = main_meta_graph(source, problems);
      return problems.empty() ? graph_of(source, meta_graph, problems) : std::string_view();
    }
    default:
      return source.wire();
  }
}

std::string_view main_meta_graph(const ProtoSource& source, Problems& problems) {
  if (source.format() == GraphFormat::kSavedModel) return chosen_meta_graph(source, problems);
  return source.format() == GraphFormat::kMetaGraph ? source.wire() : std::string_view();
}

}  // namespace emplace
