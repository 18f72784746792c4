/// RunCase: a graph made in C++, placed by hand, run by a Session.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/run/session.h"

namespace emplace::testing {

class RunCase {
 public:
  /// A CPU and this many simulated GPUs of `memory` bytes.
  explicit RunCase(int gpus = 0, int64_t memory = int64_t{1} << 30);

  struct NodeSpec {
    std::string op;
    std::vector<Endpoint> inputs = {};
    std::vector<std::pair<std::string, AttrValue>> attrs = {};
    std::vector<DType> outputs = {};
    std::vector<NodeId> controls = {};
    std::vector<DType> input_types = {};  // empty: those of the inputs, references read
    DeviceId device = 0;
  };
  /// Named "n<id>". Back edges are set afterwards by rewire().
  Endpoint add(NodeSpec spec);
  Endpoint constant(Tensor value, DeviceId device = 0);
  void rewire(NodeId node, size_t input, Endpoint source);

  /// One session of it all.
  Result<std::unique_ptr<Session>> session(SessionOptions options);
  /// One step, one fetch.
  Result<Tensor> fetch(Endpoint e);
  Result<std::vector<Tensor>> fetch_all(std::vector<Endpoint> e, SessionOptions options = {}, int steps = 1);

  GraphFile file;
  DeviceSet devices;
  Placement placement;

 private:
  std::string& text(std::string s);
  std::deque<std::string> texts_;
};

inline Tensor f32(const Shape& shape, const std::vector<float>& v) {
  return Tensor::of<float>(shape, std::span<const float>(v));
}
inline Tensor i32(const Shape& shape, const std::vector<int32_t>& v) {
  return Tensor::of<int32_t>(shape, std::span<const int32_t>(v));
}
inline std::vector<float> floats(const Tensor& t) { return {t.data<float>(), t.data<float>() + t.num_elements()}; }

}  // namespace emplace::testing
