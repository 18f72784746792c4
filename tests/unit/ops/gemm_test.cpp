// Gemm and DirectConv against sums in double, over sizes around tile and block edges.
#include <catch2/catch.hpp>

#include <cmath>
#include <memory>
#include <vector>

#include "core/ops/conv/direct_conv.h"
#include "core/ops/gemm/gemm.h"
#include "core/tensor/tensor.h"

using namespace emplace;

namespace {

template <class T>
Tensor pattern(const Shape& shape, int seed) {
  Tensor t = Tensor::allocate(dtype_of<T>, shape).take();
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<T>()[i] = static_cast<T>((i * 7919 + seed * 31) % 23 - 11) / 8;
  return t;
}

template <class T>
double worst_error(int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
  Sequential sequential;
  gemm::Gemm<T> product(m, n, k, ta, tb);
  Tensor a = pattern<T>({m * k}, 1), b = pattern<T>({n * k}, 2), c = pattern<T>({m * n}, 3);
  Tensor packed = pattern<T>({product.packed_b_size()}, 4);
  if (product.packed_b_size()) product.pack_b(sequential, b.data<T>(), packed.data<T>());
  product.run(sequential, a.data<T>(), b.data<T>(), packed.data<T>(), c.data<T>());
  double worst = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += double(a.data<T>()[ta ? p * m + i : i * k + p]) * double(b.data<T>()[tb ? j * k + p : p * n + j]);
      }
      worst = std::max(worst, std::abs(sum - double(c.data<T>()[i * n + j])));
    }
  }
  return worst;
}

template <class T>
double conv_error(const ConvShape& s, bool backward) {
  Sequential sequential;
  DirectConv<T> conv = backward ? DirectConv<T>::input_gradient(s) : DirectConv<T>(s);
  Tensor x = pattern<T>({s.batch, s.in_h, s.in_w, s.in_c}, 1), y = pattern<T>({s.batch, s.out_h, s.out_w, s.out_c}, 2);
  Tensor filter = pattern<T>({s.window_h, s.window_w, s.filter_c, s.out_c}, 3);
  Tensor packed = pattern<T>({conv.packed_filter_size()}, 4);
  conv.pack_filter(sequential, filter.data<T>(), packed.data<T>());
  std::vector<double> want(static_cast<size_t>(backward ? x.num_elements() : y.num_elements()));
  int64_t group_out = s.out_c / s.groups();
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t oh = 0; oh < s.out_h; ++oh)
      for (int64_t ow = 0; ow < s.out_w; ++ow)
        for (int64_t kh = 0; kh < s.window_h; ++kh)
          for (int64_t kw = 0; kw < s.window_w; ++kw) {
            int64_t ih = oh * s.stride_h - s.pad_top + kh * s.dilation_h, iw = ow * s.stride_w - s.pad_left + kw * s.dilation_w;
            if (ih < 0 || iw < 0 || ih >= s.in_h || iw >= s.in_w) continue;
            for (int64_t o = 0; o < s.out_c; ++o)
              for (int64_t c = 0; c < s.filter_c; ++c) {
                int64_t at_x = ((n * s.in_h + ih) * s.in_w + iw) * s.in_c + o / group_out * s.filter_c + c;
                int64_t at_y = ((n * s.out_h + oh) * s.out_w + ow) * s.out_c + o;
                double w = filter.data<T>()[((kh * s.window_w + kw) * s.filter_c + c) * s.out_c + o];
                if (backward) {
                  want[static_cast<size_t>(at_x)] += w * double(y.data<T>()[at_y]);
                } else {
                  want[static_cast<size_t>(at_y)] += w * double(x.data<T>()[at_x]);
                }
              }
          }
  Tensor& out = backward ? x : y;
  Tensor in = backward ? y : x;
  Tensor result = pattern<T>(out.shape(), 5);
  conv.run(sequential, in.data<T>(), packed.data<T>(), result.data<T>());
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(want[i] - double(result.data<T>()[i])));
  return worst;
}

}  // namespace

TEST_CASE("a matrix product of any size and transposition equals the sum in double") {
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      for (int64_t m : {1, 2, 14, 15, 33})
        for (int64_t n : {1, 7, 32, 45})
          for (int64_t k : {1, 8, 61, 515, 1024}) {
            INFO(m << " x " << n << " x " << k << (ta ? " a'" : "") << (tb ? " b'" : ""));
            CHECK(worst_error<float>(m, n, k, ta, tb) < 1e-6 * static_cast<double>(k + 4));
            CHECK(worst_error<double>(m, n, k, ta, tb) < 1e-14 * static_cast<double>(k + 4));
          }
}

TEST_CASE("an empty sum is zero") { CHECK(worst_error<float>(3, 4, 0, false, false) == 0); }

TEST_CASE("a convolution and its input gradient equal the sums in double") {
  for (int64_t channels : {1, 3, 16, 20})
    for (int64_t out : {1, 8, 40})
      for (int64_t stride : {1, 2})
        for (int64_t dilation : {1, 2})
          for (int64_t groups : {1, 4}) {
            if (channels % groups || out % groups) continue;
            ConvShape s;
            s.batch = 2, s.in_h = 9, s.in_w = 11, s.in_c = channels, s.window_h = 3, s.window_w = 2;
            s.filter_c = channels / groups, s.out_c = out, s.stride_h = s.stride_w = stride;
            s.dilation_h = dilation;
            WindowAxis h = window_axis(s.in_h, 3, dilation, stride, "SAME").take();
            WindowAxis w = window_axis(s.in_w, 2, 1, stride, "VALID").take();
            s.out_h = h.out, s.out_w = w.out, s.pad_top = h.pad_before, s.pad_left = w.pad_before;
            INFO(channels << " to " << out << " stride " << stride << " dilation " << dilation << " groups " << groups);
            CHECK(conv_error<float>(s, false) < 1e-4);
            CHECK(conv_error<double>(s, false) < 1e-12);
            CHECK(conv_error<float>(s, true) < 1e-4);
          }
}
