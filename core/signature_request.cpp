#include "core/signature_request.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/suggest.h"
#include "core/train/gradient_fetch.h"

namespace emplace {
namespace {

constexpr std::string_view kServing = "serving_default";

Status usage_problem(std::string message) { return invalid_argument(std::move(message)).blamed(Blame::kUsage); }

/// Of a SavedModel alone; empty: there is no default.
std::string default_signature(const MetaGraph& meta) {
  if (meta.folder.empty()) return {};
  if (meta.signatures.contains(std::string(kServing))) return std::string(kServing);
  return meta.signatures.size() == 1 ? meta.signatures.begin()->first : std::string();
}

/// "x" of "x=1,2" if the signature has such an input; a lone input need not be named: "@x.npy".
std::string fed_key(const Signature& signature, std::string_view feed) {
  const size_t equals = feed.find('=');
  std::string name(feed.substr(0, equals));
  if (equals != std::string_view::npos && signature.inputs.contains(name)) return name;
  const bool unnamed = equals == std::string_view::npos || feed.starts_with('@');
  return unnamed && signature.inputs.size() == 1 ? signature.inputs.begin()->first : std::string();
}

void feed_by_key(const Signature& signature, std::vector<std::string>& feeds) {
  for (std::string& feed : feeds) {
    const std::string key = fed_key(signature, feed);
    if (key.empty()) continue;
    const bool named = feed.starts_with(cat(key, "="));
    const std::string value = named ? feed.substr(key.size() + 1) : feed;
    feed = cat(signature.inputs.at(key).name, "=", value);
  }
}

/// Of outputs, else of inputs: a fed value may be fetched too.
const TensorInfo* find_key(const Signature& signature, const std::string& key) {
  for (const auto* tensors : {&signature.outputs, &signature.inputs}) {
    if (auto found = tensors->find(key); found != tensors->end()) return &found->second;
  }
  return nullptr;
}

void fetch_by_key(GraphModel& model, RunOptions& options) {
  const Signature& signature = *model.signature;
  if (options.fetch.empty() && options.target.empty()) {
    model.whole = true;
    for (const auto& [key, info] : signature.outputs) {
      options.fetch.push_back(info.name);
      options.fetch_keys.push_back(key);
    }
    return;
  }
  for (std::string& name : options.fetch) {
    const TensorInfo* info = find_key(signature, name);
    options.fetch_keys.push_back(info ? name : std::string());
    if (info) name = info->name;
  }
}

/// A usage error if `name` is neither a key nor in the graph.
Status check_name(const GraphModel& model, const std::string& path, const GraphFile& file, std::string_view flag,
                  const std::string& name, const std::map<std::string, TensorInfo>& tensors) {
  const std::string node = name.substr(0, name.find(':'));
  if (name.empty() || file.graph.find(node) != kNoNode || file.signature_names.contains(name) ||
      parse_gradient_name(name))
    return ok_status();
  Suggestion suggestion(name);
  for (const auto& [key, info] : tensors) suggestion.offer(key);
  const std::string hint = suggestion.text();
  const std::string_view what = flag == "feed" ? "input" : "output";
  return usage_problem(cat("--", flag, ": signature '", model.key, "' of ", printable(path), " has no ", what, " '",
                           name, "'; ", hint, hint.empty() ? "" : " ",
                           tensors.empty() ? cat("it has no ", what) : cat("there are: ", describe(tensors))));
}

/// Of what the command line names, after keys became tensors.
Status check_against_keys(const GraphModel& model, const std::string& path, const GraphFile& file,
                          const RunOptions& options) {
  for (const std::string& feed : options.feed) {
    const size_t equals = feed.find('=');
    if (equals != std::string::npos)
      RETURN_IF_ERROR(check_name(model, path, file, "feed", feed.substr(0, equals), model.signature->inputs));
  }
  for (const std::string& fetch : options.fetch)
    RETURN_IF_ERROR(check_name(model, path, file, "fetch", fetch, model.signature->outputs));
  return ok_status();
}

/// What the model's author gave for inputs that nobody feeds.
void feed_defaults(const Signature& signature, GraphFile& file) {
  for (const auto& [key, value] : signature.defaults) {
    auto input = signature.inputs.find(key);
    if (input != signature.inputs.end()) file.feed.push_back({{input->second.name, kNoPosition}, value});
  }
}

Status no_such_signature(const MetaGraph& meta, const std::string& path, const std::string& key) {
  if (meta.signatures.empty())
    return usage_problem(cat("no signature '", key, "' in ", printable(path), "; it has none"));
  Suggestion suggestion(key);
  for (const auto& [known, signature] : meta.signatures) suggestion.offer(known);
  const std::string hint = suggestion.text();
  return usage_problem(cat("no signature '", key, "' in ", printable(path), "; ", hint, hint.empty() ? "" : " ",
                           "there are: ", describe(meta.signatures)));
}

}  // namespace

bool is_fed(const std::string& tensor, const GraphFile& file, const RunOptions& options) {
  const std::string node = tensor.ends_with(":0") ? tensor.substr(0, tensor.size() - 2) : tensor;
  const auto names_it = [&](std::string_view name) { return name == tensor || name == node; };
  return std::any_of(options.feed.begin(), options.feed.end(),
                     [&](const std::string& feed) { return names_it(feed.substr(0, feed.find('='))); }) ||
         std::any_of(file.feed.begin(), file.feed.end(), [&](const auto& feed) { return names_it(feed.first.name); });
}

Result<std::optional<GraphModel>> use_signature(GraphFile& file, const std::string& path, RunOptions& options,
                                                Problems& problems) {
  std::optional<MetaGraph> meta = read_meta_graph(*file.source, problems);
  if (!meta && options.signature.empty()) return std::optional<GraphModel>();
  if (!meta) return usage_problem(cat("--signature: ", printable(path), " is neither a SavedModel nor a MetaGraph"));
  GraphModel model{std::move(*meta), options.signature, {}};
  if (model.key.empty()) model.key = default_signature(model.meta);
  if (model.key.empty()) return std::optional(std::move(model));
  auto found = model.meta.signatures.find(model.key);
  if (found == model.meta.signatures.end()) return no_such_signature(model.meta, path, model.key);
  model.signature = found->second;
  feed_by_key(*model.signature, options.feed);
  fetch_by_key(model, options);
  RETURN_IF_ERROR(check_against_keys(model, path, file, options));
  feed_defaults(*model.signature, file);
  return std::optional(std::move(model));
}

Status check_signature_run(const GraphModel& model, const std::string& path, const GraphFile& file,
                           const RunOptions& options) {
  const MetaGraph& meta = model.meta;
  if (!model.signature) {
    if (meta.folder.empty() || !options.fetch.empty() || !options.target.empty()) return ok_status();
    if (meta.signatures.empty())
      return usage_problem(cat(printable(path), " has no signature; name what to run: --fetch NODE"));
    return usage_problem(cat(printable(path), " has several signatures; choose one: --signature KEY; there are: ",
                             describe(meta.signatures)));
  }
  if (!model.whole) return ok_status();
  std::string missing;
  for (const auto& [key, info] : model.signature->inputs) {
    if (!is_fed(info.name, file, options))
      append(missing, missing.empty() ? "" : ", ", "'", key, "' ", dtype_name(info.dtype), " ", info.shape.to_string());
  }
  if (missing.empty()) return ok_status();
  return usage_problem(
      cat("signature '", model.key, "' of ", printable(path), ": not fed: ", missing, "; add --feed KEY=VALUE"));
}

}  // namespace emplace
