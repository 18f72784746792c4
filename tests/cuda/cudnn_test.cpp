// cuDNN's descriptors of convolutions, which need no GPU: are the sizes that our shape rule gives those that cuDNN
// expects? And its choice of engines and their plans, for which the description of a card will do. Skipped where
// libcudnn.so.9 is not installed.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <set>

#include "core/base/cat.h"
#include "cuda/cudnn_plan.h"

// What NVIDIA's libraries do not free when they find no driver is not ours to free.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libcublasLt\nleak:libcudnn\nleak:libnvrtc\n"; }

namespace emplace::cuda::testing {
namespace {

constexpr ConvPass kPasses[] = {ConvPass::kForward, ConvPass::kInputGradient, ConvPass::kFilterGradient};

/// Null after a warning that says why.
const cudnn::Functions* library() {
  setenv("EMPLACE_CUDA_LIB_DIR", "/usr/local/cuda/lib64", 0);
  const Result<cudnn::Functions>& loaded = cudnn::functions();
  if (loaded.ok()) return &*loaded;
  WARN("skipped: " << loaded.status().message());
  return nullptr;
}

struct Axis {
  int64_t in, window, stride, dilation;
};

/// By the rules of core/ops/conv/conv_shape.h; no value where no window fits.
std::optional<ConvShape> shape_of(const Axis& h, const Axis& w, int64_t channels, int64_t groups,
                                  std::string_view padding, int64_t before = 0, int64_t after = 0) {
  auto rows = window_axis(h.in, h.window, h.dilation, h.stride, padding, before, after),
       columns = window_axis(w.in, w.window, w.dilation, w.stride, padding, before, after);
  if (!rows.ok() || !columns.ok() || rows->out < 1 || columns->out < 1) return {};
  ConvShape s;
  s.batch = 2;
  s.in_h = h.in, s.window_h = h.window, s.stride_h = h.stride, s.dilation_h = h.dilation, s.out_h = rows->out,
  s.pad_top = rows->pad_before;
  s.in_w = w.in, s.window_w = w.window, s.stride_w = w.stride, s.dilation_w = w.dilation, s.out_w = columns->out,
  s.pad_left = columns->pad_before;
  s.in_c = channels * groups, s.filter_c = channels, s.out_c = 4 * groups;
  return s;
}

std::string text(const ConvProblem& p) {
  const ConvShape& s = p.shape;
  return cat("pass ", static_cast<int>(p.pass), " ", dtype_name(p.type), p.channels_last ? " NHWC " : " NCHW ", s.in_h,
             "x", s.in_w, "x", s.in_c, " window ", s.window_h, "x", s.window_w, " stride ", s.stride_h, ",", s.stride_w,
             " dilation ", s.dilation_h, ",", s.dilation_w, " padding ", s.pad_top, "+", p.pad_bottom, ",", s.pad_left,
             "+", p.pad_right, " out ", s.out_h, "x", s.out_w, " groups ", s.groups());
}

/// Accepted as it is; refused with a row or column more or less.
void check(const cudnn::Functions& f, const ConvProblem& p) {
  INFO(text(p));
  auto graph = cudnn::conv_graph(f, p);
  CHECK(graph.status().message() == "");
  for (int64_t off : {-1, 1}) {
    ConvProblem wrong = p;
    wrong.shape.out_h += off;
    if (wrong.shape.out_h > 0) CHECK_FALSE(cudnn::conv_graph(f, wrong).ok());
    wrong = p;
    wrong.shape.out_w += off;
    if (wrong.shape.out_w > 0) CHECK_FALSE(cudnn::conv_graph(f, wrong).ok());
  }
}

TEST_CASE("cuDNN expects the sizes that our shape rule gives", "[host]") {
  const cudnn::Functions* f = library();
  if (!f) return;
  int checked = 0, turn = 0;
  for (const Axis& h :
       {Axis{7, 3, 1, 1}, Axis{8, 3, 2, 1}, Axis{9, 2, 3, 1}, Axis{12, 3, 1, 3}, Axis{5, 5, 4, 1}, Axis{6, 1, 2, 1}}) {
    for (const Axis& w : {Axis{7, 3, 2, 1}, Axis{10, 4, 1, 2}, Axis{11, 5, 2, 2}, Axis{3, 1, 3, 1}}) {
      for (std::string_view padding : {"SAME", "VALID", "EXPLICIT"}) {
        for (int64_t groups : {1, 3}) {
          const bool given = padding == "EXPLICIT";
          const std::optional<ConvShape> shape = shape_of(h, w, 2, groups, padding, given ? 1 : 0, given ? 2 : 0);
          if (!shape) continue;
          const DType type = std::array{DType::kFloat, DType::kHalf, DType::kBFloat16,
                                        DType::kDouble}[static_cast<size_t>(turn++) % 4];
          for (ConvPass pass : kPasses) check(*f, ConvProblem::of(pass, type, *shape, turn % 3 != 0));
          ++checked;
        }
      }
    }
  }
  CHECK(checked > 100);
}

TEST_CASE("padding that is not the same on both sides reaches cuDNN as it is", "[host]") {
  const cudnn::Functions* f = library();
  if (!f) return;
  // SAME of 8 with window 3 and stride 2: nothing before, one cell after. Without that cell cuDNN expects 3, not 4.
  const std::optional<ConvShape> s = shape_of({8, 3, 2, 1}, {8, 3, 2, 1}, 2, 1, "SAME");
  REQUIRE(s);
  CHECK(s->out_h == 4);
  CHECK(s->pad_top == 0);
  ConvProblem p = ConvProblem::of(ConvPass::kForward, DType::kFloat, *s, true);
  CHECK(p.pad_bottom == 1);
  check(*f, p);
  p.pad_bottom = 0;
  CHECK_FALSE(cudnn::conv_graph(*f, p).ok());
}

TEST_CASE("what cuDNN refuses is said in its words", "[host]") {
  const cudnn::Functions* f = library();
  if (!f) return;
  ConvProblem p =
      ConvProblem::of(ConvPass::kForward, DType::kFloat, *shape_of({8, 3, 1, 1}, {8, 3, 1, 1}, 2, 1, "SAME"), true);
  p.shape.out_h = 3;
  const Status refused = cudnn::conv_graph(*f, p).status();
  CHECK(refused.message().find("cudnnBackendFinalize: CUDNN_STATUS_BAD_PARAM") == 0);
}

/// An H200 as cuDNN describes cards (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
constexpr std::string_view kH200 =
    R"({"cudaDeviceId": 0, "deviceVer": 900, "driverVer": 13000, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "multiProcessorCount": 132, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
  "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
  "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "smClockRateKHz": 1980000,
  "memClockRateKHz": 3201000, "l2CacheSize": 62914560, "totalGlobalMem": 150754820096, "deviceName": "NVIDIA H200"})";

