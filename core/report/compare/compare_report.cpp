#include "core/report/compare/compare_report.h"

#include <algorithm>
#include <cstdio>

#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/base/schema.h"
#include "core/base/units.h"

namespace emplace {
namespace {

/// Two or three digits that count.
std::string brief(double v) {
  char text[32];
  std::snprintf(text, sizeof(text), v != 0 && (v < 0.1 || v >= 1e7) ? "%.1e" : v < 100 ? "%.3g" : "%.0f", v);
  return text;
}

/// "layer3/softmax (Softmax, GPU:0)"; of an output that is not the first, its number.
std::string node_label(const CompareReport& r, const OutputDifference& d) {
  const Graph& g = *r.graph;
  std::string text(g.name(d.tensor.node));
  if (d.tensor.slot > 0) append(text, ':', d.tensor.slot);
  append(text, " (", g.op(d.tensor.node));
  if (!r.device_of_b.empty() && !r.device_of_b[d.tensor.node].empty()) append(text, ", ", r.device_of_b[d.tensor.node]);
  append(text, ")");
  if (d.is_state) append(text, ", its value after the last step");
  if (d.time > 0) append(text, ", run ", d.time + 1);
  return text;
}

std::string elements_text(const TensorDifference& d) {
  if (!d.misfit.empty()) return d.misfit;
  return cat(d.beyond > 0 ? d.beyond : d.unequal, " of ", d.elements, " elements differ, worst at ", d.worst_at, ": ",
             d.worst_a, " and ", d.worst_b);
}

std::string inputs_text(const CompareReport& r, const OutputDifference& d) {
  if (r.devices == nullptr) return {};
  if (d.is_state) return {};
  if (!r.flow) return " | inputs: A's on both sides";
  if (d.input_ulp == 0) return " | its inputs are the same";
  return cat(" | its inputs are up to ", brief(d.input_ulp), " ulp apart");
}

std::string first_text(const CompareReport& r) {
  const OutputDifference& first = r.found->different.front();
  const TensorDifference& d = first.difference;
  std::string text = cat("first divergence: ", node_label(r, first), ", node ", first.order + 1, " of ", r.nodes,
                         " in order: ", elements_text(d), "\n");
  if (d.misfit.empty()) {
    append(text, "  ulp: max ", brief(d.max_ulp), ", mean ", brief(d.mean_ulp), ", p99 ", brief(d.p99_ulp),
           " | relative: max ", brief(d.max_relative), " (allowed ", brief(r.tolerance.relative), ") | NaN ", d.nan_a,
           " and ", d.nan_b, inputs_text(r, first), "\n");
  }
  if (!r.saved.empty())
    append(text, "  saved: ", printable(r.saved), ": ", printable(r.saved_command), " shows it alone\n");
  return text;
}

/// All that are not the same, the largest distance first.
std::vector<const OutputDifference*> ranked(const CompareReport& r) {
  std::vector<const OutputDifference*> rows;
  for (const OutputDifference& d : r.found->different) rows.push_back(&d);
  for (const OutputDifference& d : r.found->within) {
    if (r.found->verdicts[d.tensor.node] == NodeVerdict::kWithin) rows.push_back(&d);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const OutputDifference* x, const OutputDifference* y) {
    const bool misfit_x = !x->difference.misfit.empty(), misfit_y = !y->difference.misfit.empty();
    if (misfit_x != misfit_y) return misfit_x;
    return x->difference.max_ulp > y->difference.max_ulp;
  });
  if (rows.size() > r.top) rows.resize(r.top);
  return rows;
}

void write_difference(JsonWriter& json, const CompareReport& r, const OutputDifference& found) {
  const TensorDifference& d = found.difference;
  const Graph& g = *r.graph;
  json.begin_object().member("name", cat(g.name(found.tensor.node), ':', found.tensor.slot));
  json.member("op", g.op(found.tensor.node));
  if (!r.device_of_b.empty()) json.member("device", r.device_of_b[found.tensor.node]);
  json.member("state", found.is_state).member("order", found.order).member("run", found.time);
  json.member("within", d.within()).member("misfit", d.misfit).member("elements", d.elements);
  json.member("unequal", d.unequal).member("beyond", d.beyond).member("worst_at", d.worst_at);
  json.member("a", d.worst_a).member("b", d.worst_b).member("max_ulp", d.max_ulp).member("mean_ulp", d.mean_ulp);
  json.member("p99_ulp", d.p99_ulp).member("max_relative", d.max_relative).member("nan_a", d.nan_a);
  json.member("nan_b", d.nan_b).member("input_ulp", found.input_ulp).end_object();
}

}  // namespace

std::string compare_text(const CompareReport& r) {
  const NodeDifferences& f = *r.found;
  std::string text;
  if (!f.different.empty()) text += first_text(r);
  if (r.all) {
    for (const OutputDifference* row : ranked(r)) {
      append(text, row->difference.within() ? "  " : "! ", node_label(r, *row), ": ", elements_text(row->difference));
      if (row->difference.misfit.empty())
        append(text, "; ulp max ", brief(row->difference.max_ulp), ", relative ", brief(row->difference.max_relative));
      text += "\n";
    }
  }
  const int64_t same = f.count(NodeVerdict::kSameBytes), within = f.count(NodeVerdict::kWithin),
                different = f.count(NodeVerdict::kDifferent);
  append(text, "nodes compared ", f.compared, ": same bytes ", same, ", within tolerance ", within, ", different ",
         different, ", not compared ", std::max<int64_t>(0, r.nodes - f.compared));
  if (different > 0 && !r.all) append(text, " (stopped at the first; --all goes on)");
  text += "\n";
  for (const std::string& name : r.left_over) append(text, "not in the run: ", name, "\n");
  return text;
}

std::string compare_json(const CompareReport& r) {
  const NodeDifferences& f = *r.found;
  std::string out;
  JsonWriter json(out);
  write_schema(json.begin_object(), Document::kCompare).member("file", r.path).member("a", r.a).member("b", r.b);
  json.member("flow", r.flow).member("rtol", r.tolerance.relative).member("atol", r.tolerance.absolute);
  json.member("compared", f.compared).member("same_bytes", f.count(NodeVerdict::kSameBytes));
  json.member("within", f.count(NodeVerdict::kWithin)).member("different", f.count(NodeVerdict::kDifferent));
  json.member("not_compared", std::max<int64_t>(0, r.nodes - f.compared)).key("first");
  f.different.empty() ? static_cast<void>(json.null()) : write_difference(json, r, f.different.front());
  json.key("saved");
  r.saved.empty() ? json.null() : json.value(r.saved);
  json.key("nodes").begin_array();
  for (const OutputDifference* row : ranked(r)) write_difference(json, r, *row);
  json.end_array().key("left_over").begin_array();
  for (const std::string& name : r.left_over) json.value(name);
  json.end_array().key("error").null().end_object();
  return out + "\n";
}

}  // namespace emplace
