"""The metrics of bench.py measured with PyTorch, under the same names. Prints a line of JSON after each, with all so far; {} if
there is no PyTorch or GPU."""
import json
import sys

try:
    import torch
except ImportError:
    sys.exit(print("{}"))
if not torch.cuda.is_available():
    sys.exit(print("{}"))


def microseconds(call, times=10):
    for _ in range(3):
        call()
    samples = []
    for _ in range(20):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(times):
            call()
        end.record()
        end.synchronize()
        samples.append(begin.elapsed_time(end) * 1e3 / times)
    return sorted(samples)[len(samples) // 2]


def gemm(dtype, tf32=False):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    a, b = (torch.rand(8192, 8192, device="cuda", dtype=dtype) for _ in range(2))
    return 2 * 8192 ** 3 / microseconds(lambda: torch.mm(a, b), 4) / 1e6


def replayed(body):
    """Microseconds of one replay of what body() enqueues."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            body()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        body()
    return microseconds(graph.replay, 1)


def gemm512():
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b = (torch.rand(512, 512, device="cuda") for _ in range(2))
    return replayed(lambda: [torch.mm(a, b) for _ in range(100)]) / 100


def chain():
    a = torch.rand(1024, device="cuda")
    y = a
    for _ in range(1000):
        y = y + a
    return y


def conv():
    x = torch.rand(64, 64, 56, 56, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    w = torch.rand(64, 64, 3, 3, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    return 2 * 64 * 56 * 56 * 9 * 64 * 64 / microseconds(lambda: torch.nn.functional.conv2d(x, w, padding=1)) / 1e6


def gb_s(call, count):
    return count / microseconds(call) / 1e3


def elements(count):
    return (torch.rand(1 << 28, device="cuda") for _ in range(count))


def stream(op, operands):
    inputs = list(elements(operands))
    return gb_s(lambda: op(*inputs), 4 * (1 << 28) * (operands + (op is not torch.sum)))


METRICS = {
    "gemm_bf16_tflops": lambda: gemm(torch.bfloat16), "gemm_tf32_tflops": lambda: gemm(torch.float32, True), "gemm_f32_tflops": lambda: gemm(torch.float32),
    "gemm512_us": gemm512, "conv_bf16_tflops": conv, "eager_node_us": lambda: microseconds(chain, 1) / 1000, "replay_node_us": lambda: replayed(chain) / 1000,
    "add_f32_gb_s": lambda: stream(torch.add, 2), "exp_f32_gb_s": lambda: stream(torch.exp, 1), "sum_gb_s": lambda: stream(torch.sum, 1),
}
results = {}
for name, measure in METRICS.items():
    try:
        results[name] = round(measure(), 3)
    except RuntimeError as error:  # of CUDA, too
        print(f"{name}: {error}", file=sys.stderr)
    print(json.dumps(results), flush=True)
