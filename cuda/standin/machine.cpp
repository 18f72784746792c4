// EMPLACE_STANDIN_MACHINE names a file with one GPU per line: "name | UUID | PCI bus id | memory in MiB | capability".
// EMPLACE_STANDIN_NVML: a file of cards that NVML lists, whole ones, of which instances may be given to this process.
// EMPLACE_STANDIN_FAILS="cudaSetDevice=46": that call answers with that error. EMPLACE_STANDIN_EXCLUSIVE: a file whose
// lock is the cards': in exclusive mode they take one process at a time, others get error 46.
// They are numbered as in the file, or, unless CUDA_DEVICE_ORDER says PCI_BUS_ID, fastest first: by their memory.
// The current mask, CUDA_VISIBLE_DEVICES, is applied as the driver does it. Without a file: EMPLACE_STANDIN_GPUS cards
// (default 1) of 16 GiB. EMPLACE_STANDIN_TAKEN: bytes of each card that other processes have. EMPLACE_STANDIN_REPORT:
// the most that each gave this process beside its context is said at the end. EMPLACE_STANDIN_PEERS: "none" of them
// reach each other, or they seem to and what is sent is "lost" or a byte "short".
#include "cuda/standin/machine.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/visible_devices.h"
#include "cuda/standin/cuda.h"
#include "cuda/standin/standin.h"

namespace emplace::standin {
namespace {

struct Gpu {
  PhysicalGpu facts;
  std::atomic<size_t> used{0};  // with what others have
  std::atomic<size_t> given{0}, most_given{0};
  std::atomic<bool> has_context{false};
};

constexpr int kDriverVersion = 13000;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr size_t kContextBytes = 8 * kMiB;

std::string trimmed(const std::string& text) {
  size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string::npos ? std::string() : text.substr(begin, end - begin + 1);
}

struct Machine {
  Machine() {
    int version = kDriverVersion;
    if (const char* text = std::getenv("EMPLACE_STANDIN_DRIVER")) version = std::atoi(text);
    driver_version = version;
    std::vector<PhysicalGpu> all;
    if (const char* path = std::getenv("EMPLACE_STANDIN_MACHINE")) {
      read(path, all);
    } else {
      const char* count = std::getenv("EMPLACE_STANDIN_GPUS");
      for (int i = 0; i < (count ? std::atoi(count) : 1); ++i) all.push_back(card(i));
    }
    const char* order = std::getenv("CUDA_DEVICE_ORDER");
    if (!order || std::string_view(order) != "PCI_BUS_ID") {
      std::stable_sort(all.begin(), all.end(),
                       [](const PhysicalGpu& a, const PhysicalGpu& b) { return a.memory > b.memory; });
    }
    for (int i : cuda_visible_devices(std::getenv("CUDA_VISIBLE_DEVICES"), all)) {
      gpus.push_back(new Gpu);
      gpus.back()->facts = all[static_cast<size_t>(i)];
      if (const char* taken = std::getenv("EMPLACE_STANDIN_TAKEN"))
        gpus.back()->used = static_cast<size_t>(std::atoll(taken));
    }
    if (std::getenv("EMPLACE_STANDIN_REPORT")) std::atexit(report);
  }

  static void report();
  static PhysicalGpu card(int i) {
    PhysicalGpu gpu;
    char text[64];
    gpu.name = "CUDA stand-in";
    std::snprintf(text, sizeof text, "GPU-5ca1ab1e-0000-4000-8000-%012x", static_cast<unsigned>(i));
    gpu.uuid = text;
    std::snprintf(text, sizeof text, "0000:%02X:00.0", static_cast<unsigned>(i) + 1);
    gpu.pci_bus_id = text;
    gpu.memory = 16384 * kMiB;
    gpu.compute_capability = "9.0";
    return gpu;
  }

  static void read(const char* path, std::vector<PhysicalGpu>& all) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::vector<std::string> parts;
      std::istringstream fields(line);
      for (std::string part; std::getline(fields, part, '|');) parts.push_back(trimmed(part));
      parts.resize(5);
      PhysicalGpu gpu;
      gpu.name = parts[0];
      gpu.uuid = parts[1];
      gpu.pci_bus_id = parts[2];
      gpu.memory = std::atoll(parts[3].c_str()) * kMiB;
      gpu.compute_capability = parts[4];
      all.push_back(gpu);
    }
  }

  int driver_version = 0;
  std::vector<Gpu*> gpus;
};

Machine& machine() {
  static Machine* const kMachine = new Machine;
  return *kMachine;
}

void Machine::report() {
  for (const Gpu* g : machine().gpus) {
    std::fprintf(stderr, "CUDA stand-in: at most %zu bytes of %s%s\n", g->most_given.load(),
                 g->facts.pci_bus_id.c_str(), g->has_context ? "" : ", which has no context");
  }
}

thread_local int current = 0;
thread_local bool chosen = false;  // did the thread say so?
std::atomic<uint64_t> without_card{0};

