#!/usr/bin/env python3
"""Everything that a run of scripts/gpu-check has found out so far, as one JSON object: what each of its files holds.

  tests/gpu/all_results.py FOLDER
"""
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
found = {}
for name in ("summary", "devices", "hardware", "cudnn_card", "limits", "bench", "torch", "jax"):
    try:
        text = (folder / f"{name}.json").read_text().strip()
    except OSError:
        continue
    for part in (text, *reversed(text.splitlines())):  # torch.json has a line after each metric, with all so far
        try:
            found[name] = json.loads(part)
            break
        except ValueError:
            pass
# What the steps said last: how many cases passed, what was recorded, which libraries served.
found["said"] = {log.stem: log.read_text(errors="replace").splitlines()[-6:] for log in sorted((folder / "logs").glob("*.log"))}
print(json.dumps(found, indent=1))
