/// Which x86-64 level this processor has. Hot loops are compiled once per level from one always-inlined body; a
/// kernel picks its clone when it is made, so the choice costs nothing in a run.
#pragma once

#ifdef __CUDACC__
#define EMPLACE_INLINE __host__ __device__ __forceinline__  // kernels for GPUs share it
#else
#define EMPLACE_INLINE [[gnu::always_inline]] inline
#endif
#define EMPLACE_TARGET_V3 __attribute__((target("arch=x86-64-v3")))
#define EMPLACE_TARGET_V4 __attribute__((target("arch=x86-64-v4")))

namespace emplace {

enum class Isa { kBase, kV3, kV4 };

/// Found out once. EMPLACE_ISA=base|v3 in the environment lowers it, for tests of the other clones.
Isa isa();

/// The clone for this processor.
template <class Function>
Function for_isa(Function base, Function v3, Function v4) {
  switch (isa()) {
    case Isa::kV4:
      return v4;
    case Isa::kV3:
      return v3;
    default:
      return base;
  }
}

}  // namespace emplace
