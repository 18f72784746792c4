// emplace convert: a graph file in another format.
#include "core/formats/convert.h"
#include "cli/command.h"
#include "core/base/cat.h"
#include "core/base/named_files.h"
#include "core/base/text_file.h"
#include "core/formats/open_graph.h"
#include "core/tensor/npy.h"

namespace emplace {
namespace {

constexpr size_t kMostBinary = (size_t{2} << 30) - 1;  // protobuf's own limit

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

class ConvertCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    set.positional("IN OUT", "OUT's ending tells its format: .json, .pb or .pbtxt. IN '-' is standard input.",
                   o.arguments);
    set.group("Conversion");
    set.value("weights", "WHERE",
              "Of JSON, tensors inline (default), beside in OUT.weights.npz, or auto: from 1 KiB on beside",
              set_choice<WeightFiles>(
                  weights_,
                  {{"inline", WeightFiles::kInline}, {"beside", WeightFiles::kBeside}, {"auto", WeightFiles::kAuto}}));
    set.flag("strip", "Leave out attrs that begin with '_', but _class", strip_);
    set.flag("placed", "Fill in the device of every node", placed_);
    set.group("Placement");
    declare_placing(set, o.pipeline.placing);
    declare_kernels(set, o.pipeline.placing);
    set.group("Devices");
    declare_devices(set, o.pipeline);
    set.group("Files and output");
    declare_loading(set, o.pipeline);
  }

  int run(const Options& options, Log& log) override {
    if (options.arguments.size() != 2) return usage(log, "wanted two files: emplace convert IN OUT");
    const std::string &in = options.arguments[0], &out = options.arguments[1];
    if (!out.ends_with(".pb") && !out.ends_with(".pbtxt") && !out.ends_with(".json"))
      return usage(log, cat("'", out, "': the ending tells the format: .json, .pb or .pbtxt"));
    NamedFiles files;
    files.reads(in, "IN");
    if (Status status = files.writes(out, "OUT"); !status.ok()) return usage(log, status.message());
    Result<std::shared_ptr<const Source>> source = open_graph(in, options.pipeline.input_format);
    if (!source.ok()) return report_error(source.status().blamed(Blame::kFile), log);
    Problems problems;
    GraphMessage graph = read_graph_message(*source, options.pipeline.load, problems);
    if (!problems.empty()) return log.problem(problems.to_string(**source)), 3;
    ConvertOptions change;
    change.strip = strip_;
    if (placed_) {
      if (int code = place_nodes(options, in, log, change); code != 0) return code;
    }
    Result<GraphText> written = written_graph(graph, change, out);
    if (!written.ok()) return report_error(written.status().with_context((*source)->name()), log);
    say_what_is_lost(in, out, graph, *written, log);
    const Status status = write_files(out, *written);
    return status.ok() ? 0 : report_error(status, log);
  }

 private:
  /// The devices that place() gives the nodes, for --placed.
  static int place_nodes(const Options& options, const std::string& path, Log& log, ConvertOptions& change) {
    StageContext c(options.pipeline, path, log);
    const Result<Partitioned> placed = partition_file(c);
    if (!placed.ok()) return report_failure(c, placed.status());
    const Graph& g = placed->file->graph;
    for (NodeId id = 0; id < g.num_nodes(); ++id)
      change.devices[std::string(g.name(id))] = placed->devices->at(placed->placement->of(id).device).name;
    return 0;
  }

  Result<GraphText> written_graph(GraphMessage& graph, const ConvertOptions& change, const std::string& out) const {
    proto::WireError error;
    if (change.strip || !change.devices.empty()) graph.bytes = changed_graph(graph.bytes, change, error);
    GraphText text = out.ends_with(".pb")      ? write_graph_binary(graph, error)
                     : out.ends_with(".pbtxt") ? write_graph_text(graph, error)
                                               : write_graph_json(graph, weights_, weights_file(out), error);
    if (error.failed()) return invalid_argument(error.message).blamed(Blame::kFile);
    if (out.ends_with(".pb") && text.text.size() > kMostBinary)
      return resource_exhausted("a GraphDef ends at 2 GiB; write JSON with --weights beside").blamed(Blame::kWrite);
    return text;
  }

  static std::string weights_file(const std::string& out) { return cat(file_name(out), ".weights.npz"); }

  static void say_what_is_lost(const std::string& in, const std::string& out, const GraphMessage& graph,
                               const GraphText& text, Log& log) {
    if (text.unknown_fields > 0)
      log.warning(cat(in, ": ", text.unknown_fields, " fields that TensorFlow 2.21 does not know are left out"));
    if (out.ends_with(".json") || graph.own_keys.empty()) return;
    std::string keys;
    for (const auto& [key, value] : graph.own_keys) append(keys, keys.empty() ? "" : ", ", key);
    log.warning(cat(in, ": a GraphDef has no place for ", keys, ": left out"));
  }

  static Status write_files(const std::string& out, const GraphText& text) {
    const std::string folder = out.substr(0, out.size() - file_name(out).size());
    if (!text.weights.empty()) RETURN_IF_ERROR(write_npz(folder + weights_file(out), text.weights));
    return write_text_file(out, text.text);
  }

  WeightFiles weights_ = WeightFiles::kInline;
  bool strip_ = false, placed_ = false;
};

}  // namespace

std::unique_ptr<Command> make_convert_command() { return std::make_unique<ConvertCommand>(); }

}  // namespace emplace
