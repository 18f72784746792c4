"""Part of scripts/bench: whole models, beside TensorFlow and ONNX Runtime: a step, the first one, memory."""
import json
import math
import os
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent

# Of keras.applications, with random weights; small enough for a machine of a few gigabytes.
KERAS = ["ResNet50", "MobileNetV2", "MobileNetV3Small", "EfficientNetB0", "DenseNet121", "InceptionV3", "Xception", "NASNetMobile"]
# Of tests/data/tfjs.
TFJS = ["basic-pitch", "blazeface-front", "facemesh-detection-short", "dense_model"]
ROUNDS = 3
STEPS_S = 0.7  # of a program in a round

BUILD_KERAS = """
import json, sys, tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
tf.keras.utils.set_random_seed(7)
model = getattr(tf.keras.applications, sys.argv[1])(weights=None)
spec = tf.TensorSpec([1, *(size or 224 for size in model.input_shape[1:])], tf.float32, name='x')  # some leave height and width open
frozen = convert_variables_to_constants_v2(tf.function(lambda x: model(x, training=False)).get_concrete_function(spec))
open(sys.argv[2], 'wb').write(frozen.graph.as_graph_def().SerializeToString())
json.dump(spec.shape.as_list(), open(sys.argv[3], 'w'))
"""

# A program that loads a model, tells of its first step, and then for each line that it reads of its fastest one.
PEER = """
import json, os, resource, sys, time, numpy as np
path, feeds, outputs, threads, seconds = sys.argv[1], *map(json.loads, sys.argv[2:])
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
rng = np.random.default_rng(7)
feeds = {name: rng.random(shape, np.float32) for name, shape in feeds.items()}
def say(x): print('\\n' + json.dumps(x), flush=True)
def best():
    least, begin = 1e9, time.perf_counter()
    while time.perf_counter() - begin < seconds or least == 1e9:
        start = time.perf_counter(); step(); least = min(least, time.perf_counter() - start)
    return least * 1e6
LOAD
step()
first = (time.perf_counter() - begin) * 1e3
step()
for line in sys.stdin: say({'us': best(), 'first_ms': first, 'mib': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024})
"""

LOAD_TENSORFLOW = """
import tensorflow.compat.v1 as tf
begin = time.perf_counter()
graph = tf.Graph()
with graph.as_default(): tf.import_graph_def(tf.GraphDef.FromString(open(path, 'rb').read()), name='')
session = tf.Session(graph=graph, config=tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads))
run = session.make_callable([graph.get_tensor_by_name(o + ':0') for o in outputs], feed_list=[graph.get_tensor_by_name(x + ':0') for x in feeds])
step = lambda: run(*feeds.values())
"""

LOAD_ONNX_RUNTIME = """
import onnxruntime
begin = time.perf_counter()
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
feeds = {x + ':0': np.ascontiguousarray(np.moveaxis(v, 3, 1)) if v.ndim == 4 else v for x, v in feeds.items()}
step = lambda: session.run(None, feeds)
"""


def emplace_facts(binary, path, feeds, outputs, threads):
    """Its fastest step, the first one from the file on, and the peak of its memory."""
    def run(steps):
        command = [binary, "run", str(path), "--format", "json", "-q", "--steps", str(steps), "--warmup", "2",
                   "--inter-op-threads", str(threads), "--intra-op-threads", str(threads)]
        for name, shape in feeds.items():
            command += ["--feed", f"{name}={'x'.join(map(str, shape))}xf32=random:7"]
        for name in outputs:
            command += ["--fetch", name]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads]))
        text = process.stdout.read()
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}\n{errors[-2000:]}")
        timing = json.loads(text)["timing"]
        return {"us": timing["step_us"]["min"], "mib": usage.ru_maxrss / 1024,
                "first_ms": timing["load_ms"] + timing["place_ms"] + timing["plan_ms"] + timing["first_step_us"] / 1e3}
    once = run(3)  # many steps are many times to remember
    return once | {"us": run(max(3, int(STEPS_S * 1e6 / once["us"])))["us"]}


