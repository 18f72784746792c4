#include "cli/reduce_graph.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/sha256.h"
#include "core/base/text_file.h"
#include "core/formats/convert.h"
#include "core/tensor/npy.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

/// By the node's name: what runs may have other ids than what is reduced.
std::string value_file(const std::string& folder, std::string_view node, size_t slot) {
  return cat(folder, '/', sha256_hex(cat(node, ':', slot)), ".npy");
}

/// A file of ours that only this run reads: closed, it outlives the process, which may crash in the next node. It need
/// not outlive the machine: 1,000 tensors took 10 s of fsync on a busy disk, the whole reduction 1 s.
Status write_value(const std::string& path, const Tensor& tensor) {
  std::ofstream file(path, std::ios::binary);
  RETURN_IF_ERROR(npy_to(
      [&file](std::string_view bytes) {
        file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        return ok_status();
      },
      tensor));
  file.close();
  return file.good() ? ok_status() : unavailable(cat("cannot write '", printable(path), "'"));
}

/// Keeps what each node made first.
class ValueRecorder final : public RunObserver {
 public:
  ValueRecorder(const std::string& folder, const Graph* const& graph) : folder_(folder), graph_(graph) {}

  Status finished(const ObservedInstruction& what, std::span<const Tensor> outputs) override {
    constexpr int64_t kMostBytes = int64_t{1} << 30;
    if (what.is_copy()) return ok_status();
    for (size_t slot = 0; slot < outputs.size(); ++slot) {
      const Tensor& t = outputs[slot];
      if (!t.valid() || is_handle(t.dtype())) continue;
      const std::string file = value_file(folder_, graph_->name(what.node), slot);
      if (bytes_ > kMostBytes || fs::exists(file)) continue;
      bytes_ += static_cast<int64_t>(t.size_bytes());
      RETURN_IF_ERROR(write_value(file, t));
    }
    return ok_status();
  }

 private:
  const std::string& folder_;
  const Graph* const& graph_;  // there before anything runs
  int64_t bytes_ = 0;
};

std::string file_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void remove_file(const std::string& file) {
  std::error_code missing;
  fs::remove(file, missing);
}

Status move_file(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? unavailable(cat("cannot write '", printable(to), "': ", error.message())) : ok_status();
}

std::string_view ending(ReducedForm form) {
  return form == ReducedForm::kJson ? ".json" : form == ReducedForm::kBinary ? ".pb" : ".pbtxt";
}

bool makes_handles_only(const Graph& g, NodeId node) {
  for (uint32_t slot = 0; slot < g.num_outputs(node); ++slot) {
    if (!is_handle(g.output_type({node, slot}))) return false;
  }
  return true;
}

/// An attr that a file need not say: what has a default, or follows from the inputs, where the form may lack those.
bool can_go(const Graph& g, NodeId id, std::string_view name, bool inferred_too) {
  if (name == "_class") return false;  // colocation is another matter
  if (name.starts_with('_')) return true;
  const OpSignature* signature = g.type(id).signature;
  const int attr = signature ? signature->find_attr(name) : -1;
  if (attr < 0) return signature != nullptr;
  if (signature->attrs[static_cast<size_t>(attr)].default_value) return true;
  return inferred_too && std::any_of(signature->inputs.begin(), signature->inputs.end(), [&](const ArgSignature& in) {
           return in.type_attr == attr || in.number_attr == attr || in.type_list_attr == attr;
         });
}

}  // namespace

std::optional<ReducedForm> reduced_form(std::string_view path) {
  for (const ReducedForm form : {ReducedForm::kJson, ReducedForm::kBinary, ReducedForm::kText}) {
    if (path.ends_with(ending(form))) return form;
  }
  return std::nullopt;
}

Status record_values(StageContext& c, const std::string& folder) {
  const Graph* graph = nullptr;
  ValueRecorder recorder(folder, graph);
  c.observer = &recorder;
  ASSIGN_OR_RETURN(const Loaded loaded, load_graph(c));
  ASSIGN_OR_RETURN(const Runnable runnable, validate_run(c, loaded));
  ASSIGN_OR_RETURN(const Placed placed, place_to_run(c, runnable));
  ASSIGN_OR_RETURN(const Partitioned partitioned, partition_graph(c, placed));
  graph = &partitioned.file->graph;
  ASSIGN_OR_RETURN(const Planned planned, plan_run(c, partitioned, runnable.request));
  std::vector<Tensor> outputs;
  return execute(c, planned, runnable.request, outputs);
}

