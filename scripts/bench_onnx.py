"""Part of scripts/bench: residual blocks in the order of ONNX, [N,C,H,W], beside the same blocks channels last; and of bytes."""
import array
import json
import random
import struct
import subprocess

import bench_models

SIZE, CHANNELS, BLOCKS = 28, 64, 3
ROUNDS, STEPS = 4, 12
FLOAT, UINT8, INT8 = 1, 2, 3  # types of ONNX


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def message(*fields):
    """Of (number, int, text, bytes or a list of these)."""
    out = b""
    for number, value in fields:
        for v in value if isinstance(value, list) else [value]:
            v = v.encode() if isinstance(v, str) else v
            out += varint(number << 3) + varint(v) if isinstance(v, int) else varint(number << 3 | 2) + varint(len(v)) + v
    return out


class Onnx:
    """A model in the making, in the wire format, so that no package is needed."""

    def __init__(self):
        self.nodes, self.weights = [], []

    def weight(self, name, kind, dims, data):
        self.weights.append(message((1, list(dims)), (2, kind), (8, name), (9, data)))
        return name

    def op(self, kind, inputs, output, **ints):
        attributes = [message((1, k), (3, v), (20, 2)) if isinstance(v, int) else message((1, k), (8, v), (20, 7)) for k, v in ints.items()]
        self.nodes.append(message((1, list(inputs)), (2, output), (3, output), (4, kind), (5, attributes)))
        return output

    def write(self, path, output):
        dims = message((1, [message((1, d)) for d in (1, CHANNELS, SIZE, SIZE)]))
        value = lambda name: message((1, name), (2, message((1, message((1, FLOAT), (2, dims))))))
        graph = message((1, self.nodes), (2, "g"), (5, self.weights), (11, value("x:0")), (12, value(output)))
        path.write_bytes(message((1, 8), (7, graph), (8, message((1, ""), (2, 13)))))


def floats(count, scale, middle=0.0):
    return array.array("f", (random.uniform(middle - scale, middle + scale) for _ in range(count)))


