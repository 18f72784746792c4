"""Writes the models of tests/data/onnx/models, where the onnx package is installed: python make_models.py"""
import pathlib, numpy as np, onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh, external_data_helper as ext
out = pathlib.Path("models"); out.mkdir(exist_ok=True)
f = T.FLOAT
def model(name, nodes, inputs, outputs, init=(), opset=21, functions=(), opsets=()):
    g = h.make_graph(nodes, name, inputs, outputs, initializer=list(init))
    m = h.make_model(g, opset_imports=[h.make_opsetid("", opset), *opsets], functions=list(functions), ir_version=10)
    (out / f"{name}.onnx").write_bytes(m.SerializeToString())
    return m
vi = h.make_tensor_value_info
w = nh.from_array((np.arange(18, dtype=np.float32).reshape(2, 1, 3, 3) - 8) / 8, "conv.weight")
bias = nh.from_array(np.array([0.5, -0.5], np.float32), "conv.bias")
m = model("conv_relu", [h.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["conv:0"], name="/net/conv", pads=[1, 1, 1, 1]),
    h.make_node("Relu", ["conv:0"], ["y"], name="/net/relu")], [vi("x", f, ["batch", 1, 4, 4])], [vi("y", f, ["batch", 2, 4, 4])], [w, bias])
# external data
big = nh.from_array(np.arange(4, dtype=np.float32), "w")
t = onnx.TensorProto(); t.name = "w"; t.data_type = f; t.dims.append(4); t.data_location = T.EXTERNAL
def entry(t, k, v):
    e = t.external_data.add(); e.key = k; e.value = v
entry(t, "location", "external.weights"); entry(t, "offset", "16"); entry(t, "length", "16")
(out / "external.weights").write_bytes(b"\0" * 16 + np.arange(4, dtype=np.float32).tobytes())
model("external", [h.make_node("Mul", ["x", "w"], ["y"])], [vi("x", f, [4])], [vi("y", f, [4])], [t])
o = onnx.TensorProto(); o.CopyFrom(t); o.external_data[0].value = "../make_models.py"
model("outside", [h.make_node("Mul", ["x", "w"], ["y"])], [vi("x", f, [4])], [vi("y", f, [4])], [o])
# if, loop, function
then = h.make_graph([h.make_node("Mul", ["x", "two"], ["t"])], "then", [], [vi("t", f, [2])])
other = h.make_graph([h.make_node("Neg", ["x"], ["e"])], "else", [], [vi("e", f, [2])])
model("if", [h.make_node("If", ["c"], ["y"], name="choice", then_branch=then, else_branch=other)], [vi("c", T.BOOL, []), vi("x", f, [2])], [vi("y", f, [2])],
    [nh.from_array(np.array(2, np.float32), "two")])
body = h.make_graph([h.make_node("Identity", ["go"], ["go_on"]), h.make_node("Add", ["sum", "x"], ["next"]), h.make_node("Identity", ["next"], ["seen"])],
    "body", [vi("i", T.INT64, []), vi("go", T.BOOL, []), vi("sum", f, [2])], [vi("go_on", T.BOOL, []), vi("next", f, [2]), vi("seen", f, [2])])
