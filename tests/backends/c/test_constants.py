"""What the C backend computes ahead of constants, what it keeps, and what it reports of a run."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c.codegen.program import generate
from relay2relax.backends.c.loaded_module import compile_prim_funcs
from relay2relax.backends.c.machine import Machine
from relay2relax.tir import te
from relay2relax.tir.ir.expr import Buffer
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import PrimFunc

RANDOM = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def with_constants(func: PrimFunc, names: tuple[str, ...]) -> tuple[PrimFunc, dict[str, Buffer]]:
    """Return ``func`` without the parameters ``names``, and their buffers."""
    found = {func.buffer_map[p].name: p for p in func.params if func.buffer_map[p].name in names}
    kept = tuple(p for p in func.params if p not in found.values())
    buffers = {name: func.buffer_map[p] for name, p in found.items()}
    new = PrimFunc(
        func.name, kept, {p: func.buffer_map[p] for p in kept}, func.body, func.root_buffers, func.num_outputs
    )
    return new, buffers


def scaled_product() -> PrimFunc:
    """``x @ w.T * exp(s)``: the weights want packing, the scale is a function of a constant."""
    x, w, s = te.placeholder((33, 24), name="X"), te.placeholder((40, 24), name="W"), te.placeholder((40,), name="S")
    k = te.reduce_axis(24)
    product = te.compute((33, 40), lambda i, j: te.sum(x[i, k] * w[j, k], axis=k), "product")
    scale = te.compute((40,), lambda j: call("exp", s[j]), "scale")
    return te.create_prim_func([x, w, s], [te.compute((33, 40), lambda i, j: product[i, j] * scale[j], "out")], "main")


def test_what_depends_on_constants_runs_ahead() -> None:
    func, known = with_constants(scaled_product(), ("W", "S"))
    units, entries = generate([func], Machine(), known.values())
    entry = entries["main"]
    assert entry.ahead is not None
    assert len(entry.stages) == 1
    assert entry.constants == ()
    assert set(entry.sources) == set(known.values())
    assert "expf" not in units[-1].text.split("r2r_entry_0_ahead")[0].split("R2R_EXPORT int64_t r2r_entry_0(")[1]
    _, without = generate([scaled_product()], Machine())
    assert without["main"].ahead is None
    assert len(without["main"].stages) > 1


@pytest.mark.compiler
def test_products_with_constants() -> None:
    func, known = with_constants(scaled_product(), ("W", "S"))
    x, w, s = normal(33, 24), normal(40, 24), normal(40)
    expected = x @ w.T * np.exp(s)
    module = compile_prim_funcs([func], {known["W"]: w, known["S"]: s})
    result = np.empty((33, 40), np.float32)
    module.call("main", x, result)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.compiler
def test_a_machine_does_not_hold_what_its_kernels_have_packed(tmp_path: Path) -> None:
    """Who keeps the machine alone has each weight once.

    Who keeps the executable can still save it.
    """
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(33, 24), float32], %w: Tensor[(40, 24), float32]) { nn.relu(nn.dense(%x, %w, units=40)) }"""
    weight, data = normal(40, 24), normal(33, 24)
    expected = np.maximum(data @ weight.T, 0)
    executable = backends.build(translator.via_graph(relay_ir.infer_type(relay_ir.parse(text)), {"w": weight}), "c")
    machine = backends.VirtualMachine(executable)
    held = weakref.ref(weight)
    executable.save(tmp_path / "saved.r2r")
    again = backends.VirtualMachine(backends.Executable.load(tmp_path / "saved.r2r"))
    del executable, weight
    gc.collect()
    assert held() is None
    for one in (machine, again):
        np.testing.assert_allclose(one["main"](data), expected, rtol=1e-4, atol=1e-5)


def test_code_is_the_same_for_other_constants() -> None:
    """The text, and so the cached object, does not depend on what the constants hold."""
    (one, a), (two, b) = (with_constants(scaled_product(), ("W", "S")) for _ in range(2))
    assert generate([one], Machine(), a.values())[0] == generate([two], Machine(), b.values())[0]


@pytest.mark.compiler
def test_a_result_made_of_constants_is_written_on_every_call() -> None:
    x, c = te.placeholder((8,), name="X"), te.placeholder((8,), name="C")
    outs = [te.compute((8,), lambda i: c[i] * 2.0, "doubled"), te.compute((8,), lambda i: x[i] + c[i], "sum")]
    func, known = with_constants(te.create_prim_func([x, c], outs, "main"), ("C",))
    data, constant = normal(8), normal(8)
    module = compile_prim_funcs([func], {known["C"]: constant})
    for _ in range(2):
        doubled, total = np.full(8, np.nan, np.float32), np.full(8, np.nan, np.float32)
        module.call("main", data, doubled, total)
        assert (doubled == constant * 2).all()
        assert (total == data + constant).all()


@pytest.mark.compiler
def test_stages_are_timed() -> None:
    func, known = with_constants(scaled_product(), ("W", "S"))
    module = compile_prim_funcs([func], {known["W"]: normal(40, 24), known["S"]: normal(40)})
    run, x, result = module.kernel("main"), normal(33, 24), np.empty((33, 40), np.float32)
    run(x, result)
    assert module.kernel_times() == []
    with module.profiled():
        run(x, result)
        run(x, result)
    (stage,) = module.kernel_times()
    assert stage.operations == 2 * (33 * 40 * 24 * 2 + 33 * 40)
    assert stage.bytes >= 2 * 4 * (33 * 24 + 33 * 40)
    assert 0 < stage.seconds < 1
    assert "computed ahead" in module.memory()
