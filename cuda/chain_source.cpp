#include "cuda/chain_source.h"

#include <algorithm>

#include "core/base/assert.h"
#include "core/base/cat.h"
#include "cuda/chainable.h"

namespace emplace::cuda {
namespace {

constexpr SourceHeader kHeaders[] = {
#include "chain_headers.inc"
    {"core/base/dtype.h", "#include \"cuda/rtc/dtype.h\"\n"},
    {"cmath", ""},
    {"cstdint", ""},
    {"limits", ""},
    {"type_traits", ""},
    {"utility", ""},
};

constexpr const char* kIncludes = R"(#include "cuda/chain.h"
#include "cuda/element_code.h"
#include "core/ops/formulas/activation.h"
#include "core/ops/formulas/arithmetic.h"
#include "core/ops/formulas/comparison.h"
#include "core/ops/formulas/division.h"
#include "core/ops/formulas/exponential.h"
#include "core/ops/formulas/unary.h"

namespace emplace::cuda {

)";

std::string_view type_text(DType type) {
  switch (type) {
    case DType::kFloat:
      return "float";
    case DType::kDouble:
      return "double";
    case DType::kHalf:
      return "half";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kInt8:
      return "int8_t";
    case DType::kInt16:
      return "int16_t";
    case DType::kInt32:
      return "int32_t";
    case DType::kInt64:
      return "int64_t";
    case DType::kUInt8:
      return "uint8_t";
    case DType::kUInt16:
      return "uint16_t";
    case DType::kUInt32:
      return "uint32_t";
    case DType::kUInt64:
      return "uint64_t";
    case DType::kBool:
      return "bool";
    case DType::kComplex64:
      return "complex64";
    case DType::kComplex128:
      return "complex128";
    default:
      break;
  }
  EMPLACE_ASSERT(false, "elementwise kernels are of numbers and bool");
  return {};
}

std::string state_text(const std::array<unsigned char, 8>& state) {
  std::string text;
  for (unsigned char byte : state) append(text, text.empty() ? "" : ", ", static_cast<int>(byte));
  return cat("FunctionState{{", text, "}}");
}

class Writer {
 public:
  explicit Writer(const GpuChain& chain) : chain_(chain) {
    for (const GpuChain::Op& op : chain.ops)
      functions_.push_back(*dynamic_cast<const ChainableKernel&>(*op.kernel).function());
    input_types_.resize(chain.single.size(), DType::kInvalid);
    for (size_t k = 0; k < chain.ops.size(); ++k) {
      for (int operand : chain.ops[k].operands) {
        if (operand >= 0) input_types_[static_cast<size_t>(operand)] = functions_[k].type;
      }
    }
  }

  ChainSource write() {
    size_t widest = 1;
    for (const FunctionText& f : functions_) widest = std::max({widest, dtype_size(f.type), dtype_size(f.result)});
    ChainSource source{kIncludes, static_cast<int>(16 / widest)};
    n_ = cat(source.pack);
    append(source.text,
           "extern \"C\" __global__ void emplace_chain(ChainWork work) {\n  const int64_t first = thread_index() * ",
           n_, ";\n  if (first >= work.elements) return;\n");
    load(source.text);
    append(source.text, "  for (int i = 0; i < ", n_, "; ++i) {\n");
    compute(source.text);
    source.text += "  }\n";
    store(source.text);
    source.text += "}\n\n}  // namespace emplace::cuda\n";
    return source;
  }

 private:
  void load(std::string& text) {
    for (size_t i = 0; i < chain_.single.size(); ++i) {
      append(text, "  const auto a", i, " = ", chain_.single[i] ? "filled_pack<" : "load_pack<",
             type_text(input_types_[i]), ", ", n_, ">(work.in[", i,
             chain_.single[i] ? "]);\n" : "], work.elements, first);\n");
    }
    for (size_t k = 0; k < functions_.size(); ++k) {
      append(text, "  const auto f", k, " = function_in<", functions_[k].name, ">(", state_text(functions_[k].state),
             ");\n");
      if (chain_.ops[k].stored) append(text, "  Pack<", type_text(functions_[k].result), ", ", n_, "> y", k, ";\n");
    }
  }

  // Signed and unsigned integers of a size are the same bits, and some kernels take the ones for the others.
  void compute(std::string& text) {
    for (size_t k = 0; k < functions_.size(); ++k) {
      const FunctionText& f = functions_[k];
      append(text, "    const ", type_text(f.result), " v", k, " = ElementCode<", f.name, ", ", type_text(f.type),
             ">::of(f", k);
      for (int operand : chain_.ops[k].operands) {
        const int made = ~operand;  // by this function of the chain, if it is no input
        const DType from =
            operand >= 0 ? input_types_[static_cast<size_t>(operand)] : functions_[static_cast<size_t>(made)].result;
        const std::string value = operand >= 0 ? cat("a", operand, ".at[i]") : cat("v", made);
        append(text, ", ", from == f.type ? value : cat("static_cast<", type_text(f.type), ">(", value, ")"));
      }
      text += ");\n";
      if (chain_.ops[k].stored) append(text, "    y", k, ".at[i] = v", k, ";\n");
    }
  }

  void store(std::string& text) {
    int output = 0;
    for (size_t k = 0; k < functions_.size(); ++k) {
      if (chain_.ops[k].stored)
        append(text, "  store_pack(work.out[", output++, "], work.elements, first, y", k, ");\n");
    }
  }

  const GpuChain& chain_;
  std::vector<FunctionText> functions_;
  std::vector<DType> input_types_;
  std::string n_;
};

}  // namespace

std::span<const SourceHeader> chain_headers() { return kHeaders; }

ChainSource chain_source(const GpuChain& chain) { return Writer(chain).write(); }

}  // namespace emplace::cuda
