// Convolutions and their gradients against sums in double, for each way in which they are computed, and in pieces.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "core/ops/conv/depthwise_loops.h"
#include "core/ops/conv/direct_conv.h"
#include "core/ops/conv/filter_gradient.h"
#include "core/ops/conv/narrow_filter_gradient.h"
#include "core/ops/kit/isa.h"
#include "core/ops/kit/isa_limit.h"
#include "core/tensor/tensor.h"
#include "tests/unit/ops/pattern.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

/// Hands out pieces of `size` items, the last ones first.
class Pieces final : public Parallel {
 public:
  explicit Pieces(int64_t size) : size_(size) {}

 protected:
  void run_erased(int64_t n, double, Body body, const void* closure) override {
    for (int64_t begin = n > 0 ? (n - 1) / size_ * size_ : -1; begin >= 0; begin -= size_)
      body(closure, begin, std::min(n, begin + size_));
  }

 private:
  int64_t size_;
};

/// Calls f(element of the input, of the filter, of the output) for each product that a convolution sums.
template <class F>
void for_each_product(const ConvShape& s, const F& f) {
  const int64_t group_out = s.out_c / s.groups();
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t oh = 0; oh < s.out_h; ++oh)
      for (int64_t ow = 0; ow < s.out_w; ++ow)
        for (int64_t kh = 0; kh < s.window_h; ++kh)
          for (int64_t kw = 0; kw < s.window_w; ++kw) {
            const int64_t ih = oh * s.stride_h - s.pad_top + kh * s.dilation_h,
                          iw = ow * s.stride_w - s.pad_left + kw * s.dilation_w;
            if (ih < 0 || iw < 0 || ih >= s.in_h || iw >= s.in_w) continue;
            for (int64_t o = 0; o < s.out_c; ++o)
              for (int64_t c = 0; c < s.filter_c; ++c)
                f(((n * s.in_h + ih) * s.in_w + iw) * s.in_c + o / group_out * s.filter_c + c,
                  ((kh * s.window_w + kw) * s.filter_c + c) * s.out_c + o,
                  ((n * s.out_h + oh) * s.out_w + ow) * s.out_c + o);
          }
}

enum class What { kForward, kInput, kFilter };

template <class T, class Product>
void filter_gradient(Parallel& parallel, const ConvShape& s, const T* x, const T* y, T* filter) {
  const Product product(s);
  Tensor scratch = pattern<T>({product.scratch_size()}, 4);
  product.run(parallel, x, y, scratch.data<T>(), filter);
}

template <class T>
Tensor compute(Parallel& parallel, const ConvShape& s, What what, const Tensor& x, const Tensor& filter,
               const Tensor& y, RowSink* sink = nullptr) {
  Tensor result = pattern<T>((what == What::kForward ? y : what == What::kInput ? x : filter).shape(), 5);
  if (what == What::kFilter) {
    NarrowFilterGradient<T>::suits(s)
        ? filter_gradient<T, NarrowFilterGradient<T>>(parallel, s, x.data<T>(), y.data<T>(), result.data<T>())
        : filter_gradient<T, FilterGradient<T>>(parallel, s, x.data<T>(), y.data<T>(), result.data<T>());
    return result;
  }
  const auto conv = what == What::kInput ? DirectConv<T>::input_gradient(s) : DirectConv<T>(s);
  Tensor packed = pattern<T>({conv.packed_filter_size()}, 4);
  conv.pack_filter(parallel, filter.data<T>(), packed.data<T>());
  conv.run(parallel, (what == What::kInput ? y : x).data<T>(), packed.data<T>(), result.data<T>(), {}, sink);
  return result;
}

/// The largest distance to the sums in double; infinite if pieces change the bytes.
template <class T>
double error(const ConvShape& s, What what) {
  const Tensor x = pattern<T>({s.batch, s.in_h, s.in_w, s.in_c}, 1),
               y = pattern<T>({s.batch, s.out_h, s.out_w, s.out_c}, 2);
  const Tensor filter = pattern<T>({s.window_h, s.window_w, s.filter_c, s.out_c}, 3);
  Sequential sequential;
  const Tensor result = compute<T>(sequential, s, what, x, filter, y);
  std::vector<double> want(static_cast<size_t>(result.num_elements()));
  for_each_product(s, [&](int64_t in, int64_t w, int64_t out) {
    const double a = x.data<T>()[in], b = filter.data<T>()[w], c = y.data<T>()[out];
    if (what == What::kForward) want[static_cast<size_t>(out)] += a * b;
    if (what == What::kInput) want[static_cast<size_t>(in)] += c * b;
    if (what == What::kFilter) want[static_cast<size_t>(w)] += a * c;
  });
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(want[i] - double(result.data<T>()[i])));
  for (int64_t size : {1, 3}) {
    Pieces pieces(size);
    const Tensor again = compute<T>(pieces, s, what, x, filter, y);
    if (std::memcmp(again.raw(), result.raw(), result.size_bytes()) != 0) return INFINITY;
  }
  return worst;
}

