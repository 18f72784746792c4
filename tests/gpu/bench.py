#!/usr/bin/env python3
"""Times emplace on a GPU: a graph per metric, operands random and on the device, several equal nodes per step, the
median step divided by them. Writes one JSON object after every metric: metric -> value (GB/s, TFLOP/s, microseconds), and under
"launched" metric -> how its steps were: "recorded", "launch by launch", or "partly recorded".

  tests/gpu/bench.py --binary build/emplace --out FILE [--small] [--bare COMMAND] [METRIC...]

--small: sizes for trying the script out on any device. --bare: a program that does nothing but make a context, timed for
bare_start_ms.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time


def variable(name, dtype, shape):
    """A variable on the GPU with uniform random numbers in it, and the nodes that fill it."""
    drawn = dtype if dtype in ("float", "half", "bfloat16", "double") else "float"
    return [{"name": f"{name}/shape", "op": "Const", "attr": {"dtype": "int32", "value": list(shape)}},
            {"name": f"{name}/random", "op": "RandomUniform", "input": [f"{name}/shape"],
             "attr": {"dtype": drawn, "T": "int32", "seed": 7, "seed2": 11}},
            {"name": name, "op": "VariableV2", "attr": {"dtype": dtype, "shape": list(shape)}},
            {"name": f"{name}/init", "op": "Assign", "input": [name, f"{name}/random"]}]


def repeated(node, times):
    """`times` nodes of the same kind and one that waits for all."""
    nodes = [dict(node, name=f"y{i}") for i in range(times)]
    return nodes + [{"name": "all", "op": "NoOp", "input": [f"^y{i}" for i in range(times)]}]


def launches(log):
    """How the steps of a run were launched, by its -v."""
    recorded, eager = " are recorded" in log, " are not recorded" in log
    return "partly recorded" if recorded and eager else "recorded" if recorded else "launch by launch"


def run(binary, nodes, init, steps, flags=()):
    """Microseconds of a step, and how it was launched."""
    graph = {"node": [n if n["op"] == "NoOp" else {"device": "/gpu:0", **n} for n in nodes], "init": init, "target": ["all"]}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(graph, f)
        f.flush()
        command = [binary, "run", f.name, "--format", "json", "-v", "--warmup", "3", "--steps", str(steps), "--allow-soft-placement", *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    document = json.loads(done.stdout or "{}")
    if done.returncode != 0 or document.get("error"):
        raise RuntimeError(str(document.get("error") or done.stderr)[-400:])
    return document["timing"]["step_us"]["p50"], launches(done.stderr)


def process_ms(command):
    """From start to end: the median of seven."""
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        times.append((time.perf_counter() - begin) * 1e3)
    return sorted(times)[3]


class Bench:
    def __init__(self, binary, small, bare):
        self.binary, self.small, self.bare = binary, small, bare
        self.launched = set()  # of the runs since it was emptied

    def run(self, nodes, init, flags=()):
        """Microseconds of a step."""
        us, how = run(self.binary, nodes, init, 2 if self.small else 20, flags)
        self.launched.add(how)
        return us

    def op(self, node, operands, times=10, flags=()):
        """Microseconds of one node."""
        nodes = [n for name, dtype, shape in operands for n in variable(name, dtype, shape)] + repeated(node, times)
        return self.run(nodes, [f"{name}/init" for name, _, _ in operands], flags) / times

    def gemm(self, dtype, flags=()):
        n = 64 if self.small else 8192
        node = {"op": "MatMul", "input": ["a", "b"]}
        return 2 * n ** 3 / self.op(node, [("a", dtype, (n, n)), ("b", dtype, (n, n))], 4, flags) / 1e6

    def gemm_small(self):
        node = {"op": "MatMul", "input": ["a", "b"]}
        n = 32 if self.small else 512
        return self.op(node, [("a", "float", (n, n)), ("b", "float", (n, n))], 100)

    def elementwise(self, op, dtype, arity):
        n = 1 << (12 if self.small else 28)
        names = ["a", "b"][:arity]
        us = self.op({"op": op, "input": names}, [(x, dtype, (n,)) for x in names])
        return (arity + 1) * n * (4 if dtype == "float" else 2) / us / 1e3

    def broadcast(self, row):
        n = 64 if self.small else 16384
        other = (1, n) if row else (n, 1)
        us = self.op({"op": "AddV2", "input": ["a", "b"]}, [("a", "float", (n, n)), ("b", "float", other)])
        return 2 * n * n * 4 / us / 1e3

    def transpose(self):
        n = 64 if self.small else 16384
        permutation = [{"name": "p", "op": "Const", "attr": {"dtype": "int32", "value": [1, 0]}}]
        nodes = variable("a", "float", (n, n)) + permutation + repeated({"op": "Transpose", "input": ["a", "p"]}, 10)
        return 2 * n * n * 4 / (self.run(nodes, ["a/init"]) / 10) / 1e3

    def total(self):
        n = 1 << (12 if self.small else 28)
        axes = [{"name": "axes", "op": "Const", "attr": {"dtype": "int32", "value": [0]}}]
        nodes = variable("a", "float", (n,)) + axes + repeated({"op": "Sum", "input": ["a", "axes"]}, 10)
        return n * 4 / (self.run(nodes, ["a/init"]) / 10) / 1e3

    def softmax(self):
        n = 64 if self.small else 8192
        us = self.op({"op": "Softmax", "input": ["a"]}, [("a", "bfloat16", (n, n))])
        return 2 * n * n * 2 / us / 1e3

    def conv(self):
        n, c = (2, 8) if self.small else (64, 64)
        node = {"op": "Conv2D", "input": ["x", "w"], "attr": {"strides": [1, 1, 1, 1], "padding": "SAME"}}
        us = self.op(node, [("x", "bfloat16", (n, 56, 56, c)), ("w", "bfloat16", (3, 3, c, c))])
        return 2 * n * 56 * 56 * 9 * c * c / us / 1e6

    def batch_norm(self):
        n, size, c = (2, 8, 16) if self.small else (64, 112, 64)
        node = {"op": "FusedBatchNormV3", "input": ["x", "s", "s", "none", "none"], "attr": {"is_training": True, "T": "bfloat16", "U": "float"}}
        nodes = variable("x", "bfloat16", (n, size, size, c)) + variable("s", "float", (c,)) + variable("none", "float", (0,))
        us = self.run(nodes + repeated(node, 10), ["x/init", "s/init", "none/init"]) / 10
        return 3 * n * size * size * c * 2 / us / 1e3

    def bias(self):
        n = 64 if self.small else 16384
        us = self.op({"op": "BiasAdd", "input": ["a", "b"]}, [("a", "bfloat16", (n, n)), ("b", "bfloat16", (n,))])
        return 2 * n * n * 2 / us / 1e3

    def cast(self):
        n = 1 << (12 if self.small else 28)
        us = self.op({"op": "Cast", "input": ["a"], "attr": {"DstT": "bfloat16"}}, [("a", "float", (n,))])
        return n * (4 + 2) / us / 1e3

    def gather(self):
        """Rows of 256 bytes, each once, none beside the one before."""
        rows = 1 << (6 if self.small else 20)
        picks = [{"name": name, "op": "Const", "attr": {"dtype": "int32", "value": value}}
                 for name, value in (("first", 0), ("rows", rows), ("one", 1), ("odd", 7919), ("zero", 0))]
        picks += [{"name": "order", "op": "Range", "input": ["first", "rows", "one"]}, {"name": "far", "op": "Mul", "input": ["order", "odd"]},
                  {"name": "picks", "op": "FloorMod", "input": ["far", "rows"]}]
        picks = [dict(node, device="/cpu:0") for node in picks]
        # In a variable, so that they lie on the GPU: the sum of numbers that fit in 64 bits.
        picks += [{"name": "wide", "op": "Cast", "input": ["picks"], "attr": {"DstT": "int64"}, "device": "/cpu:0"},
                  {"name": "at", "op": "VariableV2", "attr": {"dtype": "int64", "shape": [rows]}}, {"name": "at/init", "op": "Assign", "input": ["at", "wide"]}]
        nodes = variable("a", "bfloat16", (rows, 128)) + picks + repeated({"op": "GatherV2", "input": ["a", "at", "zero"]}, 10)
        return 2 * rows * 128 * 2 / (self.run(nodes, ["a/init", "at/init"]) / 10) / 1e3

    def max_pool_grad(self):
        """Windows of 3 x 3 at every other pixel: the image and its gradient once, what comes in twice."""
        n, size, c = (2, 8, 8) if self.small else (64, 112, 64)
        attrs = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
        nodes = variable("x", "bfloat16", (n, size, size, c)) + variable("dy", "bfloat16", (n, size // 2, size // 2, c))
        us = self.run(nodes + repeated({"op": "MaxPoolGrad", "input": ["x", "dy", "dy"], "attr": attrs}, 10), ["x/init", "dy/init"]) / 10
        return n * size * size * c * 2 * 2.5 / us / 1e3

    def adam(self):
        """Three variables and a gradient are read, three written."""
        n = 1 << (12 if self.small else 26)
        names = ["v", "m", "s", "g"]
        nodes = [node for name in names for node in variable(name, "float", (n,))]
        nodes += [{"name": "c", "op": "Const", "attr": {"value": 0.5}}, {"name": "y", "op": "ApplyAdam", "input": ["v", "m", "s", "c", "c", "c", "c", "c", "c", "g"]},
                  {"name": "all", "op": "NoOp", "input": ["^y"]}]
        return 7 * n * 4 / self.run(nodes, [f"{name}/init" for name in names]) / 1e3

    def overlap(self, inwards):
        """What a copy and products that have nothing to do with it take, by the longer of the two."""
        n, m = (1 << 12, 32) if self.small else (1 << 27, 8192)
        here, there = ("/cpu:0", "/gpu:0") if inwards else ("/gpu:0", "/cpu:0")
        copied = [dict(node, device=here) for node in variable("a", "float", (n,))] + [{"name": "y", "op": "Neg" if inwards else "Identity", "input": ["a"], "device": there}]
        product = variable("b", "bfloat16", (m, m)) + [{"name": f"p{i}", "op": "MatMul", "input": ["b", "b"]} for i in range(8)]

        def step(nodes, ends, init):
            return self.run(nodes + [{"name": "all", "op": "NoOp", "input": [f"^{e}" for e in ends]}], init)
        products = [f"p{i}" for i in range(8)]
        alone = step(copied, ["y"], ["a/init"]), step(product, products, ["b/init"])
        return step(copied + product, ["y", *products], ["a/init", "b/init"]) / max(alone)

    def chains(self, count, length, size, flags):
        """Microseconds of so many chains of additions, each from a variable of its own. Every node has a launch."""
        nodes, init, ends = [], [], []
        for c in range(count):
            nodes += variable(f"a{c}", "float", (size,))
            nodes += [{"name": f"y{c}_{i}", "op": "AddV2", "input": [f"y{c}_{i - 1}" if i else f"a{c}", f"a{c}"]} for i in range(length)]
            init.append(f"a{c}/init")
            ends.append(f"^y{c}_{length - 1}")
        return self.run(nodes + [{"name": "all", "op": "NoOp", "input": ends}], init, ["--gpu-fuse", "never", *flags])

    def chain(self, flags):
        """Microseconds per node of one long chain."""
        length = 100 if self.small else 1000
        return self.chains(1, length, 1024, flags) / length

    def branches(self):
        """What four equal branches of a recorded step take, by what one takes."""
        flags = ["--gpu-exec", "graph"]
        return self.chains(4, 100, 1024, flags) / self.chains(1, 100, 1024, flags)

    def elementwise_chain(self):
        """Microseconds of x = tanh(x) + x, four times."""
        nodes = variable("x0", "float", (1 << (12 if self.small else 28),))
        for i in range(4):
            nodes += [{"name": f"t{i}", "op": "Tanh", "input": [f"x{i}"]}, {"name": f"x{i + 1}", "op": "AddV2", "input": [f"t{i}", f"x{i}"]}]
        # Somebody reads the result, or it would not have to be written.
        begin = [{"name": name, "op": "Const", "attr": {"dtype": "int32", "value": [value]}} for name, value in (("from", 0), ("one", 1))]
        nodes += begin + [{"name": "some", "op": "Slice", "input": ["x4", "from", "one"]}]
        return self.run(nodes + [{"name": "all", "op": "NoOp", "input": ["^some"]}], ["x0/init"])

    def copy(self, source, target):
        """GB/s from device to device, of a variable that is read in every step."""
        n = 1 << (12 if self.small else 28)
        nodes = [dict(node, device=source) for node in variable("a", "float", (n,))]
        nodes += [{"name": "y", "op": "Neg" if "gpu" in target else "Identity", "input": ["a"], "device": target}, {"name": "all", "op": "NoOp", "input": ["^y"]}]
        return 4 * n / self.run(nodes, ["a/init"]) / 1e3

    def start_ms(self, op="AddV2"):
        """A process that adds or multiplies two small matrices on the GPU."""
        graph = {"node": [{"name": "c", "op": op, "input": ["a", "a"], "device": "/gpu:0"},
                          {"name": "a", "op": "Const", "attr": {"value": [[1.5, 2], [3, 4]]}}], "fetch": ["c"]}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(graph, f)
            f.flush()
            return process_ms([self.binary, "run", f.name, "-q"])


METRICS = {
    "gemm_bf16_tflops": lambda b: b.gemm("bfloat16"),
    "gemm_tf32_tflops": lambda b: b.gemm("float", ["--matmul-precision", "tf32"]),
    "gemm_f32_tflops": lambda b: b.gemm("float"),
    "gemm512_us": lambda b: b.gemm_small(),
    "add_f32_gb_s": lambda b: b.elementwise("AddV2", "float", 2),
    "add_bf16_gb_s": lambda b: b.elementwise("AddV2", "bfloat16", 2),
    "exp_f32_gb_s": lambda b: b.elementwise("Exp", "float", 1),
    "row_broadcast_gb_s": lambda b: b.broadcast(True),
    "column_broadcast_gb_s": lambda b: b.broadcast(False),
    "transpose_gb_s": lambda b: b.transpose(),
    "sum_gb_s": lambda b: b.total(),
    "softmax_bf16_gb_s": lambda b: b.softmax(),
    "conv_bf16_tflops": lambda b: b.conv(),
    "eager_node_us": lambda b: b.chain(["--gpu-exec", "eager"]),
    "replay_node_us": lambda b: b.chain(["--gpu-exec", "graph"]),
    "branches_ratio": lambda b: b.branches(),
    "chain8_us": lambda b: b.elementwise_chain(),
    "h2d_gb_s": lambda b: b.copy("/cpu:0", "/gpu:0"),
    "d2h_gb_s": lambda b: b.copy("/gpu:0", "/cpu:0"),
    "batch_norm_bf16_gb_s": lambda b: b.batch_norm(),
    "bias_bf16_gb_s": lambda b: b.bias(),
    "cast_bf16_gb_s": lambda b: b.cast(),
    "gather_bf16_gb_s": lambda b: b.gather(),
    "max_pool_grad_bf16_gb_s": lambda b: b.max_pool_grad(),
    "adam_f32_gb_s": lambda b: b.adam(),
    "h2d_beside_compute_ratio": lambda b: b.overlap(True),
    "d2h_beside_compute_ratio": lambda b: b.overlap(False),
    "bare_start_ms": lambda b: process_ms(b.bare.split()),
    "start_ms": lambda b: b.start_ms(),
    "matmul_start_ms": lambda b: b.start_ms("MatMul"),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--bare", default="")
    parser.add_argument("metrics", nargs="*")
    args = parser.parse_args()
    bench = Bench(os.path.abspath(args.binary), args.small, args.bare)
    results, launched = {}, {}
    for name, measure in METRICS.items():
        if args.metrics and name not in args.metrics or name == "bare_start_ms" and not args.bare:
            continue
        bench.launched.clear()
        try:
            results[name] = round(measure(bench), 3)
        except (RuntimeError, subprocess.SubprocessError, ValueError) as error:
            results[name] = None
            print(f"{name}: {error}", file=sys.stderr)
        if bench.launched:
            launched[name] = " and ".join(sorted(bench.launched))
        print(name, results[name], launched.get(name, ""), flush=True)
        with open(args.out, "w") as f:
            json.dump(results | {"launched": launched}, f)


main()
