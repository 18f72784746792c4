#!/usr/bin/env python3
"""Times emplace on a GPU: a graph per metric, operands random and on the device, several equal nodes per step, the
median step divided by them. Prints one JSON object: metric -> value (GB/s, TFLOP/s, microseconds).

  tests/gpu/bench.py --binary build/emplace [--small] [METRIC...]

--small: sizes for trying the script out on any device.
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


def run(binary, nodes, init, steps=20, flags=(), target="all"):
    graph = {"node": [dict(n, device="/gpu:0") if n["op"] not in ("NoOp",) else n for n in nodes], "init": init, "target": [target]}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(graph, f)
        f.flush()
        command = [binary, "run", f.name, "--format", "json", "-q", "--warmup", "3", "--steps", str(steps), "--allow-soft-placement", *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    document = json.loads(done.stdout or "{}")
    if done.returncode != 0 or document.get("error"):
        raise RuntimeError(str(document.get("error") or done.stderr)[-400:])
    return document["timing"]["step_us"]["p50"]


class Bench:
    def __init__(self, binary, small):
        self.binary, self.small = binary, small

    def op(self, node, operands, times=10, steps=20, flags=()):
        """Microseconds of one node."""
        nodes = [n for name, dtype, shape in operands for n in variable(name, dtype, shape)] + repeated(node, times)
        return run(self.binary, nodes, [f"{name}/init" for name, _, _ in operands], steps, flags) / times

    def gemm(self, dtype, flags=()):
        n = 256 if self.small else 8192
        node = {"op": "MatMul", "input": ["a", "b"]}
        return 2 * n ** 3 / self.op(node, [("a", dtype, (n, n)), ("b", dtype, (n, n))], 4, flags=flags) / 1e6

    def gemm_small(self):
        node = {"op": "MatMul", "input": ["a", "b"]}
        return self.op(node, [("a", "float", (512, 512)), ("b", "float", (512, 512))], 100)

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
        return 2 * n * n * 4 / (run(self.binary, nodes, ["a/init"]) / 10) / 1e3

    def total(self):
        n = 1 << (12 if self.small else 28)
        axes = [{"name": "axes", "op": "Const", "attr": {"dtype": "int32", "value": [0]}}]
        nodes = variable("a", "float", (n,)) + axes + repeated({"op": "Sum", "input": ["a", "axes"]}, 10)
        return n * 4 / (run(self.binary, nodes, ["a/init"]) / 10) / 1e3

    def softmax(self):
        n = 64 if self.small else 8192
        us = self.op({"op": "Softmax", "input": ["a"]}, [("a", "bfloat16", (n, n))])
        return 2 * n * n * 2 / us / 1e3

    def conv(self):
        n, c = (2, 8) if self.small else (64, 64)
        node = {"op": "Conv2D", "input": ["x", "w"], "attr": {"strides": [1, 1, 1, 1], "padding": "SAME"}}
        us = self.op(node, [("x", "bfloat16", (n, 56, 56, c)), ("w", "bfloat16", (3, 3, c, c))])
        return 2 * n * 56 * 56 * 9 * c * c / us / 1e6

    def chain(self, length, size, flags):
        """Microseconds per node of a chain of additions."""
        nodes = variable("a", "float", (size,))
        nodes += [{"name": f"y{i}", "op": "AddV2", "input": [f"y{i - 1}" if i else "a", "a"]} for i in range(length)]
        nodes += [{"name": "all", "op": "NoOp", "input": [f"^y{length - 1}"]}]
        return run(self.binary, nodes, ["a/init"], flags=flags) / length

    def start_ms(self):
        """A process that adds two numbers on the GPU: the median of seven."""
        graph = {"node": [{"name": "c", "op": "AddV2", "input": ["a", "a"], "device": "/gpu:0"},
                          {"name": "a", "op": "Const", "attr": {"value": 1.5}}], "fetch": ["c"]}
        times = []
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(graph, f)
            f.flush()
            for _ in range(7):
                begin = time.perf_counter()
                subprocess.run([self.binary, "run", f.name, "-q"], check=True, capture_output=True, timeout=60)
                times.append((time.perf_counter() - begin) * 1e3)
        return sorted(times)[3]


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
    "eager_node_us": lambda b: b.chain(100 if b.small else 1000, 1024, ["--gpu-exec", "eager"]),
    "replay_node_us": lambda b: b.chain(100 if b.small else 1000, 1024, ["--gpu-exec", "graph"]),
    "start_ms": lambda b: b.start_ms(),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("metrics", nargs="*")
    args = parser.parse_args()
    bench = Bench(os.path.abspath(args.binary), args.small)
    results = {}
    for name, measure in METRICS.items():
        if args.metrics and name not in args.metrics:
            continue
        try:
            results[name] = round(measure(bench), 3)
        except (RuntimeError, subprocess.SubprocessError, ValueError) as error:
            results[name] = None
            print(f"{name}: {error}", file=sys.stderr)
    print(json.dumps(results))


main()