ConvShape shape(int64_t batch, int64_t size, int64_t in_c, int64_t out_c, int64_t stride, int64_t dilation,
                int64_t groups, std::string_view padding) {
  ConvShape s;
  s.batch = batch, s.in_h = size, s.in_w = size + 2, s.in_c = in_c, s.window_h = 3, s.window_w = 2;
  s.filter_c = in_c / groups, s.out_c = out_c, s.stride_h = s.stride_w = stride, s.dilation_h = dilation;
  const WindowAxis h = window_axis(s.in_h, 3, dilation, stride, padding).take(),
                   w = window_axis(s.in_w, 2, 1, stride, padding).take();
  s.out_h = h.out, s.out_w = w.out, s.pad_top = h.pad_before, s.pad_left = w.pad_before;
  return s;
}

class Told final : public RowSink {
 public:
  explicit Told(int64_t rows) : times(static_cast<size_t>(rows)) {}
  void finished(int64_t first_row, int64_t rows) override {
    for (int64_t r = first_row; r < first_row + rows; ++r) ++times[static_cast<size_t>(r)];
  }
  std::vector<int> times;
};

}  // namespace

TEST_CASE("a convolution and its gradients equal the sums in double, in whatever pieces") {
  for (std::string_view padding : {"SAME", "VALID"})
    for (int64_t batch : {2, 7})  // few images, and enough of them to be taken together
      for (int64_t channels : {1, 3, 16, 20})
        for (int64_t out : {1, 8, 40})
          for (int64_t stride : {1, 2})
            for (int64_t dilation : {1, 2})
              for (int64_t groups : {1, 4}) {
                if (channels % groups || out % groups) continue;
                const ConvShape s = shape(batch, 7, channels, out, stride, dilation, groups, padding);
                INFO(padding << " batch " << batch << ", " << channels << " to " << out << " stride " << stride
                             << " dilation " << dilation << " groups " << groups);
                for (What what : {What::kForward, What::kInput}) {
                  CHECK(error<float>(s, what) < 1e-4);
                  CHECK(error<double>(s, what) < 1e-12);
                }
                CHECK(error<float>(s, What::kFilter) < 1e-3);
                CHECK(error<double>(s, What::kFilter) < 1e-11);
              }
}

TEST_CASE("images of many rows are read band by band, their filters' gradients block by block") {
  const ConvShape s = shape(1, 61, 3, 17, 1, 1, 1, "SAME"), wide = shape(2, 19, 18, 20, 1, 1, 1, "SAME");
  for (What what : {What::kForward, What::kInput, What::kFilter}) {
    CHECK(error<double>(s, what) < 1e-10);
    CHECK(error<double>(wide, what) < 1e-10);
  }
}

TEST_CASE("few channels to write lie in a tile's rows, a filter that no cache holds passes by many pixels") {
  for (int64_t stride : {1, 2})
    for (int64_t out : {1, 3, 8}) {
      const ConvShape s = shape(2, 33, 9, out, stride, 2, 1, "SAME");
      CHECK(error<float>(s, What::kForward) < 1e-4);
      CHECK(error<double>(s, What::kForward) < 1e-12);
    }
  for (What what : {What::kForward, What::kInput}) {
    CHECK(error<float>(shape(1, 5, 170, 190, 1, 1, 1, "SAME"), what) < 1e-3);
    CHECK(error<double>(shape(2, 7, 110, 140, 1, 1, 1, "VALID"), what) < 1e-11);
  }
  CHECK(error<double>(shape(1, 20, 220, 220, 1, 1, 1, "SAME"), What::kForward) < 1e-10);  // by two blocks of pixels
}

TEST_CASE("a batch that no cache holds has a filter's gradient") {
  for (int64_t stride : {1, 3}) CHECK(error<double>(shape(2, 250, 18, 2, stride, 1, 1, "SAME"), What::kFilter) < 1e-9);
  CHECK(error<double>(shape(2, 250, 18, 2, 1, 2, 1, "VALID"), What::kFilter) < 1e-9);
}

TEST_CASE("images whose sizes are powers of two are taken together, fewer at a time") {
  for (int64_t stride : {1, 2}) CHECK(error<double>(shape(8, 6, 9, 256, stride, 1, 1, "SAME"), What::kInput) < 1e-10);
}

TEST_CASE("a stride wider than the image, and window, has gradients") {
  for (int64_t batch : {1, 8})
    CHECK(error<double>(shape(batch, 5, 9, 20, 1'000'000'000'000, 1, 1, "SAME"), What::kInput) < 1e-12);
  for (int64_t batch : {1, 8}) CHECK(error<double>(shape(batch, 33, 9, 20, 4, 1, 1, "VALID"), What::kInput) < 1e-12);
}

