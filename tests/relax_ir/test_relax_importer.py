"""Relax that we did not write: what TVM's ONNX and PyTorch importers make of models, before and
after its LegalizeOps and fusion.

Each module is read, has the struct info that TVM inferred, comes back from its own script, and
gives the numbers that TVM's machine gives, on numpy and in C. Few models are taken; all of them
with RELAY2RELAX_SWEEP=full. Of every operator that the importers emit there is a model at least, as
imported, that gives ONNX's or PyTorch's own numbers on numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest
from imported import differences, models
from imported.models import Model
from sweep import FULL

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import ParseError, Relay2RelaxError, UnsupportedError

pytestmark = [pytest.mark.tvm, pytest.mark.sweep]
# So many modules are asked for; the importers of another TVM may read other models.
LEAST = {"onnx_models": 1500, "torch_models": 700, "traced_models": 500}

# Operators that only the importer of exported programs emits, by models; exporting takes long.
EXPORTED = {
    f"torch {name}"
    for name in (
        "floor_divide", "hamming_window", "index by tensors", "index_put", "InstanceNorm2d", "median", "one_hot",
    )
}  # fmt: skip


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize(
    ("source", "step"), [("torch_models", 75), ("onnx_models", 130), ("traced_models", 75), ("particular_models", 1)]
)
def test_imported_models(source: str, step: int) -> None:
    pytest.importorskip("onnx" if source == "onnx_models" else "torch")
    of_source: Callable[[], Iterator[Model]] = getattr(models, source)
    problems: list[str] = []
    count = 0
    for number, model in enumerate(of_source()):
        if FULL or number % step == 0:
            count += check(model, problems)
    assert not problems, "\n".join(problems)
    assert count >= (LEAST.get(source, 4) if FULL else 4)


@pytest.mark.sweep(every=2)
def test_every_operator_of_the_importers() -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("torch")
    exported = (model for model in models.torch_models() if model.name in EXPORTED)
    met: set[str] = set()
    problems: list[str] = []
    particular = models.particular_models()
    for model in chain(models.onnx_models(), models.traced_models(), exported, particular):
        try:
            module, arguments = model.load()
        except Exception:  # noqa: BLE001 - importers raise whatever they like
            continue
        new = models.operators(module) - met
        if not new or model.name in differences.VALUES | differences.IMPORTED:
            continue
        met |= new
        title = f"{model.name} ({', '.join(sorted(new))})"
        try:
            read = reread(module, title, problems)
            result = backends.VirtualMachine(backends.build(read, "numpy"))["main"](*arguments)
        except Relay2RelaxError as error:
            problems.append(f"{title}: {error}")
            continue
        if models.value_difference(result, model.outside()):
            # The importers do not always make what the model says: then TVM's machine knows.
            expected = models.run_in_tvm(module, arguments)
            if difference := models.value_difference(result, expected):
                problems.append(f"{title}: {difference}")
    assert not problems, "\n".join(problems)
    assert {f"relax.{name}" for name in models.emitted_operators()} - met == set()


@pytest.mark.parametrize("told", ["(2, 4)", "(3, 2)", "(2, 3, 1)"])
def test_what_is_inferred_otherwise_is_refused_in_branches_too(told: str) -> None:
    text = f"""
@R.function
def main(c: R.Tensor((), "bool"), x: R.Tensor((2, 3), "float32")):
    y: R.Tensor((2, 3), "float32") = R.add(x, x)
    if c:
        z: R.Tensor({told}, "float32") = R.add(y, y)
    else:
        z: R.Tensor((2, 3), "float32") = R.multiply(y, y)
    return z
"""
    with pytest.raises(ParseError, match="`z_branch` is not what it is said to be"):
        rx.parse(text)


def check(model: Model, problems: list[str]) -> int:
    """Check every stage of ``model``; return how many modules that were. Models that TVM cannot
    build are none.
    """
    try:
        module, arguments = model.load()
        expected = models.run_in_tvm(module, arguments)
        stages = models.stages(module)
    except Exception:  # noqa: BLE001 - importers and compilers raise whatever they like
        return 0
    excused = model.name in differences.VALUES
    for stage, relax in stages.items():
        try:
            read = reread(relax, f"{model.name}, {stage}", problems)
            if excused or (stage == "imported" and model.name in differences.IMPORTED):
                continue
            for target in ("numpy", "c"):
                result = backends.VirtualMachine(backends.build(read, target))["main"](*arguments)
                if difference := models.value_difference(result, expected):
                    problems.append(f"{model.name}, {stage}, {target}: {difference}")
        except Relay2RelaxError as error:
            problems.append(f"{model.name}, {stage}: {error}")
    return len(stages)


def reread(module: Any, title: str, problems: list[str]) -> rx.IRModule:
    """Return TVM's ``module`` as one of ours, which knows as much and comes back from its
    script.
    """
    legal = models.is_well_formed(module)
    read = rx.from_tvm(module, check_well_formed=legal)
    problems += [f"{title}: {one}" for one in models.info_differences(read)]
    if not _returns(read, legal):
        problems.append(f"{title}: another script after reading")
    return read


def _returns(read: rx.IRModule, legal: bool) -> Any:
    """Whether the script of ``read`` comes back from being read.

    Some have no form that three versions read.

    The first time of reading may add struct info: we know more of some results than TVM has said.
    """
    try:
        text = rx.parse(read.script(), check_well_formed=legal).script()
    except UnsupportedError:
        return True
    return rx.parse(text, check_well_formed=legal).script() == text
