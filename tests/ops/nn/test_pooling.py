"""Pooling, against PyTorch, and where PyTorch differs from TVM against a reference in plain
loops.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typed import of_type, relay_record

from relay2relax.ops import Expanded, OpError, TensorType
from relay2relax.tir.extent import ANY
from relay2relax.tir.ir.expr import Var

MAX = relay_record("nn.max_pool2d")
ADAPTIVE = relay_record("nn.adaptive_avg_pool2d")
GLOBAL = relay_record("nn.global_avg_pool2d")
RANDOM = np.random.default_rng(2)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


def t(shape: tuple[Any, ...], dtype: str = "float32") -> TensorType:
    return TensorType(shape, dtype)


def reference(
    x: np.ndarray,
    kind: str,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilation: tuple[int, ...],
    padding: tuple[int, ...],
    ceil_mode: bool = False,
    include_pad: bool = False,
) -> Any:
    """TVM's pooling of NCHW data, window by window: (elements that count, their maximum or
    mean).
    """
    top, left, bottom, right = padding
    sides = [(top, bottom), (left, right)]
    extents = x.shape[2:]
    out = []
    for e, k, s, d, (before, after) in zip(extents, kernel, strides, dilation, sides, strict=True):
        steps = e + before + after - (k - 1) * d - 1 + (s - 1 if ceil_mode else 0)
        out.append(steps // s + 1)
    result = np.zeros((*x.shape[:2], *out), x.dtype)
    for row, column in itertools.product(*map(range, out)):
        places = [
            [start * s - before + k * d for k in range(size)]
            for start, s, (before, _), d, size in zip((row, column), strides, sides, dilation, kernel, strict=True)
        ]
        real = [[p for p in axis if 0 <= p < e] for axis, e in zip(places, extents, strict=True)]
        explicit = [
            [p for p in axis if -before <= p < e + after]
            for axis, e, (before, after) in zip(places, extents, sides, strict=True)
        ]
        under = x[:, :, real[0]][:, :, :, real[1]]
        if kind == "max":
            lowest = np.finfo(x.dtype).min if x.dtype.kind == "f" else np.iinfo(x.dtype).min
            result[:, :, row, column] = under.max(axis=(2, 3), initial=lowest)
        else:
            counted = explicit if include_pad else real
            count = max(1, len(counted[0]) * len(counted[1]))
            total = under.sum(axis=(2, 3), dtype=x.dtype)
            result[:, :, row, column] = total / count if x.dtype.kind == "f" else np.trunc(total / count)
    return result


WINDOWS = [
    ((2, 2), (2, 2), (1, 1), (0, 0, 0, 0)),
    ((3, 3), (2, 2), (1, 1), (1, 1, 1, 1)),
    ((3, 2), (2, 3), (1, 1), (1, 0, 1, 1)),
    ((2, 3), (1, 2), (2, 2), (1, 1, 0, 2)),
    ((1, 1), (2, 2), (1, 1), (0, 0, 0, 0)),
    ((2, 2), (3, 3), (1, 1), (1, 1, 1, 1)),
]


@pytest.mark.parametrize(("kernel", "strides", "dilation", "padding"), WINDOWS)
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_max_pool(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilation: tuple[int, ...],
    padding: tuple[int, ...],
    ceil_mode: bool,
    layout: str,
) -> None:
    x = normal(9, 3, 7, 8)
    expected = reference(x, "max", kernel, strides, dilation, padding, ceil_mode)
    attrs = {
        "pool_size": kernel, "strides": strides, "dilation": dilation, "padding": padding, "ceil_mode": ceil_mode,
        "layout": layout,
    }  # fmt: skip
    axes = ["NCHW".index(letter) for letter in layout]
    actual = run_op("nn.max_pool2d", attrs, x.transpose(axes), batch=9, exact=True)
    agrees(actual, expected.transpose(axes))


@pytest.mark.parametrize(("kernel", "strides", "dilation", "padding"), WINDOWS)
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("include_pad", [False, True])
def test_avg_pool(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilation: tuple[int, ...],
    padding: tuple[int, ...],
    ceil_mode: bool,
    include_pad: bool,
) -> None:
    x = normal(9, 3, 7, 8)
    expected = reference(x, "avg", kernel, strides, dilation, padding, ceil_mode, include_pad)
    attrs = {
        "pool_size": kernel, "strides": strides, "dilation": dilation, "padding": padding, "ceil_mode": ceil_mode,
        "count_include_pad": include_pad,
    }  # fmt: skip
    agrees(run_op("nn.avg_pool2d", attrs, x, reduction=9, batch=9), expected, 9)


def test_pools_agree_with_pytorch(run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType) -> None:
    x = normal(2, 3, 9, 8)
    attrs = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1)}
    agrees(run_op("nn.max_pool2d", attrs, x), torch.nn.functional.max_pool2d(torch.tensor(x), 3, 2, 1).numpy())
    for include in (False, True):
        expected = torch.nn.functional.avg_pool2d(torch.tensor(x), 3, 2, 1, count_include_pad=include).numpy()
        agrees(run_op("nn.avg_pool2d", {**attrs, "count_include_pad": include}, x, reduction=9), expected, 9)


def test_integer_pools(run_op: Callable[..., Any], agrees: Callable[..., None]) -> None:
    x = RANDOM.integers(-100, 100, (1, 2, 7, 8), np.int32)
    kernel, strides, padding = (3, 2), (2, 2), (1, 1, 1, 1)
    attrs = {"pool_size": kernel, "strides": strides, "padding": padding}
    agrees(run_op("nn.max_pool2d", attrs, x), reference(x, "max", kernel, strides, (1, 1), padding))
    agrees(run_op("nn.avg_pool2d", attrs, x), reference(x, "avg", kernel, strides, (1, 1), padding))


def test_split_channels_are_carried_along(
    run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType
) -> None:
    x = normal(1, 2, 6, 6, 4)
    plain = x.transpose(0, 1, 4, 2, 3).reshape(1, 8, 6, 6)
    expected = (
        torch.nn.functional.max_pool2d(torch.tensor(plain), 3, 2, 1)
        .numpy()
        .reshape(1, 2, 4, 3, 3)
        .transpose(0, 1, 3, 4, 2)
    )
    attrs = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1), "layout": "NCHW4c"}
    agrees(run_op("nn.max_pool2d", attrs, x), expected)
    agrees(run_op("nn.global_max_pool2d", {"layout": "NCHW4c"}, x), x.max(axis=(2, 3), keepdims=True))


@pytest.mark.parametrize(("layout", "axes"), [("NCHW", (2, 3)), ("NHWC", (1, 2))])
def test_global_pools(
    run_op: Callable[..., Any], agrees: Callable[..., None], layout: str, axes: tuple[int, ...]
) -> None:
    x = normal(9, 5, 6, 7)
    attrs = {"layout": layout}
    actual = run_op("nn.global_avg_pool2d", attrs, x, reduction=42, batch=9, exact=True)
    agrees(actual, x.mean(axis=axes, keepdims=True), 42)
    agrees(run_op("nn.global_max_pool2d", attrs, x, batch=9, exact=True), x.max(axis=axes, keepdims=True))


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (3, 4), (6, 8), (5, 7), (7, 9), (2,), ()])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_adaptive_avg_pool(
    run_op: Callable[..., Any], agrees: Callable[..., None], size: tuple[int, ...], layout: str, torch: ModuleType
) -> None:
    x = normal(11, 2, 6, 8)
    target = {0: (6, 8), 1: size * 2, 2: size}[len(size)]
    expected = torch.nn.functional.adaptive_avg_pool2d(torch.tensor(x), target).numpy()
    axes = ["NCHW".index(letter) for letter in layout]
    attrs = {"output_size": size, "layout": layout}
    actual = run_op("nn.adaptive_avg_pool2d", attrs, x.transpose(axes), reduction=48, batch=11)
    agrees(actual, expected.transpose(axes), 48)


def test_adaptive_avg_pool_of_unknown_image(
    run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType
) -> None:
    """Height and width known at run time only: windows are as long as they may be, and guarded."""
    x = normal(1, 2, 7, 7)
    expected = torch.nn.functional.adaptive_avg_pool2d(torch.tensor(x), (3, 5)).numpy()
    agrees(run_op("nn.adaptive_avg_pool2d", {"output_size": (3, 5)}, x, reduction=9, batch=7), expected, 9)


def test_uneven_windows_are_not_left_to_relax(eager: Callable[..., Any]) -> None:
    x = normal(1, 2, 7, 6)
    for size, called in [((7, 3), ["nn.adaptive_avg_pool2d"]), ((3, 3), ["call_tir"])]:
        emit = eager()
        of_type(ADAPTIVE.relax, Expanded).expand(emit, ADAPTIVE.attrs(output_size=size), x)
        assert emit.called == called


def test_types_of_pools() -> None:
    n = Var("n")
    attrs = MAX.attrs(pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    assert MAX.infer(attrs, t((n, 64, 112, 112))) == t((n, 64, 56, 56))
    assert MAX.infer(attrs, t((1, ANY, ANY, 112), "int8")) == t((1, ANY, ANY, 56), "int8")
    assert MAX.infer(MAX.attrs(pool_size=(2, 2), strides=(2, 2), ceil_mode=True), t((1, 1, 5, 6))) == t((1, 1, 3, 3))
    assert GLOBAL.infer(GLOBAL.attrs(layout="NHWC"), t((ANY, ANY, 7, 8))) == t((ANY, 1, 1, 8))
    assert ADAPTIVE.infer(ADAPTIVE.attrs((2, 3), "NHWC"), t((1, 3, 224, 224))) == t((1, 2, 3, 224))


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"pool_size": (2, 2), "layout": "NCXY"}, 'layout "NCXY"'),
        ({"pool_size": (2, 2), "layout": "NCHW4h"}, "split axis"),
        ({"pool_size": (2, 2), "out_layout": "NHWC"}, "keeps the layout"),
        ({"pool_size": (0, 2)}, r"pool_size is \[0, 2\], expected at least 1"),
        ({"pool_size": (2, 2, 2)}, r"pool_size is \[2, 2, 2\], expected 2 values"),
        ({"pool_size": (9, 9)}, "a window of 9 elements"),
    ],
)
def test_refused(attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(OpError, match=message):
        MAX.infer(MAX.attrs(**attrs), t((1, 1, 4, 4)))
    with pytest.raises(OpError, match="3 dimensions"):
        GLOBAL.infer(GLOBAL.attrs(), t((1, 4, 4)))


@pytest.mark.parametrize("rank", [1, 3])
def test_pools_of_other_ranks_agree_with_pytorch(
    run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType, rank: int
) -> None:
    x = normal(11, 2, *(9, 6, 7)[:rank])
    kernel, strides, padding = (3, 2, 3)[:rank], (2, 1, 2)[:rank], (1, 0, 1)[:rank]
    attrs = {"pool_size": kernel, "strides": strides, "padding": padding}
    pool = getattr(torch.nn.functional, f"max_pool{rank}d")
    expected = pool(torch.tensor(x), kernel, strides, padding).numpy()
    agrees(run_op(f"nn.max_pool{rank}d", attrs, x, batch=11), expected)
    pool = getattr(torch.nn.functional, f"avg_pool{rank}d")
    for include_pad in (False, True):
        expected = pool(torch.tensor(x), kernel, strides, padding, count_include_pad=include_pad).numpy()
        given = attrs | {"count_include_pad": include_pad}
        agrees(run_op(f"nn.avg_pool{rank}d", given, x, reduction=18, batch=11), expected, 18)


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(
    ("extents", "size"),
    [((9,), (4,)), ((8,), (2,)), ((7, 6), (1, 1)), ((7, 6), (3, 4)), ((4, 5, 6), (2, 5, 4)), ((4, 4, 2), (2, 2, 1))],
)
def test_adaptive_pools_agree_with_pytorch(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    torch: ModuleType,
    kind: str,
    extents: tuple[int, ...],
    size: tuple[int, ...],
) -> None:
    x, rank = normal(11, 2, *extents), len(extents)
    expected = getattr(torch.nn.functional, f"adaptive_{kind}_pool{rank}d")(torch.tensor(x), size).numpy()
    agrees(run_op(f"nn.adaptive_{kind}_pool{rank}d", {"output_size": size}, x, reduction=36, batch=11), expected, 36)
    wide, axes = -1, (0, *range(2, 2 + rank), 1)
    attrs = {"output_size": size, "layout": "N" + "DHW"[-rank:] + "C"}
    actual = run_op(f"nn.adaptive_{kind}_pool{rank}d", attrs, x.transpose(axes), reduction=36)
    agrees(np.moveaxis(actual, wide, 1), expected, 36)
