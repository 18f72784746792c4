#include "core/formats/graph_part.h"

#include <algorithm>
#include <set>

#include "core/base/cat.h"
#include "core/formats/message_nodes.h"
#include "core/formats/node_message.h"
#include "core/formats/proto/field_tables.h"
#include "core/op/trait_table.h"

namespace emplace {
namespace {

using proto::number;
using proto::WireError;

/// An input of the part, in the place of output `slot` of a node.
struct FedTensor {
  const TensorInfo* info;
  int64_t slot;
  std::string placeholder;  // its name
};

class PartTaker {
 public:
  explicit PartTaker(std::string_view graph) : graph_(graph), nodes_(graph, error_), needed_(nodes_.all().size()) {}

  Status feed(const std::map<std::string, TensorInfo>& inputs) {
    for (const auto& [key, info] : inputs) {
      const InputName name = parse_input(info.name);
      const MessageNode* node = nodes_.find(name.node);
      if (!node) return invalid_argument(cat("input '", key, "': there is no node '", name.node, "'"));
      if (traits_of(node->op).placeholder) {
        needed_[nodes_.index_of(*node)] = true;
        continue;
      }
      const std::string placeholder = name.slot == 0 ? std::string(name.node) : free_name(name);
      if (name.slot != 0) renamed_[info.name] = placeholder;
      fed_.emplace(name.node, FedTensor{&info, name.slot, placeholder});
    }
    return ok_status();
  }

  Status need(const std::vector<std::string>& outputs) {
    std::vector<InputName> left;
    for (const std::string& output : outputs) {
      const InputName name = parse_input(output);
      if (!nodes_.find(name.node)) return invalid_argument(cat("there is no node '", name.node, "'"));
      left.push_back(name);
    }
    while (!left.empty()) {
      const InputName name = left.back();
      left.pop_back();
      if (fed_as(name)) continue;
      const MessageNode* node = nodes_.find(name.node);
      if (!node || needed_[nodes_.index_of(*node)]) continue;
      needed_[nodes_.index_of(*node)] = true;
      for (std::string_view input : node->inputs) left.push_back(parse_input(input));
    }
    for (const auto& [node, fed] : fed_) {
      if (fed.placeholder == node && needed_[nodes_.index_of(*nodes_.find(node))])
        return invalid_argument(cat("'", node, "' is an input, and another of its outputs is needed"));
    }
    return ok_status();
  }

  Result<GraphPart> take() {
    std::vector<std::string> more;
    for (const auto& [node, fed] : fed_) more.push_back(placeholder(fed));
    GraphPart part{with_nodes(
                       graph_, [&](const MessageNode& node) { return changed(node); }, more, error_),
                   std::move(renamed_)};
    if (error_.failed()) return invalid_argument(error_.message);
    return part;
  }

 private:
  std::string free_name(const InputName& name) const {
    std::string made = cat(name.node, "_", name.slot);
    while (nodes_.find(made)) made += '_';
    return made;
  }

  const FedTensor* fed_as(const InputName& name) const {
    const auto [begin, end] = fed_.equal_range(name.node);
    for (auto it = begin; it != end; ++it) {
      if (it->second.slot == name.slot || (name.slot < 0 && it->second.placeholder == name.node)) return &it->second;
    }
    return nullptr;
  }

  static std::string placeholder(const FedTensor& fed) {
    return NodeMessage(fed.placeholder, "Placeholder")
        .type("dtype", fed.info->dtype)
        .shape("shape", fed.info->shape)
        .take();
  }

  std::string changed(const MessageNode& node) const {
    const MessageNode* known = nodes_.find(node.name);
    if (!known || !needed_[nodes_.index_of(*known)]) return {};
    const auto is_renamed = [&](std::string_view input) {
      const FedTensor* fed = fed_as(parse_input(input));
      return fed && fed->placeholder != parse_input(input).node;
    };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), is_renamed)) return std::string(node.bytes);
    std::string out;
    proto::WireWriter writer(out);
    WireError ignored;
    for (proto::WireReader reader(node.bytes, ignored); reader.next();) {
      constexpr uint32_t kInput = number(proto::kNodeDefFields, "input");
      if (reader.is(kInput, proto::WireType::kBytes) && is_renamed(reader.bytes())) {
        writer.bytes(kInput, fed_as(parse_input(reader.bytes()))->placeholder);
      } else {
        out += reader.whole();
      }
    }
    return out;
  }

  WireError error_;
  std::string_view graph_;
  MessageNodes nodes_;
  std::vector<bool> needed_;
  std::multimap<std::string_view, FedTensor> fed_;
  std::map<std::string, std::string> renamed_;
};

}  // namespace

Result<GraphPart> part_of_graph(std::string_view graph, const std::vector<std::string>& outputs,
                                const std::map<std::string, TensorInfo>& inputs) {
  PartTaker taker(graph);
  RETURN_IF_ERROR(taker.feed(inputs));
  RETURN_IF_ERROR(taker.need(outputs));
  return taker.take();
}

}  // namespace emplace