model("loop", [h.make_node("Loop", ["n", "", "x"], ["last", "all"], name="sums", body=body)], [vi("n", T.INT64, []), vi("x", f, [2])], [vi("last", f, [2]), vi("all", f, [None, 2])])
fn = h.make_function("mine", "Scaled", ["a"], ["b"], [h.make_node("Constant", [], ["s"]), h.make_node("Mul", ["a", "s"], ["b"])], [h.make_opsetid("", 21)], ["by"])
ref = fn.node[0].attribute.add(); ref.name = "value_float"; ref.ref_attr_name = "by"; ref.type = onnx.AttributeProto.FLOAT
model("function", [h.make_node("Scaled", ["x"], ["y"], domain="mine", name="s", by=3.0)], [vi("x", f, [2])], [vi("y", f, [2])], functions=[fn], opsets=[h.make_opsetid("mine", 1)])
rec = h.make_function("mine", "Again", ["a"], ["b"], [h.make_node("Again", ["a"], ["b"], domain="mine")], [h.make_opsetid("", 21), h.make_opsetid("mine", 1)])
model("endless", [h.make_node("Again", ["x"], ["y"], domain="mine")], [vi("x", f, [2])], [vi("y", f, [2])], functions=[rec], opsets=[h.make_opsetid("mine", 1)])
model("unknown_ops", [h.make_node("Sigmoyd", ["x"], ["a"], name="gate"), h.make_node("Gone", ["a"], ["b"]), h.make_node("Rulebook", ["b"], ["y"], domain="ai.onnx.ml")], [vi("x", f, [2])], [vi("y", f, [2])])
# what ops --missing looks for: in branches, in functions that are called, in an old operator set
inside = h.make_graph([h.make_node("Gone", ["x"], ["a"]), h.make_node("Rulebook", ["a"], ["t"], domain="ai.onnx.ml")], "then", [], [vi("t", f, [2])])
calls = lambda name, op: h.make_function("mine", name, ["a"], ["b"], [h.make_node(op, ["a"], ["b"], domain="" if op == "Gone" else "mine")], [h.make_opsetid("", 20), h.make_opsetid("mine", 1)])
model("unread_ops", [h.make_node("If", ["c"], ["y"], then_branch=inside, else_branch=other), h.make_node("Upsample", ["x"], ["u"]),
    *[h.make_node("Outer", ["x"], [f"o{i}"], domain="mine") for i in range(2)], h.make_node("Lost", ["x"], ["l"], domain="strange")],
    [vi("c", T.BOOL, []), vi("x", f, [2])], [vi("y", f, [2])], functions=[calls("Outer", "Inner"), calls("Inner", "Gone"), calls("Unused", "Gone")],
    opsets=[h.make_opsetid("mine", 1), h.make_opsetid("ai.onnx.ml", 3)])
model("new_opset", [h.make_node("Relu", ["x"], ["y"])], [vi("x", f, [2])], [vi("y", f, [2])], opset=99)
n = h.make_node("Concat", ["x", "x"], ["y"], name="both"); n.attribute.append(h.make_attribute("axis", "last"))
model("wrong_attribute", [n], [vi("x", f, [2])], [vi("y", f, [4])])
z = onnx.TensorProto(); z.name = "w"; z.data_type = f; z.dims.extend([1 << 40, 1 << 40])
model("absurd_dims", [h.make_node("Mul", ["x", "w"], ["y"])], [vi("x", f, [2])], [vi("y", f, [2])], [z])
(out / "truncated.onnx").write_bytes((out / "conv_relu.onnx").read_bytes()[:100])
# Numbers that no op can have: each once ran in silence, crashed, or took minutes to read.
def odd(name, op, shape, attrs={}, more=(), outputs=1, opset=21):
    model(f"odd_{name}", [h.make_node(op, ["x", *(t.name for t in more)], [f"y{i}" for i in range(outputs)], name="odd", **attrs)], [vi("x", T.INT64 if op == "OneHot" else f, shape)],
        [vi(f"y{i}", f, None) for i in range(outputs)], more, opset)
