#include "cli/outputs.h"

#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/report/run_report.h"
#include "core/tensor/compare.h"
#include "core/tensor/feed.h"
#include "core/tensor/print.h"

namespace emplace {
namespace {

/// "y" is "y:0": documents name every output's number. A gradient and a signature's output are named as asked for.
std::string full_name(const Fetch& fetch) {
  const bool whole = fetch.by_key || fetch.name.find(':') != std::string::npos || parse_gradient_name(fetch.name);
  return whole ? fetch.name : fetch.name + ":0";
}

bool same_tensor(const std::string& a, const std::string& b) {
  auto with_slot = [](const std::string& name) { return name.find(':') == std::string::npos ? name + ":0" : name; };
  return with_slot(a) == with_slot(b);
}

/// FailedPrecondition with a line per output that differs; InvalidArgument or NotFound if an expectation cannot be read
/// or names what is not fetched.
Status check_expectations(const std::vector<std::string>& expectations, double rtol, double atol,
                          const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs) {
  std::string differences;
  for (const std::string& expectation : expectations) {
    auto equals = expectation.find('=');
    std::string name = expectation.substr(0, equals);
    auto fetch =
        std::find_if(fetches.begin(), fetches.end(), [&](const Fetch& f) { return same_tensor(f.name, name); });
    if (fetch == fetches.end()) return not_found(cat("--expect: '", name, "' is not fetched; add --fetch ", name));
    const Tensor& output = outputs[static_cast<size_t>(fetch - fetches.begin())];
    std::string value = expectation.substr(equals + 1);
    // A value that states its shape may state another one: a difference, not a bad flag.
    bool shaped = value.starts_with('@') || value.starts_with('[') || value.find('=') != std::string::npos;
    Result<Tensor> wanted = parse_feed(value, output.dtype(), shaped ? Shape::unknown() : output.shape());
    if (!wanted.ok()) return wanted.take_status().with_context(cat("--expect ", name));
    if (Status same = compare(output, *wanted, rtol, atol); !same.ok())
      append(differences, differences.empty() ? "" : "\n", name, ": ", same.message());
  }
  return differences.empty() ? ok_status() : failed_precondition(std::move(differences)).blamed(Blame::kMismatch);
}

}  // namespace

void print_outputs(const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (fetches.size() > 1) print(printable(fetches[i].name) + " =\n");
    print(print_tensor(outputs[i]) + "\n");
  }
}

void write_outputs(JsonWriter& json, const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs,
                   const std::function<void()>& drain) {
  json.key("outputs").begin_array();
  for (size_t i = 0; i < outputs.size(); ++i) write_tensor(json, full_name(fetches[i]), outputs[i], drain);
  json.end_array();
}

Status check_output_flags(const OutputOptions& options) {
  for (const std::string& target : options.save) {
    const std::string ending = std::filesystem::path(target).extension().string();
    std::error_code error;
    if (target.empty()) return invalid_argument("--save: '' names no file; wanted FILE.npy, FILE.npz or a folder");
    if (ending.empty() || ending == ".npy" || ending == ".npz" || std::filesystem::is_directory(target, error))
      continue;
    return invalid_argument(cat("--save: cannot write '", printable(ending),
                                "' files; wanted FILE.npy, FILE.npz or a folder ('", printable(target), "/' is one)"));
  }
  for (const std::string& expectation : options.expect) {
    if (expectation.find('=') == std::string::npos)
      return invalid_argument(cat("--expect: '", expectation, "' has no '='; write NAME=@FILE"));
  }
  return ok_status();
}

Status use_outputs(const OutputOptions& options, SavedOutputs& saved, const std::vector<Fetch>& fetches,
                   const std::vector<Tensor>& outputs) {
  RETURN_IF_ERROR(saved.write(fetches, outputs));
  return check_expectations(options.expect, options.rtol, options.atol, fetches, outputs).blamed(Blame::kUsage);
}

}  // namespace emplace
