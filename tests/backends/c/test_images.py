"""Networks of images in C: what is padded, joined or interleaved is made in place, channels lie
innermost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c.fusion.cost import is_guarded
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.merge_calls import merge_blocks
from relay2relax.backends.c.schedule.schedule import fused
from relay2relax.backends.c.stages import Blocks, Stage
from relay2relax.relax_ir.transform import LegalizeOps
from relay2relax.tir.extent import static
from relay2relax.tir.ir.stmt import PrimFunc

torch = pytest.importorskip("torch")
F = torch.nn.functional
RANDOM = np.random.default_rng(9)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def program(params: str, body: str) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{\n{body}\n}}'))


def stages(module: relay_ir.IRModule, weights: dict[str, np.ndarray]) -> list[Stage]:
    """Return what is left of ``main`` after fusion, without what is computed ahead."""
    merged = merge_blocks(LegalizeOps()(translator.lower_to_tir(module, weights)))
    (func,) = (f for f in merged.module.functions.values() if isinstance(f, PrimFunc))
    program = fused(func, Machine(), frozenset(merged.constants))
    return [s for s in program.stages if isinstance(s, Stage) and s.target not in program.known]


def run(module: relay_ir.IRModule, weights: dict[str, np.ndarray], *data: np.ndarray, bound: bool) -> np.ndarray:
    relax = translator.lower_to_tir(module, weights if bound else None)
    main = backends.VirtualMachine(backends.build(relax, target="c"))["main"]
    return of_type(main(*data) if bound else main(*data, **weights), np.ndarray)


def tensor(array: np.ndarray) -> Any:
    return torch.tensor(array)


TWO = """
  %0 = nn.conv2d(%x, %v, padding=[1, 1, 1, 1]);
  %1 = nn.relu(nn.bias_add(%0, %b));
  %2 = nn.conv2d(%1, %w, strides=[2, 2], padding=[1, 1, 1, 1]);
  %3 = nn.conv2d(%1, %u, strides=[2, 2]);
  add(%2, %3)
"""


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("channels", [8, 24, 40, 5])
@pytest.mark.sweep(every=3)
@pytest.mark.compiler
def test_residual_of_two_convolutions(channels: int, bound: bool) -> None:
    c = channels
    module = program(
        f"%x: Tensor[(2, 3, 9, 11), float32], %v: Tensor[({c}, 3, 3, 3), float32], %b: Tensor[({c}), float32], "
        f"%w: Tensor[({c}, {c}, 3, 3), float32], %u: Tensor[({c}, {c}, 1, 1), float32]",
        TWO,
    )
    x = normal(2, 3, 9, 11)
    weights = {"v": normal(c, 3, 3, 3), "b": normal(c), "w": normal(c, c, 3, 3), "u": normal(c, c, 1, 1)}
    v, b, w, u = map(tensor, weights.values())
    hidden = F.conv2d(tensor(x), v, b, padding=1).relu()
    expected = F.conv2d(hidden, w, stride=2, padding=1) + F.conv2d(hidden, u, stride=2)
    np.testing.assert_allclose(run(module, weights, x, bound=bound), expected, rtol=1e-4, atol=1e-4)


def test_what_is_padded_is_made_in_place() -> None:
    shapes = {"v": (16, 3, 3, 3), "b": (16,), "w": (16, 16, 3, 3), "u": (16, 16, 1, 1)}
    params = ", ".join(f"%{n}: Tensor[{s if len(s) > 1 else '(16)'}, float32]" for n, s in shapes.items())
    module = program(f"%x: Tensor[(2, 3, 9, 11), float32], {params}", TWO)
    found = stages(module, {name: normal(*shape) for name, shape in shapes.items()})
    moving = [s for s in found if s.reduction is None and s.reads()]
    assert len([s for s in found if s.reduction is not None]) == 3
    # Only the input is copied, for it keeps its memory.
    assert [load.name for s in moving for load in s.reads()] == ["x"]
    hidden = next(s for s in found if s.reduction is not None)
    assert [static(e) for e in hidden.target.shape] == [2, 11, 13, 16]


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.compiler
def test_joined_and_padded(bound: bool) -> None:
    module = program(
        "%x: Tensor[(1, 8, 6, 6), float32], %v: Tensor[(16, 8, 3, 3), float32], %w: Tensor[(9, 8, 1, 1), float32], "
        "%u: Tensor[(8, 33, 3, 3), float32]",
        """
  %0 = nn.relu(nn.conv2d(%x, %v, padding=[1, 1, 1, 1]));
  %1 = tanh(nn.conv2d(%x, %w));
  %2 = concatenate((%0, %1, %x), axis=1);
  nn.conv2d(%2, %u, padding=[1, 1, 1, 1])
