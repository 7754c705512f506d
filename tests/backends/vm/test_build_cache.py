"""Builds of the C backend that are found in the cache by the structure of their module."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typed import present

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.backends.vm import build_cache as kept
from relay2relax.backends.vm import native
from relay2relax.backends.vm.build_cache import structure
from relay2relax.core.passes import PassContext, PassTimingInstrument
from relay2relax.relax_ir.ir.expr import IRModule

pytestmark = pytest.mark.compiler

RANDOM = np.random.default_rng(11)
DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 8), float32], %w: Tensor[(16, 8), float32], %s: Tensor[(1), float32]) {
  nn.relu(nn.dense(%x, %w, units=None)) * %s
}
"""
TAKE = """#[version = "0.0.5"]
def @main(%x: Tensor[(8), float32], %i: Tensor[(3), int32]) {
  take(%x, %i, axis=0, mode="clip")
}
"""


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def dense(weight: np.ndarray, scale: float = 2.0) -> IRModule:
    return translator.via_graph(relay_ir.parse(DENSE), {"w": weight, "s": np.array([scale], np.float32)})


def run(executable: backends.Executable, *args: np.ndarray) -> Any:
    return backends.VirtualMachine(executable)["main"](*args)


@pytest.fixture
def nothing_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is built is found."""

    def refuse(*args: Any) -> Any:
        raise AssertionError("code is generated")

    monkeypatch.setattr(native, "write_units", refuse)


@pytest.fixture
def first() -> backends.Executable:
    return backends.build(dense(normal(16, 8)), target="c")


def test_a_build_serves_other_weights_and_extents(first: backends.Executable, nothing_generated: None) -> None:
    weight = normal(16, 8)
    found = backends.build(dense(weight), target="c")
    assert found.as_text() == first.as_text()
    for rows in (1, 5):
        x = normal(rows, 8)
        expected = np.maximum(x @ weight.T, 0) * np.float32(2)
        np.testing.assert_allclose(run(found, x), expected, rtol=1e-5, atol=1e-6)
    native_of_found = present(found.native)
    with native_of_found.profiled():
        run(found, normal(2, 8))
    assert [time.label for time in native_of_found.kernel_times()]
    assert native_of_found.memory() == present(first.native).memory()


def test_what_may_become_part_of_the_program_counts() -> None:
    weight = normal(16, 8)
    texts = {structure(dense(weight, scale))[0] for scale in (1.0, 2.0, 2.0)}  # type: ignore[index]
    assert len(texts) == 2
    taken = [translator.via_graph(relay_ir.parse(TAKE), {"i": np.array(i, np.int32)}) for i in ([1, 2, 3], [3, 2, 1])]
    assert structure(taken[0])[0] != structure(taken[1])[0]  # type: ignore[index]
    wider = translator.via_graph(relay_ir.parse(DENSE.replace("16", "32")), {"w": normal(32, 8)})
    assert structure(wider)[0] not in texts  # type: ignore[index]


def test_a_found_build_is_saved_whole(first: backends.Executable, tmp_path: Path) -> None:
    weight = normal(16, 8)
    found = backends.build(dense(weight), target="c")
    assert found.complete is not None
    found.save(tmp_path / "dense.r2r")
    x = normal(3, 8)
    np.testing.assert_array_equal(run(backends.Executable.load(tmp_path / "dense.r2r"), x), run(found, x))


def test_other_sources_build_anew(first: backends.Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_sources", lambda: "other sources")
    assert backends.build(dense(normal(16, 8)), target="c").complete is None
    monkeypatch.setattr(kept, "_sources", lambda: None)
    assert kept.place_of(dense(normal(16, 8)), checked=False) is None


def test_passes_that_are_watched_run(first: backends.Executable) -> None:
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        backends.build(dense(normal(16, 8)), target="c")
        assert "LegalizeOps" in timing.render()


def test_programs_that_call_python_are_not_kept() -> None:
    text = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
        for i in range(3):
            with T.sblock("B"):
                v = T.axis.spatial(3, i)
                B[v] = T.call_extern("float32", "test.kept.tenfold", A[v])

    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.f, (x,), R.Tensor((3,), dtype="float32"))
            R.output(y)
        return y
"""
    backends.register_func("test.kept.tenfold")(lambda x: x * 10)
    x = normal(3)
    for _ in range(2):
        np.testing.assert_array_equal(run(backends.build(relax_ir.parse(text), target="c"), x), x * np.float32(10))


def test_a_lost_object_is_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RELAY2RELAX_CACHE", str(tmp_path))
    weight, x = normal(16, 8), normal(2, 8)
    expected = run(backends.build(dense(weight), target="c"), x)
    for path in tmp_path.glob("*.so"):
        path.unlink()
    np.testing.assert_array_equal(run(backends.build(dense(weight), target="c"), x), expected)


class _Command:
    def __reduce__(self) -> Any:
        return eval, ("1 + 1",)


@pytest.mark.parametrize("content", [b"", b"damaged", pickle.dumps(_Command()), pickle.dumps([1])])
@pytest.mark.sweep(every=2)
def test_a_foreign_file_is_not_executed(content: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RELAY2RELAX_CACHE", str(tmp_path))
    module = dense(normal(16, 8))
    place = kept.place_of(module, checked=False)
    assert place is not None
    (tmp_path / place.name).write_bytes(content)
    assert place.load() is None
    assert backends.build(module, target="c").complete is None


def test_operators_of_others_are_not_kept() -> None:
    module = dense(normal(16, 8))
    assert structure(IRModule(module.functions, {"note": object()})) is None


@pytest.mark.sweep(every=2)
def test_every_model_can_be_kept(model_case: Any) -> None:
    module = relay_ir.infer_type(relay_ir.parse(model_case.text))
    for translate in (translator.via_graph, translator.lower_to_tir):
        assert structure(translate(module)) is not None