cudnn::Descriptor h200(const cudnn::Functions& f) {
  cudnn::Descriptor card = cudnn::Descriptor::make(f, cudnn::Kind::kCard).take();
  REQUIRE(
      card.set(cudnn::Attribute::kCardJson, cudnn::Type::kChar, static_cast<int64_t>(kH200.size()), kH200.data()).ok());
  REQUIRE(card.finalize().message() == "");
  return card;
}

std::set<cudnn::Note> notes_of(const cudnn::Functions& f, const cudnn::Descriptor& config) {
  const cudnn::Descriptor engine = cudnn::Descriptor::make(f, cudnn::Kind::kEngine).take();
  cudnn::DescriptorHandle handle = engine.handle();
  int64_t count = 0;
  REQUIRE(config.get(cudnn::Attribute::kConfigEngine, cudnn::Type::kDescriptor, 1, count, &handle).ok());
  std::array<cudnn::Note, static_cast<size_t>(cudnn::Note::kCount)> notes{};
  REQUIRE(engine
              .get(cudnn::Attribute::kEngineNotes, cudnn::Type::kNote, static_cast<int64_t>(notes.size()), count,
                   notes.data())
              .ok());
  return {notes.begin(), notes.begin() + count};
}

/// Of SAME and VALID convolutions, with strides, dilations, groups, and padding that is not the same on both sides.
std::vector<ConvShape> shapes() {
  std::vector<ConvShape> all;
  for (const Axis& axis : {Axis{56, 3, 1, 1}, Axis{29, 3, 2, 1}, Axis{32, 3, 2, 1}, Axis{30, 3, 1, 2},
                           Axis{14, 1, 1, 1}, Axis{35, 7, 2, 1}}) {
    for (std::string_view padding : {"SAME", "VALID", "EXPLICIT"}) {
      for (int64_t groups : {1, 4}) {
        const bool given = padding == "EXPLICIT" && axis.window > 1;
        if (padding == "EXPLICIT" && !given) continue;
        all.push_back(*shape_of(axis, axis, 16, groups, padding, 0, given ? 2 : 0));
        all.back().out_c = 32 * groups;
      }
    }
  }
  return all;
}

