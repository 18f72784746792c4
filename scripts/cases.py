"""What the scripts share that run recorded or made-up cases through the binary: where things are, reading the cases, one
process for many graphs, and numbers and arrays without NumPy.
"""
import argparse
import json
import lzma
import math
import os
import pathlib
import shlex
import struct
import subprocess
import zipfile

TOP = pathlib.Path(__file__).resolve().parent.parent
NPY_CODES = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q"}


def argument_parser(doc, flags=True, jobs=None):
    """The options that all of them take; `flags`: further ones of `emplace`, see flags_of(); `jobs`: so many processes at once, unless
    --jobs says otherwise."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=os.path.abspath, default=str(TOP / "build/emplace"))
    if flags:
        parser.add_argument("--flags", type=shlex.split, default=[], help="further flags of emplace, in one word")
    if jobs:
        parser.add_argument("--jobs", type=int, default=jobs, help="so many processes at once")
    return parser


def read_cases(*paths):
    """The cases of these files, a JSON document a line, compressed with xz or not."""
    cases = []
    for path in paths:
        with (lzma.open if str(path).endswith(".xz") else open)(path, "rt") as lines:
            cases += [json.loads(line) for line in lines]
    return cases


def recorded(room):
    """The files of cases in tests/data/ROOM."""
    return sorted(TOP.glob(f"tests/data/{room}/*.jsonl.xz"))


def in_batches(cases, size):
    return [cases[i:i + size] for i in range(0, len(cases), size)]


def run_graphs(binary, paths, flags, timeout=600):
    """The finished process of `emplace run` over these files, and its document for each that it came to, by path."""
    command = [binary, "run", "--format", "json", "--keep-going", "-q", *flags, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout)
    documents = {}
    for line in done.stdout.split("\n"):
        if line.strip():
            try:
                document = json.loads(line)
            except ValueError:  # cut short by a crash
                break
            documents[document["graph"]["file"]] = document
    return done, documents


def used_gpu(document):
    """Did anything of this run lie in a GPU's memory?"""
    return any("GPU" in peak["device"] and peak["bytes"] for peak in (document.get("summary") or {}).get("peak", []))


def number(v):
    """A number of a document, where NaN and infinities are text."""
    return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}[v] if isinstance(v, str) else v


def read_npy(data):
    """The elements of a .npy file's bytes, in its order."""
    length = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + length])  # a dict literal that emplace wrote
    code = NPY_CODES[header["descr"]]
    return list(struct.unpack(f"<{(len(data) - 10 - length) // struct.calcsize(code)}{code}", data[10 + length:]))


def read_npz(path):
    """name -> elements."""
    with zipfile.ZipFile(path) as archive:
        return {member[:-4]: read_npy(archive.read(member)) for member in archive.namelist()}


def write_npy(path, shape, values):
    """float32."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values))


def report(what, total, failures, show=20):
    """Prints the failures, (name, why) each, and the closing line. Returns the exit code."""
    for name, why in failures[:show]:
        print(f"--- {name}: {why}")
    print(f"{what}: {total - len(failures)} passed, {len(failures)} failed")
    return 1 if failures or not total else 0
