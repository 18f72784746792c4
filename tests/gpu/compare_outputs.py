#!/usr/bin/env python3
"""Compares the outputs of two runs (emplace run --format json): the largest difference of each, relative to the largest number.

  tests/gpu/compare_outputs.py A B TOLERANCE
"""
import json
import sys


def outputs(path):
    with open(path) as f:
        return {o["name"]: [float(v) for v in o["data"]] for o in json.load(f)["outputs"]}


a, b, tolerance = outputs(sys.argv[1]), outputs(sys.argv[2]), float(sys.argv[3])
wrong = a.keys() != b.keys()
for name in a.keys() & b.keys():
    largest = max(map(abs, b[name]))
    difference = max(abs(x - y) for x, y in zip(a[name], b[name], strict=True)) / largest
    print(f"{name}: {difference:.2e}")
    wrong |= not difference <= tolerance
sys.exit(wrong)
