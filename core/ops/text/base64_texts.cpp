// EncodeBase64, DecodeBase64: bytes in the alphabet that is safe in addresses.
#include <algorithm>

#include "core/base/base64.h"
#include "core/op/op_def.h"
#include "core/ops/text/text_map.h"

namespace emplace {
namespace {

class EncodeBase64 final : public Kernel {
 public:
  explicit EncodeBase64(const KernelInit& init) : pads_(init.attrs.flag("pad")) {}
  Status run(KernelContext& c) override {
    return map_texts<std::string>(c, [&](const std::string& bytes) {
      std::string text = encode_base64(bytes);
      std::replace(text.begin(), text.end(), '+', '-');
      std::replace(text.begin(), text.end(), '/', '_');
      if (!pads_) std::erase(text, '=');
      return text;
    });
  }

 private:
  bool pads_;
};

Result<std::string> bytes_of(std::string_view text) {
  if (text.size() % 4 == 0 && text.ends_with('=')) text.remove_suffix(text.ends_with("==") ? 2 : 1);
  if (text.size() % 4 == 1) return invalid_argument("Base64 string length cannot be 1 modulo 4.");
  const bool other = text.find_first_of("+/=") != text.npos;
  std::optional<std::string> bytes = other ? std::nullopt : decode_base64(text);
  if (!bytes) return invalid_argument("Invalid character found in base64.");
  return *std::move(bytes);
}

Status decode_base64_cpu(KernelContext& c) {
  return map_texts<std::string>(c, [](const std::string& text) { return bytes_of(text); });
}

}  // namespace

OpDef encode_base64_op() {
  return OpDef("EncodeBase64")
      .doc("Each text's bytes in the alphabet of base64 that is safe in addresses.")
      .shape(shape_unchanged)
      .cpu(make<EncodeBase64>)
      .not_differentiable();
}
OpDef decode_base64_op() {
  return OpDef("DecodeBase64")
      .doc("The bytes that each text stands for in the alphabet of base64 that is safe in addresses.")
      .shape(shape_unchanged)
      .cpu(stateless<decode_base64_cpu>)
      .not_differentiable();
}

}  // namespace emplace
