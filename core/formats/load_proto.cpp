#include "core/formats/load_proto.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/heap.h"
#include "core/base/suggest.h"
#include "core/formats/checkpoint/saver.h"
#include "core/formats/file_access.h"
#include "core/formats/graph_builder.h"
#include "core/formats/graph_versions.h"
#include "core/formats/library_reader.h"
#include "core/formats/main_graph.h"
#include "core/formats/meta_graph.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/json_writer.h"
#include "core/formats/wire_nodes.h"
#include "core/op/trait_table.h"

namespace emplace {
namespace {

using proto::kGraphDefFields;
using proto::number;
using proto::WireReader;
using proto::WireType;

/// The parts of a GraphDef.
struct GraphParts {
  size_t num_nodes = 0;
  std::string library, versions;  // all pieces of each
  const char* versions_at = nullptr;
};

/// Brings the bytes that are read next near: where a field begins is known only once the one before it has been read,
/// so nothing else asks for two of them at a time (looking for 200,000 nodes: 27 to 4 ms).
class ReadAhead {
 public:
  explicit ReadAhead(std::string_view message) : at_(message.data()), end_(message.data() + message.size()) {}

  /// All before `p` has been read or passed over.
  void go_on(const char* p) {
    at_ = std::max(at_, p);
    for (const char* to = end_ - p > kAhead ? p + kAhead : end_; at_ < to; at_ += std::min(kLine, to - at_))
      __builtin_prefetch(at_);
  }

 private:
  static constexpr ptrdiff_t kLine = 64, kAhead = 2048;
  const char *at_, *end_;
};

class ProtoLoader {
 public:
  ProtoLoader(LoadContext& c, const ProtoSource& source)
      : c_(c),
        w_{c, source},
        builder_(c, c.file.graph),
        nodes_(w_, builder_, source.format() == GraphFormat::kSavedModel) {}

  void load(std::string_view graph) {
    GraphParts parts = scan(graph);
    if (!w_.sound()) return;
    read_library(parts.library);
    read_graph_versions(parts);
    constexpr size_t kHeapPerNode = 4096, kMostHeap = size_t{1} << 30;  // until it is placed
    if (parts.num_nodes > 1000) reserve_heap(std::min(parts.num_nodes * kHeapPerNode, kMostHeap));
    builder_.expect(parts.num_nodes, parts.num_nodes * 2);
    ReadAhead ahead(graph);
    for (WireReader reader(graph, w_.error); reader.next();) {
      ahead.go_on(reader.end_at());
      if (!reader.is(number(kGraphDefFields, "node"), WireType::kBytes)) continue;
      nodes_.read(reader.bytes());
      constexpr NodeId kCountEvery = 4096;  // nodes between two looks at the memory that they take
      if (builder_.num_nodes() % kCountEvery == 0 && !c_.may_go_on()) return;
    }
    builder_.finish();
    open_placeholders(c_.file.producer, c_.file.graph);
    if (c_.problems.empty()) read_bodies();
    if (c_.problems.empty()) read_around_graph();
  }

 private:
  GraphParts scan(std::string_view graph) {
    GraphParts parts;
    ReadAhead ahead(graph);
    for (WireReader reader(graph, w_.error); reader.next();) {
      ahead.go_on(reader.end_at());
      if (reader.type() != WireType::kBytes) continue;
      if (reader.field() == number(kGraphDefFields, "node")) ++parts.num_nodes;
      if (reader.field() == number(kGraphDefFields, "library")) parts.library += reader.bytes();
      if (reader.field() == number(kGraphDefFields, "versions")) {
        parts.versions += reader.bytes();
        parts.versions_at = reader.tag_at();
      }
    }
    return parts;
  }

  /// Of a SavedModel the variables come from its checkpoint: what it runs first is its main op, which finds the assets
  /// where they are. A MetaGraph says how its variables begin, and what fills its tables.
  void read_around_graph() {
    const std::optional<MetaGraph> meta = read_meta_graph(w_.source, c_.problems);
    if (!meta) return;
    GraphFile& file = c_.file;
    if (!meta->folder.empty()) {
      const Status variables = check_saved_variables(w_.source, meta->folder, c_.options);
      if (!variables.ok()) c_.problems.add(kNoPosition, variables.message(), kAllowItsFolder, variables.code());
      file.has_init = true;
      if (restores_more_than_variables(file)) run_saver(*meta);
      if (!meta->main_op.empty()) file.init.push_back({meta->main_op, kNoPosition});
      for (const auto& [tensor, name] : meta->assets) feed_asset(meta->folder, tensor, name);
      return;
    }
    for (const VariableInfo& v : meta->variables) {
      if (file.graph.find(v.initializer) == kNoNode) continue;
      file.has_init = true;
      file.init.push_back({v.initializer, kNoPosition});
    }
    fill_tables(meta->table_initializers);
  }