ints = lambda name, *v: nh.from_array(np.array(v, np.int64), name)
filters = lambda *shape: nh.from_array(np.ones(shape, np.float32), "w")
odd("group_0", "Conv", [1, 2, 4, 4], {"group": 0}, [filters(2, 2, 2, 2)])
odd("group_2", "Conv", [1, 2, 4, 4], {"group": 2}, [filters(2, 2, 2, 2)])
odd("kernel", "Conv", [1, 2, 4, 4], {"kernel_shape": [3, 3]}, [filters(2, 2, 2, 2)])
odd("groups", "ConvTranspose", [1, 1 << 30, 4, 4], {"group": 1 << 30}, [filters(2, 2, 2, 2)])
odd("depth", "OneHot", [3], {}, [ints("d", 1 << 50), nh.from_array(np.array([0, 1], np.float32), "v")])
odd("values", "OneHot", [3], {}, [ints("d", 3), nh.from_array(np.array([0, 1, 2], np.float32), "v")])
odd("block", "DepthToSpace", [1, 4, 2, 2], {"blocksize": 1 << 32})
odd("edge", "Pad", [4], {"mode": "edge"}, [ints("p", 1 << 62, 1 << 62)])
odd("crop", "Pad", [4], {}, [ints("p", -9, 0)])
odd("windows", "AveragePool", [1, 1, 1 << 40], {"kernel_shape": [3], "pads": [1, 1]})
odd("pads", "MaxPool", [1, 1, 4, 4], {"kernel_shape": [2, 2], "pads": [2, 2, 2, 2]})
odd("outputs", "Split", [4], {"num_outputs": 3}, outputs=2)
odd("sizes", "Split", [4], {}, [ints("s", -1, 5)], outputs=2)
odd("zeros", "Reshape", [2, 2], {}, [ints("s", 2, 2, 0)])
odd("twice", "Unsqueeze", [2], {}, [ints("a", 0, 0)])
odd("perm", "Transpose", [2, 3], {"perm": [0]})
odd("most", "TopK", [2, 3], {}, [ints("k", 1 << 50)], outputs=2)
odd("norm", "LpNormalization", [2, 3], {"p": 9})
odd("fmod", "Mod", [2], {}, [nh.from_array(np.array([2, 2], np.float32), "b")])
odd("direction", "LSTM", [2, 1, 2], {"hidden_size": 2, "direction": "sideways"}, [nh.from_array(np.ones((1, 8, 2), np.float32), "w"), nh.from_array(np.ones((1, 8, 2), np.float32), "r")])
# Bytes: a convolution with a filter and a scale of its own for each channel, then a product of matrices.
q = np.random.default_rng(5)
const = lambda name, a: nh.from_array(np.asarray(a), name)
model("quantised", [h.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["conv"], name="conv", pads=[1, 1, 1, 1]),
    h.make_node("Flatten", ["conv"], ["flat"], name="flat"), h.make_node("QLinearMatMul", ["flat", "ys", "yz", "m", "ms", "mz", "zs", "zz"], ["y"], name="dense"),
    h.make_node("MatMulInteger", ["flat", "m", "yz"], ["sums"], name="sums")],
    [vi("x", T.UINT8, [1, 3, 4, 4])], [vi("y", T.UINT8, [1, 5]), vi("sums", T.INT32, [1, 5])],
    [const("xs", np.float32(0.02)), const("xz", np.uint8(120)), const("w", q.integers(-128, 128, (2, 3, 3, 3)).astype(np.int8)),
     const("ws", np.array([0.01, 0.02], np.float32)), const("wz", np.zeros(2, np.int8)), const("ys", np.float32(0.05)), const("yz", np.uint8(100)),
     const("b", np.array([500, -700], np.int32)), const("m", q.integers(-128, 128, (32, 5)).astype(np.int8)), const("ms", np.float32(0.01)), const("mz", np.int8(0)),
     const("zs", np.float32(0.3)), const("zz", np.uint8(130))], opset=13)
# Reals between bytes, as tools for quantisation leave them, and an op of ONNX Runtime's.
model("between_bytes", [h.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"], name="first"), h.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xr"], name="real"),
    h.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wr"], name="filter", axis=0), h.make_node("DequantizeLinear", ["b", "bs", "bz"], ["br"], name="bias", axis=0),
    h.make_node("Conv", ["xr", "wr", "br"], ["conv"], name="conv", pads=[1, 1, 1, 1]), h.make_node("QuantizeLinear", ["conv", "ys", "yz"], ["yq"], name="last"),
    h.make_node("QLinearAdd", ["yq", "ys", "yz", "yq", "ys", "yz", "zs", "yz"], ["zq"], name="twice", domain="com.microsoft"),
    h.make_node("DequantizeLinear", ["zq", "zs", "yz"], ["y"], name="out")],
    [vi("x", f, [1, 3, 4, 4])], [vi("yq", T.UINT8, [1, 2, 4, 4]), vi("y", f, [1, 2, 4, 4])],
    [const("xs", np.float32(0.02)), const("xz", np.uint8(120)), const("w", q.integers(-128, 128, (2, 3, 3, 3)).astype(np.int8)),
     const("ws", np.array([0.01, 0.02], np.float32)), const("wz", np.zeros(2, np.int8)), const("ys", np.float32(0.05)), const("yz", np.uint8(100)),
     const("b", np.array([500, -700], np.int32)), const("bs", np.float32(0.02) * np.array([0.01, 0.02], np.float32)), const("bz", np.zeros(2, np.int32)),
     const("zs", np.float32(0.1))], opset=13, opsets=[h.make_opsetid("com.microsoft", 1)])