TEST_CASE("padding far wider than the image costs no memory") {
  ConvShape s = shape(2, 5, 1, 8, 1, 1, 1, "VALID");
  s.stride_w = 1'000'000'000, s.pad_left = 2'000'000'000, s.out_w = 4;
  CHECK(error<double>(s, What::kForward) < 1e-12);
  CHECK(error<double>(s, What::kFilter) < 1e-12);
}

TEST_CASE("without an image the gradient of a filter is zero") {
  for (int64_t channels : {1, 16}) {
    ConvShape s = shape(1, 5, channels, 8, 1, 1, 1, "VALID");
    s.batch = 0;
    CHECK(error<float>(s, What::kFilter) == 0);
    s.batch = 1, s.out_h = 0;
    CHECK(error<float>(s, What::kFilter) == 0);
  }
}

TEST_CASE("a row sink is told of every pixel once") {
  for (auto [channels, out] : {std::pair<int64_t, int64_t>{1, 70}, {16, 70}, {16, 3}, {100, 250}}) {
    const ConvShape s = shape(3, 13, channels, out, 1, 1, 1, "SAME");
    const Tensor x = pattern<float>({s.batch, s.in_h, s.in_w, s.in_c}, 1),
                 y = pattern<float>({s.batch, s.out_h, s.out_w, s.out_c}, 2);
    const Tensor filter = pattern<float>({s.window_h, s.window_w, s.filter_c, s.out_c}, 3);
    for (int64_t size : {1, 2, 1000}) {
      Told told(s.pixels());
      Pieces pieces(size);
      compute<float>(pieces, s, What::kForward, x, filter, y, &told);
      CHECK(told.times == std::vector<int>(static_cast<size_t>(s.pixels()), 1));
    }
  }
}

namespace {

/// Numbers whose products and sums are rounded.
Tensor rough(const Shape& shape, std::mt19937& random) {
  Tensor t = Tensor::allocate(DType::kFloat, shape).take();
  std::uniform_real_distribution<float> any(-1, 1);
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<float>()[i] = any(random);
  return t;
}

/// Whether kernels round a product and its sum once: a compiler that does not optimize makes two instructions of them.
bool kernels_round_once() {
  const float x = 1 + 0x1p-12F;
  ConvShape s;
  s.batch = s.in_h = s.in_w = s.out_h = s.out_w = s.window_h = s.window_w = 1;
  s.in_c = s.filter_c = 2, s.out_c = 32;
  Tensor filter = pattern<float>({1, 1, 2, 32}, 1), image = pattern<float>({1, 1, 1, 2}, 1);
  std::fill_n(filter.data<float>(), 32, -(1 + 0x1p-11F));
  std::fill_n(filter.data<float>() + 32, 32, x);
  image.data<float>()[0] = 1, image.data<float>()[1] = x;
  const DirectConv<float> conv(s);
  Sequential sequential;
  Tensor packed = pattern<float>({conv.packed_filter_size()}, 4), result = pattern<float>({1, 1, 1, 32}, 5);
  conv.pack_filter(sequential, filter.data<float>(), packed.data<float>());
  conv.run(sequential, image.data<float>(), packed.data<float>(), result.data<float>(), {}, nullptr, true);
  return result.data<float>()[0] != 0;
}

/// A release multiplies and adds in one wherever the processor can.
void check_rounding() {
#ifdef NDEBUG
  CHECK(kernels_round_once() == (isa() != Isa::kBase));
#endif
}

/// Each output by itself, in the window's order, with the processor's product and sum.
std::vector<float> sums_in_order(const ConvShape& s, const Tensor& x, const Tensor& filter, bool depthwise) {
  std::vector<float> sums(static_cast<size_t>(s.pixels() * s.out_c));
  const bool at_once = kernels_round_once();
  const auto add = [&](int64_t in, int64_t w, int64_t out) {
    float& sum = sums[static_cast<size_t>(out)];
    const float a = x.data<float>()[in], b = filter.data<float>()[w];
    sum = at_once ? std::fma(a, b, sum) : sum + a * b;
  };
  if (!depthwise) {
    for_each_product(s, add);
    return sums;
  }
  ConvShape single = s;  // the products of channel 0
  single.in_c = single.out_c = single.filter_c = 1;
  for_each_product(single, [&](int64_t in, int64_t w, int64_t out) {
    for (int64_t c = 0; c < s.in_c; ++c) add(in * s.in_c + c, w * s.in_c + c, out * s.in_c + c);
  });
  return sums;
}

ConvShape any_window(std::mt19937& random) {
  const auto among = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  ConvShape s;
  s.batch = among(1, 2), s.in_h = among(1, 19), s.in_w = among(1, 19);
  s.window_h = among(1, 7), s.window_w = among(1, 4), s.stride_h = among(1, 3), s.stride_w = among(1, 3);
  s.dilation_h = among(1, 2), s.dilation_w = among(1, 2);
  s.pad_top = among(0, 2 * s.window_h), s.pad_left = among(0, 2 * s.window_w);
  const auto windows = [](int64_t size, int64_t window, int64_t stride) {
    return std::max<int64_t>(0, size - window) / stride + 1;
  };
  s.out_h = windows(s.in_h + s.pad_top + among(0, 5), (s.window_h - 1) * s.dilation_h + 1, s.stride_h);
  s.out_w = windows(s.in_w + s.pad_left + among(0, 5), (s.window_w - 1) * s.dilation_w + 1, s.stride_w);
  return s;
}

bool has_floats(const Tensor& t, const std::vector<float>& want) {
  return std::memcmp(t.raw(), want.data(), want.size() * sizeof(float)) == 0;
}

/// Of a filter that is finite and said to be, or not.
void check_bytes(const ConvShape& s, std::mt19937& random) {
  const Tensor x = rough({s.batch, s.in_h, s.in_w, s.in_c}, random);
  const Tensor filter = rough({s.window_h, s.window_w, s.filter_c, s.out_c}, random);
  const std::vector<float> want = sums_in_order(s, x, filter, false);
  const DirectConv<float> conv(s);
  Sequential sequential;
  Tensor packed = pattern<float>({conv.packed_filter_size()}, 4);
  conv.pack_filter(sequential, filter.data<float>(), packed.data<float>());
  for (const bool finite : {false, true}) {
    for (int64_t size : {1, 1000}) {
      Pieces pieces(size);
      Tensor result = pattern<float>({s.batch, s.out_h, s.out_w, s.out_c}, 5);
      conv.run(pieces, x.data<float>(), packed.data<float>(), result.data<float>(), {}, nullptr, finite);
      CHECK(has_floats(result, want));
    }
  }
}

}  // namespace

