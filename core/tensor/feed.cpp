#include "core/tensor/feed.h"

#include <charconv>
#include <optional>
#include <vector>

#include "core/base/cat.h"
#include "core/base/file_error.h"
#include "core/base/host_memory.h"
#include "core/base/input_file.h"
#include "core/base/printable.h"
#include "core/base/suggest.h"
#include "core/tensor/convert_kind.h"
#include "core/tensor/element.h"
#include "core/tensor/json_tensor.h"
#include "core/tensor/npy.h"
#include "core/tensor/tiny.h"

namespace emplace {
namespace {

constexpr std::string_view kBlanks = " ,\t\n";

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    size_t start = text.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) return words;
    size_t end = text.find_first_of(kBlanks, start);
    words.push_back(text.substr(start, end == std::string_view::npos ? end : end - start));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end);
  }
}

/// "f32" and the like; the long names too.
std::optional<DType> parse_short_dtype(std::string_view text) {
  static constexpr std::pair<std::string_view, DType> kShort[] = {
      {"f16", DType::kHalf},      {"bf16", DType::kBFloat16},  {"f32", DType::kFloat},  {"f64", DType::kDouble},
      {"i8", DType::kInt8},       {"i16", DType::kInt16},      {"i32", DType::kInt32},  {"i64", DType::kInt64},
      {"u8", DType::kUInt8},      {"u16", DType::kUInt16},     {"u32", DType::kUInt32}, {"u64", DType::kUInt64},
      {"c64", DType::kComplex64}, {"c128", DType::kComplex128}};
  for (const auto& [name, dtype] : kShort) {
    if (name == text) return dtype;
  }
  return parse_dtype(text);
}

/// "2x3xf32=...": the part before '='.
struct Typed {
  DType dtype;
  Shape shape;
  std::string_view values;
};

std::optional<Typed> parse_typed(std::string_view spec) {
  size_t equals = spec.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  Typed out{DType::kInvalid, {}, spec.substr(equals + 1)};
  std::string_view rest = spec.substr(0, equals);
  while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
    int64_t size = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    size_t used = static_cast<size_t>(end - rest.data());
    if (error != std::errc() || used == rest.size() || *end != 'x' || out.shape.rank() == kMaxRank) return std::nullopt;
    out.shape.add_dim(size);
    rest.remove_prefix(used + 1);
  }
  auto dtype = parse_short_dtype(rest);
  if (!dtype || is_ref(*dtype)) return std::nullopt;
  out.dtype = *dtype;
  return out;
}

Status wrong_shape(const Shape& found, const Shape& wanted) {
  return invalid_argument(cat("found shape ", found.to_string(), ", wanted ", wanted.to_string()));
}

Status wrong_dtype(DType found, DType wanted) {
  return invalid_argument(cat("found dtype ", dtype_name(found), ", wanted ", dtype_name(wanted)));
}

/// "random:7" -> 7.
std::optional<uint64_t> random_seed(std::string_view spec) {
  if (!spec.starts_with("random:")) return std::nullopt;
  spec.remove_prefix(7);
  uint64_t seed = 0;
  auto [end, error] = std::from_chars(spec.data(), spec.data() + spec.size(), seed);
  if (error != std::errc() || end != spec.data() + spec.size()) return std::nullopt;
  return seed;
}