model("two_makers", [h.make_node("Relu", ["x"], ["y"], name="first"), h.make_node("Neg", ["x"], ["y"], name="second")], [vi("x", f, [2])], [vi("y", f, [2])])
model("no_step", [h.make_node("STFT", ["x", "", "w"], ["y"])], [vi("x", f, [1, 16, 1])], [vi("y", f, [])], [const("w", np.ones(4, np.float32))])
# Sizes, and a rank, that are known in the run only, as exporters leave them.
one = lambda name, v: nh.from_array(np.array(v, np.int64), name)
g = np.random.default_rng(5)
small = lambda name, *shape: const(name, (g.integers(-8, 9, shape) / 8).astype(np.float32))
squeezed = h.make_graph([h.make_node("Squeeze", ["x", "axis"], ["t"])], "then", [], [vi("t", f, None)])
same = h.make_graph([h.make_node("Identity", ["x"], ["e"])], "else", [], [vi("e", f, None)])
never = h.make_graph([h.make_node("Squeeze", ["x", "axis"], ["n"])], "then", [], [vi("n", f, None)])
always = h.make_graph([h.make_node("Neg", ["x"], ["a"], name="negated")], "else", [], [vi("a", f, None)])
model("open_sizes", [h.make_node("If", ["off"], ["minus"], then_branch=never, else_branch=always, name="known"),
    h.make_node("LSTM", ["minus", "w", "r", "b"], ["all", "h", "c"], hidden_size=2, direction="bidirectional", name="lstm"), h.make_node("Transpose", ["all"], ["turned"], perm=[0, 2, 1, 3]),
    h.make_node("Reshape", ["turned", "sizes"], ["y"], name="flat"), h.make_node("Shape", ["x"], ["s"]), h.make_node("Gather", ["s", "axis0"], ["first"]),
    h.make_node("Equal", ["first", "one"], ["single"]), h.make_node("If", ["single"], ["either"], then_branch=squeezed, else_branch=same, name="choice"),
    h.make_node("Unsqueeze", ["either", "last"], ["z"]), h.make_node("Unsqueeze", ["x", "axis"], ["image"]),
    h.make_node("ConvTranspose", ["image", "filter"], ["wide"], strides=[2, 1], pads=[1, 0, 0, 0], name="wider"), h.make_node("Squeeze", ["wide"], ["v"])],
    [vi("x", f, ["t", "n", 3])], [vi("y", f, None), vi("z", f, None), vi("v", f, None)],
    [const("off", np.array(False)), small("w", 2, 8, 3), small("r", 2, 8, 2), small("b", 2, 16), one("sizes", [0, 0, -1]), one("axis0", 0), one("one", 1), one("axis", [0]),
     one("last", [-1]), small("filter", 2, 1, 2, 2)], opset=17)
candidates = const("boxes", np.array([[[0, 0, 1, 1], [0, 0, 1, 1.1], [0, 2, 1, 3]]], np.float32))
model("all_boxes", [h.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["y"])], [vi("scores", f, [1, 1, 3])], [vi("y", T.INT64, [None, 3])],
    [candidates, one("most", [2**63 - 1]), const("overlap", np.float32(0.5))], opset=17)
