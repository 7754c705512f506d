"""What stands for each pass over Relay today, run on recorded models: the numbers stay what TVM
recorded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from passes_swept.in_python import IN_PYTHON

from relay2relax import backends, relay_ir, translator
from relay2relax import relax_ir as rx
from relay2relax.relay_ir import pipeline
from relay2relax.relay_ir.pipeline.today import TODAY, Way, rows
from relay2relax.translator.arguments import flatten

MODELS = ("mlp", "dqn", "lstm_relay")
PAGE = Path(__file__).parents[3] / "docs/guide/pipelines.md"
# What may be off: half precision, and approximations.
LOOSE = {"ToMixedPrecision": 5e-2, "FastMath": 2e-2, "Recast": 1e-2}
# Rows where nothing is to be done.
NOTHING = {name for name, today in TODAY.items() if today.way is Way.NOTHING and not today.before}
RELAX = sorted((name, model) for name, today in TODAY.items() if today.relax for model in MODELS)
# The inputs of lstm_relay are not of one batch, and gradients of functions with lets are those of
# another pass.
FEED_FORWARD = ("mlp", "mlp_dynamic_batch", "dqn")
OTHER_MODELS = {
    "FirstOrderGradient": FEED_FORWARD,
    "LazyGradientInit": FEED_FORWARD,
    "ChangeBatch": ("mlp", "dqn", "squeezenet"),
    "FlexibleShapeDispatch": ("mlp", "dqn", "squeezenet"),
}
RELAY = sorted(
    (name, model) for name, today in TODAY.items() if today.before for model in OTHER_MODELS.get(name, MODELS)
)
PYTHON = sorted((names, model) for names, one in IN_PYTHON.items() for model in one.models)
# What is called with another batch than the recorded one.
BATCH = {"ChangeBatch": 3, "FlexibleShapeDispatch": 4}


@lru_cache(maxsize=None)
def typed(text: str) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(text))


@lru_cache(maxsize=None)
def converted(text: str) -> rx.IRModule:
    return translator.via_graph(typed(text))


def check(mod: rx.IRModule, case: Any, bound: float, target: str = "numpy", batch: int = 1) -> None:
    machine = backends.VirtualMachine(backends.build(mod, target=target))
    first, *weights = case.arguments()
    found = flatten(machine["main"](np.concatenate([first] * batch), *weights))
    for array, expected in zip(found, case.expected(), strict=False):
        wanted = np.concatenate([expected] * batch)
        np.testing.assert_allclose(array.astype("float64"), wanted, rtol=bound, atol=bound * max(1, abs(wanted).max()))


def _relax_pass(text: str) -> Any:
    """Return a pass of apache-tvm that is written as a call with literals, or with patterns."""
    from tvm.relax import dpl, transform

    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    kind = getattr(transform, call.func.id)
    if call.func.id == "FuseOpsByPattern":
        return kind([("own.dense", dpl.is_op("relax.matmul")(dpl.wildcard(), dpl.wildcard()))])
    named = {one.arg: ast.literal_eval(one.value) for one in call.keywords if one.arg}
    return kind(*map(ast.literal_eval, call.args), **named)


@pytest.mark.golden
@pytest.mark.tvm
@pytest.mark.sweep(every=12)
@pytest.mark.parametrize(("name", "model"), RELAX)
def test_passes_of_relax(name: str, model: str, get_model_case: Callable[[str], Any]) -> None:
    import tvm

    case = get_model_case(model)
    passes = [_relax_pass(text) for text in TODAY[name].relax]
    with tvm.target.Target("llvm"):
        after = tvm.transform.Sequential(passes)(rx.to_tvm(converted(case.text)))
    check(rx.from_tvm(after), case, LOOSE.get(name, 1e-4))


@pytest.mark.golden
@pytest.mark.sweep(every=12)
@pytest.mark.parametrize(("name", "model"), RELAY)
def test_passes_of_relay_before_converting(name: str, model: str, get_model_case: Callable[[str], Any]) -> None:
    case = get_model_case(model)
    after = pipeline.apply(typed(case.text), pipeline.read(TODAY[name].before))[-1].after
    check(translator.via_graph(relay_ir.infer_type(after)), case, LOOSE.get(name, 1e-4), batch=BATCH.get(name, 1))


@pytest.mark.golden
@pytest.mark.sweep(every=12)
@pytest.mark.parametrize(("names", "model"), PYTHON)
def test_passes_that_are_called_in_python(
    names: tuple[str, ...], model: str, get_model_case: Callable[[str], Any]
) -> None:
    case = get_model_case(model)
    after, given = IN_PYTHON[names].apply(typed(case.text), case.arguments())
    found = translator.via_graph(relay_ir.infer_type(after))
    result = backends.VirtualMachine(backends.build(found, target="numpy"))["main"](*given)
    (wanted,) = case.expected()
    bound = IN_PYTHON[names].bound * max(1, abs(wanted).max())
    np.testing.assert_allclose(np.asarray(result), wanted, rtol=0, atol=bound)


@pytest.mark.golden
@pytest.mark.parametrize("model", MODELS)
def test_where_nothing_is_to_be_done(model: str, get_model_case: Callable[[str], Any]) -> None:
    """Rows without a pass: what was converted gives the numbers as it is."""
    assert {"AnnotateMemoryScope", "ExtractFusedFunctions", "LabelOps", "RemoveStandaloneReshapes"} == NOTHING
    case = get_model_case(model)
    check(converted(case.text), case, 1e-4)


@pytest.mark.golden
@pytest.mark.compiler
@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("model", MODELS)
def test_the_c_backend_fuses(model: str, get_model_case: Callable[[str], Any]) -> None:
    case = get_model_case(model)
    check(converted(case.text), case, 1e-4, target="c")


def test_every_pass_has_a_row_that_is_run() -> None:
    assert set(pipeline.passes_by_name()) <= set(TODAY)
    called = {name for names in IN_PYTHON for name in names}
    for name, today in TODAY.items():
        assert not today.before or pipeline.read(today.before)
        assert today.relax or today.before or name in NOTHING or name in called, name
        assert today.relax if today.way is Way.RELAX else True


def test_the_page_has_the_rows() -> None:
    page = PAGE.read_text()
    for name, way, how, note in rows():
        assert f"| `{name}` | {way} | {f'`{how}`' if how else ''} | {note} |" in page