ReduceGraph::ReduceGraph(const GraphFile& file, const RunRequest& request, const ReduceCheck& check, std::string values,
                         std::string output)
    : file_(file),
      asked_(request),
      check_(check),
      values_(std::move(values)),
      output_(std::move(output)),
      form_(*reduced_form(output_)),
      cut_(file) {}

Shrink::Nodes ReduceGraph::all() const {
  Shrink::Nodes kept = needed_nodes(file_.graph, asked_);
  cut_.close(kept);
  return kept;
}

Tensor ReduceGraph::value_of(const Endpoint& tensor) const {
  for (const auto& [fed, value] : asked_.feeds) {
    if (fed == tensor) return value;
  }
  if (values_.empty()) return {};
  const std::string file = value_file(values_, file_.graph.name(tensor.node), tensor.slot);
  if (!fs::exists(file)) return {};
  Result<Tensor> value = read_npy(file);
  return value.ok() ? value.take() : Tensor();
}

CutRequest ReduceGraph::request_for(const Shrink::Nodes& kept) const {
  const Graph& g = file_.graph;
  CutRequest request;
  request.kept = kept;
  request.drop_controls = simpler_.no_controls;
  request.drop_colocation = simpler_.no_colocation;
  request.drop_devices = simpler_.no_devices;
  request.drop_attrs = simpler_.no_attrs;
  request.sizes = simpler_.sizes;
  request.changed = [this](const Endpoint& e, const Tensor& value) { return simpler_.value_of(e, value); };
  request.as_constants = form_ != ReducedForm::kJson;
  if (form_ == ReducedForm::kJson) request.values_file = file_part(output_) + ".npz";
  request.value = [this](const Endpoint& e) { return value_of(e); };
  std::vector<char> read(g.num_nodes(), 0);
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!kept[id]) continue;
    for (const Endpoint& e : g.inputs(id)) read[e.node] = 1;
    for (const Endpoint& e : g.controls(id)) read[e.node] = 1;
  }
  // Nodes that nobody reads, and those that were asked for.
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!kept[id] || read[id]) continue;
    if (g.num_outputs(id) == 0 || makes_handles_only(g, id)) {
      if (!g.traits(id).variable && std::find(asked_.init.begin(), asked_.init.end(), id) == asked_.init.end())
        request.target.push_back(id);
      continue;
    }
    for (uint32_t slot = 0; slot < g.num_outputs(id); ++slot) request.fetch.push_back({id, slot});
  }
  for (const Fetch& fetch : asked_.fetches) {
    if (kept[fetch.tensor.node] && read[fetch.tensor.node] && !is_ref(g.output_type(fetch.tensor)))
      request.fetch.push_back(fetch.tensor);
  }
  return request;
}

Status ReduceGraph::write(const CutGraph& cut, const std::string& file, const std::string& values_file) const {
  if (!cut.values.empty()) RETURN_IF_ERROR(write_npz(values_file, cut.values));
  if (form_ == ReducedForm::kJson) return write_text_file(file, cut.text);
  Problems problems;
  const std::shared_ptr<const Source> source = Source::from_text(file, cut.text);
  const GraphMessage graph = read_graph_message(source, {}, problems);
  if (!problems.empty()) return internal_error(problems.to_string(*source));
  proto::WireError error;
  const GraphText text =
      form_ == ReducedForm::kBinary ? write_graph_binary(graph, error) : write_graph_text(graph, error);
  if (error.failed()) return invalid_argument(error.message);
  return write_text_file(file, text.text);
}

void ReduceGraph::keep_values(std::string file) {
  if (!kept_values_.empty() && kept_values_ != file) remove_file(kept_values_);
  kept_values_ = std::move(file);
}

Result<ReduceGraph::Try> ReduceGraph::prepare(const CutRequest& request, size_t number) {
  ++tries_;
  Try made;
  CutGraph cut = cut_.cut(request);
  made.hash = sha256_hex(cut.text) + simpler_.values_key();
  if (const auto known = known_.find(made.hash); known != known_.end()) {
    ++cached_;
    made.failed = known->second;
    return made;
  }
  made.file = cat(output_, '.', ::getpid(), ".try", number == 0 ? "" : cat(number), ending(form_));
  if (!cut.values.empty()) {
    made.values = cat(output_, '.', ::getpid(), '.', tries_, ".npz");
    CutRequest numbered = request;
    numbered.values_file = file_part(made.values);
    cut = cut_.cut(numbered);
  }
  RETURN_IF_ERROR(write(cut, made.file, made.values));
  return made;
}

