// Part of core/device/described.h: DeviceAttributes in JSON, as TensorFlow's protobuf mapping writes them or as
// `emplace devices --format json` does.
#include <limits>

#include "core/base/cat.h"
#include "core/base/json_document.h"
#include "core/base/schema.h"
#include "core/device/described.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

class AttributesReader {
 public:
  explicit AttributesReader(std::string_view origin) : origin_(origin) {}

  Result<std::vector<Device>> read(const Json& document) {
    const Json* list = &document;
    if (document.is_object() && document.contains("schema_version")) {
      Status known = check_schema(Document::kDevices, document["schema_version"].dump());
      if (!known.ok()) return known.with_context(origin_);
    }
    if (document.is_object() && document.contains("devices")) list = &document["devices"];
    if (!list->is_array()) return error("a list of DeviceAttributes, or an object with \"devices\"", *list);
    std::vector<Device> devices;
    for (const Json& item : *list) {
      where_ = cat("device ", devices.size());
      ASSIGN_OR_RETURN(Device device, read_device(item));
      devices.push_back(std::move(device));
    }
    return devices;
  }

 private:
  Status error(std::string_view wanted, const Json& found) const {
    return invalid_argument(
        cat(origin_, ": ", where_, where_.empty() ? "" : ": ", "found ", shown(found), ", wanted ", wanted));
  }

  Result<Device> read_device(const Json& item) {
    if (!item.is_object() || !item.contains("name")) return error("an object with a \"name\"", item);
    if (!item["name"].is_string()) return error("a device name", item["name"]);
    auto name = DeviceName::parse(item["name"].get_ref<const std::string&>());
    if (!name || !name->complete())
      return error("a full device name such as /job:localhost/replica:0/task:0/device:GPU:0", item["name"]);
    Device device = described_device(*name, 0);
    where_ = device.name;
    for (const auto& [key, value] : item.items()) RETURN_IF_ERROR(read_member(key, value, device));
    return device;
  }

  Status read_member(const std::string& key, const Json& value, Device& device) {
    if (key == "name" || key == "incarnation" || key == "xla_global_id" || key == "xlaGlobalId") return ok_status();
    if (key == "device_type" || key == "deviceType") {
      return value == device.type ? ok_status() : error(cat("\"", device.type, "\", the type in its name"), value);
    }
    if (key == "memory_limit" || key == "memoryLimit")
      return read_int(value, device.memory_limit, 0, std::numeric_limits<int64_t>::max());
    if (key == "physical_device_desc" || key == "physicalDeviceDesc")
      return read_text(value, device.physical_description);
    if (key == "locality") return read_locality(value, device);
    if (key == "capability") return read_capability(value, "", device);
    return invalid_argument(
        cat(origin_, ": ", where_, ": unknown key \"", key,
            "\"; a device has name, device_type, memory_limit, locality, physical_device_desc, capability"));
  }

  Status read_text(const Json& value, std::string& text) const {
    if (!value.is_string()) return error("text", value);
    text = value.get<std::string>();
    return ok_status();
  }

  // int64 stands as a number or, as protobuf writes it, as text.
  template <class T>
  Status read_int(const Json& value, T& number, int64_t low, int64_t high) const {
    int64_t read = 0;
    Json from_text;
    if (value.is_string()) from_text = Json::parse(value.get_ref<const std::string&>(), nullptr, false);
    const Json& v = value.is_string() ? from_text : value;
    bool fits = v.is_number_integer() && !(v.is_number_unsigned() && v.get<uint64_t>() > static_cast<uint64_t>(high));
    if (fits) read = v.get<int64_t>();
    if (!fits || read < low || read > high) return error(cat("a whole number from ", low, " to ", high), value);
    number = static_cast<T>(read);
    return ok_status();
  }

  Status read_locality(const Json& value, Device& device) const {
    if (!value.is_object()) return error("a locality", value);
    for (const char* key : {"numa_node", "numaNode"}) {
      if (auto node = value.find(key); node != value.end()) RETURN_IF_ERROR(read_small(*node, device.numa_node));
    }
    auto links = value.find("links");
    if (links == value.end()) return ok_status();
    const Json* list = &*links;
    if (list->is_object() && list->contains("link")) list = &(*list)["link"];
    if (list->is_object() && list->empty()) return ok_status();
    if (!list->is_array()) return error("a list of links", *list);
    for (const Json& item : *list) RETURN_IF_ERROR(read_link(item, device));
    return ok_status();
  }

  Status read_link(const Json& item, Device& device) const {
    if (!item.is_object()) return error("a link", item);
    DeviceLink link;
    for (const auto& [key, value] : item.items()) {
      if (key == "device_id" || key == "deviceId") {
        RETURN_IF_ERROR(read_small(value, link.device_id));
      } else if (key == "type") {
        RETURN_IF_ERROR(read_text(value, link.type));
      } else if (key == "strength") {
        RETURN_IF_ERROR(read_small(value, link.strength));
      } else {
        return error("a link with device_id, type and strength", item);
      }
    }
    device.links.push_back(std::move(link));
    return ok_status();
  }

  Status read_small(const Json& value, int& number) const {
    return read_int(value, number, std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
  }

  // {"peak_flops": {"float32": 6e13}} is kept as "peak_flops.float32".
  Status read_capability(const Json& value, const std::string& prefix, Device& device) const {
    if (value.is_number() && !prefix.empty()) {
      device.capability[prefix] = value.get<double>();
      return ok_status();
    }
    bool deep = prefix.find('.') != std::string::npos;
    if (!value.is_object() || deep) return error("numbers by name, in at most two levels", value);
    for (const auto& [key, member] : value.items()) {
      RETURN_IF_ERROR(read_capability(member, prefix.empty() ? key : cat(prefix, ".", key), device));
    }
    return ok_status();
  }

  std::string_view origin_;
  std::string where_;
};

}  // namespace

Result<std::vector<Device>> parse_device_attributes(std::string_view json, std::string_view origin) {
  ASSIGN_OR_RETURN(const Json document, parse_json(json, origin));
  return AttributesReader(origin).read(document);
}

}  // namespace emplace
