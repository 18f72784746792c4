/// EMPLACE_SHARED marks functions that kernels of the CPU and of GPUs both call.
#pragma once

#ifdef __CUDACC__
#define EMPLACE_SHARED __host__ __device__
#else
#define EMPLACE_SHARED
#endif