TEST_CASE("on an H200 cuDNN has a plan for every convolution that keeps the promises", "[host]") {
  const cudnn::Functions* f = library();
  if (!f) return;
  const cudnn::Descriptor card = h200(*f);
  for (const ConvShape& shape : shapes()) {
    for (DType type : {DType::kFloat, DType::kHalf, DType::kBFloat16, DType::kDouble}) {
      for (int way = 0; way < 3 * 2 * (type == DType::kFloat ? 2 : 1); ++way) {
        DeviceState device;
        device.tf32 = way / 6 == 1;
        const ConvProblem p = ConvProblem::of(kPasses[way % 3], type, shape, way / 3 % 2 == 0);
        INFO(text(p) << " tf32 " << device.tf32);
        const auto choice = cudnn::choose(*f, p, device, {nullptr, &card});
        CHECK(choice.status().message() == "");
        if (!choice.ok()) continue;
        const std::set<cudnn::Note> notes = notes_of(*f, choice->config);
        CHECK(notes.count(cudnn::Note::kDownConvert) == 0);
        CHECK(notes.count(cudnn::Note::kReducedReduction) == 0);
        CHECK(notes.count(cudnn::Note::kNondeterministic) == 0);
        if (type == DType::kFloat && !device.tf32) CHECK(notes.count(cudnn::Note::kTensorCore) == 0);
        if (type == DType::kBFloat16 && p.channels_last && p.pass == ConvPass::kForward && shape.groups() == 1)
          CHECK(notes.count(cudnn::Note::kTensorCore) == 1);
      }
    }
  }
}

TEST_CASE("a plan that wants more workspace than a kernel gets is not taken", "[host]") {
  const cudnn::Functions* f = library();
  if (!f) return;
  const cudnn::Descriptor card = h200(*f);
  ConvShape shape = *shape_of({56, 3, 1, 1}, {56, 3, 1, 1}, 64, 1, "SAME");
  shape.batch = shape.out_c = 64;
  const ConvProblem p = ConvProblem::of(ConvPass::kForward, DType::kFloat, shape, true);
  DeviceState device;
  const auto free = cudnn::choose(*f, p, device, {nullptr, &card});
  REQUIRE(free.ok());
  REQUIRE(free->workspace_bytes > 0);
  device.workspace_limit = free->workspace_bytes - 1;
  const auto bounded = cudnn::choose(*f, p, device, {nullptr, &card});
  if (bounded.ok())
    CHECK(bounded->workspace_bytes < free->workspace_bytes);
  else
    CHECK(bounded.status().code() == Code::kUnavailable);
}

}  // namespace
}  // namespace emplace::cuda::testing
