// Pooling of channels that fill no vector, against that of each channel by itself.
#include <catch2/catch.hpp>

#include <cstring>
#include <optional>
#include <random>

#include "core/ops/kit/isa.h"
#include "core/ops/kit/isa_limit.h"
#include "tests/unit/ops/op_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

AttrValue pool_sizes(int64_t h, int64_t w) { return AttrValue::list_of<int64_t>(AttrKind::kInt, {1, h, w, 1}); }

template <class T>
Tensor pool_of(const std::string& op, const Tensor& image, int64_t window, int64_t stride, const std::string& padding) {
  OpCase c(op);
  c.in(image).out(image.dtype()).attr("T", AttrValue::of(image.dtype()));
  c.attr("ksize", pool_sizes(window, window)).attr("strides", pool_sizes(stride, stride));
  c.attr("padding", AttrValue::of(padding)).attr("data_format", AttrValue::of(std::string("NHWC")));
  if (op == "MaxPool") c.attr("explicit_paddings", AttrValue::list_of<int64_t>(AttrKind::kInt, {}));
  return c.run().take()[0];
}

/// Channel `k` of an image.
template <class T>
Tensor channel_of(const Tensor& image, int64_t k) {
  Shape shape = image.shape();
  const int64_t channels = shape.dim(3);
  shape.dim(3) = 1;
  Tensor one = Tensor::allocate(image.dtype(), shape).take();
  for (int64_t i = 0; i < one.num_elements(); ++i) one.data<T>()[i] = image.data<T>()[i * channels + k];
  return one;
}

template <class T>
void check_pooled_channels(const std::string& op, int64_t channels, std::mt19937& random) {
  const auto among = [&](unsigned least, unsigned most) {
    return static_cast<int64_t>(least + random() % (most - least + 1));
  };
  const Shape shape{2, among(1, 9), among(1, 9), channels};
  Tensor image = Tensor::allocate(dtype_of<T>, shape).take();
  for (int64_t i = 0; i < image.num_elements(); ++i)
    image.data<T>()[i] = static_cast<T>(static_cast<int>(random() % 200) - 100) / static_cast<T>(3);
  const int64_t window = among(1, 4), stride = among(1, 3);
  const Tensor all = pool_of<T>(op, image, window, stride, "SAME");
  for (int64_t k = 0; k < channels; ++k) {
    const Tensor got = channel_of<T>(all, k), want = pool_of<T>(op, channel_of<T>(image, k), window, stride, "SAME");
    REQUIRE(got.shape() == want.shape());
    CHECK(std::memcmp(got.raw(), want.raw(), got.size_bytes()) == 0);
  }
}

}  // namespace

TEST_CASE("a pooling gives each channel the same bytes, however many there are, on each processor") {
  std::mt19937 random(3);
  for (const std::optional<Isa> isa : {std::optional<Isa>(), std::optional(Isa::kV3), std::optional(Isa::kBase)}) {
    const IsaLimit limit(isa);
    for (int64_t channels = 1; channels <= 37; ++channels) {
      INFO(channels << " channels");
      check_pooled_channels<float>("MaxPool", channels, random);
      check_pooled_channels<double>("MaxPool", channels, random);
      check_pooled_channels<int8_t>("MaxPool", channels, random);
      check_pooled_channels<float>("AvgPool", channels, random);
      check_pooled_channels<double>("AvgPool", channels, random);
    }
  }
}
