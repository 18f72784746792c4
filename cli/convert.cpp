// emplace convert: a graph file in another format, whole or a part of it.
#include "core/formats/convert.h"

#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "cli/files.h"
#include "cli/signals.h"
#include "core/base/cat.h"
#include "core/base/heap_limit.h"
#include "core/base/named_files.h"
#include "core/base/printable.h"
#include "core/base/stop.h"
#include "core/base/text_file.h"
#include "core/formats/open_graph.h"
#include "core/model_conversion.h"
#include "core/pipeline_stage.h"
#include "core/tensor/npy.h"

namespace emplace {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

enum class OutKind : uint8_t { kJson, kBinary, kText, kFolder };

/// By its ending; what has none is a folder. Nothing: an ending that we do not know.
std::optional<OutKind> kind_of(std::string_view out) {
  if (out.ends_with(".json")) return OutKind::kJson;
  if (out.ends_with(".pb")) return OutKind::kBinary;
  if (out.ends_with(".pbtxt")) return OutKind::kText;
  const bool folder = out.ends_with('/') || file_name(out).find('.') == out.npos || std::filesystem::is_directory(out);
  return folder ? std::optional(OutKind::kFolder) : std::nullopt;
}

/// Is it that folder, or in it?
bool lies_in(const std::string& path, const std::string& folder) {
  std::error_code unknown;
  const std::filesystem::path inner = std::filesystem::weakly_canonical(path, unknown);
  const std::filesystem::path outer = std::filesystem::weakly_canonical(folder, unknown);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

class ConvertCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    set.positional("IN OUT",
                   "OUT's ending tells its format: .json, .pb, .pbtxt; none: the folder of a SavedModel. IN '-' is "
                   "standard input.",
                   o.arguments);
    set.group("Conversion");
    set.value("weights", "WHERE",
              "Of JSON, tensors inline (default), beside in OUT.weights.npz, or auto: from 1 KiB on beside",
              set_choice<WeightFiles>(
                  weights_,
                  {{"inline", WeightFiles::kInline}, {"beside", WeightFiles::kBeside}, {"auto", WeightFiles::kAuto}}));
    set.flag("strip", "Leave out attrs that begin with '_', but _class", strip_);
    set.about("--placed", {"placed"});
    set.flag("placed", "Fill in the device of every node", placed_);
    set.about("");
    set.flag("force", "Replace a folder that is there", force_);
    set.group("Part of the graph");
    set.text("signature", "KEY", "Of a MetaGraph or SavedModel: only what this signature needs",
             o.pipeline.run.signature);
    set.list("fetch", "NAME", "Only what these tensors need (repeat or a,b)", o.pipeline.run.fetch);
    set.flag("freeze", "Variables that the rest does not write become constants; functions are inlined", freeze_);
    set.value("functions", "HOW", "What becomes of calls and control flow: keep (default) or inline",
              set_choice<FunctionMode>(o.pipeline.functions.mode,
                                       {{"keep", FunctionMode::kKeep}, {"inline", FunctionMode::kInline}}));
    set.text("restore", "DIR|FILE", "The variables' values: a checkpoint", o.pipeline.run.restore);
    set.about("--placed");
    set.group("Placement");
    declare_placing(set, o.pipeline.placing);
    declare_kernels(set, o.pipeline.placing);
    set.group("Devices");
    declare_devices(set, o.pipeline);
    set.about("");
    set.group("Files and output");
    declare_loading(set, o.pipeline);
  }

  int run(const Options& options, Log& log) override {
    if (options.arguments.size() != 2) return usage(log, "wanted two files: emplace convert IN OUT");
    const std::string &in = options.arguments[0], &out = options.arguments[1];
    if (out == "-") return usage(log, "OUT is a file or folder whose ending tells the format, not standard output");
    const std::optional<OutKind> kind = kind_of(out);
    if (!kind)
      return usage(log, cat("'", out, "': the ending tells the format: .json, .pb or .pbtxt, none a SavedModel"));
    if (*kind == OutKind::kFolder && std::filesystem::exists(out) && !std::filesystem::is_directory(out))
      return usage(log, cat("'", out, "' is there and is not a folder, which a SavedModel is"));
    if (*kind == OutKind::kFolder && !force_ && std::filesystem::exists(out))
      return usage(log, cat("'", out, "' is there; --force replaces it"));
    if (*kind == OutKind::kFolder) {
      for (const std::string& read : {in, options.pipeline.run.restore}) {
        if (!read.empty() && read != "-" && lies_in(read, out))
          return usage(log, cat("'", out, "' has what is read, '", read, "', and would be replaced"));
      }
    }
    NamedFiles files;
    reads_graph(in, "IN", files);
    if (Status status = *kind == OutKind::kFolder ? ok_status() : files.writes(out, "OUT"); !status.ok())
      return usage(log, status);
    Result<std::shared_ptr<const Source>> source = open_graph(in, options.pipeline.input_format, options.pipeline.tags);
    if (!source.ok()) return report_error(source.status().blamed(Blame::kFile), log);
    const auto* message = dynamic_cast<const ProtoSource*>(source->get());
    if (!options.pipeline.tags.empty() && (!message || message->format() != GraphFormat::kSavedModel))
      return usage(log, cat("--tags: ", printable(in), " is no SavedModel"));
    Problems problems;
    const HeapLimit limit;
    GraphMessage graph = read_graph_message(*source, options.pipeline.load, problems);
    if (const Status stopped = stop_status(); !stopped.ok()) return report_error(stopped.with_context(in), log);
    if (const Status first = first_problem(problems); first.code() == Code::kResourceExhausted)
      return report_error(first.with_context(in), log);
    if (!problems.empty()) return log.problem(problems.to_string(**source)), 3;
    const RunOptions& part = options.pipeline.run;
    const bool whole = part.signature.empty() && part.fetch.empty() && !freeze_ &&
                       options.pipeline.functions.mode != FunctionMode::kInline;
    if (!whole || *kind == OutKind::kFolder) return convert_part(options, in, out, *kind, graph, log);
    return write(options, in, out, *kind, graph, log);
  }

