#include "cli/values.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/outputs.h"
#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/device/make_device_set.h"

namespace emplace {
namespace {

bool is_missing(const std::string& path) {
  return !path.empty() && path != "-" && access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

Status check_file(std::string_view option, const std::string& path) {
  if (!is_missing(path)) return ok_status();
  return not_found(cat(option, ": ", printable(path), ": ", std::strerror(errno)));
}

/// The file of "NAME=@FILE", "@FILE", "NAME=@FILE.npz:KEY".
std::string file_of_value(const std::string& text) {
  const size_t at = text.starts_with('@') ? 0 : text.find("=@") + 1;
  if (at == 0 && !text.starts_with('@')) return {};
  const std::string path = text.substr(at + 1);
  const size_t key = path.rfind(".npz:");
  return key == std::string::npos ? path : path.substr(0, key + 4);
}

Status check_value_file(std::string_view option, const std::string& text) {
  const std::string path = file_of_value(text);
  if (!is_missing(path)) return ok_status();
  return not_found(cat(option, " ", text.substr(0, text.find('=')), ": cannot read '", printable(path),
                       "': ", std::strerror(errno)));
}

/// Of --restore: a file, a folder, or what the files of a bundle begin with.
Status check_checkpoint(const std::string& path) {
  return path == "latest" || !is_missing(path + ".index") ? ok_status() : check_file("--restore", path);
}

Status check_files(const Options& options) {
  const PipelineOptions& pipeline = options.pipeline;
  RETURN_IF_ERROR(check_file("--placement-in", pipeline.placing.placement_in));
  for (const std::string& costs : pipeline.placing.automatic.costs) RETURN_IF_ERROR(check_file("--costs", costs));
  for (const std::string& feed : pipeline.run.feed) RETURN_IF_ERROR(check_value_file("--feed", feed));
  if (options.only_places) return ok_status();
  for (const std::string& expect : options.outputs.expect) RETURN_IF_ERROR(check_value_file("--expect", expect));
  return pipeline.run.restore.empty() ? ok_status() : check_checkpoint(pipeline.run.restore);
}

/// "slower" is what a baseline, or the measurement of --verify, may say.
Status check_gates_of(const Options& options) {
  const PlaceFlags& placing = options.pipeline.placing;
  const bool knows = options.measures || placing.automatic.verify;
  const std::vector<std::string>& words = placing.gates.fail_on;
  if (!knows && !options.only_places && std::find(words.begin(), words.end(), "slower") != words.end())
    return invalid_argument("--fail-on slower needs --verify");
  return check_gate_values(placing.gates, knows ? "slower" : "");
}

/// 2: the command line's, 1: a variable's, 0: a configuration file's.
int rank_of(const std::string& source) { return source == "command line" ? 2 : source.starts_with("EMPLACE_") ? 1 : 0; }

}  // namespace

Status check_values(const Options& options) {
  const PlaceFlags& placing = options.pipeline.placing;
  RETURN_IF_ERROR(check_gates_of(options));
  RETURN_IF_ERROR(check_request_rules(placing.rules));
  RETURN_IF_ERROR(check_device_options(options.pipeline.devices));
  if (!options.only_places) RETURN_IF_ERROR(check_output_flags(options.outputs));
  return check_files(options);
}

Status settle_policy(Options& options, const std::vector<OptionSource>& sources) {
  const auto find = [&](std::string_view name) {
    return std::find_if(sources.begin(), sources.end(), [&](const OptionSource& o) { return o.name == name; });
  };
  const auto policy = find("policy"), automatic = find("auto");
  if (policy == sources.end() || policy->values.back() != "tf" || automatic == sources.end()) return ok_status();
  const int by = rank_of(policy->source) - rank_of(automatic->source);
  if (by == 0)
    return invalid_argument(cat("--policy tf is TensorFlow's rule, --auto ", automatic->values.back(),
                                " the search: leave one of them out"));
  if (by > 0) options.pipeline.placing.automatic.goal.reset();
  return ok_status();
}

}  // namespace emplace