def write_blocks(scratch):
    """(in ONNX's order, channels last), with the same weights."""
    onnx, nodes = Onnx(), [{"name": "x", "op": "Placeholder", "attr": {"dtype": "float", "shape": [1, SIZE, SIZE, CHANNELS]}}]
    c, of_onnx, last = CHANNELS, "x:0", "x"

    def const(name, dims, values):
        nodes.append({"name": name, "op": "Const", "attr": {"dtype": "float", "value": {"shape": list(dims), "data": list(values)}}})
        return name

    def norm_of_conv(name, source, of_source, window):
        w = floats(window * window * c * c, (3 / (window * window * c)) ** 0.5)  # [out, in, h, w]
        at = lambda o, i, tap: w[(o * c + i) * window * window + tap]
        turned = [at(o, i, tap) for tap in range(window * window) for i in range(c) for o in range(c)]
        norm = {key: floats(c, 0.1, middle) for key, middle in (("scale", 1), ("shift", 0), ("mean", 0), ("variance", 1))}
        pads = [window // 2] * 4
        conv = onnx.op("Conv", [of_source, onnx.weight(name + "w", FLOAT, (c, c, window, window), w.tobytes())], name + "c", pads=pads, kernel_shape=[window] * 2)
        made = onnx.op("BatchNormalization", [conv] + [onnx.weight(name + k, FLOAT, (c,), v.tobytes()) for k, v in norm.items()], name + "n")
        nodes.append({"name": name + "c", "op": "Conv2D", "input": [source, const(name + "w", (window, window, c, c), turned)],
                      "attr": {"strides": [1, 1, 1, 1], "padding": "SAME"}})
        nodes.append({"name": name + "n", "op": "FusedBatchNormV3", "input": [name + "c"] + [const(name + k, (c,), v) for k, v in norm.items()],
                      "attr": {"is_training": False, "epsilon": 1e-5}})
        return name + "n", made

    def plain(kind, of_kind, name, inputs, of_inputs):
        nodes.append({"name": name, "op": kind, "input": inputs})
        return name, onnx.op(of_kind, of_inputs, name)

    for b in range(BLOCKS):
        y, of_y = last, of_onnx
        for i, window in enumerate((1, 3, 1)):
            y, of_y = norm_of_conv(f"b{b}_{i}", y, of_y, window)
            if i < 2:
                y, of_y = plain("Relu", "Relu", f"b{b}_{i}r", [y], [of_y])
        y, of_y = plain("AddV2", "Add", f"b{b}a", [y, last], [of_y, of_onnx])
        last, of_onnx = plain("Relu", "Relu", f"b{b}r", [y], [of_y])
    onnx.write(scratch / "blocks.onnx", of_onnx)
    (scratch / "blocks.json").write_text(json.dumps({"node": nodes, "fetch": [last]}))
    return scratch / "blocks.onnx", scratch / "blocks.json"


def write_bytes(scratch):
    """As many convolutions of bytes, each with scales of its outputs and a bias."""
    onnx, c = Onnx(), CHANNELS
    one = lambda name, kind, data: onnx.weight(name, kind, (), data)
    scale, zero, none = one("scale", FLOAT, struct.pack("f", 0.02)), one("zero", UINT8, bytes([128])), one("none", INT8, bytes([0]))
    last = onnx.op("QuantizeLinear", ["x:0", scale, zero], "q")
    for i in range(3 * BLOCKS):
        window = 3 if i % 3 == 1 else 1
        w = onnx.weight(f"w{i}", INT8, (c, c, window, window), random.randbytes(c * c * window * window))
        scales = onnx.weight(f"s{i}", FLOAT, (c,), floats(c, 0.002, 0.003).tobytes())
        last = onnx.op("QLinearConv", [last, scale, zero, w, scales, none, scale, zero], f"y{i}", pads=[window // 2] * 4, kernel_shape=[window] * 2)
    onnx.write(scratch / "bytes.onnx", onnx.op("DequantizeLinear", [last, scale, zero], "y"))
    return scratch / "bytes.onnx"


def step_us(binary, path, name, shape):
    command = [binary, "run", str(path), "-q", "--format", "json", "--steps", str(STEPS), "--warmup", "2", "--inter-op-threads", "1",
               "--intra-op-threads", "1", "--feed", f"{name}={'x'.join(map(str, shape))}xf32=random:7"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["timing"]["step_us"]["min"]


def measure_onnx_steps(binary, scratch, pythons, print_row):
    """Every round runs all in turn; the least of each counts."""
    random.seed(7)
    blocks, last = write_blocks(scratch)
    of_bytes = write_bytes(scratch)
    image = [1, SIZE, SIZE, CHANNELS]
    turned = [1, CHANNELS, SIZE, SIZE]
    programs = {}
    for path in (blocks, of_bytes):
        for python in pythons:
            program = bench_models.Program(python, bench_models.LOAD_ONNX_RUNTIME, path, {"x": image}, [], 1, 0.3)
            if program.facts():
                programs[path] = program
                break
            program.end()
    times = {}
    for _ in range(ROUNDS):
        for path, name, shape in ((blocks, "x:0", turned), (last, "x", image), (of_bytes, "x:0", turned)):
            times.setdefault(path, []).append(step_us(binary, path, name, shape))
        for path, program in programs.items():
            times.setdefault(("ORT", path), []).append(program.facts()["us"])
    for program in programs.values():
        program.end()
    us = {key: min(of) for key, of in times.items()}
    beside = lambda path: f"ONNX Runtime {us['ORT', path]:,.0f} us, {us['ORT', path] / us[path]:.2f}x" if path in programs else ""
    print_row(f"{BLOCKS} residual blocks in ONNX, 1 thread", f"{us[blocks]:,.0f} us", f"{us[blocks] / us[last]:.2f} x channels last", "goal <= 1.05", beside(blocks))
    print_row("its convolutions of bytes", f"{us[of_bytes]:,.0f} us", f"{us[of_bytes] / us[blocks]:.2f} x floats", "goal < 1", beside(of_bytes))
