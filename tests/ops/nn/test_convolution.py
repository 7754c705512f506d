"""Convolutions, against PyTorch, against numbers by hand, and in every layout."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typed import of_type, present, relay_record

from relay2relax.ops import OpError, TensorType
from relay2relax.tir.extent import ANY
from relay2relax.tir.ir.expr import Var

CONV = relay_record("nn.conv2d")
TRANSPOSED = relay_record("nn.conv2d_transpose")
RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


def laid_out(array: np.ndarray, source: str, target: str) -> np.ndarray:
    order = [source.index(letter) for letter in target]
    return np.transpose(array, order)


def t(shape: tuple[Any, ...], dtype: str = "float32") -> TensorType:
    return TensorType(shape, dtype)


@pytest.mark.parametrize(("groups", "channels", "outputs"), [(1, 3, 4), (2, 4, 6), (4, 4, 4), (4, 4, 8), (1, 1, 1)])
@pytest.mark.parametrize(
    ("strides", "padding", "dilation"),
    [((1, 1), (0, 0), (1, 1)), ((2, 1), (1, 2), (1, 1)), ((1, 2), (2, 2), (2, 1)), ((3, 3), (0, 1), (1, 1))],
)
def test_conv2d_agrees_with_pytorch(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    groups: int,
    channels: int,
    outputs: int,
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    torch: ModuleType,
) -> None:
    x, w = normal(5, channels, 9, 8), normal(outputs, channels // groups, 3, 2)
    expected = torch.nn.functional.conv2d(
        torch.tensor(x), torch.tensor(w), None, strides, padding, dilation, groups
    ).numpy()
    attrs = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
    agrees(run_op("nn.conv2d", attrs, x, w, reduction=54, batch=5), expected, 54)


@pytest.mark.parametrize(
    ("data_layout", "kernel_layout", "out_layout"),
    [
        ("NHWC", "HWIO", ""),
        ("NHWC", "HWOI", ""),
        ("NHWC", "OHWI", "NCHW"),
        ("NCHW", "HWIO", "NHWC"),
        ("HWCN", "OIHW", ""),
    ],
)
def test_conv2d_layouts(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    data_layout: str,
    kernel_layout: str,
    out_layout: str,
    torch: ModuleType,
) -> None:
    x, w = normal(2, 4, 6, 5), normal(6, 2, 3, 3)
    expected = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w), padding=1, groups=2).numpy()
    attrs = {
        "padding": (1, 1), "groups": 2, "channels": 6, "kernel_size": (3, 3),
        "data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout,
    }  # fmt: skip
    actual = run_op(
        "nn.conv2d", attrs, laid_out(x, "NCHW", data_layout), laid_out(w, "OIHW", kernel_layout), reduction=18
    )
    agrees(actual, laid_out(expected, "NCHW", out_layout or data_layout), 18)


def test_conv2d_with_split_channels(run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType) -> None:
    x, w = normal(2, 8, 6, 5), normal(12, 8, 3, 3)
    expected = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w)).numpy()
    attrs = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i6o", "out_layout": "NCHW6c", "channels": 12}
    x4 = x.reshape(2, 2, 4, 6, 5).transpose(0, 1, 3, 4, 2)
    w46 = w.reshape(2, 6, 2, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1)
    actual = run_op("nn.conv2d", attrs, x4, w46, reduction=72)
    agrees(actual, expected.reshape(2, 2, 6, 4, 3).transpose(0, 1, 3, 4, 2), 72)


@pytest.mark.parametrize("kernel_layout", ["OIHW", "HWOI", "HWIO"])
def test_depthwise_kernel_with_multiplier(
    run_op: Callable[..., Any], agrees: Callable[..., None], kernel_layout: str, torch: ModuleType
) -> None:
    """A kernel (channels, multiplier): output ``c * multiplier + m`` is channel ``c`` under kernel
    ``[c, m]``.
    """
    x, w = normal(2, 4, 6, 5), normal(4, 2, 3, 3)
    expected = torch.nn.functional.conv2d(
        torch.tensor(x), torch.tensor(w.reshape(8, 1, 3, 3)), padding=1, groups=4
    ).numpy()
    attrs = {
        "padding": (1, 1), "groups": 4, "channels": 8, "kernel_size": (3, 3),
        "data_layout": "NHWC", "kernel_layout": kernel_layout,
    }  # fmt: skip
    actual = run_op("nn.conv2d", attrs, laid_out(x, "NCHW", "NHWC"), laid_out(w, "OIHW", kernel_layout), reduction=9)
    agrees(actual, laid_out(expected, "NCHW", "NHWC"), 9)


def test_padding_in_one_two_or_four_values(
    run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType
) -> None:
    x, w = normal(1, 2, 5, 6), normal(3, 2, 3, 3)
    for padding, sides in [((1,), (1, 1, 1, 1)), ((1, 2), (1, 2, 1, 2)), ((1, 0, 2, 3), (1, 0, 2, 3))]:
        top, left, bottom, right = sides
        padded = torch.nn.functional.pad(torch.tensor(x), (left, right, top, bottom))
        agrees(
            run_op("nn.conv2d", {"padding": padding}, x, w, reduction=18),
            torch.nn.functional.conv2d(padded, torch.tensor(w)),
            18,
        )


def test_integers_are_summed_in_out_dtype(run_op: Callable[..., Any]) -> None:
    x, w = np.full((1, 2, 2, 2), 100, np.int8), np.full((1, 2, 2, 2), 100, np.int8)
    assert run_op("nn.conv2d", {"out_dtype": "int32"}, x, w).tolist() == [[[[80000]]]]
    x = np.full((1, 2, 2, 2), 200, np.uint8)
    assert run_op("nn.conv2d", {"out_dtype": "int32"}, x, -w).tolist() == [[[[-160000]]]]


def test_conv2d_gives_the_same_bits_each_time() -> None:
    x, w = normal(2, 16, 20, 20), normal(32, 16, 3, 3)
    attrs = CONV.attrs(padding=(1, 1))
    first, *others = (of_type(CONV.numpy(attrs, x, w), np.ndarray) for _ in range(4))
    assert all(np.array_equal(first, other) for other in others)


def test_conv2d_types() -> None:
    n = Var("n")
    attrs = CONV.attrs(strides=(2, 2), padding=(1, 1), channels=8, kernel_size=(3, 3))
    w = t((8, 3, 3, 3))
    assert CONV.infer(attrs, t((1, 3, 224, 224)), w) == t((1, 8, 112, 112))
    assert CONV.infer(attrs, t((ANY, 3, ANY, 224)), w) == t((ANY, 8, ANY, 112))
    assert CONV.infer(attrs, t((n, 3, 224, 224)), w) == t((n, 8, 112, 112))
    assert CONV.infer(attrs, t((n, ANY, 224, 224)), w) == t((n, 8, 112, 112))
    summed = CONV.infer(CONV.attrs(out_dtype="int32"), t((1, 3, 4, 4), "int8"), t((8, 3, 3, 3), "int8"))
    assert of_type(summed, TensorType).dtype == "int32"


def test_conv2d_deduces_its_weight() -> None:
    attrs = CONV.attrs(channels=16, kernel_size=(3, 5), kernel_layout="HWIO", data_layout="NHWC", groups=2)
    assert present(CONV.operands)(attrs, (t((1, 8, 8, 4), "float16"), None)) == (
        t((1, 8, 8, 4), "float16"), t((3, 5, 2, 16), "float16"),
    )  # fmt: skip
    assert present(CONV.operands)(CONV.attrs(), (t((1, 4, 8, 8)), None)) == (t((1, 4, 8, 8)), None)
    attrs = TRANSPOSED.attrs(channels=10, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWOI")
    assert present(TRANSPOSED.operands)(attrs, (t((1, 18, 18, 3)), None))[1] == t((3, 3, 10, 3))


@pytest.mark.parametrize(
    ("attrs", "data", "weight", "argument", "message"),
    [
        ({}, (1, 3, 8, 8), (4, 2, 3, 3), 1, "the data has 3 channels, the weight takes 2"),
        ({"channels": 5}, (1, 3, 8, 8), (4, 3, 3, 3), 1, "channels is 5, expected 4"),
        ({"kernel_size": (5, 5)}, (1, 3, 8, 8), (4, 3, 3, 3), 1, "kernel_size"),
        ({}, (3, 8, 8), (4, 3, 3, 3), 0, "3 dimensions, layout NCHW needs 4"),
        ({"groups": 2}, (1, 4, 8, 8), (3, 2, 3, 3), 1, "3 output channels cannot be shared among 2 groups"),
        ({"strides": (0, 1)}, (1, 3, 8, 8), (4, 3, 3, 3), None, r"strides is \[0, 1\], expected at least 1"),
        ({"padding": (1, 2, 3)}, (1, 3, 8, 8), (4, 3, 3, 3), None, "expected 1, 2 or 4 values"),
        ({"data_layout": "NCXY"}, (1, 3, 8, 8), (4, 3, 3, 3), None, 'layout "NCXY"'),
        ({"kernel_layout": "OIHW4x"}, (1, 3, 8, 8), (4, 3, 3, 3), None, 'layout "OIHW4x"'),
        ({}, (1, 3, 2, 8), (4, 3, 9, 3), 0, "a window of 9 elements"),
        ({"out_layout": "NCHW2c"}, (1, 3, 8, 8), (5, 3, 3, 3), None, "cannot split axis C of 5 elements"),
    ],
)
def test_conv2d_refuses(
    attrs: dict[str, Any], data: tuple[int, ...], weight: tuple[int, ...], argument: int | None, message: str
) -> None:
    with pytest.raises(OpError, match=message) as caught:
        CONV.infer(CONV.attrs(**attrs), t(data), t(weight))
    assert caught.value.argument == argument


CASES = list(itertools.product(
    [(1, 3, 4), (2, 4, 6)],
    [((1, 1), (0, 0)), ((2, 2), (1, 1)), ((2, 3), (0, 1))],
    [(0, 0), (1, 2)],
    [(1, 1), (1, 2)],
    [(3, 3), (2, 4)],
))  # fmt: skip


@pytest.mark.parametrize(("counts", "strides_and_extra", "padding", "dilation", "kernel"), CASES)
@pytest.mark.sweep(every=2)
def test_conv2d_transpose_agrees_with_pytorch(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    counts: Any,
    strides_and_extra: Any,
    padding: Any,
    dilation: Any,
    kernel: Any,
    torch: ModuleType,
) -> None:
    (groups, channels, outputs), (strides, extra) = counts, strides_and_extra
    x, w = normal(7, channels, 5, 6), normal(channels, outputs // groups, *kernel)
    expected = torch.nn.functional.conv_transpose2d(
        torch.tensor(x), torch.tensor(w), None, strides, padding, extra, groups, dilation
    ).numpy()
    attrs = {
        "strides": strides, "padding": padding, "output_padding": extra, "dilation": dilation, "groups": groups,
        "channels": outputs, "kernel_size": kernel,
    }  # fmt: skip
    agrees(run_op("nn.conv2d_transpose", attrs, x, w, reduction=36, batch=7), expected, 36)


@pytest.mark.parametrize(
    ("data_layout", "kernel_layout", "out_layout"),
    [("NHWC", "HWOI", ""), ("NCHW", "OIHW", "NHWC"), ("NHWC", "HWIO", "NCHW")],
)
def test_conv2d_transpose_layouts(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    data_layout: str,
    kernel_layout: str,
    out_layout: str,
    torch: ModuleType,
) -> None:
    x, w = normal(2, 4, 5, 6), normal(4, 3, 3, 3)
    expected = torch.nn.functional.conv_transpose2d(torch.tensor(x), torch.tensor(w), stride=2, padding=1).numpy()
    attrs = {
        "strides": (2, 2), "padding": (1, 1), "data_layout": data_layout, "kernel_layout": kernel_layout,
        "out_layout": out_layout,
    }  # fmt: skip
    actual = run_op(
        "nn.conv2d_transpose", attrs,
        laid_out(x, "NCHW", data_layout), laid_out(w, "IOHW", kernel_layout), reduction=36,
    )  # fmt: skip
    agrees(actual, laid_out(expected, "NCHW", out_layout or data_layout), 36)


def test_conv2d_transpose_types() -> None:
    attrs = TRANSPOSED.attrs(strides=(2, 2), padding=(1, 1), output_padding=(1, 1))
    assert TRANSPOSED.infer(attrs, t((ANY, 32, 224, 224)), t((32, 64, 3, 3))) == t((ANY, 64, 448, 448))
    assert TRANSPOSED.infer(attrs, t((1, 32, ANY, 7)), t((32, 64, 3, 3))) == t((1, 64, ANY, 14))
    with pytest.raises(OpError, match="output_padding"):
        TRANSPOSED.infer(TRANSPOSED.attrs(output_padding=(1, 0)), t((1, 2, 4, 4)), t((2, 3, 3, 3)))
    with pytest.raises(OpError, match="the data has 3 channels, the weight takes 2"):
        TRANSPOSED.infer(TRANSPOSED.attrs(), t((1, 3, 4, 4)), t((2, 3, 3, 3)))


def test_symbolic_image(run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType) -> None:
    """Height and width may be symbolic too."""
    x, w = normal(2, 3, 11, 11), normal(4, 3, 3, 3)
    attrs = {"strides": (2, 2), "padding": (1, 1)}
    expected = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w), stride=2, padding=1).numpy()
    agrees(run_op("nn.conv2d", attrs, x, w, reduction=27, batch=11), expected, 27)
    expected = torch.nn.functional.conv_transpose2d(
        torch.tensor(x), torch.tensor(w.transpose(1, 0, 2, 3).copy()), stride=2, padding=1
    )
    agrees(run_op("nn.conv2d_transpose", attrs, x, w.transpose(1, 0, 2, 3), reduction=27, batch=11), expected, 27)


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize(("strides", "padding", "dilation", "groups"), [(1, 0, 1, 1), (2, 1, 2, 2), (3, 2, 1, 4)])
def test_other_ranks_agree_with_pytorch(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    rank: int,
    strides: int,
    padding: int,
    dilation: int,
    groups: int,
    torch: ModuleType,
) -> None:
    x, w = normal(11, 4, *(7, 6, 5)[:rank]), normal(8, 4 // groups, *(3, 2, 2)[:rank])
    convolve = getattr(torch.nn.functional, f"conv{rank}d")
    attrs = {
        "strides": (strides,) * rank, "padding": (padding,) * rank, "dilation": (dilation,) * rank, "groups": groups,
    }  # fmt: skip
    expected = convolve(torch.tensor(x), torch.tensor(w), None, strides, padding, dilation, groups).numpy()
    agrees(run_op(f"nn.conv{rank}d", attrs, x, w, reduction=48, batch=11), expected, 48)


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize(("strides", "padding", "extra", "groups"), [(1, 0, 0, 1), (2, 1, 1, 2), (3, 2, 2, 1)])
def test_other_ranks_transposed_agree_with_pytorch(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    rank: int,
    strides: int,
    padding: int,
    extra: int,
    groups: int,
    torch: ModuleType,
) -> None:
    x, w = normal(5, 4, *(3, 2, 4)[:rank]), normal(4, 3, *(3, 4, 3)[:rank])
    convolve = getattr(torch.nn.functional, f"conv_transpose{rank}d")
    attrs = {
        "strides": (strides,) * rank, "padding": (padding,) * rank, "output_padding": (extra,) * rank,
        "groups": groups,
    }  # fmt: skip
    expected = convolve(torch.tensor(x), torch.tensor(w), None, strides, padding, extra, groups).numpy()
    agrees(run_op(f"nn.conv{rank}d_transpose", attrs, x, w, reduction=96, batch=5), expected, 96)


@pytest.mark.parametrize(
    ("name", "attrs", "shapes"),
    [
        ("nn.conv2d", {}, [(0, 3, 5, 6), (4, 3, 3, 3)]),
        ("nn.conv1d_transpose", {"strides": (2,)}, [(0, 4, 5), (4, 3, 3)]),
        ("nn.conv2d_backward_weight", {"kernel_size": (3, 3)}, [(0, 4, 3, 3), (0, 2, 5, 5)]),
        ("nn.group_norm", {"num_groups": 2}, [(0, 4, 3), (4,), (4,)]),
        ("nn.max_pool2d_grad", {"pool_size": (2, 2), "strides": (2, 2)}, [(0, 2, 3, 3), (0, 2, 6, 6)]),
    ],
)
def test_an_empty_batch_is_ordinary(
    run_op: Callable[..., Any], name: str, attrs: dict[str, Any], shapes: list[tuple[int, ...]]
) -> None:
    value = run_op(name, attrs, *(normal(*shape) for shape in shapes))
    assert not value.any()
