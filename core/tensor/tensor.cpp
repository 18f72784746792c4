#include "core/tensor/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/base/assert.h"
#include "core/base/cat.h"
#include "core/base/heap_limit.h"
#include "core/base/host_memory.h"
#include "core/base/idle_memory.h"
#include "core/tensor/text_meter.h"
#include "core/tensor/texts.h"

namespace emplace {
namespace {

class HeapBuffer final : public Buffer {
 public:
  HeapBuffer(void* data, size_t size, HostShare share) : Buffer(data, size), share_(std::move(share)) {}
  ~HeapBuffer() override { std::free(data_); }

 private:
  HostShare share_;
};

// Large tensors lie on huge pages: reading 64 MiB in order is 1.3 times as fast.
void* allocate_bytes(size_t size) {
  constexpr size_t kHugePage = size_t{2} << 20;
  if (size < 2 * kHugePage) return std::aligned_alloc(64, size);
  size = (size + kHugePage - 1) / kHugePage * kHugePage;
  void* data = std::aligned_alloc(kHugePage, size);
  if (data) madvise(data, size, MADV_HUGEPAGE);
  return data;
}

/// Also at that of what pools keep to use again.
Status resize_at_any_cost(HostShare& share, int64_t bytes) {
  if (share.resize(bytes).ok()) return ok_status();
  release_kept_memory();
  return share.resize(bytes);
}

class StringBuffer final : public Buffer {
 public:
  StringBuffer(size_t count, HostShare share)
      : Buffer(nullptr, count * sizeof(std::string)),
        share_(std::move(share)),
        strings_(std::make_unique<std::string[]>(count)),
        count_(count) {
    data_ = strings_.get();
  }
  ~StringBuffer() override {
    const TextMeter::Scope nobody(nullptr);  // they have a share of their own
    strings_.reset();
  }
  /// More texts take so many bytes.
  Status take(int64_t bytes) { return resize_at_any_cost(texts_, texts_.bytes() + bytes); }
  Status recount() {
    int64_t bytes = 0;
    for (size_t i = 0; i < count_; ++i) bytes += heap_bytes(strings_[i].capacity());
    return resize_at_any_cost(texts_, bytes);
  }
  /// Of a text that has room for so many characters.
  static int64_t heap_bytes(size_t capacity) {
    static const size_t inside = std::string().capacity();
    return capacity > inside ? static_cast<int64_t>(TextMeter::footprint(capacity + 1)) : 0;
  }

 private:
  HostShare share_;
  HostShare texts_{HostUseScope::current()};
  std::unique_ptr<std::string[]> strings_;
  size_t count_;
};

}  // namespace

Result<Tensor> Tensor::allocate(DType dtype, const Shape& shape) {
  auto count = shape.checked_num_elements();
  int64_t bytes = 0;
  size_t element = storage_size(dtype);
  if (!count || __builtin_mul_overflow(*count, static_cast<int64_t>(element), &bytes)) {
    return invalid_argument(cat("shape ", shape.to_string(), " has too many elements"));
  }
  const auto out_of_memory = [&](std::string_view why) {
    return resource_exhausted(cat("OOM when allocating tensor with shape", shape.to_string(), " and type ",
                                  dtype_tf_name(dtype), " on the host: ", why));
  };
  HostShare share(HostUseScope::current());
  if (Status status = resize_at_any_cost(share, bytes); !status.ok()) return out_of_memory(status.message());
  std::shared_ptr<Buffer> buffer;
  try {
    if (dtype == DType::kString) {
      TextMeter* const meter = TextMeter::of_thread();
      const TextMeter::Scope nobody(nullptr);
      buffer = std::make_shared<StringBuffer>(static_cast<size_t>(*count), std::move(share));
      if (meter) meter->add(buffer);
    } else {
      size_t size = (static_cast<size_t>(bytes) + 63) / 64 * 64;
      void* data = allocate_bytes(size ? size : 64);
      if (!data) throw std::bad_alloc();
      buffer = std::make_shared<HeapBuffer>(data, size, std::move(share));
    }
  } catch (const HeapOverLimit&) {
    throw;  // says what is missing
  } catch (const std::bad_alloc&) {
    return out_of_memory("the system has no more");
  }
  void* data = buffer->data();
  return wrap(dtype, shape, data, std::move(buffer));
}

Tensor allocated(DType dtype, const Shape& shape) {
  Result<Tensor> made = Tensor::allocate(dtype, shape);
  if (!made.ok()) throw HeapOverLimit(made.status().message());
  return made.take();
}

Status repeat_text(Tensor& strings, int64_t first, const std::string& text) {
  const int64_t copies = strings.num_elements() - first;
  if (copies <= 0) return ok_status();
  int64_t bytes = 0;
  if (__builtin_mul_overflow(copies, StringBuffer::heap_bytes(text.size()), &bytes))
    return invalid_argument("too many copies of a long text");
  auto* buffer = dynamic_cast<StringBuffer*>(strings.buffer().get());
  EMPLACE_ASSERT(buffer != nullptr, "the caller has allocated strings");
  if (Status status = buffer->take(bytes); !status.ok())
    return resource_exhausted(cat("OOM when filling tensor with shape", strings.shape().to_string(),
                                  " and type string on the host: ", status.message()));
  std::fill_n(strings.data<std::string>() + first, copies, text);
  return ok_status();
}

Status recount_texts(Buffer* buffer) {
  auto* strings = dynamic_cast<StringBuffer*>(buffer);
  return strings ? strings->recount() : ok_status();
}

Status texts_changed(const Tensor& strings) {
  TextMeter* meter = TextMeter::of_thread();
  if (!meter) return recount_texts(strings.buffer().get());
  meter->add(strings.buffer());
  return ok_status();
}

Status copy_texts(const Tensor& from, Tensor& to) {
  TextMeter meter;
  RETURN_IF_ERROR(meter.run([&] {
    std::copy(from.flat<std::string>().begin(), from.flat<std::string>().end(), to.data<std::string>());
    return ok_status();
  }));
  return recount_texts(to.buffer().get());
}

Tensor Tensor::wrap(DType dtype, const Shape& shape, void* data, std::shared_ptr<Buffer> owner) {
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = shape;
  t.num_elements_ = shape.num_elements();
  t.data_ = data;
  t.buffer_ = std::move(owner);
  return t;
}

Tensor Tensor::reshaped(const Shape& shape) const { return wrap(dtype_, shape, data_, buffer_); }

int64_t int_at(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::kInt16) return t.data<int16_t>()[i];
  return t.dtype() == DType::kInt32 ? t.data<int32_t>()[i] : t.data<int64_t>()[i];
}

std::vector<int64_t> ints_of(const Tensor& t) {
  std::vector<int64_t> out;
  out.reserve(static_cast<size_t>(t.num_elements()));
  for (int64_t i = 0; i < t.num_elements(); ++i) out.push_back(int_at(t, i));
  return out;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.dtype() == DType::kString)
    return std::equal(a.flat<std::string>().begin(), a.flat<std::string>().end(), b.data<std::string>());
  return a.num_elements() == 0 || std::memcmp(a.raw(), b.raw(), a.size_bytes()) == 0;
}

}  // namespace emplace
