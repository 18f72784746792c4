#include "core/formats/tfjs_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/cat.h"
#include "core/base/input_file.h"
#include "core/formats/file_access.h"
#include "core/formats/object_reader.h"
#include "core/formats/tensor_reader.h"
#include "core/formats/value_reader.h"
#include "core/graph/open_source.h"
#include "core/op/trait_table.h"
#include "core/tensor/tensor.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

struct Quantization {
  DType stored = DType::kInvalid;  // uint8, uint16, float16; kInvalid: not quantised
  double scale = 1, min = 0;
};

struct Weight {
  std::string_view name;
  DType dtype = DType::kInvalid;
  Shape shape;
  Quantization quantization;
  size_t position = 0;
};

Quantization read_quantization(LoadContext& c) {
  enum { kScale, kMin, kDType };
  static constexpr std::string_view kKeys[] = {"scale", "min", "dtype", "original_dtype"};
  Quantization q;
  for (ObjectReader object(c.reader, kKeys, "quantization"); object.next();) {
    size_t at = c.reader.position();
    switch (object.field()) {
      case kScale:
        q.scale = read_double(c.reader, "scale").value_or(1);
        break;
      case kMin:
        q.min = read_double(c.reader, "min").value_or(0);
        break;
      case kDType:
        q.stored = read_dtype(c.reader, "quantization").value_or(DType::kInvalid);
        if (q.stored != DType::kUInt8 && q.stored != DType::kUInt16 && q.stored != DType::kHalf) {
          c.reader.problem(at, cat("weights quantised to ", dtype_name(q.stored)), "wanted uint8, uint16 or float16");
        }
        break;
      default:
        break;
    }
  }
  return q;
}

Weight read_weight(LoadContext& c) {
  enum { kName, kShape, kDType, kQuantization };
  static constexpr std::string_view kKeys[] = {"name", "shape", "dtype", "quantization"};
  Weight w;
  bool quantised = false;
  ObjectReader object(c.reader, kKeys, "a weight");
  w.position = object.position();
  while (object.next()) {
    switch (object.field()) {
      case kName:
        w.name = read_text(c.reader, "name").value_or("");
        break;
      case kShape:
        w.shape = read_shape(c.reader, "shape").value_or(Shape{});
        break;
      case kDType:
        w.dtype = read_value_dtype(c.reader, "dtype").value_or(DType::kInvalid);
        break;
      default:
        quantised = true, w.quantization = read_quantization(c);
        break;
    }
  }
  if (c.reader.failed()) return w;
  bool good = w.dtype == DType::kFloat || w.dtype == DType::kInt32 || w.dtype == DType::kBool ||
              w.dtype == DType::kString || w.dtype == DType::kComplex64;
  if (w.name.empty() || !good || !w.shape.fully_known() || !w.shape.checked_num_elements()) {
    c.reader.problem(w.position,
                     "a weight needs a name, a known shape and a dtype of float32, int32, bool, string and complex64");
  } else if (quantised && w.dtype != DType::kFloat && w.dtype != DType::kInt32) {
    c.reader.problem(w.position, cat("weight '", w.name, "' of type ", dtype_name(w.dtype),
                                     " is quantised; only float32 and int32 can be"));
  }
  return w;
}

// value * scale + min, as TF.js does it; int32 rounds.
template <class Stored>
void dequantise(const char* in, const Quantization& q, Tensor& out) {
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    Stored v{};
    std::memcpy(&v, in + static_cast<size_t>(i) * sizeof v, sizeof v);
    auto value = static_cast<double>(static_cast<float>(v)) * q.scale + q.min;
    if (out.dtype() == DType::kFloat) {
      out.data<float>()[i] = static_cast<float>(value);
    } else {
      out.data<int32_t>()[i] = static_cast<int32_t>(std::clamp(std::round(value), -2147483648.0, 2147483647.0));
    }
  }
}

// The bytes of one group of weight files, taken from the front.
class Shards {
 public:
  explicit Shards(std::string bytes) : bytes_(std::move(bytes)) {}

