"""Convolutions of 3x3 in fewer multiplications: where that is done, at any size, on any number of
threads.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c.loaded_module import compile_prim_funcs
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.schedule import schedule
from relay2relax.backends.c.schedule.winograd import transformations
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.core.tolerance import difference
from relay2relax.tir import te
from relay2relax.tir.ir.expr import Buffer, PrimExpr, Var, if_then_else, logical_and, maximum
from relay2relax.tir.ir.stmt import PrimFunc

RANDOM = np.random.default_rng(5)
# Images, rows, columns, input and output channels.
SIZES = {"even": (1, 16, 16, 32, 48), "odd": (2, 13, 15, 48, 32), "small": (4, 7, 9, 32, 32)}


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def convolution(
    name: str, images: int | Var, rows: int, columns: int, inputs: int, outputs: int, constant: bool = True
) -> tuple[PrimFunc, tuple[Buffer, ...]]:
    """A padded convolution with bias, addition and ReLU.

    Return its constants, too: weights and bias.
    """
    x, y = te.placeholder((images, rows, columns, inputs), name="X"), te.placeholder((images, rows, columns, outputs))
    w, bias = te.placeholder((outputs, inputs, 3, 3), name="W"), te.placeholder((outputs,), name="bias")

    def inside(i: PrimExpr, j: PrimExpr) -> PrimExpr:
        return logical_and(i >= 1, i < rows + 1, j >= 1, j < columns + 1)

    padded = te.compute(
        (images, rows + 2, columns + 2, inputs),
        lambda n, i, j, c: if_then_else(inside(i, j), x[n, i - 1, j - 1, c], 0.0),
        "padded",
    )
    c, di, dj = te.reduce_axis(inputs), te.reduce_axis(3), te.reduce_axis(3)

    def element(n: PrimExpr, i: PrimExpr, j: PrimExpr, o: PrimExpr) -> PrimExpr:
        return te.sum(padded[n, i + di.var, j + dj.var, c.var] * w[o, c.var, di.var, dj.var], axis=[c, di, dj])

    conv = te.compute((images, rows, columns, outputs), element, "conv")
    out = te.compute(conv.shape, lambda n, i, j, o: maximum(conv[n, i, j, o] + bias[o] + y[n, i, j, o], 0.0), "out")
    func = te.create_prim_func([x, y, w, bias], [out], name=name)
    if not constant:
        return func, ()
    known = func.buffers[2:4]
    kept = {param: buffer for param, buffer in func.buffer_map.items() if buffer not in known}
    params = tuple(param for param in func.params if param in kept or param not in func.buffer_map)
    return replace(func, params=params, buffer_map=kept), known


def labels(func: PrimFunc, known: tuple[Buffer, ...], native: bool = True) -> list[str]:
    return [stage.label for stage in schedule(func, Machine(), frozenset(known), native).stages]


def test_transformations_multiply_polynomials() -> None:
    image, weights, results = map(np.array, transformations())
    x, w = RANDOM.standard_normal(6), RANDOM.standard_normal(3)
    np.testing.assert_allclose(results @ ((weights @ w) * (image @ x)), np.correlate(x, w), rtol=1e-12)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_large_images_of_many_channels_are_transformed(size: tuple[int, int, int, int, int]) -> None:
    assert any(label.startswith("sums 36x") for label in labels(*convolution("conv", *size)))


@pytest.mark.parametrize(
    "size", [(1, 16, 16, 16, 64), (1, 16, 16, 36, 64), (1, 7, 7, 64, 64), (4, 5, 5, 64, 64), (1, 28, 28, 192, 192)]
)
def test_others_are_not(size: tuple[int, int, int, int, int]) -> None:
    """Few channels, channels that do not fill vectors, few tiles, much beyond an image, more
    weights than stay near.
    """
    assert not any("sums" in label for label in labels(*convolution("conv", *size)))


def test_scripts_for_tvm_are_not() -> None:
    assert not any("sums" in label for label in labels(*convolution("conv", *SIZES["even"]), native=False))


def test_weights_that_are_arguments_are_not() -> None:
    assert not any("sums" in label for label in labels(*convolution("conv", 1, 16, 16, 32, 32, constant=False)))


@pytest.mark.compiler
@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("machine", [Machine(64, 32, 1), Machine(16, 16, 1)], ids=["avx512", "sse"])
def test_results_are_within_the_tolerance_on_any_number_of_threads(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    # Compiled for another machine than this one: the schedules differ, the code runs here all the
    # same.
    monkeypatch.setattr(type(find_compiler()), "machine", machine)
    made = {name: convolution(name, *size) for name, size in SIZES.items()}
    made["symbolic"] = convolution("symbolic", Var("n"), *SIZES["even"][1:])
    sizes = {**SIZES, "symbolic": (3, *SIZES["even"][1:])}
    inputs = {name: (normal(*size[:4]), normal(*size[:3], size[4])) for name, size in sizes.items()}
    weights = {name: (normal(size[4], size[3], 3, 3), normal(size[4])) for name, size in sizes.items()}
    constants = {b: a for name, (_, known) in made.items() for b, a in zip(known, weights[name], strict=True)}
    found: list[dict[str, np.ndarray]] = []
    for threads in ("1", "3"):
        monkeypatch.setenv("RELAY2RELAX_THREADS", threads)
        module = compile_prim_funcs([func for func, _ in made.values()], constants)
        found.append({name: np.full_like(y, np.nan) for name, (_, y) in inputs.items()})
        for name, given in inputs.items():
            module.call(name, *given, found[-1][name])
    for name, (x, y) in inputs.items():
        image, weight = (torch.tensor(a.astype(np.float64)) for a in (x.transpose(0, 3, 1, 2), weights[name][0]))
        conv = torch.nn.functional.conv2d(image, weight, padding=1).numpy().transpose(0, 2, 3, 1)
        expected = np.maximum(conv + weights[name][1] + y, 0).astype(np.float32)
        agreement = difference(found[0][name], expected, 9 * x.shape[3])
        assert agreement.agrees, agreement
        assert (found[0][name] == found[1][name]).all()


@pytest.mark.compiler
def test_strict_nan() -> None:
    """What is not a number reaches those results alone that it has a part in, where that is asked
    for; the cache knows the two builds apart.
    """
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 56, 56), float32], %w: Tensor[(64, 64, 3, 3), float32],
          %v: Tensor[(64, 64, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);
  %1 = nn.conv2d(%0, %v, kernel_size=[1, 1]);
  nn.conv2d(%1, %v, kernel_size=[1, 1])
}"""
    program = translator.via_graph(
        relay_ir.infer_type(relay_ir.parse(text)), {"w": normal(64, 64, 3, 3), "v": normal(64, 64, 1, 1)}
    )
    image = normal(1, 64, 56, 56)
    image[0, 5, 20, 30], image[0, 7, 40, 0] = np.nan, np.inf
    expected = np.zeros((56, 56), bool)
    expected[19:22, 29:32] = expected[39:42, 0:2] = True
    for strict in (False, True, False):
        machine = backends.VirtualMachine(backends.build(program, target="c", strict_nan=strict))
        broken = ~np.isfinite(np.asarray(machine["main"](image))[0])
        assert broken[:, expected].all()
        assert (broken == expected).all() == strict
