// Part of core/report/diff/diff_report.h: `emplace diff --format json`.
#include "core/base/json_writer.h"
#include "core/base/schema.h"
#include "core/report/diff/diff_report.h"

namespace emplace {
namespace {

void write_size(JsonWriter& json, std::string_view key, std::optional<int64_t> bytes) {
  json.key(key);
  bytes ? json.value(*bytes) : json.null();
}

void write_names(JsonWriter& json, std::string_view key, const std::vector<std::string>& names) {
  json.key(key).begin_array();
  for (const std::string& name : names) json.value(name);
  json.end_array();
}

void write_moved(JsonWriter& json, const PlacementDiff& diff) {
  json.member("num_moved", diff.num_moved).key("moved").begin_array();
  for (const MovedNodes& moved : diff.moved) {
    json.begin_object().member("name", moved.name);
    write_names(json, "colocated", moved.colocated);
    json.member("from", moved.from).member("to", moved.to);
    json.member("reason_before", moved.reason_before).member("reason", moved.reason);
    json.member("follows", moved.follows).end_object();
  }
  json.end_array();
}

void write_nodes(JsonWriter& json, const PlacementDiff& diff) {
  json.key("reason_changed").begin_array();
  for (const ChangedReason& reason : diff.reasons) {
    json.begin_object().member("name", reason.name).member("reason_before", reason.before);
    json.member("reason", reason.after).end_object();
  }
  json.end_array().key("changed").begin_array();
  for (const ChangedNode& node : diff.changed) {
    json.begin_object().member("name", node.name).member("op", node.op).member("inputs", node.inputs);
    json.member("contents", node.contents).end_object();
  }
  json.end_array().key("renamed").begin_array();
  for (const auto& [before, after] : diff.renamed)
    json.begin_object().member("before", before).member("after", after).end_object();
  json.end_array();
  write_names(json, "added", diff.added);
  write_names(json, "removed", diff.removed);
}

void write_copy_list(JsonWriter& json, std::string_view key, const std::vector<CopyView>& copies) {
  json.key(key).begin_array();
  for (const CopyView& copy : copies) {
    json.begin_object().member("tensor", copy.tensor).member("from", copy.from).member("to", copy.to);
    write_size(json, "bytes", copy.bytes);
    json.end_object();
  }
  json.end_array();
}

void write_copies(JsonWriter& json, const PlacementDiff& diff) {
  json.key("copies");
  if (!diff.copies_known) {
    json.null();
    return;
  }
  json.begin_object().member("before", diff.copies_before).member("after", diff.copies_after);
  json.member("bytes_before", diff.bytes_before).member("bytes_after", diff.bytes_after);
  write_copy_list(json, "added", diff.new_copies);
  write_copy_list(json, "removed", diff.gone_copies);
  json.end_object();
}

}  // namespace

std::string diff_json(const PlacementDiff& diff, const DiffReport& report) {
  std::string out;
  JsonWriter json(out);
  write_schema(json.begin_object(), Document::kDiff);
  json.member("before", report.before).member("after", report.after).member("same", diff.same());
  json.member("nodes", diff.nodes);
  write_moved(json, diff);
  write_nodes(json, diff);
  write_copies(json, diff);
  json.key("peaks").begin_array();
  for (const ChangedPeak& peak : diff.peaks) {
    json.begin_object().member("device", peak.device);
    write_size(json, "before", peak.before);
    write_size(json, "after", peak.after);
    json.end_object();
  }
  json.end_array();
  write_names(json, "new_devices", diff.new_devices);
  write_names(json, "gone_devices", diff.gone_devices);
  write_names(json, "cause", report.cause);
  json.key("error").null().end_object();
  return out + '\n';
}

}  // namespace emplace