""",
    )
    x = normal(1, 8, 6, 6)
    weights = {"v": normal(16, 8, 3, 3), "w": normal(9, 8, 1, 1), "u": normal(8, 33, 3, 3)}
    v, w, u = map(tensor, weights.values())
    parts = [F.conv2d(tensor(x), v, padding=1).relu(), F.conv2d(tensor(x), w).tanh(), tensor(x)]
    expected = F.conv2d(torch.cat(parts, 1), u, padding=1)
    np.testing.assert_allclose(run(module, weights, x, bound=bound), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.compiler
def test_what_is_joined_again_and_again_lies_in_one_tensor() -> None:
    """A block of DenseNet: each layer reads all that was made before it."""
    module = program(
        "%x: Tensor[(1, 8, 6, 6), float32], %u: Tensor[(8, 8, 1, 1), float32], %v: Tensor[(4, 8, 3, 3), float32], "
        "%w: Tensor[(4, 12, 3, 3), float32]",
        """
  %0 = nn.conv2d(%x, %u);
  %1 = nn.conv2d(nn.relu(%0), %v, padding=[1, 1, 1, 1]);
  %2 = nn.relu(add(concatenate((%0, %1), axis=1), 1f));
  %3 = nn.conv2d(%2, %w, padding=[1, 1, 1, 1]);
  tanh(multiply(concatenate((%0, %1, %3), axis=1), 2f))
""",
    )
    weights = {"u": normal(8, 8, 1, 1), "v": normal(4, 8, 3, 3), "w": normal(4, 12, 3, 3)}
    found = stages(module, weights)
    assert not [stage for stage in found if is_guarded(stage.value)]
    made = {stage.target for stage in found if stage.reduction is not None}
    assert len(made) == 1
    x = normal(1, 8, 6, 6)
    u, v, w = map(tensor, weights.values())
    first = F.conv2d(tensor(x), u)
    second = F.conv2d(first.relu(), v, padding=1)
    third = F.conv2d((torch.cat([first, second], 1) + 1).relu(), w, padding=1)
    expected = torch.tanh(torch.cat([first, second, third], 1) * 2)
    np.testing.assert_allclose(run(module, weights, x, bound=True), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("stride", "kernel", "padding", "extra", "out"), [
    (2, 4, 1, 0, 16), (2, 3, 1, 1, 24), (2, 2, 0, 0, 3), (3, 5, 2, 1, 16), (1, 3, 1, 0, 10), (2, 4, 1, 0, 2),
])  # fmt: skip
@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.sweep(every=6)
@pytest.mark.compiler
def test_transposed_convolutions(stride: int, kernel: int, padding: int, extra: int, out: int, bound: bool) -> None:
    module = program(
        f"%x: Tensor[(1, 16, 5, 7), float32], %w: Tensor[(16, {out}, {kernel}, {kernel}), float32], "
        f"%b: Tensor[({out}), float32]",
        f"""
  %0 = nn.conv2d_transpose(%x, %w, channels={out}, kernel_size=[{kernel}, {kernel}], strides=[{stride}, {stride}],
                           padding=[{padding}, {padding}, {padding}, {padding}], output_padding=[{extra}, {extra}]);
  nn.relu(nn.bias_add(%0, %b))
