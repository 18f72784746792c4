#include "core/report/bench/sweep_report.h"

#include <algorithm>
#include <cmath>

#include "core/base/cat.h"
#include "core/base/columns.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/base/schema.h"
#include "core/base/units.h"
#include "core/report/bench/statistics.h"

namespace emplace {
namespace {

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

double tenths(double value) { return std::round(value * 10) / 10; }

/// "1.52 times", "the same"; of times that a test cannot tell apart the same.
std::string against(const SweepRow& row, const SweepRow& first) {
  if (&row == &first || row.steps.us.empty() || first.steps.us.empty()) return "-";
  const TimeChange change = time_change(first.steps, row.steps);
  if (!change.seen()) return std::string(verdict_text(change.verdict));
  return cat(tenths(std::abs(change.change) * 100), " % ", verdict_text(change.verdict));
}

std::vector<std::string> header(const std::vector<std::string>& keys) {
  std::vector<std::string> cells(keys);
  for (const char* title : {"p50", "p90", "min", "steps/s", "n", "against the first"}) cells.emplace_back(title);
  return cells;
}

std::vector<std::string> cells_of(const SweepRow& row, const SweepRow& first) {
  std::vector<std::string> cells(row.values);
  if (row.steps.us.empty()) {
    for (int i = 0; i < 5; ++i) cells.emplace_back("-");
    cells.push_back(cat("exit ", row.code, ": ", row.error));
    return cells;
  }
  const std::vector<double> us = sorted(row.steps.us);
  for (const double p : {50.0, 90.0, 0.0}) cells.push_back(time_text(percentile(us, p) / 1e6));
  cells.push_back(cat(tenths(1e6 / std::max(percentile(us, 50), 1e-3))));
  cells.push_back(cat(us.size()));
  cells.push_back(against(row, first));
  return cells;
}

std::string csv_line(std::span<const std::string> cells) {
  std::string line;
  for (const std::string& cell : cells) append(line, line.empty() ? "" : ",", csv_cell(cell));
  return line + '\n';
}

std::string markdown_line(std::span<const std::string> cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += ' ';
    for (const char c : printable(cell)) line += c == '|' ? std::string("\\|") : std::string(1, c);
    line += " |";
  }
  return line + '\n';
}

// Times as numbers: programs read these.
std::string csv_table(const std::vector<std::string>& keys, std::span<const SweepRow> rows) {
  std::vector<std::string> head(keys);
  for (const char* title : {"n", "p50_us", "p90_us", "min_us", "exit", "error"}) head.emplace_back(title);
  std::string out = csv_line(head);
  for (const SweepRow& row : rows) {
    std::vector<std::string> cells(row.values);
    const std::vector<double> us = sorted(row.steps.us);
    cells.push_back(cat(us.size()));
    for (const double p : {50.0, 90.0, 0.0}) cells.push_back(us.empty() ? "" : cat(percentile(us, p)));
    cells.push_back(cat(row.code));
    cells.push_back(row.error);
    out += csv_line(cells);
  }
  return out;
}

}  // namespace

std::string sweep_table(const std::vector<std::string>& keys, std::span<const SweepRow> rows, Format format,
                        size_t width) {
  if (format == Format::kCsv) return csv_table(keys, rows);
  const std::vector<std::string> head = header(keys);
  std::vector<std::vector<std::string>> lines;
  for (const SweepRow& row : rows) lines.push_back(cells_of(row, rows.front()));
  std::string out;
  if (format == Format::kMarkdown) {
    out = markdown_line(head) + markdown_line(std::vector<std::string>(head.size(), "---"));
    for (const auto& cells : lines) out += markdown_line(cells);
    return out;
  }
  return table_text(head, lines, width);
}

std::string sweep_line(const std::vector<std::string>& keys, const SweepRow& row, const SweepRow& first) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  write_schema(json, Document::kBench).key("sweep").begin_object();
  for (size_t k = 0; k < keys.size(); ++k) json.member(keys[k], row.values[k]);
  json.end_object().member("exit", row.code);
  if (row.steps.us.empty()) {
    json.member("error", row.error).end_object();
    return out + '\n';
  }
  const std::vector<double> us = sorted(row.steps.us);
  json.member("n", us.size()).member("min_us", us.front()).member("p50_us", percentile(us, 50));
  json.member("p90_us", percentile(us, 90)).member("p99_us", percentile(us, 99)).member("max_us", us.back());
  if (&row != &first && !first.steps.us.empty()) {
    const TimeChange change = time_change(first.steps, row.steps);
    json.member("change", change.change).member("p", change.p).member("verdict", verdict_text(change.verdict));
  }
  json.end_object();
  return out + '\n';
}

}  // namespace emplace
