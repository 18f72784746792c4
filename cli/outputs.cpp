#include "cli/outputs.h"

#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/report/run_report.h"
#include "core/sequence_values.h"
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

/// What is shown as one: a tensor, or the tensors of a sequence.
struct Shown {
  size_t first = 0, count = 1;
  std::optional<std::vector<Tensor>> elements = {};
  bool missing = false;  // an optional sequence that is not there
};

std::vector<Shown> shown_outputs(const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs) {
  std::vector<Shown> all;
  for (size_t i = 0; i < outputs.size(); i += all.back().count) {
    const auto is_part = [&](size_t k, const char* ending) {
      return k < outputs.size() && fetches[k].name == fetches[i].name + ending;
    };
    Shown shown{.first = i};
    if (is_part(i + 1, "_sizes") && is_part(i + 2, "_ranks"))
      shown.elements = sequence_elements(outputs[i], outputs[i + 1], outputs[i + 2]);
    if (shown.elements) {
      const bool flagged = is_part(i + 3, "_given") && outputs[i + 3].dtype() == DType::kBool;
      shown.count = flagged ? 4 : 3;
      shown.missing = flagged && !*outputs[i + 3].data<bool>();
    }
    all.push_back(std::move(shown));
  }
  return all;
}

void print_sequence(const std::string& name, const Shown& shown) {
  if (shown.missing || shown.elements->empty()) return print(cat(name, " = ", shown.missing ? "none" : "[]", "\n"));
  for (size_t k = 0; k < shown.elements->size(); ++k)
    print(cat(name, "[", k, "] =\n", print_tensor((*shown.elements)[k]), "\n"));
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
  for (const Shown& shown : shown_outputs(fetches, outputs)) {
    const std::string name = printable(fetches[shown.first].name);
    if (shown.elements) {
      print_sequence(name, shown);
      continue;
    }
    if (fetches.size() > 1) print(name + " =\n");
    print(print_tensor(outputs[shown.first]) + "\n");
  }
}

void write_outputs(JsonWriter& json, const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs,
                   const std::function<void()>& drain) {
  json.key("outputs").begin_array();
  for (const Shown& shown : shown_outputs(fetches, outputs)) {
    const std::string name = full_name(fetches[shown.first]);
    const Tensor& first = outputs[shown.first];
    if (shown.elements)
      write_sequence(json, name, first.dtype(), shown.missing ? nullptr : &*shown.elements, drain);
    else
      write_tensor(json, name, first, drain);
  }
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
