#include "cuda/peer.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/error.h"
#include "cuda/pages.h"

namespace emplace::cuda {
namespace {

constexpr size_t kPatternBytes = 64 << 10;

/// A page of one card as pools have it, for as long as a trial takes.
class TrialPage {
 public:
  static Result<std::unique_ptr<TrialPage>> make(int device, int reader) {
    CUDA_TRY(cudaSetDevice(device));
    ASSIGN_OR_RETURN(Pages pages, Pages::make(device, 0));
    std::unique_ptr<TrialPage> page(new TrialPage(device, std::move(pages)));
    const int64_t bytes = page->pages_.page_bytes();
    ASSIGN_OR_RETURN(page->range_, page->pages_.reserve(bytes));
    RETURN_IF_ERROR(page->pages_.map(page->range_, bytes));
    page->mapped_ = true;
    if (reader != device) RETURN_IF_ERROR(page->pages_.let_read(reader));
    return page;
  }
  ~TrialPage() {
    (void)cudaSetDevice(device_);
    if (mapped_) (void)pages_.unmap(range_, pages_.page_bytes());
    if (range_) pages_.release(range_, pages_.page_bytes());
  }
  std::byte* data() const { return range_; }

 private:
  TrialPage(int device, Pages pages) : device_(device), pages_(std::move(pages)) {}

  int device_;
  Pages pages_;
  std::byte* range_ = nullptr;
  bool mapped_ = false;
};

std::vector<unsigned char> pattern() {
  std::vector<unsigned char> bytes(kPatternBytes);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
  return bytes;
}

/// The way that copies between pages take, which both cards may use: without this the driver goes through the host.
bool open_way(int from, int to) {
  if (cudaSetDevice(to) != cudaSuccess) return false;
  const cudaError_t error = cudaDeviceEnablePeerAccess(from, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled) (void)cudaGetLastError();
  return error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
}

Result<bool> try_copy(int from, int to, cudaStream_t stream) {
  if (!open_way(from, to)) return false;
  ASSIGN_OR_RETURN(const std::unique_ptr<TrialPage> source, TrialPage::make(from, to));
  ASSIGN_OR_RETURN(const std::unique_ptr<TrialPage> target, TrialPage::make(to, to));
  const std::vector<unsigned char> sent = pattern();
  std::vector<unsigned char> received(kPatternBytes);
  CUDA_TRY(cudaMemcpyAsync(source->data(), sent.data(), kPatternBytes, cudaMemcpyHostToDevice, stream));
  CUDA_TRY(cudaMemcpyPeerAsync(target->data(), to, source->data(), from, kPatternBytes, stream));
  CUDA_TRY(cudaMemcpyAsync(received.data(), target->data(), kPatternBytes, cudaMemcpyDeviceToHost, stream));
  CUDA_TRY(cudaStreamSynchronize(stream));
  return received == sent;
}

}  // namespace

Result<bool> peer_copies_arrive(int from, int to, cudaStream_t stream) {
  static std::mutex mutex;
  static std::map<std::pair<int, int>, bool> known;
  std::lock_guard lock(mutex);
  auto found = known.find({from, to});
  if (found != known.end()) return found->second;
  int can = 0;
  CUDA_TRY(cudaDeviceCanAccessPeer(&can, to, from));
  bool arrives = false;
  if (can != 0) {
    Result<bool> tried = try_copy(from, to, stream);
    arrives = tried.ok() && *tried;
    CUDA_TRY(cudaSetDevice(to));
  }
  return known[{from, to}] = arrives;
}

}  // namespace emplace::cuda
