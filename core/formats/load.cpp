// Part of core/graph/graph_file.h: load(): the top level of a graph file.
#include <algorithm>
#include <set>
#include <utility>

#include "core/base/cat.h"
#include "core/base/stop.h"
#include "core/base/suggest.h"
#include "core/formats/cluster_reader.h"
#include "core/formats/config_reader.h"
#include "core/formats/declarations.h"
#include "core/formats/graph_builder.h"
#include "core/formats/graph_versions.h"
#include "core/formats/library_reader.h"
#include "core/formats/load_proto.h"
#include "core/formats/node_reader.h"
#include "core/formats/object_reader.h"
#include "core/formats/onnx/load_onnx.h"
#include "core/formats/tfjs_model.h"
#include "core/formats/value_reader.h"
#include "core/graph/attr_position.h"
#include "core/graph/graph_file.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

enum Key {
  kNode,
  kFetch,
  kTarget,
  kInit,
  kFeed,
  kConfig,
  kOpDef,
  kKernelDef,
  kLibrary,
  kCluster,
  kTrain,
  kData,
  kVersions,
  kVersion,
  kDebugInfo,
  kModelTopology,
  kWeightsManifest,
  kSignature,
  kUserDefinedMetadata,
  kFormat
};
constexpr std::string_view kKeys[] = {"node",
                                      "fetch",
                                      "target",
                                      "init",
                                      "feed",
                                      "config",
                                      "op_def",
                                      "kernel_def",
                                      "library",
                                      "cluster",
                                      "train",
                                      "data",
                                      "versions",
                                      "version",
                                      "debug_info",
                                      "model_topology",
                                      "weights_manifest",
                                      "signature",
                                      "user_defined_metadata",
                                      "format",
                                      "generated_by",
                                      "converted_by",
                                      "model_initializer",
                                      "initializer_signature"};
constexpr std::string_view kAboutKeys =
    "there are node, fetch, target, init, feed, config, op_def, kernel_def, library, cluster, train, data, versions";

class Loader {
 public:
  Loader(LoadContext& c) : c_(c), builder_(c, c.file.graph), nodes_(c, builder_) {}

  void load() {
    if (c_.source.text().find_first_not_of(" \t\r\n") == std::string_view::npos) {
      return c_.problems.add(kNoPosition, "the file is empty; wanted a graph",
                             "{\"node\": [{\"name\": \"a\", \"op\": \"Const\", \"attr\": {\"value\": 1}}]} is one");
    }
    c_.reader.peek();
    size_t start = c_.reader.position();
    c_.read_declarations = [this, start] { look_for_declarations(start); };
    if (!c_.reader.failed()) read_top("a graph file", kAboutKeys);
    c_.reader.finish();
    if (c_.reader.failed()) return;
    check_kernel_ops();
    builder_.finish();
    if (!c_.problems.empty()) return check_ops();
    if (has_versions_) open_placeholders(c_.file.producer, c_.file.graph);
    c_.file.variables = nodes_.variables();
    if (c_.values_elsewhere) read_weights();
    if (library_at_) read_library_bodies(c_, *library_at_);
    if (feed_at_) read_feed();
  }

 private:
  void read_top(const char* what, std::string_view about_keys = {}) {
    for (ObjectReader object(c_.reader, kKeys, what, about_keys); object.next();) read_member(object.field());
  }

  void read_member(int field) {
    GraphFile& file = c_.file;
    if (field == kConfig || field == kOpDef || field == kKernelDef || field == kLibrary || field == kCluster)
      keep_text(kKeys[field]);
    switch (field) {
      case kNode:
        nodes_.read_list();
        break;
      case kFetch:
        file.has_fetch = true, file.fetch = read_names("fetch");
        break;
      case kTarget:
        file.target = read_names("target");
        break;
      case kInit:
        file.has_init = true, file.init = read_names("init");
        break;
      case kFeed:
        feed_at_ = c_.reader.position();
        break;
      case kConfig:
        read_config(c_);
        break;
      case kOpDef:
        if (!std::exchange(op_defs_read_, true)) read_op_defs(c_);
        break;
      case kKernelDef:
        read_kernel_defs(c_);
        break;
      case kLibrary:
        library_at_ = c_.reader.position();
        if (!std::exchange(signatures_read_, true)) read_library_signatures(c_);
        break;
      case kCluster:
        read_cluster(c_.reader, c_.file.cluster);
        break;
      case kTrain:
        file.train_json = c_.reader.skip();
        break;
      case kData:
        file.data_json = c_.reader.skip();
        break;
      case kVersions:
        has_versions_ = true, read_versions();
        break;
      default:
        read_tfjs_member(field);
    }
  }

