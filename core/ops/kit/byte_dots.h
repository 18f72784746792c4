/// Does the processor have instructions that sum four products of bytes?
#pragma once

namespace emplace {

/// AVX512-VNNI, at a level of at least Isa::kV4.
bool has_wide_byte_dots();
/// AVX-VNNI, at a level of at least Isa::kV3.
bool has_byte_dots();

}  // namespace emplace
