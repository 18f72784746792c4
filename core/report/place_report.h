/// What `emplace place` prints: the same facts as a table, JSON, CSV, a dot graph or a page.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/lower/origins.h"
#include "core/partition/copies.h"
#include "core/place/placement.h"
#include "core/report/format.h"

namespace emplace {

struct AutoReport;

/// Pointers outlive the report. On failure `error` is set; where nothing is placed, placement and copies are null.
struct PlaceReport {
  std::string path;                // as on the command line
  const Source* source = nullptr;  // null: the file could not be read
  const GraphFile* file = nullptr;
  const DeviceSet* devices = nullptr;
  const PlaceOptions* options = nullptr;
  const Placement* placement = nullptr;
  const CopyPlan* copies = nullptr;
  const Origins* origins = nullptr;       // of nodes that are not the file's own; null: all are
  const AutoReport* automatic = nullptr;  // null: no --auto
  const PlaceReport* step = nullptr;      // of the graph that a run would make of it; null: that is this one
  Status error;
  std::vector<std::string> offenders;              // `details` of place()
  std::vector<std::optional<int64_t>> peak_bytes;  // planned, by device, as far as known; empty: not planned
  std::vector<bool> without_workspaces;            // by device: the peak leaves out what kernels take for their work
  double load_ms = 0, place_ms = 0;
  std::vector<char> shown = {};  // by node: is it listed, and copies that it makes or reads; empty: all
  size_t line_width = 0;         // of the terminal that shows the table; 0: none does
  /// If set, gets the text so far now and then and empties it: the document of a large graph is never whole in memory.
  std::function<void(std::string& text)> drain;
};

// Each returns the document, or what of it was not drained.

/// Is it listed?
bool shows(const PlaceReport& report, NodeId node);
bool shows(const PlaceReport& report, const Copy& copy);

/// Nodes with device, reason and text; then the copies; then the summary line.
std::string place_table(const PlaceReport& report);
/// The document of the command-line contract, one line.
std::string place_json(const PlaceReport& report);
/// name,op,requested,device,reason
std::string place_csv(const PlaceReport& report);
/// A cluster per device, copies as bold edges.
std::string place_dot(const PlaceReport& report);
std::string place_html(const PlaceReport& report);
/// Between two nodes or lines: drains the text if there is enough of it.
void drain_text(const PlaceReport& report, std::string& text);
/// REQUIRES: not kJsonl.
std::string place_document(const PlaceReport& report, Format format);

}  // namespace emplace
