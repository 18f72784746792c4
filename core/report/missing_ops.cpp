#include "core/report/missing_ops.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/graph/lower/lower.h"
#include "core/graph/node_kernel.h"
#include "core/graph/type_table.h"
#include "core/op/gpu_gaps.h"
#include "core/op/trait_table.h"
#include "core/place/kernel_lookup.h"

namespace emplace {
namespace {

std::string_view lack_name(Lack lack) {
  switch (lack) {
    case Lack::kUnknown:
      return "unknown";
    case Lack::kOnnxOp:
      return "onnx op";
    case Lack::kOp:
      return "op";
    case Lack::kTypes:
      return "types";
    case Lack::kGpuKernel:
      break;
  }
  return "gpu kernel";
}

std::string_view lack_heading(Lack lack) {
  switch (lack) {
    case Lack::kUnknown:
      return "ops that nobody knows";
    case Lack::kOnnxOp:
      return "ops of ONNX that emplace does not read, with the version of their operator set";
    case Lack::kOp:
      return "ops that emplace cannot run";
    case Lack::kTypes:
      return "ops that emplace cannot run for these types";
    case Lack::kGpuKernel:
      break;
  }
  return "ops that run on the CPU only, where TensorFlow has a kernel for GPUs";
}

std::string type_text(const NodeType& type) {
  const DType of_kernel = kernel_type(type);
  return of_kernel == DType::kInvalid ? std::string() : std::string(dtype_name(of_kernel));
}

}  // namespace

void MissingOps::count(Lack lack, std::string_view op, std::string_view type) {
  count({lack, std::string(op), std::string(type)}, 1);
}

void MissingOps::count(Key key, int64_t nodes) {
  Row& row = rows_[std::move(key)];
  row.nodes += nodes;
  if (row.last_file != files_) ++row.files;
  row.last_file = files_;
}

void MissingOps::count(const GraphFile& file, const Graph& graph, bool typed) {
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const std::string_view op = graph.op(id);
    const OpTraits& traits = traits_of(op);
    // What calls are replaced by may run, and is counted where it stands.
    if (is_functional_op(file, op) || traits.argument || traits.result) continue;
    const bool has_type = typed && graph.node(id).type != TypeTable::kNone;
    if (!file.ops->find(op)) {
      count(Lack::kUnknown, op);
    } else if (!OpLibrary::find(op)) {
      count(Lack::kOp, op);
    } else if (has_type && !is_runnable(graph.type(id))) {
      count(Lack::kTypes, op, type_text(graph.type(id)));
    } else if (has_type && find_gpu_gap(op, kernel_type(graph.type(id))) &&
               find_kernel(*file.ops, graph.type(id), "GPU")) {
      count(Lack::kGpuKernel, op, type_text(graph.type(id)));
    }
  }
}

void MissingOps::add_failed(const std::vector<MissingOnnxOp>& unread) {
  for (const MissingOnnxOp& o : unread) count({Lack::kOnnxOp, o.op, {}, o.domain, o.opset}, o.nodes);
  if (unread.empty()) {
    ++failed_;
    return;
  }
  ++incomplete_;
  ++files_;
}

bool MissingOps::add(const GraphFile& file) {
  count(file, file.graph, !file.graph.types().empty());
  for (const auto& [name, function] : file.library) {
    if (function.body) count(file, *function.body, false);
  }
  const bool lacks = std::any_of(rows_.begin(), rows_.end(), [&](const auto& row) {
    return row.first.lack != Lack::kGpuKernel && row.second.last_file == files_;
  });
  if (lacks) ++incomplete_;
  ++files_;
  return lacks;
}

std::vector<std::pair<const MissingOps::Key*, const MissingOps::Row*>> MissingOps::sorted() const {
  std::vector<std::pair<const Key*, const Row*>> rows;
  rows.reserve(rows_.size());
  for (const auto& [key, row] : rows_) rows.emplace_back(&key, &row);
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    if (a.first->lack != b.first->lack) return a.first->lack < b.first->lack;
    if (a.second->files != b.second->files) return a.second->files > b.second->files;
    return a.second->nodes > b.second->nodes;
  });
  return rows;
}

std::string MissingOps::text() const {
  const auto rows = sorted();
  size_t width = 0;
  const auto name = [](const Key& key) {
    if (key.lack == Lack::kOnnxOp)
      return cat(printable(key.domain), key.domain.empty() ? "" : ".", printable(key.op), " ", key.opset);
    return key.type.empty() ? printable(key.op) : cat(printable(key.op), " ", key.type);
  };
  for (const auto& [key, row] : rows) width = std::max(width, name(*key).size());
  std::string out;
  const auto padded_left = [](int64_t number) {
    const std::string digits = cat(number);
    return std::string(digits.size() < 7 ? 7 - digits.size() : 1, ' ') + digits;
  };
  const Lack* last = nullptr;
  for (const auto& [key, row] : rows) {
    if (!last || *last != key->lack) {
      if (last) out += '\n';
      append(out, lack_heading(key->lack), "\n  ", std::string(width, ' '), "  NODES  FILES\n");
    }
    last = &key->lack;
    const std::string text = name(*key);
    append(out, "  ", text, std::string(width - text.size(), ' '), padded_left(row->nodes), padded_left(row->files),
           "\n");
  }
  append(out, rows.empty() ? "" : "\n", counted(files_, "file"), " read, ", files_ - incomplete_, " run");
  if (failed_ > 0) append(out, "; ", counted(failed_, "file"), " not read");
  return out + "\n";
}

void MissingOps::write(JsonWriter& json) const {
  json.key("missing").begin_array();
  for (const auto& [key, row] : sorted()) {
    json.begin_object().member("lack", lack_name(key->lack)).member("op", key->op);
    if (!key->type.empty()) json.member("type", key->type);
    if (key->lack == Lack::kOnnxOp)
      json.member("domain", key->domain.empty() ? "ai.onnx" : std::string_view(key->domain))
          .member("opset", key->opset);
    json.member("nodes", row->nodes).member("files", row->files).end_object();
  }
  json.end_array().key("summary").begin_object();
  json.member("files", files_).member("run", files_ - incomplete_).member("not_read", failed_).end_object();
}

}  // namespace emplace
