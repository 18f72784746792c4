// Part of core/report/diff/placement_view.h: views of the documents that `place --format json` and --placement-out
// write.
#include "core/base/cat.h"
#include "core/base/json_document.h"
#include "core/base/printable.h"
#include "core/base/schema.h"
#include "core/report/diff/placement_view.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

/// A name of a graph has no line breaks and the like; here anybody may have written one.
std::string text_of(const Json& object, const char* key) {
  const auto member = object.find(key);
  return member != object.end() && member->is_string() ? printable(member->get_ref<const std::string&>())
                                                       : std::string();
}

std::optional<int64_t> size_of(const Json& object, const char* key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_number_integer()) return std::nullopt;
  return member->get<int64_t>();
}

Result<NodeView> read_node(const Json& entry, std::string_view origin) {
  if (!entry.is_object() || text_of(entry, "name").empty() || text_of(entry, "device").empty())
    return invalid_argument(cat(origin, ": an entry of 'placement' needs a name and a device"));
  NodeView view;
  view.name = text_of(entry, "name");
  view.op = text_of(entry, "op");
  view.device = text_of(entry, "device");
  view.requested = text_of(entry, "requested");
  if (const auto reason = entry.find("reason"); reason != entry.end() && reason->is_object())
    view.reason = text_of(*reason, "code");
  if (const auto inputs = entry.find("input"); inputs != entry.end() && inputs->is_array()) {
    for (const Json& input : *inputs) {
      if (input.is_string()) view.inputs.push_back(input);
    }
  }
  return view;
}

void read_copies(const Json& document, PlacementView& view) {
  const auto copies = document.find("copies");
  if (copies == document.end() || !copies->is_array()) return;
  view.copies.emplace();
  for (const Json& copy : *copies) {
    if (!copy.is_object()) continue;
    view.copies->push_back(
        {text_of(copy, "tensor"), text_of(copy, "from"), text_of(copy, "to"), size_of(copy, "bytes")});
  }
}

void read_devices(const Json& document, PlacementView& view) {
  const auto devices = document.find("devices");
  if (devices == document.end() || !devices->is_array()) return;
  for (const Json& device : *devices) {
    if (!device.is_object()) continue;
    view.devices.push_back(text_of(device, "name"));
    view.peaks.emplace_back(view.devices.back(), size_of(device, "peak"));
  }
}

}  // namespace

bool is_placement_document(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos || text[first] != '{') return false;
  // Both documents begin so; a graph has no such member.
  constexpr size_t kHead = 200;
  return text.substr(first, kHead).find("\"schema_version\"") != text.npos && text.find("\"placement\"") != text.npos;
}

Result<PlacementView> read_placement_view(std::string_view text, std::string_view origin) {
  ASSIGN_OR_RETURN(const Json document, parse_json(text, origin));
  const auto version = document.find("schema_version");
  RETURN_IF_ERROR(check_schema(Document::kPlacement, version == document.end() ? "" : version->dump())
                      .with_context(std::string(origin)));
  const auto placement = document.find("placement");
  if (placement == document.end() || !placement->is_array())
    return invalid_argument(cat(origin, ": no list 'placement'; write one with 'emplace place --format json'"));
  PlacementView view;
  view.has_inputs = document.contains("copies");
  for (const Json& entry : *placement) {
    ASSIGN_OR_RETURN(NodeView node, read_node(entry, origin));
    view.nodes.push_back(std::move(node));
  }
  read_copies(document, view);
  read_devices(document, view);
  return view;
}

}  // namespace emplace
