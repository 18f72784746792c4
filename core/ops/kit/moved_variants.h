/// Variants that are moved: by the kernel that moves numbers.
#pragma once

#include "core/op/kernel.h"

namespace emplace {

/// The kernel of an op that only moves elements, for variants: `maker`'s moves their numbers, and what it puts where
/// says which variant comes there. A zero that it makes is a variant that holds nothing.
Result<std::unique_ptr<Kernel>> variant_mover(const KernelInit& init, KernelMaker maker);

template <KernelMaker maker>
Result<std::unique_ptr<Kernel>> moving_variants(const KernelInit& init) {
  return variant_mover(init, maker);
}

}  // namespace emplace
