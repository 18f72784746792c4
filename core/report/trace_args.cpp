#include "core/report/trace_args.h"

#include "core/base/cat.h"

namespace emplace {

const std::string& TraceArgs::of(const LaunchedWork& work) {
  const auto [at, is_new] = words_.try_emplace(&work);
  if (is_new) at->second = words(work);
  return at->second;
}

std::string TraceArgs::words(const LaunchedWork& work) const {
  std::string text;
  JsonWriter json(text);
  json.begin_object().member("bytes", work.bytes);
  if (work.launches > 1) json.member("launches", work.launches);
  if (work.from != kNoDevice)
    write_copy(json, work);
  else if (work.nodes.size() == 1)
    write_node(json, work.nodes.front());
  else if (work.nodes.size() > 1)
    write_nodes(json, work);
  if (const std::optional<double> us = predicted_us(work)) json.member("predicted_us", *us);
  json.end_object();
  return text.substr(1, text.size() - 2);
}

void TraceArgs::write_node(JsonWriter& json, NodeId node) const {
  json.member("op", g_.op(node)).member("shapes", shapes_of(node));
  if (f_.placement) json.member("reason", reason_of(node));
  if (f_.origins && f_.origins->of(node) != Origins::kFile) json.member("origin", f_.origins->text(node));
}

void TraceArgs::write_nodes(JsonWriter& json, const LaunchedWork& work) const {
  const auto list = [&](std::string_view key, const auto& word_of) {
    json.key(key).begin_array();
    for (const NodeId node : work.nodes) json.value(word_of(node));
    json.end_array();
  };
  list("nodes", [&](NodeId node) { return g_.name(node); });
  list("ops", [&](NodeId node) { return g_.op(node); });
  list("shapes", [&](NodeId node) { return shapes_of(node); });
  if (f_.placement) list("reasons", [&](NodeId node) { return reason_of(node); });
}

/// A copy is there because its reader is where it is.
void TraceArgs::write_copy(JsonWriter& json, const LaunchedWork& work) const {
  json.member("kind", copy_kind_name(kind_of(work))).member("shapes", shapes_of(work.nodes.front()));
  if (work.reader == kNoNode) return;
  json.member("for", g_.name(work.reader));
  if (f_.placement) json.member("reason", reason_of(work.reader));
}

CopyKind TraceArgs::kind_of(const LaunchedWork& copy) const {
  const NodeId node = copy.nodes.front();
  if (g_.traits(node).placeholder || (f_.fed && (*f_.fed)[node])) return CopyKind::kFeed;
  const bool same = f_.placement && copy.reader != kNoNode && copy.peer == kNoTask &&
                    f_.placement->device(node) == f_.placement->device(copy.reader);
  return same ? CopyKind::kInside : CopyKind::kEdge;
}

std::string TraceArgs::shapes_of(NodeId node) const {
  std::string shapes;
  for (uint32_t slot = 0; slot < g_.num_outputs(node); ++slot)
    append(shapes, slot > 0 ? " " : "", g_.output_shape({node, slot}).to_string());
  return shapes;
}

std::string_view TraceArgs::reason_of(NodeId node) const { return reason_code(f_.placement->of(node).reason); }

/// Of several nodes, the sum, where all are known.
std::optional<double> TraceArgs::predicted_us(const LaunchedWork& work) const {
  if (!f_.costs || work.nodes.empty()) return {};
  if (work.from != kNoDevice) return f_.costs->copy_us(*f_.devices, work.from, work.device, work.bytes);
  double sum = 0;
  for (const NodeId node : work.nodes) {
    const std::optional<double> us = f_.costs->node_us(g_.name(node), *f_.devices, work.device);
    if (!us) return {};
    sum += *us;
  }
  return sum;
}

}  // namespace emplace
