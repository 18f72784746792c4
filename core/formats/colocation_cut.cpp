#include "core/formats/colocation_cut.h"

#include <optional>

#include "core/formats/message_nodes.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/message_fields.h"
#include "core/formats/proto/wire_writer.h"

namespace emplace {
namespace {

using proto::number;
using proto::WireError;
using proto::WireReader;
using proto::WireType;
using proto::WireWriter;

constexpr std::string_view kPrefix = "loc:@";

class ColocationCutter {
 public:
  ColocationCutter(std::string_view graph, WireError& error) : graph_(graph), error_(error), nodes_(graph, error) {}

  std::string cut() {
    return with_nodes(
        graph_, [&](const MessageNode& node) { return changed(node); }, {}, error_);
  }

 private:
  bool is_lost(std::string_view group) const {
    return group.starts_with(kPrefix) && !nodes_.find(group.substr(kPrefix.size()));
  }

  std::string changed(const MessageNode& node) const {
    std::string out;
    WireWriter writer(out);
    WireError ignored;
    for (WireReader reader(node.bytes, ignored); reader.next();) {
      const bool attr = reader.is(number(proto::kNodeDefFields, "attr"), WireType::kBytes);
      if (!attr || proto::entry_key(reader.bytes()) != "_class") {
        out += reader.whole();
      } else if (const std::optional<std::string> entry = kept_part(reader.bytes())) {
        writer.bytes(reader.field(), *entry);
      }
    }
    return out;
  }

  /// Of the entry of `_class`; nothing if no group is left.
  std::optional<std::string> kept_part(std::string_view entry) const {
    int kept = 0, lost = 0;
    std::string out;
    WireWriter writer(out);
    WireError ignored;
    for (WireReader reader(entry, ignored); reader.next();) {
      if (reader.is(number(proto::kNodeDefAttrEntryFields, "value"), WireType::kBytes)) {
        writer.bytes(reader.field(), kept_groups(reader.bytes(), kept, lost));
      } else {
        out += reader.whole();
      }
    }
    if (lost == 0) return std::string(entry);
    return kept > 0 ? std::optional(out) : std::nullopt;
  }

  /// Of an AttrValue: a list of texts.
  std::string kept_groups(std::string_view value, int& kept, int& lost) const {
    std::string out;
    WireWriter writer(out);
    WireError ignored;
    for (WireReader reader(value, ignored); reader.next();) {
      if (!reader.is(number(proto::kAttrValueFields, "list"), WireType::kBytes)) {
        out += reader.whole();
        continue;
      }
      std::string groups;
      for (WireReader list(reader.bytes(), ignored); list.next();) {
        const bool text = list.is(number(proto::kAttrValueListValueFields, "s"), WireType::kBytes);
        const bool left_out = text && is_lost(list.bytes());
        ++(left_out ? lost : kept);
        if (!left_out) groups += list.whole();
      }
      writer.bytes(reader.field(), groups);
    }
    return out;
  }

  std::string_view graph_;
  WireError& error_;
  MessageNodes nodes_;
};

}  // namespace

std::string without_lost_colocation(std::string_view graph, WireError& error) {
  return ColocationCutter(graph, error).cut();
}

}  // namespace emplace