/// splitmix64 (Steele, Lea, Flood 2014): one number per position, the same on every machine.
uint64_t random_bits(uint64_t seed, uint64_t position) {
  uint64_t z = seed + (position + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

template <class T>
T random_element(uint64_t bits) {
  if constexpr (std::is_same_v<T, bool>)
    return bits >> 63;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>((bits >> 32) % 10);
  // 8 bits for the halves, 24 for all others: exact in the type, so never rounded up to 1.
  else if constexpr (kHalves.has(dtype_of<T>))
    return number_as<T>(static_cast<double>(bits >> 56) * 0x1p-8);
  else if constexpr (kComplexes.has(dtype_of<T>))
    return T(static_cast<float>(bits >> 40) * 0x1p-24f, static_cast<float>(bits & 0xffffff) * 0x1p-24f);
  else
    return number_as<T>(static_cast<double>(bits >> 40) * 0x1p-24);
}

enum class Fill { kZeros, kOnes, kRandom };
struct FillSpec {
  Fill fill;
  uint64_t seed;
};

std::optional<FillSpec> parse_fill(std::string_view spec) {
  if (spec == "zeros") return FillSpec{Fill::kZeros, 0};
  if (spec == "ones") return FillSpec{Fill::kOnes, 0};
  if (auto seed = random_seed(spec)) return FillSpec{Fill::kRandom, *seed};
  return std::nullopt;
}

Result<Tensor> filled(FillSpec spec, DType dtype, const Shape& shape) {
  if (!shape.fully_known()) {
    return invalid_argument(cat("the shape is not fully known (", shape.to_string(), "); write it, as in '2x3x",
                                dtype_name(dtype), "=zeros'"));
  }
  if (dtype == DType::kString) return invalid_argument("zeros, ones and random numbers are not strings");
  ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(plain_type(dtype), shape));
  bool known = with_type(t.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < t.num_elements(); ++i) {
      t.data<T>()[i] = spec.fill == Fill::kRandom ? random_element<T>(random_bits(spec.seed, static_cast<uint64_t>(i)))
                                                  : number_as<T>(spec.fill == Fill::kOnes ? 1 : 0);
    }
  });
  if (!known) return unimplemented(cat("a ", dtype_name(dtype), " tensor cannot be fed"));
  return from_plain(t, dtype);
}

/// `words` in `shape`; a single one fills it.
Result<Tensor> from_words(const std::vector<std::string_view>& words, DType dtype, const Shape& shape) {
  auto count = shape.checked_num_elements();
  if (!count) return invalid_argument(cat("shape ", shape.to_string(), " has too many elements"));
  if (words.size() != 1 && words.size() != static_cast<uint64_t>(*count)) {
    return invalid_argument(
        cat("found ", words.size(), " elements, wanted ", *count, " for shape ", shape.to_string()));
  }
  ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(plain_type(dtype), shape));
  Status status;
  bool known = with_type(t.dtype(), [&]<class T>() {
    T value{};
    for (int64_t i = 0; i < *count && status.ok(); ++i) {
      if (i == 0 || words.size() > 1) {
        Result<T> parsed = parse_element<T>(words[static_cast<size_t>(i)]);
        if (!parsed.ok()) return static_cast<void>(status = parsed.take_status());
        value = parsed.take();
      }
      t.data<T>()[i] = value;
    }
  });
  if (!known) return unimplemented(cat("a ", dtype_name(dtype), " tensor cannot be fed"));
  RETURN_IF_ERROR(status);
  return from_plain(t, dtype);
}

/// Is the first word an element at all? A misspelt fill is not.
Status check_first_word(std::string_view word, DType dtype) {
  Status status;
  with_type(plain_type(dtype), [&]<class T>() {
    if (Result<T> parsed = parse_element<T>(word); !parsed.ok()) status = parsed.take_status();
  });
  if (status.ok()) return status;
  static constexpr std::string_view kFills[] = {"zeros", "ones", "random:SEED"};
  const bool is_file = word.ends_with(".npy") || word.ends_with(".npz") || word.ends_with(".json");
  if (is_file) return invalid_argument(cat(status.message(), "; a file is written '@", word, "'"));
  std::string hint = word.starts_with("random") ? "did you mean 'random:SEED'?" : did_you_mean(word, kFills);
  return hint.empty() ? status : invalid_argument(cat(status.message(), "; ", hint));
}

/// Elements without a shape: the wanted one if it has as many, else a scalar or a vector.
Result<Tensor> from_plain_words(std::string_view spec, DType dtype, const Shape& wanted) {
  std::vector<std::string_view> words = words_of(spec);
  if (words.empty()) return invalid_argument("the value is empty");
  RETURN_IF_ERROR(check_first_word(words[0], dtype));
  auto count = static_cast<int64_t>(words.size());
  Shape shape = count == 1 ? Shape{} : Shape{count};
  if (!shape.compatible_with(wanted)) {
    if (wanted.fully_known() && wanted.checked_num_elements() == count) {
      shape = wanted;
    } else {
      std::string dims;
      for (int d = 0; wanted.fully_known() && d < wanted.rank(); ++d) append(dims, wanted.dim(d), "x");
      Status wrong = wrong_shape(shape, wanted).with_context(cat("'", spec, "'"));
      return count > 1 || dims.empty() ? wrong
                                       : invalid_argument(cat(wrong.message(), "; write '", dims, dtype_name(dtype),
                                                              "=", spec, "' to repeat it"));
    }
  }
  return from_words(words, dtype, shape);
}

