#include "core/report/copies/copies_report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>
#include <vector>

#include "core/base/cat.h"
#include "core/base/columns.h"
#include "core/base/json_writer.h"
#include "core/base/schema.h"
#include "core/base/units.h"
#include "core/device/device_text.h"

namespace emplace {
namespace {

std::string tensor_words(const Graph& g, const Endpoint& e) { return cat(g.name(e.node), ':', e.slot); }

std::string end_words(const CopiesReport& r, const LedgerRow& row, bool from) {
  const DeviceId device = from ? row.from : row.to;
  if (device == kNoDevice) return "host";
  std::string text = short_device_name(*r.devices, device);
  if (row.kind == CopyKind::kInside)
    text += (from ? row.from_memory : row.to_memory) == MemoryKind::kHost ? " host" : " device";
  return text;
}

std::string time_words(const std::optional<double>& us) {
  if (!us) return "-";
  char text[32];
  if (*us >= 1000)
    std::snprintf(text, sizeof(text), "%.2f ms", *us / 1000);
  else
    std::snprintf(text, sizeof(text), "%.1f us", *us);
  return text;
}

std::string times_words(double times) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", times);
  return text;
}

std::string readers_words(const CopiesReport& r, const LedgerRow& row) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, row.readers.size()); ++i)
    append(text, text.empty() ? "" : ", ", r.graph->name(row.readers[i]));
  if (row.readers.size() > kShown) append(text, " and ", row.readers.size() - kShown, " more");
  return text;
}

std::vector<const LedgerRow*> rows_of(const CopiesReport& r) {
  std::vector<const LedgerRow*> rows;
  for (const LedgerRow& row : r.ledger->rows) {
    const auto matches = [&](NodeId node) { return !r.matches || r.matches(node); };
    if (matches(row.tensor.node) || std::any_of(row.readers.begin(), row.readers.end(), matches)) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const LedgerRow* x, const LedgerRow* y) {
    return x->bytes.value_or(INT64_MAX) > y->bytes.value_or(INT64_MAX);
  });
  return rows;
}

double measured_of_step(const Ledger& ledger) {
  double us = 0;
  for (const LedgerRow& row : ledger.rows)
    us += row.kind == CopyKind::kVariable ? 0 : row.measured_us.value_or(0) * row.times;
  return us;
}

/// Of the longest chain of a step.
std::string share_words(double us, double of_us) {
  char text[32];
  std::snprintf(text, sizeof(text), us > 0 && us < 0.01 * of_us ? "%.1f %%" : "%.0f %%", 100 * us / of_us);
  return us > 0 ? text : "-";
}

double critical_of_step(const Ledger& ledger) {
  double us = 0;
  for (const LedgerRow& row : ledger.rows) us += row.critical_us;
  return us;
}

std::string summary_words(const CopiesReport& r) {
  const Ledger& l = *r.ledger;
  const int64_t count = l.count_of_step();
  std::string text = cat(count, count == 1 ? " copy" : " copies", " a step, ", size_text(l.bytes_of_step()));
  if (l.unknown_bytes() > 0) append(text, " and ", l.unknown_bytes(), " of unknown size");
  if (r.step_us > 0) {
    char share[64];
    std::snprintf(share, sizeof(share), " (%.0f %% of the step, node by node)", 100 * measured_of_step(l) / r.step_us);
    append(text, ", ", time_words(measured_of_step(l)), share);
  }
  if (r.critical_us > 0)
    append(text, ", ", time_words(critical_of_step(l)), " of ", time_words(r.critical_us), " on the critical path");
  std::string_view comma = "; ";
  for (int k = 0; k < kCopyKindCount; ++k) {
    const auto kind = static_cast<CopyKind>(k);
    if (kind == CopyKind::kVariable || l.count(kind) == 0) continue;
    append(text, comma, copy_kind_name(kind), " ", l.count(kind));
    comma = ", ";
  }
  if (l.count(CopyKind::kVariable) > 0) append(text, "; before the first step ", l.count(CopyKind::kVariable));
  return text + "\n";
}

/// Nodes with one copy of theirs alone, which would go if they ran where their inputs are made.
std::string move_hint(const CopiesReport& r) {
  const Graph& g = *r.graph;
  std::map<std::pair<NodeId, DeviceId>, std::pair<int64_t, int64_t>> gain;  // node to device: copies, bytes
  for (const LedgerRow& row : r.ledger->rows) {
    if (row.kind != CopyKind::kEdge || !row.bytes) continue;
    if (row.readers.size() == 1) {
      auto& [copies, bytes] = gain[{row.readers[0], row.from}];
      ++copies, bytes += *row.bytes;
    }
    auto& [copies, bytes] = gain[{row.tensor.node, row.to}];
    ++copies, bytes += *row.bytes;
  }
  std::string best;
  int64_t most = 0;
  for (const auto& [move, saved] : gain) {
    const auto& [node, device] = move;
    if (saved.second <= most || r.placement->device(node) == device) continue;
    int64_t copies = saved.first, bytes = saved.second;
    // What it reads from, and gives to, where it is now would cross then.
    for (const Endpoint& e : g.inputs(node)) {
      if (r.placement->device(e.node) != device && r.placement->device(e.node) == r.placement->device(node))
        --copies, bytes -= g.output_shape(e).checked_num_elements().value_or(0) *
                           static_cast<int64_t>(dtype_size(base_type(g.output_type(e))));
    }
    const std::vector<Candidate> candidates = candidates_of(*r.placement, node);
    const bool possible = std::any_of(candidates.begin(), candidates.end(), [&, where = device](const Candidate& c) {
      return c.device == where && (c.verdict == Verdict::kCandidate || c.verdict == Verdict::kNotRequested);
    });
    if (!possible || bytes <= most || copies <= 0) continue;
    most = bytes;
    best = cat("* ", g.name(node), " on ", short_device_name(*r.devices, device), " instead of ",
               short_device_name(*r.devices, r.placement->device(node)), " would save ",
               copies == 1 ? "1 copy" : cat(copies, " copies"), ", ", size_text(bytes), "\n");
  }
  return best;
}

