#include "cuda/error.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace::cuda {
namespace {

struct Remedy {
  int error;
  std::string_view what_to_do;
};
// By number (driver_types.h): not every version of the headers names them all.
constexpr Remedy kUnusable[] = {
    {35, "install a driver that is as new as the plug-in"},
    {36, "install a driver that is as new as the plug-in"},
    {46,
     "another process has the card for itself (compute mode EXCLUSIVE_PROCESS), or the card is busy: wait for that "
     "process, or choose another card with CUDA_VISIBLE_DEVICES"},
    {100, "no GPU is visible: see CUDA_VISIBLE_DEVICES and `emplace devices`"},
    {101, "the cards or CUDA_VISIBLE_DEVICES are others than when they were listed"},
    {209,
     "the plug-in holds no code for this card: build it where the card is, or for all cards with `cmake --preset "
     "cuda`"},
    {214,
     "the card's memory had an uncorrectable (ECC) error: what it computed is not to be trusted; reset the card, or "
     "replace it if that comes again"},
    {802,
     "the system is not ready: cards that are linked by NVSwitch need the service nvidia-fabricmanager, of the "
     "driver's version"},
    {803,
     "the driver's kernel module and its libraries are of different versions: restart the machine, or load the "
     "module anew"},
    {804, "the compatibility libraries (cuda-compat) do not support this card: use those of its driver"},
    {805, "the MPS daemon cannot be reached: start it (nvidia-cuda-mps-control -d), or unset CUDA_MPS_PIPE_DIRECTORY"},
    {810, "the MPS daemon has all the clients that it serves: wait, or raise its limit"},
};

}  // namespace

Status status_of_code(int number, std::string_view name, std::string_view text, std::string_view call) {
  std::string message = cat(call.substr(0, call.find('(')), ": error ", number, " (", name, "): ", text);
  if (number == static_cast<int>(cudaErrorMemoryAllocation)) return resource_exhausted(std::move(message));
  const auto known =
      std::find_if(std::begin(kUnusable), std::end(kUnusable), [&](const Remedy& r) { return r.error == number; });
  if (known == std::end(kUnusable)) return internal_error(std::move(message));
  append(message, "; ", known->what_to_do);
  return unavailable(std::move(message));
}

Status status_of(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return ok_status();
  return status_of_code(static_cast<int>(error), cudaGetErrorName(error), cudaGetErrorString(error), call);
}

}  // namespace emplace::cuda