  size_t left() const { return bytes_.size() - at_; }
  const char* take(size_t size) {
    const char* p = bytes_.data() + at_;
    at_ += size;
    return p;
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

bool take_strings(Shards& shards, Tensor& out) {
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    uint32_t length = 0;
    if (shards.left() < sizeof length) return false;
    std::memcpy(&length, shards.take(sizeof length), sizeof length);
    if (shards.left() < length) return false;
    out.data<std::string>()[i].assign(shards.take(length), length);
  }
  return true;
}

std::optional<Tensor> take_weight(LoadContext& c, const Weight& w, Shards& shards) {
  bool strings = w.dtype == DType::kString;
  const Quantization& q = w.quantization;
  size_t element = strings ? sizeof(uint32_t) : dtype_size(q.stored == DType::kInvalid ? w.dtype : q.stored);
  auto count = static_cast<uint64_t>(*w.shape.checked_num_elements());
  bool enough = count <= shards.left() / element;
  Result<Tensor> t = enough ? Tensor::allocate(w.dtype, w.shape) : Tensor();
  if (!t.ok()) {
    c.reader.problem(w.position, t.status());
    return std::nullopt;
  }
  if (enough && strings) enough = take_strings(shards, *t);
  if (!enough) {
    c.reader.problem(w.position, cat("the weight files end inside weight '", w.name, "'"));
    return std::nullopt;
  }
  if (strings || count == 0) return *t;
  const char* bytes = shards.take(static_cast<size_t>(count) * element);
  switch (q.stored) {
    case DType::kUInt8:
      dequantise<uint8_t>(bytes, q, *t);
      break;
    case DType::kUInt16:
      dequantise<uint16_t>(bytes, q, *t);
      break;
    case DType::kHalf:
      dequantise<half>(bytes, Quantization{}, *t);
      break;
    default:
      std::memcpy(t->raw(), bytes, t->size_bytes());
      break;
  }
  return *t;
}

template <class From, class To>
Tensor converted(const Tensor& t, DType type) {
  Tensor out = allocated(type, t.shape());
  std::copy_n(t.data<From>(), t.num_elements(), out.data<To>());
  return out;
}

// TF.js has no int64 and no float64: it stores int32 and float32 and leaves the topology as it was.
Tensor widened(Tensor t, DType declared) {
  if (declared == DType::kInt64 && t.dtype() == DType::kInt32) return converted<int32_t, int64_t>(t, declared);
  if (declared == DType::kDouble && t.dtype() == DType::kFloat) return converted<float, double>(t, declared);
  return t;
}

// Gives a Const its value. Attr sets are shared, so it gets one of its own.
void set_value(LoadContext& c, const Weight& w, Tensor value) {
  Graph& g = c.file.graph;
  NodeId id = g.find(w.name);
  if (id == kNoNode || !traits_of(g.op(id)).constant) return;  // weights that the topology no longer uses are read over
  std::vector<Attrs::Entry> attrs(g.written_attrs(id).begin(), g.written_attrs(id).end());
  auto entry = std::find_if(attrs.begin(), attrs.end(), [](const Attrs::Entry& e) { return e.first == "value"; });
  const Tensor* declared = entry == attrs.end() ? nullptr : entry->second->get_if<Tensor>();
  if (declared) value = widened(std::move(value), declared->dtype());
  if (declared && (declared->dtype() != value.dtype() || !(declared->shape() == value.shape()))) {
    c.reader.problem(w.position, cat("weight '", w.name, "' is ", dtype_name(value.dtype()), value.shape().to_string(),
                                     "; its node says ", dtype_name(declared->dtype()), declared->shape().to_string()));
    return;
  }
  const AttrValue* kept = &g.attr_values_.emplace_back(AttrValue::of(std::move(value)));
  if (entry == attrs.end()) {
    attrs.push_back({"value", kept});
  } else {
    entry->second = kept;
  }
  g.nodes_[id].attr_set = static_cast<uint32_t>(g.attr_sets_.size());
  g.attr_sets_.push_back(std::move(attrs));
}

std::optional<Shards> read_shards(LoadContext& c, const std::vector<std::pair<std::string_view, size_t>>& paths) {
  std::string bytes;
  for (auto [path, at] : paths) {
    auto real = allowed_file(c, at, path);
    if (!real) return std::nullopt;
    auto file = open_source(*real, {.use = HostUse::kConstants, .pipes = false});
    if (!file.ok()) {
      c.reader.problem(at, file.status());
      return std::nullopt;
    }
    bytes += (*file)->text();
  }
  return Shards(std::move(bytes));
}

void read_group(LoadContext& c) {
  enum { kPaths, kWeights };
  static constexpr std::string_view kKeys[] = {"paths", "weights"};
  std::vector<std::pair<std::string_view, size_t>> paths;
  std::vector<Weight> weights;
  int64_t problems = c.problems.count();
  for (ObjectReader object(c.reader, kKeys, "a group of weights"); object.next();) {
    if (!expect(c.reader, Kind::kArray, kKeys[object.field()])) continue;
    for (c.reader.enter_array(); c.reader.next_element();) {
      size_t at = c.reader.position();
      if (object.field() == kWeights) {
        weights.push_back(read_weight(c));
      } else if (auto path = read_text(c.reader, "paths")) {
        paths.push_back({*path, at});
      }
    }
  }
  if (c.problems.count() != problems) return;
  auto shards = read_shards(c, paths);
  if (!shards) return;
  for (const Weight& w : weights) {
    auto value = take_weight(c, w, *shards);
    if (!value) return;
    set_value(c, w, std::move(*value));
  }
  if (shards->left() > 0 && !weights.empty()) {
    c.reader.problem(weights.back().position,
                     cat("the weight files hold ", shards->left(), " bytes more than the manifest says"));
  }
}

// The tensor that an entry names; a tensor of the entry's own name if it names none.
NamedRef read_signature_tensor(LoadContext& c, std::string_view key) {
  static constexpr std::string_view kKeys[] = {"name", "dtype", "tensor_shape", "resource_id"};
  NamedRef ref{std::string(key), static_cast<int64_t>(c.reader.position())};
  for (ObjectReader tensor(c.reader, kKeys, "a tensor"); tensor.next();) {
    if (tensor.field() != 0) continue;
    ref.position = static_cast<int64_t>(c.reader.position());
    if (auto name = read_text(c.reader, "name")) ref.name = *name;
  }
  return ref;
}

}  // namespace