class Program:
    """Another program that has loaded a model, and is asked for its fastest step in turn with emplace."""

    def __init__(self, python, load, path, feeds, outputs, threads, seconds=STEPS_S):
        command = [python, "-c", PEER.replace("LOAD", load), str(path), *map(json.dumps, (feeds, outputs, threads, seconds))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"})

    def facts(self):
        """None: it cannot run the model."""
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        return None

    def end(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


def least(rounds):
    """Of facts by name: the least of each; None: there are none."""
    return None if None in rounds else {key: min(r[key] for r in rounds) for key in rounds[0]}


def measure_model(binary, pythons, path, onnx, feeds, outputs, threads):
    """(emplace's facts, theirs by label)."""
    peers = {"TF": (LOAD_TENSORFLOW, path)} | ({"ORT": (LOAD_ONNX_RUNTIME, onnx)} if onnx else {})
    programs = {label: Program(pythons[label], load, file, feeds, outputs, threads) for label, (load, file) in peers.items() if label in pythons}
    rounds = {label: [] for label in ("emplace", *programs)}
    for program in programs.values():
        program.facts()  # loads, and warms up
    for _ in range(ROUNDS):
        rounds["emplace"].append(emplace_facts(binary, path, feeds, outputs, threads))
        for label, program in programs.items():
            rounds[label].append(program.facts())
    for program in programs.values():
        program.end()
    found = {label: least(of) for label, of in rounds.items()}
    return found.pop("emplace"), found


def build_keras(python, name, folder):
    """The model's GraphDef, and the same as ONNX where that can be written; made once a folder."""
    path, onnx, shape = (folder / f"{name}.{kind}" for kind in ("pb", "onnx", "shape.json"))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}}
    if not path.exists() or not shape.exists():
        subprocess.run([python, "-c", BUILD_KERAS, name, str(path), str(shape)], check=True, **quiet)
    if not onnx.exists():
        made = subprocess.run([python, str(TOP / "scripts/graphdef_to_onnx.py"), str(path), "Identity", str(onnx)], **{**quiet, "stderr": subprocess.PIPE}, text=True)
        if made.returncode:
            print(f"{name}: not as ONNX, exit code {made.returncode}: {(made.stderr.strip().splitlines() or ['no reason told'])[-1]}")
    return path, onnx if onnx.exists() else None, {"x": json.loads(shape.read_text())}, ["Identity"]


def build_tfjs(binary, name, folder):
    source = next((TOP / "tests/data/tfjs" / name).glob("*.json"))
    path = folder / f"{name}.pb"
    if not path.exists():
        subprocess.run([binary, "convert", str(source), str(path), "-q"], check=True)
    recorded = source.parent / "golden/meta.json"
    if recorded.exists():
        meta = json.loads(recorded.read_text())
        return path, None, {t["name"]: t["shape"] for t in meta["inputs"]}, [t["name"] for t in meta["outputs"]]
    signature = json.loads(source.read_text())["signature"]
    shapes = {x["name"]: [int(d["size"]) for d in x["tensorShape"]["dim"]] for x in signature["inputs"].values()}
    return (path, None, {name.split(":")[0]: [max(1, d) for d in shape] for name, shape in shapes.items()},
            [y["name"].split(":")[0] for y in signature["outputs"].values()])


def cells(ours, theirs):
    row = [f"{ours['us'] / 1e3:.2f} ms", f"{ours['first_ms']:.0f} ms", f"{ours['mib']:.0f} MiB"]
    for label in ("TF", "ORT"):
        facts = theirs.get(label)
        row += [f"{facts[key] / ours[key]:.2f}x" for key in ("us", "first_ms", "mib")] if facts else ["", "", ""]
    return row


def print_means(all_theirs):
    for label in ("TF", "ORT"):
        ratios = {key: [theirs[label][key] / ours[key] for _, ours, theirs in all_theirs if theirs.get(label)] for key in ("us", "first_ms", "mib")}
        if not ratios["us"]:
            continue
        mean = {key: math.exp(sum(map(math.log, of)) / len(of)) for key, of in ratios.items()}
        behind = ", ".join(f"{name} {theirs[label]['us'] / ours['us']:.2f}" for name, ours, theirs in all_theirs
                           if theirs.get(label) and theirs[label]["us"] < ours["us"])
        print(f"{label}: {len(ratios['us'])} models, geometric means: step {mean['us']:.2f}x ours, first step {mean['first_ms']:.2f}x, "
              f"memory {mean['mib']:.2f}x; slower here: {behind or 'none'}")


def measure_models(binary, pythons, folder, only, threads, print_row):
    """`pythons`: by label, an interpreter that has the program; "TF" must be there."""
    folder.mkdir(parents=True, exist_ok=True)
    print_row("model, batch 1, " + f"{threads} thread" + "s" * (threads > 1), "step", "first step", "peak memory",
              *(f"{label} {what}" for label in ("TF", "ORT") for what in ("step", "first", "memory")))
    found = []
    for name in KERAS + TFJS:
        if only and only.lower() not in name.lower():
            continue
        model = build_keras(pythons["TF"], name, folder) if name in KERAS else build_tfjs(binary, name, folder)
        ours, theirs = measure_model(binary, pythons, *model, threads)
        found.append((name, ours, theirs))
        print_row(name, *cells(ours, theirs))
    print()
    print_means(found)