 private:
  /// What the graph computes goes through the stages.
  int convert_part(const Options& options, const std::string& in, const std::string& out, OutKind kind,
                   GraphMessage& graph, Log& log) {
    if (in == "-") return usage(log, "what changes the graph reads it twice: IN cannot be standard input");
    StageContext c(options.pipeline, in, log, &stop_flag());
    if (freeze_) c.options.functions.mode = FunctionMode::kInline;
    Result<ConvertedModel> model = convert_model(c, graph, {freeze_, kind == OutKind::kFolder});
    if (!model.ok()) return report_failure(c, model.status());
    for (const std::string& kept : model->left_over) log.warning(cat(in, ": not frozen: ", kept));
    graph.bytes = std::move(model->graph);
    if (kind != OutKind::kFolder) {
      std::erase_if(graph.own_keys, [](const auto& key) { return key.first != "config"; });
      if (kind == OutKind::kJson) graph.own_keys.emplace_back("fetch", json_list(model->outputs));
      return write(options, in, out, kind, graph, log);
    }
    if (int code = change(options, in, log, graph); code != 0) return code;
    const Status written =
        write_saved_model(out,
                          {graph.bytes, model->signatures, model->contents, model->main_op, model->assets,
                           c.model ? c.model->meta.folder : std::string(), model->new_assets},
                          force_);
    return written.ok() ? 0 : report_error(written, log);
  }

  static std::string json_list(const std::vector<std::string>& texts) {
    std::string out;
    JsonWriter json(out);
    json.begin_array();
    for (const std::string& text : texts) json.value(text);
    json.end_array();
    return out;
  }

  int write(const Options& options, const std::string& in, const std::string& out, OutKind kind, GraphMessage& graph,
            Log& log) {
    if (int code = change(options, in, log, graph); code != 0) return code;
    Result<GraphText> written = written_graph(graph, kind, out);
    if (!written.ok()) return report_error(written.status().with_context(in), log);
    say_what_is_lost(in, kind, graph, *written, log);
    const Status status = write_files(out, *written);
    return status.ok() ? 0 : report_error(status, log);
  }

  /// --strip and --placed.
  int change(const Options& options, const std::string& in, Log& log, GraphMessage& graph) const {
    ConvertOptions change;
    change.strip = strip_;
    if (placed_) {
      if (int code = place_nodes(options, in, log, change); code != 0) return code;
    }
    proto::WireError error;
    if (change.strip || !change.devices.empty()) graph.bytes = changed_graph(graph.bytes, change, error);
    return error.failed() ? report_error(invalid_argument(error.message).with_context(in).blamed(Blame::kFile), log)
                          : 0;
  }

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

  Result<GraphText> written_graph(const GraphMessage& graph, OutKind kind, const std::string& out) const {
    proto::WireError error;
    GraphText text = kind == OutKind::kBinary ? write_graph_binary(graph, error)
                     : kind == OutKind::kText ? write_graph_text(graph, error)
                                              : write_graph_json(graph, weights_, weights_file(out), error);
    if (error.failed()) return invalid_argument(error.message).blamed(Blame::kFile);
    if (kind == OutKind::kBinary && text.text.size() > proto::kMostBytes)
      return resource_exhausted("a GraphDef ends at 2 GiB; write a SavedModel folder").blamed(Blame::kWrite);
    return text;
  }

  static std::string weights_file(const std::string& out) { return cat(file_name(out), ".weights.npz"); }

  static void say_what_is_lost(const std::string& in, OutKind kind, const GraphMessage& graph, const GraphText& text,
                               Log& log) {
    if (text.unknown_fields > 0)
      log.warning(cat(in, ": ", text.unknown_fields, " fields that TensorFlow 2.21 does not know are left out"));
    if (kind == OutKind::kJson || graph.own_keys.empty()) return;
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
  bool strip_ = false, placed_ = false, force_ = false, freeze_ = false;
};

}  // namespace

std::unique_ptr<Command> make_convert_command() { return std::make_unique<ConvertCommand>(); }

}  // namespace emplace
