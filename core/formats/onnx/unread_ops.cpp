#include "core/formats/onnx/unread_ops.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/formats/onnx/model.h"
#include "core/formats/onnx/op_table.h"

namespace emplace {
namespace {

constexpr int kDeepestSearch = 64;  // graphs inside each other

class UnreadOps {
 public:
  UnreadOps(WireContext& w, const OnnxModel& model) : w_(w), model_(model) {}

  std::vector<UnreadOnnxOp> all() {
    count(model_.graph.nodes, model_.opsets, 0);
    while (!called_.empty()) {
      const OnnxFunction* f = called_.back();
      called_.pop_back();
      count(f->nodes, f->opsets, 0);
    }
    std::vector<UnreadOnnxOp> out;
    for (const auto& [key, nodes] : nodes_) {
      const auto& [domain, op, opset] = key;
      out.push_back({std::string(domain), std::string(op), opset, nodes});
    }
    return out;
  }

 private:
  void count(const std::vector<OnnxNode>& nodes, const OnnxOpsets& opsets, int depth) {
    for (const OnnxNode& n : nodes) {
      count(n, opsets);
      for (const OnnxAttribute& a : n.attributes) {
        if (a.type != OnnxAttributeType::kGraph || depth >= kDeepestSearch) continue;
        if (const std::optional<OnnxGraph> inner = read_onnx_graph(w_, a.graph)) count(inner->nodes, opsets, depth + 1);
      }
    }
  }

  void count(const OnnxNode& n, const OnnxOpsets& opsets) {
    const auto function = model_.functions.find({n.domain, n.op});
    if (function != model_.functions.end()) {
      if (seen_.insert(&function->second).second) called_.push_back(&function->second);
      return;
    }
    const auto own = opsets.find(n.domain);
    const int64_t opset = own == opsets.end() ? 1 : own->second;
    if (!find_onnx_op(onnx_op_name(n.domain, n.op), opset)) ++nodes_[{n.domain, n.op, opset}];
  }

  WireContext& w_;
  const OnnxModel& model_;
  std::map<std::tuple<std::string_view, std::string_view, int64_t>, int64_t> nodes_;
  std::set<const OnnxFunction*> seen_;
  std::vector<const OnnxFunction*> called_;
};

}  // namespace

std::vector<UnreadOnnxOp> unread_onnx_ops(const std::shared_ptr<const Source>& source) {
  const auto* file = dynamic_cast<const ProtoSource*>(source.get());
  if (!file || file->format() != GraphFormat::kOnnx) return {};
  GraphFile unused;
  Problems told;  // by whoever loaded the file
  JsonReader no_json({}, told, unused.graph.texts_.arena());
  const LoadOptions options;
  LoadContext context{*source, options, told, unused, no_json, options.max_fill_bytes, false, false, nullptr};
  WireContext w{context, *file};
  const std::optional<OnnxModel> model = read_onnx_model(w);
  return model ? UnreadOps(w, *model).all() : std::vector<UnreadOnnxOp>();
}

}  // namespace emplace
