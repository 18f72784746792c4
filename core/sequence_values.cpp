#include "core/sequence_values.h"

#include <cstring>

#include "core/base/cat.h"
#include "core/base/file_error.h"
#include "core/base/input_file.h"
#include "core/base/json_document.h"
#include "core/base/printable.h"
#include "core/tensor/convert_kind.h"
#include "core/tensor/json_tensor.h"
#include "core/tensor/npy.h"

namespace emplace {
namespace {

using Elements = std::vector<Tensor>;

Endpoint placeholder(const Graph& g, const std::string& name, DType type, int rank) {
  const NodeId node = g.find(name);
  if (node == kNoNode || !g.traits(node).placeholder) return {};
  const Endpoint e{node, 0};
  const Shape& shape = g.output_shape(e);
  const bool fits = (type == DType::kInvalid || g.output_type(e) == type) && shape.rank_known() && shape.rank() == rank;
  return fits ? e : Endpoint{};
}

Result<Elements> of_json(std::string_view text, DType dtype, std::string_view origin) {
  HostShare memory(HostUseScope::current());
  ASSIGN_OR_RETURN(const nlohmann::json document, parse_json(text, origin, &memory));
  const bool object = document.is_object() && document.contains("list");
  const nlohmann::json& list = object ? document["list"] : document;
  if (!list.is_array()) return invalid_argument(cat(origin, ": found ", shown(list), ", wanted a list of tensors"));
  Elements elements;
  for (const nlohmann::json& element : list) {
    ASSIGN_OR_RETURN(Tensor t, parse_json_tensor(element.dump(), dtype, cat(origin, ", element ", elements.size())));
    elements.push_back(std::move(t));
  }
  return elements;
}

Result<Elements> of_file(const std::string& path, DType dtype) {
  Elements elements;
  if (path.ends_with(".npz")) {
    ASSIGN_OR_RETURN(auto arrays, read_npz(path));
    for (const auto& [name, array] : arrays) {
      ASSIGN_OR_RETURN(Tensor t, convert_keeping_kind(array, dtype));
      elements.push_back(std::move(t));
    }
    return elements;
  }
  const bool input = path == "-";
  Result<std::shared_ptr<const InputFile>> file =
      InputFile::open(path, {.use = HostUseScope::current(), .count_mapped = false});
  if (!file.ok()) return unreadable(path, file.status());
  const std::string origin = input ? "standard input" : printable(path);
  if (!(*file)->bytes().starts_with("\x93NUMPY")) return of_json((*file)->bytes(), dtype, origin);
  ASSIGN_OR_RETURN(const Tensor array, parse_npy(*file, origin, HostUseScope::current()));
  ASSIGN_OR_RETURN(Tensor t, convert_keeping_kind(array, dtype));
  elements.push_back(std::move(t));
  return elements;
}

void copy(const Tensor& from, Tensor& to, int64_t at) {
  if (from.dtype() == DType::kString)
    std::copy_n(from.data<std::string>(), from.num_elements(), to.data<std::string>() + at);
  else if (from.size_bytes() > 0)
    std::memcpy(static_cast<char*>(to.raw()) + static_cast<size_t>(at) * dtype_size(from.dtype()), from.raw(),
                from.size_bytes());
}

Tensor int_vector(const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values);
}

}  // namespace

std::optional<SequenceInput> find_sequence_input(const Graph& g, std::string_view name) {
  const auto part = [&](const char* ending, DType type, int rank) {
    return placeholder(g, cat(name, ending), type, rank);
  };
  const SequenceInput s{part("", DType::kInvalid, 1), part("_sizes", DType::kInt64, 1),
                        part("_ranks", DType::kInt64, 1), part("_given", DType::kBool, 0)};
  if (s.values.node == kNoNode || s.sizes.node == kNoNode || s.ranks.node == kNoNode) return std::nullopt;
  return s;
}

std::string_view sequence_name(std::string_view name) {
  for (std::string_view ending : {"_sizes", "_ranks", "_given"}) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

Result<std::vector<std::pair<Endpoint, Tensor>>> parse_sequence_feed(std::string_view spec, DType dtype,
                                                                     const SequenceInput& input) {
  Elements elements;
  const bool none = spec == "none";
  if (spec.starts_with('@')) {
    ASSIGN_OR_RETURN(elements, of_file(std::string(spec.substr(1)), dtype));
  } else if (spec.starts_with('[') || spec.starts_with('{')) {
    ASSIGN_OR_RETURN(elements, of_json(spec, dtype, "the value"));
  } else if (!none) {
    return invalid_argument(
        cat("'", spec, "' is no sequence of tensors; write @FILE.npz, @FILE.json, ", "[[1, 2], [3]] or none"));
  }
  std::vector<int64_t> sizes, ranks;
  int64_t count = 0;
  for (const Tensor& t : elements) {
    ranks.push_back(t.shape().rank());
    sizes.insert(sizes.end(), t.shape().dims().begin(), t.shape().dims().end());
    count += t.num_elements();
  }
  ASSIGN_OR_RETURN(Tensor values, Tensor::allocate(dtype, Shape{count}));
  int64_t at = 0;
  for (const Tensor& t : elements) {
    copy(t, values, at);
    at += t.num_elements();
  }
  std::vector<std::pair<Endpoint, Tensor>> feeds;
  feeds.emplace_back(input.values, std::move(values));
  feeds.emplace_back(input.sizes, int_vector(sizes));
  feeds.emplace_back(input.ranks, int_vector(ranks));
  if (input.given.node != kNoNode) feeds.emplace_back(input.given, Tensor::scalar(!none));
  return feeds;
}

std::optional<std::vector<Tensor>> sequence_elements(const Tensor& values, const Tensor& sizes, const Tensor& ranks) {
  const auto ints = [](const Tensor& t) { return t.dtype() == DType::kInt64 && t.shape().rank() == 1; };
  if (values.shape().rank() != 1 || !ints(sizes) || !ints(ranks)) return std::nullopt;
  const bool texts = values.dtype() == DType::kString;
  const auto stride = static_cast<int64_t>(texts ? sizeof(std::string) : dtype_size(values.dtype()));
  std::vector<Tensor> elements;
  int64_t at = 0, size = 0;
  for (const int64_t rank : ranks.flat<int64_t>()) {
    if (rank < 0 || rank > kMaxRank || rank > sizes.num_elements() - size) return std::nullopt;
    const Shape shape(sizes.flat<int64_t>().subspan(static_cast<size_t>(size), static_cast<size_t>(rank)));
    const std::optional<int64_t> count = shape.checked_num_elements();
    if (!count || *count > values.num_elements() - at) return std::nullopt;
    char* begin = static_cast<char*>(values.raw()) + at * stride;
    elements.push_back(Tensor::wrap(values.dtype(), shape, begin, values.buffer()));
    at += *count, size += rank;
  }
  if (at != values.num_elements() || size != sizes.num_elements()) return std::nullopt;
  return elements;
}

}  // namespace emplace