model("old_prelu", [h.make_node("PRelu", ["x", "slopes"], ["y"])], [vi("x", f, [1, 2, 3])], [vi("y", f, [1, 2, 3])], [const("slopes", np.array([0.5, 2], np.float32))], opset=6)
deep = {"w1": (2, 8, 3), "r1": (2, 8, 2), "b1": (2, 16), "w2": (1, 9, 4), "r2": (1, 9, 3), "b2": (1, 18), "w3": (1, 2, 3), "r3": (1, 2, 2), "b3": (1, 4)}
model("recurrent_loss", [h.make_node("LSTM", ["x", "w1", "r1", "b1", "lengths"], ["two"], hidden_size=2, direction="bidirectional", name="lstm"), h.make_node("Transpose", ["two"], ["sides"], perm=[0, 2, 1, 3]),
    h.make_node("Reshape", ["sides", "sizes"], ["both"]), h.make_node("GRU", ["both", "w2", "r2", "b2"], ["back"], hidden_size=3, linear_before_reset=1, direction="reverse", name="gru"),
    h.make_node("Squeeze", ["back", "axis"], ["states"]), h.make_node("RNN", ["states", "w3", "r3", "b3"], ["", "last"], hidden_size=2, name="rnn"),
    h.make_node("Mul", ["last", "last"], ["squares"]), h.make_node("ReduceMean", ["squares"], ["loss"], keepdims=0)],
    [vi("x", f, ["t", "n", 3]), vi("lengths", T.INT32, ["n"])], [vi("loss", f, [])], [small(k, *s) for k, s in deep.items()] + [one("sizes", [0, 0, -1]), one("axis", [1])], opset=17)
# Ops of ai.onnx.ml as scikit-learn's exporters leave them: features of a table, a machine with probabilities, maps.
ml = h.make_opsetid("ai.onnx.ml", 3)
r = np.random.default_rng(7)
eighths = lambda *shape: (r.integers(-8, 9, shape) / 8).astype(np.float32).ravel().tolist()
learn = lambda op, inputs, outputs, **a: h.make_node(op, inputs, outputs, name=op, domain="ai.onnx.ml", **a)
maps = lambda key: h.make_sequence_type_proto(h.make_map_type_proto(key, h.make_tensor_type_proto(f, [])))
model("features", [learn("Imputer", ["x"], ["full"], imputed_value_floats=[0.5, -0.5], replaced_value_float=float("nan")),
    learn("OneHotEncoder", ["colour"], ["hot"], cats_strings=["red", "green", "blue"], zeros=1),
    learn("FeatureVectorizer", ["full", "hot"], ["all"], inputdimensions=[2, 3]), learn("CategoryMapper", ["colour"], ["number"], cats_strings=["red", "blue"], cats_int64s=[7, 9], default_int64=-1),
    learn("SVMRegressor", ["all"], ["y"], kernel_type="RBF", kernel_params=[0.5, 0.0, 3.0], n_supports=3, support_vectors=eighths(15), coefficients=eighths(3), rho=[0.25])],
    [vi("x", f, ["n", 2]), vi("colour", T.STRING, ["n"])], [vi("y", f, ["n", 1]), vi("all", f, ["n", 5]), vi("number", T.INT64, ["n"])], opset=17, opsets=[ml])
model("machine", [learn("SVMClassifier", ["x"], ["label", "chances"], classlabels_strings=["ant", "bee", "cat"], kernel_type="POLY", kernel_params=[0.5, 1.0, 3.0],
    vectors_per_class=[2, 1, 2], support_vectors=eighths(10), coefficients=eighths(10), rho=eighths(3), prob_a=[-1.0, -0.5, -2.0], prob_b=[0.25, 0.0, -0.25]),
    learn("ZipMap", ["chances"], ["output_probability"], classlabels_strings=["ant", "bee", "cat"])],
    [vi("x", f, ["n", 2])], [vi("label", T.STRING, ["n"]), h.make_value_info("output_probability", maps(T.STRING))], opset=17, opsets=[ml])
model("words", [learn("DictVectorizer", ["counts"], ["row"], string_vocabulary=["the", "of", "and"])],
    [h.make_value_info("counts", h.make_map_type_proto(T.STRING, h.make_tensor_type_proto(f, [])))], [vi("row", f, [1, 3])], opset=17, opsets=[ml])
odd_learning = {"learn_rho": ("SVMClassifier", dict(classlabels_ints=[0, 1], vectors_per_class=[1, 1], support_vectors=[1.0, 2.0], coefficients=[1.0, 2.0], rho=[1.0, 2.0])),
    "learn_count": ("SVMRegressor", dict(n_supports=1 << 40, support_vectors=[1.0], coefficients=[1.0], rho=[0.0])),
    "learn_size": ("FeatureVectorizer", dict(inputdimensions=[-1])), "learn_keys": ("ZipMap", dict(classlabels_int64s=[1, 2, 3])),
    "learn_map": ("CastMap", {}), "learn_features": ("LinearRegressor", dict(coefficients=[1.0, 2.0, 3.0])), "learn_scale": ("Scaler", dict(scale=[1.0, 2.0, 3.0]))}