""",
    )
    x, weights = normal(1, 16, 5, 7), {"w": normal(16, out, kernel, kernel), "b": normal(out)}
    w, b = map(tensor, weights.values())
    expected = F.conv_transpose2d(tensor(x), w, b, stride, padding, extra).relu()
    np.testing.assert_allclose(run(module, weights, x, bound=bound), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("channels", "stride", "size"), [(24, 1, 7), (48, 2, 14), (10, 1, 9), (64, 2, 5)])
@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.sweep(every=3)
@pytest.mark.compiler
def test_depthwise_between_products(channels: int, stride: int, size: int, bound: bool) -> None:
    c = channels
    module = program(
        f"%x: Tensor[(1, 8, {size}, {size}), float32], %v: Tensor[({c}, 8, 1, 1), float32], "
        f"%d: Tensor[({c}, 1, 3, 3), float32], %w: Tensor[(8, {c}, 1, 1), float32]",
        f"""
  %0 = clip(nn.conv2d(%x, %v), a_min=0f, a_max=6f);
  %1 = nn.conv2d(%0, %d, strides=[{stride}, {stride}], padding=[1, 1, 1, 1], groups={c}, channels={c},
                 kernel_size=[3, 3]);
  nn.conv2d(clip(%1, a_min=0f, a_max=6f), %w)
""",
    )
    x, weights = normal(1, 8, size, size), {"v": normal(c, 8, 1, 1), "d": normal(c, 1, 3, 3), "w": normal(8, c, 1, 1)}
    v, d, w = map(tensor, weights.values())
    hidden = F.conv2d(F.conv2d(tensor(x), v).clamp(0, 6), d, stride=stride, padding=1, groups=c).clamp(0, 6)
    np.testing.assert_allclose(run(module, weights, x, bound=bound), F.conv2d(hidden, w), rtol=1e-4, atol=1e-4)


GROUPED = """
  %0 = nn.relu(nn.conv2d(%x, %v));
  %1 = nn.conv2d(%0, %w, strides=[{stride}, {stride}], padding=[1, 1, 1, 1], groups={groups});
  nn.conv2d(nn.relu(nn.bias_add(%1, %b)), %u)
