#include "core/formats/onnx/load_onnx.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/graph_versions.h"
#include "core/formats/library_writer.h"
#include "core/formats/onnx/frame.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/sequence_list.h"

namespace emplace {
namespace {

class OnnxLoader {
 public:
  OnnxLoader(WireContext& w, const OnnxModel& model)
      : all_{w, w.c.file, model}, body_(w.c.file), frame_(all_, body_, nullptr, {}) {}

  void load() {
    if (!check_versions()) return;
    const OnnxGraph& graph = all_.model.graph;
    if (!check_onnx_ops(all_, graph.nodes, all_.model.opsets)) return;
    reserve_names(graph);
    frame_.declare(graph.initializers);
    frame_.note(graph.values);
    frame_.note(graph.outputs);
    for (const OnnxValueInfo& input : graph.inputs) {
      if (!frame_.is_initializer(input.name)) add_input(input);
    }
    if (!all_.w.c.problems.empty()) return;
    if (translate_onnx_nodes(frame_, graph.nodes, all_.model.opsets)) add_outputs(graph);
    if (all_.w.c.problems.empty()) body_.edit().finish(all_.w.c.problems);
    if (all_.w.c.problems.empty()) keep_functions();
  }

 private:
  /// As if the file had a library, for those who write it in another format.
  void keep_functions() {
    if (all_.file.library.empty()) return;
    std::shared_ptr<const Source> text = Source::from_text(all_.file.source->name(), library_json(all_.file.library));
    all_.w.source.keep(text);
    all_.file.declared_text.push_back({"library", text->text()});
  }

  bool check_versions() {
    const auto opset = all_.model.opsets.find("");
    if (opset == all_.model.opsets.end()) return true;
    if (opset->second >= kFirstOnnxOpset && opset->second <= kLastOnnxOpset) return true;
    all_.w.problem(all_.w.source.wire().data(), cat("operator set ", opset->second, " of ONNX"),
                   cat("sets ", kFirstOnnxOpset, " to ", kLastOnnxOpset, " are read"));
    return false;
  }

  /// No node inside a block takes a tensor's name.
  void reserve_names(const OnnxGraph& graph) {
    for (const OnnxInitializer& i : graph.initializers) body_.reserve(onnx_node_name(i.name));
    for (const OnnxNode& node : graph.nodes) {
      for (std::string_view output : node.outputs) {
        if (!output.empty()) body_.reserve(onnx_node_name(output));
      }
    }
  }

  void add_input(const OnnxValueInfo& input) {
    WireContext& w = all_.w;
    const bool map = input.kind == OnnxValueInfo::Kind::kMap && input.key_type != DType::kInvalid;
    const bool sequence = input.kind == OnnxValueInfo::Kind::kSequence;
    if ((input.kind != OnnxValueInfo::Kind::kTensor && !map && !sequence) || input.type == DType::kInvalid)
      return w.problem(input.at, cat("input '", input.name, "' is not a tensor of a type that is read"));
    body_.set_position(w.position_of(input.at));
    if (sequence || input.optional) return add_sequence(input);
    frame_.bind(input.name, add_placeholder(input.name, input.type, input.shape));
    if (map) frame_.bind_keys(input.name, add_placeholder(cat(input.name, "_keys"), input.key_type, input.shape));
  }

  /// Its parts, and for an optional sequence a flag.
  void add_sequence(const OnnxValueInfo& input) {
    const Shape flat{-1};
    const auto part = [&](const char* ending, DType type, const Shape& shape) {
      return add_placeholder(cat(input.name, ending), type, shape);
    };
    const OnnxSequenceParts parts{part("", input.type, flat), part("_sizes", DType::kInt64, flat),
                                  part("_ranks", DType::kInt64, flat)};
    OnnxNode node{.op = "sequence"};
    node.at = input.at;
    OnnxBlock b(frame_, node, all_.model.opsets, cat(onnx_node_name(input.name), "_sequence"));
    OnnxSequence s = onnx_sequence_of_parts(b, parts, input.shape);
    s.optional_tensor = input.optional && input.kind == OnnxValueInfo::Kind::kTensor;
    if (input.optional && !s.optional_tensor) s.given = part("_given", DType::kBool, Shape{});
    frame_.bind_sequence(input.name, std::move(s));
  }

