/// The part of NCCL 2 that is called, with its names and values; nccl.cpp holds it to the library's header where there
/// is one.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "core/base/status.h"

namespace emplace::cuda::nccl {

using Comm = struct ncclComm*;
enum class Data : int { kInt32 = 2, kInt64 = 4, kHalf = 6, kFloat = 7, kDouble = 8 };

inline constexpr int kInProgress = 7;  // no error

/// What ranks find each other by.
struct UniqueId {
  char bytes[128];
};
/// As version 2.14 has it; later ones, whose own is longer, read as much as `size` says.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef, version = 21400;
  int blocking = 0;  // calls return kInProgress, and async_error() says when they are done
};

struct Functions {
  int (*init_all)(Comm* comms, int count, const int* devices) = nullptr;
  int (*unique_id)(UniqueId* id) = nullptr;
  int (*init_rank)(Comm* comm, int count, UniqueId id, int rank, Config* config) = nullptr;
  int (*all_reduce)(const void* from, void* to, size_t count, Data type, int reduction, Comm comm,
                    cudaStream_t stream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*async_error)(Comm comm, int* error) = nullptr;
  int (*abort)(Comm comm) = nullptr;
  const char* (*error_text)(int error) = nullptr;
  const char* (*last_error)(Comm comm) = nullptr;
};

/// Unavailable: no library, or one without a function.
Status load(Functions& functions);

}  // namespace emplace::cuda::nccl