  /// Beside what gives variables their first values. A list of initializers takes the place of what a graph with
  /// variables runs where it names none.
  void fill_tables(const std::vector<std::string>& nodes) {
    GraphFile& file = c_.file;
    bool lists_all = true;
    for (NodeId id = 0; id < file.graph.num_nodes() && !file.has_init; ++id)
      lists_all = lists_all && !traits_of(file.graph.op(id)).variable;
    for (const std::string& node : nodes) {
      if (!lists_all || file.graph.find(node) == kNoNode) continue;
      file.has_init = true;
      file.init.push_back({node, kNoPosition});
    }
  }

  /// Tables are filled by the saver's own nodes, from the model's checkpoint.
  void run_saver(const MetaGraph& meta) {
    if (c_.file.graph.find(meta.restore_op) == kNoNode) return;
    c_.file.init.push_back({meta.restore_op, kNoPosition});
    feed_text(meta.saver_filename, cat(meta.folder, "/variables/variables"));
  }

  void feed_asset(const std::string& folder, const std::string& tensor, const std::string& name) {
    if (name.empty() || name.starts_with('/') || cat("/", name, "/").find("/../") != std::string::npos)
      return c_.problems.add(kNoPosition, cat("the asset '", name, "' does not lie in the folder assets"));
    feed_text(tensor, cat(folder, "/assets/", name));
  }

  void feed_text(const std::string& tensor, const std::string& text) {
    c_.file.feed.push_back({{tensor, kNoPosition}, Tensor::scalar(text)});
  }

  // Functions are read from JSON, as those of any other file: their own text, made here.
  void read_library(std::string_view library) {
    if (library.empty()) return;
    std::string json;
    JsonWriter writer(json);
    proto::WireError error;
    proto::write_json(writer, proto::Message::kFunctionDefLibrary, library, error);
    if (error.failed()) return c_.problems.add(kNoPosition, cat("the function library: ", error.message));
    library_text_ = Source::from_text(c_.source.name(), std::move(json));
    w_.source.keep(library_text_);  // names and texts of functions stand in it
    c_.file.declared_text.push_back({"library", library_text_->text()});
    with_library([](LoadContext& l) { read_library_signatures(l); });
  }

  void read_bodies() {
    if (!library_text_) return;
    with_library([](LoadContext& l) { read_library_bodies(l, 0); });
    for (auto& [name, function] : c_.file.library) {
      if (!function.body) continue;
      for (Node& node : function.body->nodes_) node.position = kNoPosition;
    }
  }

  // What is wrong in the library has no place in the file that the reader of JSON knows.
  template <class F>
  void with_library(const F& read) {
    Problems found;
    JsonReader reader(library_text_->text(), found, c_.file.graph.texts_.arena());
    LoadContext l{*library_text_, c_.options, found, c_.file, reader, c_.fill_bytes_left, false, false, nullptr};
    read(l);
    for (const Problem& p : found.list())
      c_.problems.add(kNoPosition, cat("the function library: ", p.message), p.hint, p.code);
    c_.fill_bytes_left = l.fill_bytes_left;
  }

  void read_graph_versions(const GraphParts& parts) {
    using proto::kVersionDefFields;
    GraphFile& file = c_.file;
    for (WireReader reader(parts.versions, w_.error); reader.next();) {
      if (reader.is(number(kVersionDefFields, "producer"), WireType::kVarint)) {
        file.producer = proto::as_int32(reader.number());
      } else if (reader.is(number(kVersionDefFields, "min_consumer"), WireType::kVarint)) {
        file.min_consumer = proto::as_int32(reader.number());
      } else if (reader.field() == number(kVersionDefFields, "bad_consumers")) {
        reader.numbers(WireType::kVarint, [&](uint64_t n) { file.bad_consumers.push_back(proto::as_int32(n)); });
      }
    }
    if (!w_.sound()) return;
    if (std::string wrong = min_consumer_problem(file.min_consumer); !wrong.empty())
      w_.problem(parts.versions_at, wrong);
    for (int version : file.bad_consumers) {
      if (std::string wrong = bad_consumer_problem(version); !wrong.empty()) w_.problem(parts.versions_at, wrong);
    }
  }

  LoadContext& c_;
  WireContext w_;
  GraphBuilder builder_;
  WireNodes nodes_;
  std::shared_ptr<const Source> library_text_;
};

}  // namespace

std::unique_ptr<GraphFile> load_proto(std::shared_ptr<const ProtoSource> source, const LoadOptions& options,
                                      Problems& problems) {
  auto file = std::make_unique<GraphFile>();
  file->source = source;
  file->ops = std::make_unique<OpTable>();
  file->graph.source_ = source;
  for (const Problem& p : source->text_problems().list()) problems.add(p.position, p.message, p.hint, p.code);
  if (!problems.empty()) return file;
  JsonReader no_json({}, problems, file->graph.texts_.arena());
  LoadContext context{*source, options, problems, *file, no_json, options.max_fill_bytes, false, false, nullptr};
  const std::string_view graph = main_graph(*source, problems);
  if (problems.empty()) ProtoLoader(context, *source).load(graph);
  return file;
}

}  // namespace emplace
