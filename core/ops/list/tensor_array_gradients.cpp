#include "core/ops/list/tensor_array_gradients.h"

namespace emplace {
namespace {

struct GradientArray {
  Value handle, flow;
};

GradientArray gradient_array(GradientContext& g, Value flow) {
  const Value handle = g.add("TensorArrayGradV3", {g.input(0), flow}, {{"source", AttrValue::of(g.source())}},
                             "TensorArrayGrad/TensorArrayGradV3");
  g.wait_for(handle);
  const Value ready = g.add("Identity", {flow}, {}, "TensorArrayGrad/gradient_flow");
  g.wait_for({});
  return {handle, ready};
}

// After everything was written, and with what arrives at the flow.
GradientArray array_behind(GradientContext& g) {
  g.wait_for(g.add("Identity", {g.output(0)}, {}, "flow_out"));
  const Value flow = g.add("Identity", {g.grad(0)}, {}, "write_barrier");
  g.wait_for({});
  return gradient_array(g, flow);
}

GradientContext::AttrList read_attrs(const GradientContext& g) {
  return {{"dtype", AttrValue::of(g.attrs().type("T"))}};
}

}  // namespace

Status array_read_gradient(GradientContext& g) {
  const GradientArray array = gradient_array(g, g.input(2));
  g.set(2, g.add("TensorArrayWriteV3", {array.handle, g.input(1), g.grad(0), array.flow}, {},
                 "TensorArrayWrite/TensorArrayWriteV3"));
  return g.status();
}

Status array_gather_gradient(GradientContext& g) {
  const GradientArray array = gradient_array(g, g.input(2));
  g.set(2, g.add("TensorArrayScatterV3", {array.handle, g.input(1), g.grad(0), array.flow}, {},
                 "TensorArrayScatter/TensorArrayScatterV3"));
  return g.status();
}

Status array_concat_gradient(GradientContext& g) {
  const GradientArray array = gradient_array(g, g.input(1));
  g.set(1, g.add("TensorArraySplitV3", {array.handle, g.grad(0), g.output(1), array.flow}, {},
                 "TensorArraySplit/TensorArraySplitV3"));
  return g.status();
}

Status array_write_gradient(GradientContext& g) {
  const GradientArray array = array_behind(g);
  g.set(2, g.add("TensorArrayReadV3", {array.handle, g.input(1), array.flow}, read_attrs(g)));
  g.set(3, g.grad(0));
  return g.status();
}

Status array_scatter_gradient(GradientContext& g) {
  const GradientArray array = array_behind(g);
  g.set(2, g.add("TensorArrayGatherV3", {array.handle, g.input(1), array.flow}, read_attrs(g)));
  g.set(3, g.grad(0));
  return g.status();
}

Status array_split_gradient(GradientContext& g) {
  const GradientArray array = array_behind(g);
  g.set(1, g.add("TensorArrayConcatV3", {array.handle, array.flow}, read_attrs(g)));
  g.set(3, g.grad(0));
  return g.status();
}

}  // namespace emplace