void ReduceGraph::run(std::vector<Try>& tries) const {
  std::vector<std::thread> others;
  const auto check = [this](Try& one) {
    Result<bool> failed = check_.fails(one.file);
    if (failed.ok()) one.failed = *failed;
    one.status = failed.take_status();
  };
  Try* own = nullptr;
  for (Try& one : tries) {
    if (one.file.empty()) continue;
    if (own) others.emplace_back(check, std::ref(*own));
    own = &one;
  }
  if (own) check(*own);
  for (std::thread& other : others) other.join();
}

/// The first that fails is the smallest so far.
Status ReduceGraph::judge(std::vector<Try>& tries) {
  Status status;
  bool found = false;
  for (Try& one : tries) {
    if (one.file.empty()) {
      found |= one.failed;
      continue;
    }
    if (status.ok()) status = one.status;
    if (status.ok() && one.failed && !found) {
      status = move_file(one.file, output_);
      if (status.ok()) keep_values(std::exchange(one.values, {}));
      found = true;
    }
    remove_file(one.file);
    if (!one.values.empty()) remove_file(one.values);
    if (one.status.ok()) known_[one.hash] = one.failed;
  }
  return status;
}

Result<std::vector<char>> ReduceGraph::fail(const std::vector<Shrink::Nodes>& candidates) {
  std::vector<Try> tries;
  Status status;
  for (size_t i = 0; i < candidates.size() && status.ok(); ++i) {
    Result<Try> made = prepare(request_for(candidates[i]), i);
    if (made.ok())
      tries.push_back(made.take());
    else
      status = made.take_status();
  }
  if (status.ok()) run(tries);
  const Status judged = judge(tries);
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(judged);
  std::vector<char> failed;
  failed.reserve(tries.size());
  for (const Try& one : tries) failed.push_back(one.failed);
  return failed;
}

Result<bool> ReduceGraph::fails(const Shrink::Nodes& kept) {
  ASSIGN_OR_RETURN(const std::vector<char> failed, fail({kept}));
  return failed.front() != 0;
}

Complexity ReduceGraph::complexity(const Shrink::Nodes& kept) const {
  const Graph& g = file_.graph;
  Complexity found;
  const auto add_sizes = [&](const Shape& shape) {
    for (int d = 0; shape.rank_known() && d < shape.rank(); ++d) {
      if (shape.dim(d) > 1) found.sizes.insert(shape.dim(d));
    }
  };
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!kept[id]) continue;
    for (const auto& [name, value] : g.attrs(id).entries()) {
      if (can_go(g, id, name, form_ == ReducedForm::kJson)) found.attrs.emplace_back(id, name);
      if (const Shape* shape = value->get_if<Shape>()) add_sizes(*shape);
    }
  }
  for (const auto& [tensor, value] : cut_.values(request_for(kept))) {
    add_sizes(value.shape());
    if (value.dtype() != DType::kString) found.values.push_back(tensor);
  }
  return found;
}

bool ReduceGraph::fits(const CutRequest& request) const {
  CutRequest whole = request;
  whole.values_file.clear();
  Problems problems;
  const std::unique_ptr<GraphFile> made =
      load(Source::from_text(output_, cut_.cut(whole).text), LoadOptions{}, problems);
  if (problems.empty()) validate(*made, problems);
  return problems.empty();
}

Result<bool> ReduceGraph::fails_simpler(const Shrink::Nodes& kept, const Simpler& simpler) {
  const Simpler before = std::exchange(simpler_, simpler);
  const CutRequest request = request_for(kept);
  Result<bool> failed = false;
  if (fits(request)) failed = fails(kept);
  if (!failed.ok() || !*failed) simpler_ = before;
  return failed;
}

Status ReduceGraph::simplify(const Shrink::Nodes& kept) {
  constexpr int64_t kMostTries = 100;
  Simplify simplify([&](const Simpler& candidate) { return fails_simpler(kept, candidate); }, complexity(kept),
                    kMostTries);
  RETURN_IF_ERROR(simplify.simplest().take_status());
  // The last one that failed; its values get the name that stays.
  const CutGraph cut = cut_.cut(request_for(kept));
  const std::string values = output_ + ".npz";
  RETURN_IF_ERROR(write(cut, output_, values));
  keep_values(cut.values.empty() ? "" : values);
  return ok_status();
}

}  // namespace emplace