void read_signature(LoadContext& c) {
  enum { kInputs, kOutputs };
  static constexpr std::string_view kKeys[] = {"inputs", "outputs", "method_name", "defaults"};
  for (ObjectReader object(c.reader, kKeys, "a signature"); object.next();) {
    const bool outputs = object.field() == kOutputs;
    if ((object.field() != kInputs && !outputs) || !expect(c.reader, Kind::kObject, kKeys[object.field()])) continue;
    c.file.has_fetch |= outputs;
    c.reader.enter_object();
    for (std::string_view key; c.reader.next_key(key);) {
      NamedRef tensor = read_signature_tensor(c, key);
      if (tensor.name != key) c.file.signature_names[std::string(key)] = tensor.name;
      if (outputs) c.file.fetch.push_back(std::move(tensor));
    }
  }
}

void read_weights_manifest(LoadContext& c) {
  if (!expect(c.reader, Kind::kArray, "weightsManifest")) return;
  for (c.reader.enter_array(); c.reader.next_element();) read_group(c);
}

void fill_missing_weights(LoadContext& c) {
  Graph& g = c.file.graph;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    const AttrValue* value = traits_of(g.op(id)).constant ? Attrs(g.written_attrs(id)).find("value") : nullptr;
    const Tensor* tensor = value ? value->get_if<Tensor>() : nullptr;
    if (!tensor || tensor->raw() || tensor->dtype() == DType::kResource || tensor->dtype() == DType::kVariant) continue;
    auto at = static_cast<size_t>(g.node(id).position);
    if (!charge_fill(c, at, tensor->dtype(), tensor->shape(), 0)) return;
    Result<Tensor> zeros = Tensor::allocate(tensor->dtype(), tensor->shape());
    if (!zeros.ok()) return c.reader.problem(at, zeros.status());
    if (tensor->dtype() != DType::kString) std::memset(zeros->raw(), 0, zeros->size_bytes());
    Weight w;
    w.name = g.name(id);
    set_value(c, w, zeros.take());
  }
}

}  // namespace emplace