Result<Tensor> from_file(const std::shared_ptr<const InputFile>& file, DType dtype, const std::string& origin) {
  if (file->bytes().starts_with("\x93NUMPY")) {
    ASSIGN_OR_RETURN(Tensor t, parse_npy(file, origin, HostUseScope::current()));
    return convert_keeping_kind(t, dtype);
  }
  HostShare whole(HostUseScope::current());  // a text is in memory as a whole; of an array, what has been read is not
  if (file->lendable()) RETURN_IF_ERROR(whole.resize(static_cast<int64_t>(file->bytes().size())).with_context(origin));
  return parse_json_tensor(file->bytes(), dtype, origin);
}

/// The only array of an archive.
Result<Tensor> from_npz(const std::string& path) {
  ASSIGN_OR_RETURN(auto arrays, read_npz(path));
  if (arrays.size() == 1) return std::move(arrays[0].second);
  std::string names;
  for (const auto& [name, array] : arrays) append(names, names.empty() ? "" : ", ", name);
  return invalid_argument(cat(printable(path), " holds ", arrays.size(), " arrays; choose one with '@", printable(path),
                              ":NAME'", names.empty() ? "" : ": ", names));
}

Result<Tensor> from_file(std::string_view spec, DType dtype) {
  if (spec == "-") {
    ASSIGN_OR_RETURN(std::shared_ptr<const InputFile> input, InputFile::open("-"));
    return from_file(input, dtype, "standard input");
  }
  if (size_t ending = spec.rfind(".npz:"); ending != std::string_view::npos) {
    ASSIGN_OR_RETURN(Tensor t, read_npz(std::string(spec.substr(0, ending + 4)), std::string(spec.substr(ending + 5))));
    return convert_keeping_kind(t, dtype);
  }
  std::string path(spec);
  if (spec.ends_with(".npz")) {
    ASSIGN_OR_RETURN(Tensor t, from_npz(path));
    return convert_keeping_kind(t, dtype);
  }
  Result<std::shared_ptr<const InputFile>> file =
      InputFile::open(path, {.use = HostUseScope::current(), .count_mapped = false});
  if (!file.ok()) return unreadable(path, file.status());
  if ((*file)->bytes().empty()) return empty_file(path);
  return from_file(*file, dtype, printable(path));
}

Result<Tensor> from_typed(const Typed& typed, DType dtype, const Shape& wanted) {
  if (typed.dtype != dtype) return wrong_dtype(typed.dtype, dtype);
  if (!typed.shape.compatible_with(wanted)) return wrong_shape(typed.shape, wanted);
  if (auto fill = parse_fill(typed.values)) return filled(*fill, dtype, typed.shape);
  const std::vector<std::string_view> words = words_of(typed.values);
  if (!words.empty()) RETURN_IF_ERROR(check_first_word(words[0], dtype));
  return from_words(words, dtype, typed.shape);
}

}  // namespace

Result<Tensor> parse_feed(std::string_view spec, DType dtype, const Shape& shape) {
  if (auto typed = parse_typed(spec)) return from_typed(*typed, dtype, shape);
  if (spec.starts_with('@') || spec.starts_with('[')) {
    ASSIGN_OR_RETURN(Tensor t,
                     spec[0] == '@' ? from_file(spec.substr(1), dtype) : parse_json_tensor(spec, dtype, "the value"));
    if (!t.shape().compatible_with(shape)) return wrong_shape(t.shape(), shape).with_context(spec);
    return t;
  }
  if (dtype == DType::kString) {
    if (!Shape{}.compatible_with(shape)) return wrong_shape(Shape{}, shape);
    return Tensor::scalar(std::string(spec));
  }
  if (auto fill = parse_fill(spec)) return filled(*fill, dtype, shape);
  if (size_t equals = spec.find('='); equals != std::string_view::npos) {
    return invalid_argument(cat("'", spec.substr(0, equals),
                                "' is not a shape and element type; write for instance 2x3x", dtype_name(dtype), "=0"));
  }
  if (spec.starts_with("random:"))
    return invalid_argument(cat("'", spec, "' has no whole number as its seed; write for instance random:7"));
  return from_plain_words(spec, dtype, shape);
}

}  // namespace emplace