for name, (op, attrs) in odd_learning.items():
    model(f"odd_{name}", [h.make_node(op, ["x"], ["y0", *["y1"] * (op == "SVMClassifier")], name="odd", domain="ai.onnx.ml", **attrs)], [vi("x", f, [2, 2])], [vi("y0", f, None)], opset=17, opsets=[ml])
# A pool as SqueezeNet's export has it: sizes that only the run knows, rounded up.
model("rounded_up", [h.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), h.make_node("MaxPool", ["x"], ["z"], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], ceil_mode=1)],
    [vi("x", f, ["n", 1, "h", "w"])], [vi("y", f, None), vi("z", f, None)], opset=19)
# Ops of operator set 28.
model("newest", [h.make_node("Mod", ["a", "b"], ["m"]), h.make_node("SwiGLU", ["a", "b"], ["g"], alpha=0.5)], [vi("a", f, [4]), vi("b", f, [4])], [vi("m", f, [4]), vi("g", f, [4])], opset=28)
# Sequences that the run gives: of vectors, of matrices, and an optional one; positions and sizes come with them.
seq = lambda name, shape: h.make_value_info(name, h.make_sequence_type_proto(h.make_tensor_type_proto(f, shape)))
maybe = lambda name, inner: h.make_value_info(name, h.make_optional_type_proto(inner))
floats = lambda shape: h.make_tensor_type_proto(f, shape)
model("sequences", [h.make_node("SequenceInsert", ["xs", "x", "at"], ["longer"]), h.make_node("SequenceErase", ["xs", "at"], ["shorter"]), h.make_node("SequenceAt", ["xs", "last"], ["item"]),
    h.make_node("SequenceLength", ["longer"], ["count"]), h.make_node("ConcatFromSequence", ["longer"], ["joined"], axis=0), h.make_node("SplitToSequence", ["joined", "sizes"], ["parts"])],
    [seq("xs", ["n"]), vi("x", f, ["k"]), vi("at", T.INT64, []), vi("sizes", T.INT64, [])],
    [seq("longer", None), seq("shorter", None), vi("item", f, None), vi("count", T.INT64, []), vi("joined", f, None), seq("parts", None)], [nh.from_array(np.array(-1, np.int64), "last")])
turn = h.make_graph([h.make_node("Transpose", ["i"], ["o"], perm=[1, 0]), h.make_node("Add", ["i", "v"], ["p"])], "turn", [vi("i", f, ["h", "w"])], [vi("o", f, ["w", "h"]), vi("p", f, ["h", "w"])])
turn.input.append(vi("v", f, []))
model("matrices", [h.make_node("SequenceMap", ["xs", "more"], ["turned", "moved"], body=turn), h.make_node("ConcatFromSequence", ["xs"], ["side_by_side"], axis=1)],
    [seq("xs", ["h", "w"]), vi("more", f, [])], [seq("turned", ["w", "h"]), seq("moved", ["h", "w"]), vi("side_by_side", f, ["h", "all"])])
given = h.make_graph([h.make_node("OptionalGetElement", ["hint"], ["got"])], "given", [], [seq("got", None)])
made = h.make_graph([h.make_node("SequenceConstruct", ["x", "x"], ["twice"])], "made", [], [seq("twice", None)])
model("optionals", [h.make_node("OptionalHasElement", ["hint"], ["has"]), h.make_node("If", ["has"], ["y"], then_branch=given, else_branch=made),
    h.make_node("OptionalHasElement", ["one"], ["has_one"]), h.make_node("Identity", ["hint"], ["same"])],
    [maybe("hint", h.make_sequence_type_proto(floats(None))), maybe("one", floats([2])), vi("x", f, [2])],
    [seq("y", None), vi("has_one", T.BOOL, []), maybe("same", h.make_sequence_type_proto(floats(None)))], opset=18)
