#!/usr/bin/env python3
"""The table: each metric beside its yardstick of the same run, and the ratio that is wanted.

  tests/gpu/ratios.py FOLDER     reads bench.json, limits.json, torch.json, jax.json
"""
import json
import pathlib
import sys

# metric, yardstick, wanted ratio, "least" or "most"
ROWS = [
    ("gemm_bf16_tflops", "torch", 0.97, "least"), ("gemm_tf32_tflops", "torch", 0.97, "least"), ("gemm_f32_tflops", "torch", 0.97, "least"),
    ("gemm512_us", "torch", 1.05, "most"), ("add_f32_gb_s", "copy_gb_s", 0.92, "least"), ("add_bf16_gb_s", "copy_gb_s", 0.92, "least"),
    ("exp_f32_gb_s", "copy_gb_s", 0.90, "least"), ("row_broadcast_gb_s", "copy_gb_s", 0.85, "least"),
    ("column_broadcast_gb_s", "copy_gb_s", 0.85, "least"), ("transpose_gb_s", "copy_gb_s", 0.80, "least"),
    ("sum_gb_s", "copy_gb_s", 0.85, "least"), ("softmax_bf16_gb_s", "copy_gb_s", 0.75, "least"), ("conv_bf16_tflops", "torch", 0.95, "least"),
    ("eager_node_us", "torch", 0.6, "most"), ("replay_node_us", "torch", 1.05, "most"), ("chain8_us", "jax", 1.1, "most"),
    ("h2d_gb_s", "h2d_gb_s", 0.95, "least"), ("d2h_gb_s", "d2h_gb_s", 0.95, "least"),
    ("batch_norm_bf16_gb_s", "copy_gb_s", 0.70, "least"), ("bias_bf16_gb_s", "copy_gb_s", 0.85, "least"),
    ("cast_bf16_gb_s", "copy_gb_s", 0.85, "least"), ("gather_bf16_gb_s", "copy_gb_s", 0.80, "least"),
    ("max_pool_grad_bf16_gb_s", "copy_gb_s", 0.60, "least"), ("adam_f32_gb_s", "copy_gb_s", 0.85, "least"),
]


def read(folder, name):
    """The last line that is whole: what was measured until then."""
    try:
        lines = (folder / name).read_text().splitlines()
    except OSError:
        return {}
    for line in reversed(lines):
        try:
            return json.loads(line)
        except ValueError:
            pass
    return {}


def main():
    folder = pathlib.Path(sys.argv[1])
    ours, limits, torch, jax = (read(folder, f"{n}.json") for n in ("bench", "limits", "torch", "jax"))
    launched = ours.get("launched", {})
    print(f"{'metric':25} {'emplace':>12} {'yardstick':>12} {'ratio':>8}   wanted")
    for metric, yardstick, wanted, sense in ROWS:
        value = ours.get(metric)
        base = {"torch": torch, "jax": jax}.get(yardstick, limits).get(metric if yardstick in ("torch", "jax") else yardstick)
        ratio = value / base if value and base else None
        verdict = "" if ratio is None else "ok" if (ratio >= wanted if sense == "least" else ratio <= wanted) else "MISSED"
        shown = [f"{x:.3f}" if x is not None else "-" for x in (value, base, ratio)]
        print(f"{metric:25} {shown[0]:>12} {shown[1]:>12} {shown[2]:>8}   {'>=' if sense == 'least' else '<='} {wanted} of {yardstick} {verdict:6} {launched.get(metric, '')}".rstrip())
    for metric, most, what in (("branches_ratio", 1.2, "four equal branches by one"),
                               ("h2d_beside_compute_ratio", 1.1, "a copy to the GPU beside products, by the longer of them"),
                               ("d2h_beside_compute_ratio", 1.1, "a copy to the host beside products, by the longer of them")):
        value = ours.get(metric)
        print(f"{metric:25} {value if value else '-':>12} {'':>12} {'':>8}   <= {most}: {what} {verdict_of(value, most)}")
    for metric, more in (("start_ms", 15), ("matmul_start_ms", 100)):
        start, bare = ours.get(metric), ours.get("bare_start_ms")
        over = start - bare if start and bare else None
        shown = [f"{x:.3f}" if x is not None else "-" for x in (start, bare, over)]
        print(f"{metric:25} {shown[0]:>12} {shown[1]:>12} {shown[2]:>8}   <= {more} ms over a process with a bare context {verdict_of(over, more)}")


def verdict_of(value, most):
    return "" if value is None else "ok" if value <= most else "MISSED"


main()