/// Errors that tests order, by name and text as CUDA has them.
struct Described {
  int error;
  const char *name, *text;
};
constexpr Described kDescribed[] = {
    {35, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
    {46, "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"},
    {209, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"},
    {214, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {802, "cudaErrorSystemNotReady", "system not yet initialized"},
    {803, "cudaErrorSystemDriverMismatch", "system has unsupported display driver / cuda driver combination"},
};
const Described* described(int error) {
  for (const Described& d : kDescribed) {
    if (d.error == error) return &d;
  }
  return nullptr;
}

/// Until this process ends the cards are its own. False: they are another's.
bool has_cards() {
  static const bool kHas = [] {
    const char* path = std::getenv("EMPLACE_STANDIN_EXCLUSIVE");
    if (!path) return true;
    const int file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    return file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0;
  }();
  return kHas;
}

bool valid(int device) { return device >= 0 && static_cast<size_t>(device) < machine().gpus.size(); }
Gpu& gpu(int device) { return *machine().gpus[static_cast<size_t>(device)]; }

}  // namespace

bool take_memory(int device, size_t bytes) {
  if (!valid(device)) return false;
  Gpu& g = gpu(device);
  if (g.used + bytes > static_cast<size_t>(g.facts.memory)) return false;
  g.used += bytes;
  g.given += bytes;
  g.most_given = std::max(g.most_given.load(), g.given.load());
  return true;
}

void give_back_memory(int device, size_t bytes) {
  if (!valid(device)) return;
  gpu(device).used -= bytes;
  gpu(device).given -= bytes;
}

std::vector<PhysicalGpu> listed_cards() {
  std::vector<PhysicalGpu> cards;
  if (const char* path = std::getenv("EMPLACE_STANDIN_NVML")) Machine::read(path, cards);
  return cards;
}

cudaError_t ordered_failure(std::string_view call) {
  const char* orders = std::getenv("EMPLACE_STANDIN_FAILS");
  if (!orders) return cudaSuccess;
  static std::mutex mutex;
  static std::string counted;               // for what was ordered
  static std::map<std::string, int> calls;  // since then
  const std::lock_guard lock(mutex);
  if (counted != orders) {
    counted = orders;
    calls.clear();
  }
  const int now = ++calls[std::string(call)];
  std::istringstream list(orders);
  for (std::string order; std::getline(list, order, ',');) {
    const std::string name = order.substr(0, order.find('='));
    if (name == call || name == std::string(call) + "@" + std::to_string(now))
      return static_cast<cudaError_t>(std::atoi(order.c_str() + name.size() + 1));
  }
  return cudaSuccess;
}

void need_context() {
  if (!chosen) ++without_card;
  if (valid(current) && !gpu(current).has_context.exchange(true)) gpu(current).used += kContextBytes;
}

uint64_t calls_without_card() { return without_card; }

}  // namespace emplace::standin

using namespace emplace::standin;

CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = cudaGetErrorName(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = cudaGetErrorString(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = machine().driver_version;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kDriverVersion;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  if (machine().driver_version < kDriverVersion) return cudaErrorInsufficientDriver;  // *count stays as it was
  *count = static_cast<int>(machine().gpus.size());
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaSetDevice(int device) {
  if (!valid(device)) return cudaErrorInvalidDevice;
  if (cudaError_t failure = ordered_failure("cudaSetDevice"); failure != cudaSuccess) return failure;
  if (!has_cards()) return static_cast<cudaError_t>(46);
  current = device;
  chosen = true;
  need_context();
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!valid(device)) return cudaErrorInvalidDevice;
  const emplace::PhysicalGpu& facts = gpu(device).facts;
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "%s", facts.name.c_str());
  std::string digits;
  for (char c : facts.uuid.substr(4)) {
    if (c != '-') digits += c;
  }
  digits.resize(32, '0');
  for (size_t i = 0; i < 16; ++i)
    properties->uuid.bytes[i] = static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  properties->totalGlobalMem = static_cast<size_t>(facts.memory);
  std::sscanf(facts.compute_capability.c_str(), "%d.%d", &properties->major, &properties->minor);
  properties->multiProcessorCount = 132;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (!valid(device)) return cudaErrorInvalidDevice;
  std::snprintf(text, static_cast<size_t>(length), "%s", gpu(device).facts.pci_bus_id.c_str());
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!valid(device) || !valid(peer)) return cudaErrorInvalidDevice;
  const char* peers = std::getenv("EMPLACE_STANDIN_PEERS");
  *can = device != peer && !(peers && std::string_view(peers) == "none");
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  return valid(peer) && peer != current ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (!valid(current)) return cudaErrorInvalidDevice;
  need_context();
  *total = static_cast<size_t>(gpu(current).facts.memory);
  *free = *total - gpu(current).used;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return cudaSuccess; }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureWrongThread:
      return "cudaErrorStreamCaptureWrongThread";
    case cudaErrorStreamCaptureUnjoined:
      return "cudaErrorStreamCaptureUnjoined";
    default:
      return described(error) ? described(error)->name : "cudaErrorUnknown";
  }
}
const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorMemoryAllocation) return "out of memory";
  return described(error) ? described(error)->text : "see the name";
}