  void read_tfjs_member(int field) {
    switch (field) {
      case kModelTopology:
        read_topology();
        break;
      case kWeightsManifest:
        weights_at_ = c_.reader.position();
        break;
      case kSignature:
        read_signature(c_);
        break;
      case kUserDefinedMetadata:
        read_metadata();
        break;
      case kFormat:
        check_format();
        break;
      default:
        break;
    }
  }

  void keep_text(std::string_view key) {
    Problems scratch;
    c_.file.declared_text.push_back({key, c_.reader.lookahead(scratch).skip()});
  }

  /// A kernel_def for an op that nobody knows would change nothing.
  void check_kernel_ops() {
    for (const NamedRef& op : c_.kernel_ops) {
      if (c_.signature(op.name)) continue;
      c_.problems.add(op.position, cat("a kernel of the unknown op '", op.name, "'"), op_hint(op.name),
                      Code::kNotFound);
    }
  }

  /// What validate() cannot tell of a file with other problems: ops that nobody knows, each once.
  void check_ops() {
    const Graph& g = c_.file.graph;
    // A declaration that has a problem itself may be the op's.
    auto inside = [&](const Problem& p) {
      return std::any_of(c_.file.declared_text.begin(), c_.file.declared_text.end(), [&](const auto& declared) {
        const auto begin = static_cast<int64_t>(declared.second.data() - c_.source.text().data());
        return p.position >= begin && p.position < begin + static_cast<int64_t>(declared.second.size());
      });
    };
    if (std::any_of(c_.problems.list().begin(), c_.problems.list().end(), inside)) return;
    std::set<std::string_view> told;
    for (NodeId id = 0; id < g.num_nodes() && !c_.problems.full(); ++id) {
      if (!c_.signature(g.op(id)) && told.insert(g.op(id)).second)
        c_.problems.add(op_position(c_.source.text(), g.node(id).position), cat("unknown op '", g.op(id), "'"),
                        op_hint(g.op(id)), Code::kNotFound);
    }
  }

  std::string op_hint(std::string_view op) {
    Suggestion near(op);
    for (std::string_view name : c_.file.ops->names()) near.offer(name);
    for (const auto& [name, function] : c_.file.library) near.offer(name);
    return near.text();
  }

  std::vector<NamedRef> read_names(std::string_view what) {
    std::vector<NamedRef> names;
    if (!expect(c_.reader, Kind::kArray, what)) return names;
    for (c_.reader.enter_array(); c_.reader.next_element();) {
      auto at = static_cast<int64_t>(c_.reader.position());
      if (auto name = read_text(c_.reader, what)) names.push_back({std::string(*name), at});
    }
    return names;
  }

  // `op_def` and `library` may stand after the nodes that need them.
  void look_for_declarations(size_t start) {
    size_t back = c_.reader.position();
    c_.reader.seek(start);
    c_.reader.enter_object();
    for (std::string_view key; c_.reader.next_key(key);) {
      if (same_key(key, "op_def") && !std::exchange(op_defs_read_, true)) {
        read_op_defs(c_);
      } else if (same_key(key, "library") && !std::exchange(signatures_read_, true)) {
        read_library_signatures(c_);
      } else {
        c_.reader.skip();
      }
    }
    c_.reader.seek(back);
  }

  void read_versions() {
    enum { kProducer, kMinConsumer, kBadConsumers };
    static constexpr std::string_view kVersionKeys[] = {"producer", "min_consumer", "bad_consumers"};
    GraphFile& file = c_.file;
    for (ObjectReader object(c_.reader, kVersionKeys, "versions"); object.next();) {
      size_t at = c_.reader.position();
      switch (object.field()) {
        case kProducer:
          file.producer = read_version("producer");
          break;
        case kMinConsumer:
          file.min_consumer = read_version("min_consumer");
          if (std::string wrong = min_consumer_problem(file.min_consumer); !wrong.empty()) c_.reader.problem(at, wrong);
          break;
        default:
          if (!expect(c_.reader, Kind::kArray, "bad_consumers")) break;
          for (c_.reader.enter_array(); c_.reader.next_element();) {
            file.bad_consumers.push_back(read_version("bad_consumers"));
            if (std::string wrong = bad_consumer_problem(file.bad_consumers.back()); !wrong.empty())
              c_.reader.problem(at, wrong);
          }
      }
    }
  }

