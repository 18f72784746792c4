#include "core/op/op_def.h"

namespace emplace {

OpDef::OpDef(std::string_view name) : name_(name) {}
OpDef::OpDef(OpDef&&) noexcept = default;
OpDef& OpDef::operator=(OpDef&&) noexcept = default;
OpDef::~OpDef() = default;

OpDef&& OpDef::cpu(DTypeSet types, KernelMaker maker) && {
  cpu_.push_back({types, maker});
  return std::move(*this);
}
OpDef&& OpDef::value_inputs(std::initializer_list<int> inputs) && {
  value_inputs_ = inputs;
  return std::move(*this);
}
OpDef&& OpDef::sample(std::string_view text) && {
  samples_.emplace_back(text);
  return std::move(*this);
}

DTypeSet OpDef::cpu_types() const {
  DTypeSet all;
  for (const Entry& e : cpu_) all = all | e.types;
  return all;
}

KernelMaker OpDef::cpu_kernel(DType type) const {
  for (const Entry& e : cpu_) {
    if (e.types.has(base_type(type))) return e.maker;
  }
  return nullptr;
}

}  // namespace emplace