  Endpoint add_placeholder(std::string_view name, DType type, const Shape& shape) {
    NewNode node{.name = body_.free_name(name), .op = "Placeholder"};
    node.attrs.emplace_back("dtype", AttrValue::of(type));
    node.attrs.emplace_back("shape", AttrValue::of(shape));
    if (node.name != name) all_.w.c.file.signature_names[std::string(name)] = node.name;
    return {body_.add(std::move(node)), 0};
  }

  void add_outputs(const OnnxGraph& graph) {
    GraphFile& file = all_.file;
    file.has_fetch = true;
    for (const OnnxValueInfo& output : graph.outputs) {
      if (const OnnxSequence* s = frame_.find_sequence(output.name)) {
        add_sequence_output(output, *s);
        continue;
      }
      const Endpoint tensor = frame_.find(output.name);
      const int64_t at = all_.w.position_of(output.at);
      if (tensor.node == kNoNode) {
        if (all_.w.c.problems.empty()) all_.w.c.problems.add(at, cat("no node makes the output '", output.name, "'"));
        continue;
      }
      name_output(output.name, tensor);
      file.fetch.push_back({std::string(output.name), at});
      if (const Endpoint keys = frame_.find_keys(output.name); keys.node != kNoNode) {
        NewNode node{.name = body_.free_name(cat(output.name, "_keys")), .op = "Identity", .inputs = {keys}};
        file.fetch.push_back({node.name, at});
        body_.add(std::move(node));
      }
    }
  }

  void add_sequence_output(const OnnxValueInfo& output, OnnxSequence s) {
    OnnxNode made{.op = "sequence"};
    made.at = output.at;
    const std::string own = onnx_node_name(output.name);
    if (s.type == DType::kInvalid) s.type = output.type;
    OnnxBlock b(frame_, made, all_.model.opsets, cat(own, "_parts"));
    const OnnxSequenceParts parts = onnx_parts(b, s);
    body_.release(own);
    const auto put = [&](const char* ending, Endpoint part) {
      NewNode node{.name = body_.free_name(cat(own, ending)), .op = "Identity", .inputs = {part}};
      if (*ending == 0 && node.name != output.name) all_.file.signature_names[std::string(output.name)] = node.name;
      all_.file.fetch.push_back({node.name, all_.w.position_of(output.at)});
      body_.add(std::move(node));
    };
    if (b.failed()) return;
    put("", parts.values), put("_sizes", parts.sizes), put("_ranks", parts.ranks);
    if (output.optional && s.given.node != kNoNode) put("_given", s.given);
  }

  /// One of several outputs of a node has a node of its own under its name.
  void name_output(std::string_view name, Endpoint tensor) {
    const auto alias = all_.file.signature_names.find(std::string(name));
    if (alias == all_.file.signature_names.end() || body_.edit().graph().num_outputs(tensor.node) == 1) return;
    NewNode node{.name = body_.free_name(name), .op = "Identity", .inputs = {tensor}};
    const std::string own = node.name;
    body_.add(std::move(node));
    own == name ? void(all_.file.signature_names.erase(alias)) : void(alias->second = own);
  }

  OnnxTranslation all_;
  OnnxBody body_;
  OnnxFrame frame_;
};

}  // namespace

std::unique_ptr<GraphFile> load_onnx(std::shared_ptr<const ProtoSource> source, const LoadOptions& options,
                                     Problems& problems) {
  auto file = std::make_unique<GraphFile>();
  file->source = source;
  file->ops = std::make_unique<OpTable>();
  file->graph.source_ = source;
  file->producer = kGraphDefVersion;
  JsonReader no_json({}, problems, file->graph.texts_.arena());
  LoadContext context{*source, options, problems, *file, no_json, options.max_fill_bytes, false, false, nullptr};
  WireContext w{context, *source};
  if (const std::optional<OnnxModel> model = read_onnx_model(w)) OnnxLoader(w, *model).load();
  return file;
}

}  // namespace emplace