# Newer attentions and a count of words; what onnx.reference makes of them is in attentions.npz.
draw = lambda *shape: (r.integers(-16, 17, shape) / 16).astype(np.float32)
cap = h.make_graph([h.make_node("Tanh", ["s"], ["t"])], "cap", [vi("s", f, None)], [vi("t", f, None)])
halve = h.make_graph([h.make_node("Mul", ["p", "half"], ["q"])], "halve", [vi("p", f, None)], [vi("q", f, None)], [nh.from_array(np.array(0.5, np.float32), "half")])
attentions = model("attentions", [h.make_node("LinearAttention", ["q", "k", "v", "", "decay", "rate"], ["linear", "state"], q_num_heads=4, kv_num_heads=2),
    h.make_node("LinearAttention", ["q", "k", "v", "state"], ["again", "state2"], q_num_heads=4, kv_num_heads=2, update_rule="linear", scale=0.25),
    h.make_node("FlexAttention", ["fq", "fk", "fv"], ["flex"], domain="ai.onnx.preview", score_mod=cap, prob_mod=halve)],
    [vi("q", f, ["b", "t", 12]), vi("k", f, ["b", "t", 6]), vi("v", f, ["b", "t", 4]), vi("decay", f, ["b", "t", 6]), vi("rate", f, ["b", "t", 1]),
     vi("fq", f, [1, 4, 3, 2]), vi("fk", f, [1, 2, 5, 2]), vi("fv", f, [1, 2, 5, 3])],
    [vi("linear", f, None), vi("state", f, None), vi("again", f, None), vi("state2", f, None), vi("flex", f, None)], opset=27, opsets=[h.make_opsetid("ai.onnx.preview", 1)])
from onnx.reference import ReferenceEvaluator
fed = dict(q=draw(2, 5, 12), k=draw(2, 5, 6), v=draw(2, 5, 4), decay=draw(2, 5, 6) - 1, rate=draw(2, 5, 1), fq=draw(1, 4, 3, 2), fk=draw(1, 2, 5, 2), fv=draw(1, 2, 5, 3))
linear = model("attentions_linear", list(attentions.graph.node[:2]), list(attentions.graph.input[:5]), list(attentions.graph.output[:4]), opset=27)
(out / "attentions_linear.onnx").unlink()
answers = dict(zip(["linear", "state", "again", "state2"], ReferenceEvaluator(linear).run(None, {k: fed[k] for k in "qkv"} | {k: fed[k] for k in ("decay", "rate")})))
scores = np.tanh(fed["fq"] @ np.repeat(fed["fk"], 2, 1).transpose(0, 1, 3, 2) / np.sqrt(np.float32(2)))
answers["flex"] = (0.5 * np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)) @ np.repeat(fed["fv"], 2, 1)
np.savez(out / "attentions.npz", **fed, **answers)
model("ngrams", [h.make_node("TfIdfVectorizer", ["words"], ["y"], mode="TFIDF", min_gram_length=1, max_gram_length=2, max_skip_count=1, ngram_counts=[0, 2], ngram_indexes=[2, 0, 1, 3],
    weights=[1.0, 2.0, 0.5, 4.0], pool_strings=["a", "b", "a", "b", "b", "c"])], [vi("words", T.STRING, ["n", "k"])], [vi("y", f, None)], opset=17)
# Trees whose leaves have a table of their own: is x[0] <= 1.5, or one of 4, 5, 7; and x[1] > 0.
tensor = lambda values, kind=np.float32: nh.from_array(np.array(values, kind))
forest = lambda name, **more: h.make_node("TreeEnsemble", ["x"], ["y"], name="odd", domain="ai.onnx.ml", **(dict(n_targets=2, tree_roots=[0, 2], nodes_featureids=[0, 0, 1], nodes_modes=tensor([0, 6, 3], np.uint8),
    nodes_splits=tensor([1.5, 0, 0]), nodes_truenodeids=[0, 1, 3], nodes_trueleafs=[1, 1, 1], nodes_falsenodeids=[1, 2, 4], nodes_falseleafs=[0, 1, 1], membership_values=tensor([4, 5, 7, np.nan]),
    leaf_targetids=[0, 0, 0, 1, 1], leaf_weights=tensor([1, 2, 3, 10, 20])) | more))