"""


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize(("groups", "read", "made"), [(2, 16, 32), (3, 24, 16), (4, 4, 8), (24, 1, 1), (16, 1, 2)])
@pytest.mark.sweep(every=3)
@pytest.mark.compiler
def test_groups_between_convolutions(groups: int, read: int, made: int, bound: bool) -> None:
    stride = 1 + groups % 2
    c, d = groups * read, groups * made
    weights = {
        "v": normal(c, 3, 1, 1), "w": normal(d, read, 3, 3), "b": normal(d), "u": normal(5, d, 1, 1)
    }  # fmt: skip
    shapes = {name: f"({', '.join(map(str, value.shape))})" for name, value in weights.items()}
    params = ", ".join(f"%{name}: Tensor[{shape}, float32]" for name, shape in shapes.items())
    module = program(f"%x: Tensor[(2, 3, 7, 9), float32], {params}", GROUPED.format(stride=stride, groups=groups))
    x = normal(2, 3, 7, 9)
    v, w, b, u = map(tensor, weights.values())
    hidden = F.conv2d(F.conv2d(tensor(x), v).relu(), w, b, stride=stride, padding=1, groups=groups).relu()
    np.testing.assert_allclose(run(module, weights, x, bound=bound), F.conv2d(hidden, u), rtol=1e-4, atol=1e-3)


def test_wide_groups_have_an_axis_of_their_own() -> None:
    """Channels are innermost within groups, and nothing divides an index."""
    shapes = {"v": (48, 3, 1, 1), "w": (32, 24, 3, 3), "b": (32,), "u": (5, 32, 1, 1)}
    named = {name: f"({', '.join(map(str, shape))})" for name, shape in shapes.items()}
    params = ", ".join(f"%{name}: Tensor[{shape}, float32]" for name, shape in named.items())
    module = program(f"%x: Tensor[(2, 3, 7, 9), float32], {params}", GROUPED.format(stride=1, groups=2))
    found = stages(module, {name: normal(*shape) for name, shape in shapes.items()})
    (grouped,) = (s for s in found if s.reduction is not None and len(s.reduction.axes) == 3 and len(s.axes) == 5)
    assert [axis.extent.value for axis in grouped.axes] == [2, 7, 9, 2, 16]  # type: ignore[attr-defined]
    assert [extent.value for extent in grouped.target.shape] == [2, 7, 9, 32]  # type: ignore[attr-defined]
    assert not any("//" in repr(expr) for expr in grouped.expressions())


def blocks_of(module: relay_ir.IRModule, weights: dict[str, np.ndarray], machine: Machine) -> list[Blocks]:
    merged = merge_blocks(LegalizeOps()(translator.lower_to_tir(module, weights)))
    (func,) = (f for f in merged.module.functions.values() if isinstance(f, PrimFunc))
    program = fused(func, machine, frozenset(merged.constants), native=True)
    return [stage for stage in program.stages if isinstance(stage, Blocks)]


# Rows and columns, kernel, padding, stride and dilation of a depthwise convolution behind another.
WINDOWS = [
    ((21, 15), (3, 3), (1, 1, 1, 1), (1, 1), (1, 1)),
    ((22, 16), (3, 3), (1, 1, 1, 1), (2, 2), (1, 1)),
    ((23, 9), (5, 5), (2, 2, 2, 2), (2, 1), (1, 1)),
    ((20, 14), (3, 3), (0, 0, 0, 0), (1, 1), (1, 1)),
    ((20, 13), (3, 3), (2, 0, 1, 2), (1, 2), (1, 1)),
    ((19, 14), (3, 1), (2, 1, 2, 0), (1, 1), (2, 1)),
]


@pytest.mark.parametrize(("size", "kernel", "padding", "stride", "dilation"), WINDOWS)
@pytest.mark.sweep(every=3)
@pytest.mark.compiler
def test_depthwise_by_blocks_of_rows(
    size: tuple[int, int],
    kernel: tuple[int, int],
    padding: tuple[int, int, int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Blocks are small, so that there are many, and the last one lies over the one before."""
    monkeypatch.setattr("relay2relax.backends.c.schedule.windows._BLOCK_BYTES", 1 << 13)
    monkeypatch.setattr("relay2relax.backends.c.toolchain.own_caches", lambda: (1 << 15, 1 << 13))
    (height, width), (down, across) = size, kernel
    module = program(
        f"%x: Tensor[(2, 5, {height}, {width}), float32], %v: Tensor[(48, 5, 1, 1), float32], "
        f"%w: Tensor[(48, 1, {down}, {across}), float32]",
        f"""
  %0 = clip(nn.conv2d(%x, %v), a_min=0f, a_max=2f);
  %1 = nn.conv2d(%0, %w, groups=48, strides={list(stride)}, padding={list(padding)}, dilation={list(dilation)});
  nn.relu(%1)
""",
    )
    x, v, w = normal(2, 5, height, width), normal(48, 5, 1, 1), normal(48, 1, down, across)
    weights = {"v": v, "w": w}
    (blocks,) = blocks_of(module, weights, replace(Machine(), cache_bytes=1 << 13))
    assert static(blocks.axes[1].extent) not in (None, 1)
    wide = F.conv2d(tensor(x), tensor(v)).clip(0, 2)
    top, left, bottom, right = padding
    padded = F.pad(wide, (left, right, top, bottom))
    expected = F.conv2d(padded, tensor(w), groups=48, stride=stride, dilation=dilation).relu()
    np.testing.assert_allclose(run(module, weights, x, bound=True), expected, rtol=1e-4, atol=1e-4)


def test_depthwise_of_what_stays_near_is_a_stage_of_its_own() -> None:
    module = program(
        "%x: Tensor[(1, 8, 20, 20), float32], %v: Tensor[(16, 8, 1, 1), float32], %w: Tensor[(16, 1, 3, 3), float32]",
        "nn.conv2d(nn.relu(nn.conv2d(%x, %v)), %w, groups=16, padding=[1, 1, 1, 1])",
    )
    weights = {"v": normal(16, 8, 1, 1), "w": normal(16, 1, 3, 3)}
    assert not blocks_of(module, weights, Machine())
    assert blocks_of(module, weights, replace(Machine(), cache_bytes=1 << 13))