TEST_CASE("a convolution has the bytes of plain sums, with rows copied and taps left out, on each processor") {
  std::mt19937 random(7);
  for (const std::optional<Isa> isa : {std::optional<Isa>(), std::optional(Isa::kV3), std::optional(Isa::kBase)}) {
    const IsaLimit limit(isa);
    check_rounding();
    for (int i = 0; i < 40; ++i) {
      ConvShape s = any_window(random);
      const bool grouped = i % 4 == 3;
      s.in_c = std::vector<int64_t>{2, 9, 16, 40}[random() % 4],
      s.out_c = std::vector<int64_t>{2, 12, 32, 70}[random() % 4];
      s.filter_c = grouped && s.in_c % 2 == 0 ? s.in_c / 2 : s.in_c;
      INFO("case " << i << ": " << s.in_h << " x " << s.in_w << " x " << s.in_c << " to " << s.out_c);
      check_bytes(s, random);
    }
    for (int i = 0; i < 6; ++i) {  // rows of as many bytes as a way of the first cache has
      ConvShape s = any_window(random);
      s.window_h = s.window_w = 1;
      s.in_c = s.filter_c = i % 2 == 0 ? 1024 : 512;
      s.stride_w = i % 2 + 1, s.out_c = i < 4 ? 33 : 300;
      s.pad_left = i % 3, s.out_w = std::max<int64_t>(1, s.in_w / s.stride_w), s.out_h = std::min<int64_t>(s.out_h, 5);
      INFO("wide case " << i);
      check_bytes(s, random);
    }
  }
}

TEST_CASE("a depthwise convolution of any number of channels has the bytes of plain sums, on each processor") {
  std::mt19937 random(11);
  for (const std::optional<Isa> isa : {std::optional<Isa>(), std::optional(Isa::kV3), std::optional(Isa::kBase)}) {
    const IsaLimit limit(isa);
    check_rounding();
    for (int64_t channels = 1; channels <= 40; ++channels) {
      ConvShape s = any_window(random);
      s.in_c = s.out_c = channels;
      s.filter_c = 1;
      INFO(channels << " channels, window " << s.window_h << " x " << s.window_w);
      const Tensor x = rough({s.batch, s.in_h, s.in_w, s.in_c}, random);
      const Tensor filter = rough({s.window_h, s.window_w, s.in_c, 1}, random);
      Sequential sequential;
      Tensor result = pattern<float>({s.batch, s.out_h, s.out_w, s.out_c}, 5);
      depthwise_conv(sequential, depthwise_row<float>(), s, x.data<float>(), filter.data<float>(), result.data<float>(),
                     nullptr);
      CHECK(has_floats(result, sums_in_order(s, x, filter, true)));
    }
  }
}