ml5 = h.make_opsetid("ai.onnx.ml", 5)
model("forest", [forest("forest")], [vi("x", f, ["n", 2])], [vi("y", f, ["n", 2])], opsets=[ml5])
for name, more in {"forest_circle": dict(nodes_falsenodeids=[0, 2, 4]), "forest_leaf": dict(nodes_truenodeids=[9, 1, 3]), "forest_root": dict(tree_roots=[7]), "forest_members": dict(membership_values=tensor([np.nan]))}.items():
    model(f"odd_{name}", [forest(name, **more)], [vi("x", f, ["n", 2])], [vi("y", f, ["n", 2])], opsets=[ml5])
# Means whose windows reach over a border, of sizes that only the run knows; the mel scale; a scan of a batch.
model("open_means", [h.make_node("AveragePool", ["x"], [y], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=c, count_include_pad=p) for y, c, p in (("a", 0, 0), ("b", 1, 0), ("c", 1, 1))],
    [vi("x", f, [1, 1, "h", "w"])], [vi(y, f, None) for y in "abc"], opset=19)
model("mel", [h.make_node("MelWeightMatrix", ["bands", "length", "rate", "low", "high"], ["y"])], [vi("bands", T.INT32, []), vi("length", T.INT32, []), vi("rate", T.INT32, []), vi("low", f, []), vi("high", f, [])], [vi("y", f, None)], opset=17)
row = h.make_graph([h.make_node("Add", ["s", "x"], ["next"]), h.make_node("Identity", ["next"], ["seen"])], "row", [vi("s", f, [2]), vi("x", f, [2])], [vi("next", f, [2]), vi("seen", f, [2])])
model("batch_scan", [h.make_node("Scan", ["", "s", "x"], ["last", "all"], num_scan_inputs=1, body=row, directions=[1])], [vi("s", f, [2, 2]), vi("x", f, [2, 3, 2])], [vi("last", f, [2, 2]), vi("all", f, [2, 3, 2])], opset=8)
# Sequences that there cannot be, or that are not read.
model("odd_sequence_mixed", [h.make_node("Cast", ["x"], ["i"], to=T.INT64), h.make_node("SequenceConstruct", ["x", "i"], ["y"])], [vi("x", f, [2])], [seq("y", None)])
model("odd_sequence_types", [h.make_node("If", ["c"], ["y"], then_branch=h.make_graph([h.make_node("SequenceEmpty", [], ["a"], dtype=T.INT64)], "then", [], [seq("a", None)]),
    else_branch=h.make_graph([h.make_node("SequenceConstruct", ["x"], ["b"])], "else", [], [seq("b", None)]))], [vi("x", f, [2]), vi("c", T.BOOL, [])], [seq("y", None)])
model("odd_sequence_nested", [h.make_node("Identity", ["x"], ["y"])], [h.make_value_info("x", h.make_sequence_type_proto(h.make_sequence_type_proto(floats([2]))))], [vi("y", f, None)])
model("odd_sequence_is_none", [h.make_node("Relu", ["x"], ["y"])], [seq("x", [2])], [vi("y", f, None)])
# An LSTM of bytes, as ONNX Runtime's quantizer writes it: both directions, a scale for each in W, for each row of gates in R.
small = lambda kind, *s: r.integers(*((0, 256) if kind == np.uint8 else (-128, 128)), s).astype(kind)
lstm_parts = {"W": small(np.int8, 2, 3, 8), "R": small(np.int8, 2, 2, 8), "B": draw(2, 16), "Ws": np.array([0.01, 0.02], np.float32), "Wz": np.array([3, -2], np.int8),
    "Rs": (r.integers(1, 9, (2, 8)) / 512).astype(np.float32), "Rz": small(np.int8, 2, 8)}
model("lstm_of_bytes", [h.make_node("DynamicQuantizeLSTM", ["x", "W", "R", "B", "", "", "", "", "Ws", "Wz", "Rs", "Rz"], ["y"], domain="com.microsoft", hidden_size=2, direction="bidirectional")],
    [vi("x", f, ["t", "b", 3])], [vi("y", f, None)], [nh.from_array(v, k) for k, v in lstm_parts.items()], opset=17, opsets=[h.make_opsetid("com.microsoft", 1)])
