#!/usr/bin/env python3
"""The table: each metric beside its yardstick of the same run, and the ratio that is wanted.

  tests/gpu/ratios.py FOLDER     reads bench.json, limits.json, torch.json
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
    ("eager_node_us", "torch", 0.6, "most"), ("replay_node_us", "torch", 1.05, "most"),
]


def read(folder, name):
    try:
        return json.loads((folder / name).read_text() or "{}")
    except (OSError, ValueError):
        return {}


def main():
    folder = pathlib.Path(sys.argv[1])
    ours, limits, torch = (read(folder, f"{n}.json") for n in ("bench", "limits", "torch"))
    print(f"{'metric':24} {'emplace':>12} {'yardstick':>12} {'ratio':>8}   wanted")
    for metric, yardstick, wanted, sense in ROWS:
        value = ours.get(metric)
        base = torch.get(metric) if yardstick == "torch" else limits.get(yardstick)
        ratio = value / base if value and base else None
        verdict = "" if ratio is None else "ok" if (ratio >= wanted if sense == "least" else ratio <= wanted) else "MISSED"
        shown = [f"{x:.3f}" if x is not None else "-" for x in (value, base, ratio)]
        print(f"{metric:24} {shown[0]:>12} {shown[1]:>12} {shown[2]:>8}   {'>=' if sense == 'least' else '<='} {wanted} of {yardstick} {verdict}")
    start, context = ours.get("start_ms"), limits.get("context_ms")
    if start and context:
        print(f"{'start_ms':24} {start:12.3f} {context:12.3f} {start - context:8.3f}   <= 15 ms over a bare context")


main()
