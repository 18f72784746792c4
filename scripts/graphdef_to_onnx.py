"""Part of scripts/bench: a frozen GraphDef of an image model as ONNX, images NCHW as it has them.

  python scripts/graphdef_to_onnx.py MODEL.pb OUTPUT MODEL.onnx      # where TensorFlow and onnx are installed
"""
import sys

import numpy as np
import onnx
import tensorflow.compat.v1 as tf
from onnx import TensorProto, helper, numpy_helper
from tensorflow.python.framework import tensor_util

PLAIN = {"Relu": "Relu", "Sigmoid": "Sigmoid", "Tanh": "Tanh", "AddV2": "Add", "Add": "Add", "Sub": "Sub", "Mul": "Mul", "RealDiv": "Div",
         "Minimum": "Min", "Maximum": "Max", "MatMul": "MatMul", "Softmax": "Softmax", "BiasAdd": "Add"}
# [batch, height, width, channels]'s axes in [batch, channels, height, width].
TO_NCHW = {0: 0, 1: 2, 2: 3, 3: 1, -1: 1}


class Translation:
    def __init__(self, graph):
        self.graph, self.nodes, self.weights, self.known = graph, [], [], {}
        self.session = tf.Session(graph=graph)
        self.inputs = []

    def constant(self, tensor):
        """Its value, if no feed decides it."""
        if tensor.name not in self.known:
            value = tensor_util.constant_value(tensor)
            if value is None and tensor.op.inputs and all(self.constant(t) is not None for t in tensor.op.inputs):
                value = self.session.run(tensor)
            self.known[tensor.name] = value
        return self.known[tensor.name]

    def weight(self, name, value):
        name = name.replace(":", "_") + f".{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def integers(self, op, values):
        return self.weight(op.name, np.array(values, np.int64))

    def name(self, tensor, beside=4):
        """Of a tensor as an operand; a constant beside images lies as they do."""
        value = self.constant(tensor)
        if value is None:
            return tensor.name
        if beside == 4 and value.ndim in (1, 4):
            value = np.moveaxis(value.reshape((1,) * (4 - value.ndim) + value.shape), 3, 1)
        return self.weight(tensor.name, value)

    def out(self, op, kind, inputs, **attrs):
        self.nodes.append(helper.make_node(kind, inputs, [op.outputs[0].name], op.name, **attrs))

    def add(self, op):
        if all(self.constant(t) is not None for t in op.outputs):
            return
        x = op.inputs[0] if op.inputs else None
        rank = op.outputs[0].shape.rank
        method = getattr(self, "add_" + op.type, None)
        if method:
            method(op, x)
        elif op.type in PLAIN:
            beside = max(t.shape.rank for t in op.inputs)
            self.out(op, PLAIN[op.type], [self.name(t, beside) for t in op.inputs], **({"axis": -1} if op.type == "Softmax" else {}))
        else:
            raise SystemExit(f"no translation of {op.type} ({op.name}), of rank {rank}")

    def add_Placeholder(self, op, _):
        shape = op.outputs[0].shape.as_list()
        shape = [shape[0], shape[3], shape[1], shape[2]] if len(shape) == 4 else shape
        self.inputs.append(helper.make_tensor_value_info(op.outputs[0].name, TensorProto.FLOAT, shape))

    def add_Identity(self, op, x):
        self.out(op, "Identity", [x.name])

    def add_IdentityN(self, op, _):
        for x, y in zip(op.inputs, op.outputs):
            if self.constant(x) is None:
                self.nodes.append(helper.make_node("Identity", [x.name], [y.name]))

    def add_Relu6(self, op, x):
        self.out(op, "Clip", [x.name, self.weight(op.name, np.float32(0)), self.weight(op.name, np.float32(6))])

    def window(self, op, key=None):
        attrs = {"auto_pad": "SAME_UPPER" if op.get_attr("padding") == b"SAME" else "VALID", "strides": op.get_attr("strides")[1:3]}
        if key:
            attrs["kernel_shape"] = op.get_attr(key)[1:3]
        return attrs

    def add_Conv2D(self, op, x):
        filter = self.constant(op.inputs[1]).transpose(3, 2, 0, 1)
        self.out(op, "Conv", [x.name, self.weight(op.name, filter)], kernel_shape=filter.shape[2:], dilations=op.get_attr("dilations")[1:3], **self.window(op))

    def add_DepthwiseConv2dNative(self, op, x):
        filter = self.constant(op.inputs[1])
        h, w, channels, each = filter.shape
        filter = filter.transpose(2, 3, 0, 1).reshape(channels * each, 1, h, w)
        self.out(op, "Conv", [x.name, self.weight(op.name, filter)], kernel_shape=[h, w], group=channels, **self.window(op))

    def add_FusedBatchNormV3(self, op, x):
        self.out(op, "BatchNormalization", [x.name] + [self.weight(t.name, self.constant(t)) for t in op.inputs[1:]], epsilon=op.get_attr("epsilon"))

    def add_MaxPool(self, op, x):
        self.out(op, "MaxPool", [x.name], **self.window(op, "ksize"))

    def add_AvgPool(self, op, x):
        self.out(op, "AveragePool", [x.name], **self.window(op, "ksize"))

    def add_Pad(self, op, x):
        pads = self.constant(op.inputs[1])
        pads = pads[[0, 3, 1, 2]] if len(pads) == 4 else pads
        self.out(op, "Pad", [x.name, self.integers(op, [*pads[:, 0], *pads[:, 1]])])

    def add_Mean(self, op, x):
        axes = np.atleast_1d(self.constant(op.inputs[1]))
        self.out(op, "ReduceMean", [x.name], axes=[TO_NCHW[a] if x.shape.rank == 4 else a for a in axes.tolist()], keepdims=int(op.get_attr("keep_dims")))

    def add_ConcatV2(self, op, x):
        axis = int(self.constant(op.inputs[-1]))
        self.out(op, "Concat", [self.name(t) for t in list(op.inputs)[:-1]], axis=TO_NCHW[axis] if x.shape.rank == 4 else axis)

    def add_Reshape(self, op, x):
        shape = op.outputs[0].shape.as_list()
        if x.shape.rank == 4 and x.shape[1:3] != [1, 1]:
            self.nodes.append(helper.make_node("Transpose", [x.name], [x.name + op.name], perm=[0, 2, 3, 1]))
            x_name = x.name + op.name
        else:
            x_name = x.name
        if len(shape) == 4:
            if shape[1:3] != [1, 1]:
                raise SystemExit(f"no translation of Reshape to {shape} ({op.name})")
            shape = [shape[0], shape[3], 1, 1]
        self.out(op, "Reshape", [x_name, self.integers(op, shape)])

    def add_Squeeze(self, op, x):
        self.add_Reshape(op, x)

    def add_StridedSlice(self, op, x):
        begin, end, step = (self.constant(t) for t in list(op.inputs)[1:])
        n = len(begin)
        masked = lambda key, i: op.get_attr(key) >> i & 1
        if x.shape.rank != 4 or any(op.get_attr(k) for k in ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")):
            raise SystemExit(f"no translation of such a StridedSlice ({op.name})")
        begins = [0 if masked("begin_mask", i) else int(begin[i]) for i in range(n)]
        ends = [2**31 - 1 if masked("end_mask", i) else int(end[i]) for i in range(n)]
        self.out(op, "Slice", [x.name, self.integers(op, begins), self.integers(op, ends), self.integers(op, [TO_NCHW[i] for i in range(n)]), self.integers(op, step)])


def main():
    path, output, to = sys.argv[1:]
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(tf.GraphDef.FromString(open(path, "rb").read()), name="")
    t = Translation(graph)
    wanted, stack = set(), [graph.get_operation_by_name(output)]
    while stack:
        op = stack.pop()
        if op not in wanted:
            wanted.add(op)
            stack += [x.op for x in op.inputs]
    for op in graph.get_operations():
        if op in wanted:
            t.add(op)
    outputs = [helper.make_tensor_value_info(output + ":0", TensorProto.FLOAT, None)]
    made = helper.make_graph(t.nodes, "g", t.inputs, outputs, t.weights)
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), to)


main()
