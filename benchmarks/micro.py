"""Single operators: time, rate, and the rate as a share of what this machine was measured to do.

Products and convolutions count multiplications and additions, against multiply-adds in registers.
What is bound by memory counts each input and output once, against a C loop that reads and writes as
many bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import Case, Options, shown, table
from measure import ask
from speed import HEADS

from relay2relax.backends.c import peak

MICRO_PEERS = ("c", "onnxruntime", "pytorch")
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Micro:
    """A program of a few operators.

    ``weights`` are bound. ``operations`` is 0 where memory is the limit.
    """

    body: str
    inputs: Mapping[str, Sequence[int]]
    weights: Mapping[str, Sequence[int]]
    operations: int = 0
    moved: int = 0


def _dense(rows: int, reduced: int, columns: int) -> Micro:
    body = f"nn.dense(%x, %w, units={columns})"
    return Micro(body, {"x": (rows, reduced)}, {"w": (columns, reduced)}, 2 * rows * reduced * columns)


def _convolution(channels: int, filters: int, extent: int, kernel: int, groups: int = 1, stride: int = 1) -> Micro:
    side = kernel // 2
    body = (
        f"nn.conv2d(%x, %w, strides=[{stride}, {stride}], padding=[{side}, {side}, {side}, {side}], groups={groups}, "
        f"channels={filters}, kernel_size=[{kernel}, {kernel}])"
    )
    weights = (filters, channels // groups, kernel, kernel)
    results = (extent // stride) ** 2
    return Micro(body, {"x": (1, channels, extent, extent)}, {"w": weights}, 2 * math.prod(weights) * results)


def _scaled(plain: Micro, channels: int) -> Micro:
    """Return a convolution with what a batch norm and a relu make of it."""
    body = f"nn.relu(add(multiply(subtract({plain.body}, %m), %s), %b))"
    weights = {**plain.weights, **dict.fromkeys("msb", (channels, 1, 1))}
    return Micro(body, plain.inputs, weights, plain.operations)


def _mapped(body: str, shape: Sequence[int], weights: Sequence[str] = ()) -> Micro:
    moved = 2 * FLOAT_BYTES * math.prod(shape)
    return Micro(body, {"x": shape}, dict.fromkeys(weights, shape[-1:]), moved=moved)


CASES: dict[str, Micro] = {
    "matmul 256³": _dense(256, 256, 256),
    "matmul 512³": _dense(512, 512, 512),
    "matmul 1024³": _dense(1024, 1024, 1024),
    "matmul 128×256×1024": _dense(128, 256, 1024),
    "matmul 1×1024×1024": _dense(1, 1024, 1024),
    "batch matmul 12×128×64×128": Micro(
        "nn.batch_matmul(%x, %y, transpose_b=True)",
        {"x": (12, 128, 64), "y": (12, 128, 64)},
        {},
        2 * 12 * 128 * 64 * 128,
    ),
    "conv 3×3 64→64 at 56²": _convolution(64, 64, 56, 3),
    "conv 3×3 256→256 at 14²": _convolution(256, 256, 14, 3),
    "conv 1×1 64→256 at 56²": _convolution(64, 256, 56, 1),
    "conv 1×1 512→512 at 14²": _convolution(512, 512, 14, 1),
    "conv 1×1 256→256 at 8², scaled": _scaled(_convolution(256, 256, 8, 1), 256),
    "depthwise 3×3 144 at 56²": _convolution(144, 144, 56, 3, 144),
    "softmax 1536×128": _mapped("nn.softmax(%x)", (1536, 128)),
    "softmax 4096×1000": _mapped("nn.softmax(%x)", (4096, 1000)),
    "layer norm 128×256": _mapped("nn.layer_norm(%x, %g, %b)", (128, 256), ("g", "b")),
    "layer norm 2048×1024": _mapped("nn.layer_norm(%x, %g, %b)", (2048, 1024), ("g", "b")),
    "relu(x·a + b) 256×1024": _mapped("nn.relu(add(multiply(%x, %a), %b))", (256, 1024), ("a", "b")),
    "relu(x·a + b) 4096×1024": _mapped("nn.relu(add(multiply(%x, %a), %b))", (4096, 1024), ("a", "b")),
    "sigmoid(tanh(x)·a + x) 4096×1024": _mapped("sigmoid(add(multiply(tanh(%x), %a), %x))", (4096, 1024), ("a",)),
}


def _resnet_50() -> Iterator[tuple[int, int, int, int, int]]:
    """Yield channels, filters, extent, kernel and stride of each convolution of ResNet-50, once."""
    yield 3, 64, 224, 7, 2
    given = 64
    for width, extent in ((64, 56), (128, 28), (256, 14), (512, 7)):
        stride = 1 if width == 64 else 2
        yield given, width, extent * stride, 1, 1
        yield width, width, extent * stride, 3, stride
        yield given, 4 * width, extent * stride, 1, stride
        yield width, 4 * width, extent, 1, 1
        yield 4 * width, width, extent, 1, 1
        if stride == 2:
            yield width, width, extent, 3, 1
        given = 4 * width


# Products and convolutions of which the least share is asked.
LARGE: dict[str, Micro] = {
    **{f"matmul {size}³": _dense(size, size, size) for size in (256, 512, 1024, 2048)},
    **{
        f"conv {kernel}×{kernel} {channels}→{filters} at {extent}²"
        + ("" if stride == 1 else f" by {stride}"): _convolution(channels, filters, extent, kernel, 1, stride)
        for channels, filters, extent, kernel, stride in _resnet_50()
    },
}


def case(name: str) -> Case:
    """Return one of ``CASES`` or ``LARGE`` with arguments."""
    chosen = CASES.get(name) or LARGE[name]
    shapes = {**chosen.inputs, **chosen.weights}
    params = ", ".join(f"%{one}: Tensor[({', '.join(map(str, shape))},), float32]" for one, shape in shapes.items())
    text = f'#[version = "0.0.5"]\ndef @main({params.replace(",)", ")")}) {{\n  {chosen.body}\n}}\n'
    draws = np.random.default_rng(0)
    arguments = [draws.standard_normal(shape).astype(np.float32) for shape in shapes.values()]
    return Case(name, text, list(shapes), arguments, [one in chosen.weights for one in shapes])


def run(options: Options) -> dict[str, Any]:
    """Print milliseconds, rates and shares of every program for everybody."""
    names = [name for name in CASES if options.wants(name)]
    peers = [one for one in MICRO_PEERS if not options.peers or one in options.peers]
    if not names or not peers:
        return {}
    flops = peak.peak_flops()
    far = peak.bandwidth(512 << 20)
    print(f"\nmeasured: {flops / 1e9:.0f} GFLOP/s of multiply-adds, {far / 1e9:.1f} GB/s read and written in memory")
    limit = options.limit * len(names) / 4
    found = {peer: ask(peer, names, options.seconds / 2, limit) for peer in peers}
    rows = []
    results: dict[str, dict[str, Any]] = {}
    for name in names:
        chosen = CASES[name]
        work = chosen.operations or chosen.moved
        most = flops if chosen.operations else peak.bandwidth(chosen.moved)
        cells = []
        results[name] = {"work": work, "most per second": most}
        for peer in peers:
            seconds = found[peer][name].get("run")
            results[name][peer] = found[peer][name]
            if seconds:
                cells += [shown(seconds, 1e3), shown(work / seconds, 1e-9), f"{work / seconds / most:.0%}"]
            else:
                cells += 3 * ["–"]
        unit = "GFLOP/s" if chosen.operations else "GB/s"
        rows.append([name, unit, shown(most, 1e-9), *cells])
    head = ["program", "unit", "most", *(one for peer in peers for one in (f"{HEADS[peer]} ms", "rate", "share"))]
    table("Single operators: milliseconds, rate, and share of the most that was measured", head, rows)
    failed = {f"  {peer}: {one['failed']}": None for peer in peers for one in found[peer].values() if "failed" in one}
    if failed:
        print("\nnot measured, and why:", *failed, sep="\n")
    return {"peak FLOP/s": flops, "bytes/s in memory": far, "programs": results}