  int read_version(std::string_view what) {
    return static_cast<int>(read_integer(c_.reader, what, INT32_MIN, INT32_MAX).value_or(0));
  }

  // A placeholder's own type is the one its value is read as.
  void read_feed() {
    c_.reader.seek(*feed_at_);
    if (!expect(c_.reader, Kind::kObject, "feed")) return;
    c_.reader.enter_object();
    for (std::string_view name; c_.reader.next_key(name);) {
      auto at = static_cast<int64_t>(c_.reader.position_of(name));
      NodeId node = c_.file.graph.find(name.substr(0, name.find(':')));
      const AttrValue* type = node == kNoNode ? nullptr : Attrs(c_.file.graph.written_attrs(node)).find("dtype");
      const DType* dtype = type ? type->get_if<DType>() : nullptr;
      auto value = read_plain_tensor(c_, dtype ? *dtype : DType::kInvalid, Untyped::kFloat);
      if (value) c_.file.feed.emplace_back(NamedRef{std::string(name), at}, std::move(value->value));
    }
  }

  void read_topology() {
    c_.values_elsewhere = true;
    size_t start = c_.reader.position();
    c_.read_declarations = [this, start] { look_for_declarations(start); };
    read_top("a model topology");
  }

  void read_metadata() {
    if (!expect(c_.reader, Kind::kObject, "userDefinedMetadata")) return;
    c_.reader.enter_object();
    for (std::string_view key; c_.reader.next_key(key);) {
      if (key == "signature") {
        read_signature(c_);
      } else {
        c_.reader.skip();
      }
    }
  }

  void check_format() {
    size_t at = c_.reader.position();
    auto format = read_text(c_.reader, "format");
    if (format && *format != "graph-model") {
      c_.reader.problem(at, cat("a TF.js model of format '", *format, "'; wanted 'graph-model'"),
                        "a layers model can be converted: tensorflowjs_converter --output_format=tfjs_graph_model");
    }
  }

  void read_weights() {
    if (weights_at_) {
      c_.reader.seek(*weights_at_);
      read_weights_manifest(c_);
    }
    if (c_.problems.empty()) fill_missing_weights(c_);
  }

  LoadContext& c_;
  GraphBuilder builder_;
  NodeReader nodes_;
  bool op_defs_read_ = false, signatures_read_ = false, has_versions_ = false;
  std::optional<size_t> library_at_, feed_at_, weights_at_;
};

}  // namespace

bool LoadContext::may_go_on() {
  if (reader.failed()) return false;
  Status status = stop_status();
  if (status.ok()) status = file.memory.resize(file.graph.heap_bytes());
  if (!status.ok()) reader.give_up(status);
  return status.ok();
}

const OpSignature* LoadContext::signature(std::string_view op) {
  const OpSignature* found = file.ops->find(op);
  if (!found && read_declarations) {
    auto read = std::move(read_declarations);
    read_declarations = nullptr;
    read();
    found = file.ops->find(op);
  }
  if (found) return found;
  auto function = file.library.find(std::string(op));
  return function == file.library.end() ? nullptr : &function->second.signature;
}

std::unique_ptr<GraphFile> load(std::shared_ptr<const Source> source, const LoadOptions& options, Problems& problems) {
  if (auto proto = std::dynamic_pointer_cast<const ProtoSource>(source))
    return proto->format() == GraphFormat::kOnnx ? load_onnx(std::move(proto), options, problems)
                                                 : load_proto(std::move(proto), options, problems);
  auto file = std::make_unique<GraphFile>();
  file->source = source;
  file->ops = std::make_unique<OpTable>();
  file->graph.source_ = source;
  JsonReader reader(source->text(), problems, file->graph.texts_.arena());
  LoadContext context{*source, options, problems, *file, reader, options.max_fill_bytes, false, false, nullptr};
  Loader(context).load();
  return file;
}

}  // namespace emplace