void write_row(JsonWriter& json, const CopiesReport& r, const LedgerRow& row) {
  const auto device = [&](DeviceId d) { return d == kNoDevice ? std::string("host") : r.devices->at(d).name; };
  const auto memory = [](MemoryKind kind) { return kind == MemoryKind::kHost ? "host" : "device"; };
  const auto optional = [&](std::string_view key, const auto& value) {
    json.key(key);
    value ? json.value(*value) : json.null();
  };
  json.begin_object().member("kind", copy_kind_name(row.kind)).member("tensor", tensor_words(*r.graph, row.tensor));
  json.member("from", device(row.from)).member("from_memory", memory(row.from_memory)).member("to", device(row.to));
  json.member("to_memory", memory(row.to_memory));
  optional("bytes", row.bytes);
  json.member("times", row.times);
  optional("predicted_us", row.predicted_us);
  optional("measured_us", row.measured_us);
  optional("critical_us", r.critical_us > 0 ? std::optional(row.critical_us) : std::nullopt);
  json.member("path", row.path).key("for").begin_array();
  for (const NodeId reader : row.readers) json.value(r.graph->name(reader));
  json.end_array().end_object();
}

}  // namespace

std::string copy_hints(const CopiesReport& r) {
  std::map<std::pair<NodeId, uint32_t>, std::vector<const LedgerRow*>> sent;
  for (const LedgerRow& row : r.ledger->rows) {
    if ((row.kind == CopyKind::kEdge || row.kind == CopyKind::kFeed) && row.bytes)
      sent[{row.tensor.node, row.tensor.slot}].push_back(&row);
  }
  const std::vector<const LedgerRow*>* most = nullptr;
  for (const auto& [tensor, rows] : sent) {
    if (rows.size() > 1 && (!most || *rows[0]->bytes > *(*most)[0]->bytes)) most = &rows;
  }
  std::string text;
  if (most) {
    append(text, "* ", tensor_words(*r.graph, (*most)[0]->tensor), " goes to ");
    for (size_t i = 0; i < most->size(); ++i)
      append(text, i == 0 ? "" : i + 1 == most->size() ? " and " : ", ", end_words(r, *(*most)[i], false));
    append(text, ": ", size_text(*(*most)[0]->bytes), " ", most->size() == 2 ? "twice" : cat(most->size(), " times"),
           "\n");
  }
  return text + move_hint(r);
}

std::string copies_text(const CopiesReport& r) {
  constexpr ptrdiff_t kAfterMeasured = 7;
  std::vector<std::vector<std::string>> lines;
  const std::vector<const LedgerRow*> rows = rows_of(r);
  for (size_t i = 0; i < std::min(r.top, rows.size()); ++i) {
    const LedgerRow& row = *rows[i];
    lines.push_back({std::string(copy_kind_name(row.kind)), tensor_words(*r.graph, row.tensor),
                     cat(end_words(r, row, true), " -> ", end_words(r, row, false)),
                     row.bytes ? size_text(*row.bytes) : "?", times_words(row.times), time_words(row.predicted_us),
                     time_words(row.measured_us), row.path, readers_words(r, row)});
    if (r.critical_us > 0)
      lines.back().insert(lines.back().begin() + kAfterMeasured, share_words(row.critical_us, r.critical_us));
  }
  std::string text;
  std::vector<std::string> heads = {"kind",      "tensor",   "from -> to", "bytes", "times",
                                    "predicted", "measured", "path",       "for"};
  if (r.critical_us > 0) heads.insert(heads.begin() + kAfterMeasured, "critical");
  if (!rows.empty()) text = table_text(heads, lines, r.line_width);
  if (rows.size() > r.top) append(text, "... ", rows.size() - r.top, " more (--top N)\n");
  return cat(text, summary_words(r), copy_hints(r));
}

std::string copies_json(const CopiesReport& r) {
  const Ledger& l = *r.ledger;
  std::string out;
  JsonWriter json(out);
  write_schema(json.begin_object(), Document::kCopies).member("file", r.path).key("copies").begin_array();
  for (const LedgerRow* row : rows_of(r)) write_row(json, r, *row);
  json.end_array().key("summary").begin_object().member("copies", l.count_of_step()).member("bytes", l.bytes_of_step());
  json.member("unknown_bytes", l.unknown_bytes());
  for (int k = 0; k < kCopyKindCount; ++k)
    json.member(copy_kind_name(static_cast<CopyKind>(k)), l.count(static_cast<CopyKind>(k)));
  if (r.step_us > 0) json.member("step_us", r.step_us).member("measured_us", measured_of_step(l));
  if (r.critical_us > 0) json.member("critical_path_us", r.critical_us).member("critical_us", critical_of_step(l));
  json.end_object().key("error").null().end_object();
  return out + "\n";
}

}  // namespace emplace
