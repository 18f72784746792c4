#include "cli/compare_sides.h"

#include <algorithm>
#include <filesystem>

#include "cli/signals.h"
#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/text_file.h"
#include "core/formats/graph_cut.h"
#include "core/ops/kit/isa_limit.h"
#include "core/tensor/npy.h"

namespace emplace {
namespace {

/// Takes "NAME=VALUE" from the front of the flags, as a shell would.
Status take_variables(std::string& flags, std::optional<Isa>& isa) {
  constexpr std::string_view kIsa = "EMPLACE_ISA=";
  for (;;) {
    flags.erase(0, flags.find_first_not_of(' '));
    if (flags.empty() || flags[0] == '-') return ok_status();
    const std::string word = flags.substr(0, flags.find(' '));
    if (word.find('=') == std::string::npos) return ok_status();
    if (word.compare(0, kIsa.size(), kIsa) != 0)
      return invalid_argument(cat("'", word, "': of a side, EMPLACE_ISA can be set; others go before 'emplace'"));
    isa = named_isa(word.substr(kIsa.size()));
    if (!isa) return invalid_argument(cat("'", word, "': wanted EMPLACE_ISA=base or EMPLACE_ISA=v3"));
    flags.erase(0, word.size());
  }
}

bool stands_alone(const Graph& g, NodeId node) {
  if (g.traits(node).control != Control::kNone || g.inputs(node).empty()) return false;
  return std::none_of(g.inputs(node).begin(), g.inputs(node).end(),
                      [&](const Endpoint& e) { return is_handle(g.output_type(e)); });
}

std::string file_name_of(std::string_view node) {
  std::string name(node);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '-' && c != '_'; },
      '_');
  return name;
}

}  // namespace

Result<ComparedRun> read_compared_run(const std::string& path, const std::string& flags,
                                      const std::vector<OptionSource>& common,
                                      const std::function<void(OptionSet&, Options&)>& declare) {
  ComparedRun run;
  std::string rest = flags;
  RETURN_IF_ERROR(take_variables(rest, run.isa));
  ASSIGN_OR_RETURN(run.side,
                   read_side("compare", rest.empty() ? path : cat(shell_word(path), ' ', rest), common, declare));
  run.side.path = path;
  return run;
}

Status place_compared_run(ComparedRun& run, Log& log) {
  PipelineOptions options = run.side.options.pipeline;
  if (options.run.seed == 0) options.run.seed = 1;  // both sides draw the same
  // The limit is of the side's own thread, which gives the same bytes as several.
  if (run.isa) options.run.intra_op_threads = options.run.inter_op_threads = 1;
  run.context = std::make_unique<StageContext>(std::move(options), run.side.path, log, &stop_flag());
  StageContext& c = *run.context;
  ASSIGN_OR_RETURN(const Loaded loaded, load_graph(c));
  ASSIGN_OR_RETURN(run.runnable, validate_run(c, loaded));
  ASSIGN_OR_RETURN(const Placed placed, place_to_run(c, *run.runnable));
  ASSIGN_OR_RETURN(run.partitioned, partition_graph(c, placed));
  return run.partitioned->verdict;
}

Status execute_compared_run(ComparedRun& run, RunObserver* observer) {
  const IsaLimit limit(run.isa);
  run.context->observer = observer;
  ASSIGN_OR_RETURN(run.planned, plan_run(*run.context, *run.partitioned, run.runnable->request));
  return execute(*run.context, *run.planned, run.runnable->request, run.outputs);
}

Result<std::string> save_reproduction(ComparedRun& a, NodeId node, const std::string& folder, NamedFiles files,
                                      Log& log) {
  const std::string name(a.graph().name(node));
  if (!stands_alone(a.graph(), node)) return std::string();
  ComparedRun again;
  again.side = a.side;
  again.isa = a.isa;
  RETURN_IF_ERROR(place_compared_run(again, log));
  const Graph& g = again.graph();
  node = g.find(name);
  const std::vector<Endpoint> inputs(g.inputs(node).begin(), g.inputs(node).end());
  TensorCapture capture(g, inputs);
  RETURN_IF_ERROR(execute_compared_run(again, &capture));

  const std::string base = cat(folder, '/', file_name_of(name));
  CutRequest request;
  request.kept.assign(g.num_nodes(), 0);
  request.kept[node] = 1;
  request.drop_colocation = true;
  for (uint32_t slot = 0; slot < g.num_outputs(node); ++slot) request.fetch.push_back({node, slot});
  request.value = [&](const Endpoint& e) {
    for (const auto& [fed, value] : again.runnable->request.feeds) {  // which no node makes
      if (fed == e) return value;
    }
    return capture.values()[static_cast<size_t>(std::find(inputs.begin(), inputs.end(), e) - inputs.begin())];
  };
  request.values_file = file_name_of(name) + ".npz";
  const CutGraph cut = GraphCut(*again.partitioned->file).cut(request);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return unavailable(cat("cannot make folder '", printable(folder), "': ", error.message())).blamed(Blame::kWrite);
  for (const std::string& path : {base + ".json", base + ".npz"}) {
    if (std::filesystem::is_other(path, error))
      return invalid_argument(cat("--save-to: '", printable(path), "' is no file")).blamed(Blame::kWrite);
    RETURN_IF_ERROR(files.writes(path, "--save-to").blamed(Blame::kUsage));
  }
  if (!cut.values.empty()) RETURN_IF_ERROR(write_npz(base + ".npz", cut.values));
  RETURN_IF_ERROR(write_text_file(base + ".json", cut.text));
  return base + ".json";
}

}  // namespace emplace
