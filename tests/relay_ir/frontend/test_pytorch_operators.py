"""Operators of TorchScript as Relay: what TVM's importer made, and what PyTorch computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.frontend import from_pytorch

torch = pytest.importorskip("torch")

from torchscript.msc_models import Model, models  # noqa: E402
from torchscript.operator_cases import cases  # noqa: E402
from torchscript.runs import ours, pytorchs  # noqa: E402

MODELS = models()
CASES = cases()


def test_all_recorded_models_are_there() -> None:
    assert len({model.case for model in MODELS}) == 79
    assert len(CASES) > 80


@pytest.mark.golden
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.sweep(every=2)
def test_relay_is_what_tvms_importer_made(model: Model, recorded: Any) -> None:
    """To the letter: structure, names, order of parameters, attributes and spans."""
    case = next(one for one in recorded("msc") if one["id"] == model.case)
    wanted = relay_ir.load_json(case["json"])
    made, _ = from_pytorch(model.module(), model.infos)
    # The arrays of metadata sections repeat what the calls show.
    texts = [str(mod["main"]).partition("#[metadata]")[0] for mod in (made, wanted)]
    assert texts[0] == texts[1]


@pytest.mark.sweep(every=5)
@pytest.mark.compiler
@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_models_compute_what_pytorch_does(model: Model, target: str) -> None:
    if model.name == "empty":
        pytest.skip("what it holds is not defined")
    names = [name for name, _ in model.infos]
    # Places of the greatest are int32, as TVM's import has them.
    narrow = model.name.startswith("argmax")
    check(model.module(), model.infos, dict(zip(names, model.arguments(), strict=True)), target, narrow)


@pytest.mark.compiler
@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize(("name", "function", "inputs"), CASES, ids=[case[0] for case in CASES])
def test_forms_of_operators_compute_what_pytorch_does(name: str, function: Any, inputs: list[Any], target: str) -> None:
    module = traced(function, inputs)
    infos = [(f"x{place}", (list(one.shape), str(one.dtype))) for place, one in enumerate(inputs)]
    check(module, infos, {f"x{place}": one for place, one in enumerate(inputs)}, target)


def traced(function: Any, inputs: list[Any]) -> Any:
    """Return the TorchScript of a function or module: itself where it is that."""
    if isinstance(function, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        return function
    return torch.jit.trace(function, tuple(one.clone() for one in inputs), check_trace=False)


def check(module: Any, infos: Any, arguments: dict[str, Any], target: str, narrow: bool = False) -> None:
    """Compare our results with PyTorch's: number, dtypes, shapes and values."""
    wanted = pytorchs(module, list(arguments.values()))
    mod, params = from_pytorch(module, infos)
    found = ours(mod, params, arguments, target)
    assert len(found) == len(wanted)
    for got, want in zip(found, wanted, strict=True):
        assert got.shape == want.shape
        assert got.dtype == (np.int32 if narrow else want.dtype)
        # Truth values and integers as floats, in which both are exact.
        np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=1e-4, atol=1e-5)


def written_into_a_view(x: Any) -> Any:
    """Return a tensor into which a view of it wrote."""
    y = x + 1
    y.split(1)[0].fill_(7)
    return y


@pytest.mark.parametrize(
    ("function", "inputs", "message"),
    [
        pytest.param(written_into_a_view, [torch.rand(2, 3)], "views", id="writes into a view"),
        pytest.param(lambda x: x.reshape(0, 3), [torch.rand(0, 3)], "no elements", id="no elements"),
        pytest.param(
            lambda x, y: torch.nn.functional.cross_entropy(x, y, label_smoothing=0.5),
            [torch.rand(2, 3), torch.tensor([0, 1])],
            "smoothed",
            id="smoothed labels",
        ),
        pytest.param(torch.nn.LayerNorm((3, 4)), [torch.rand(2, 3, 4)], "over the last 2 axes", id="two axes"),
        pytest.param(torch.nn.AvgPool2d(2, divisor_override=3), [torch.rand(1, 1, 4, 4)], "divisor", id="divisor"),
        pytest.param(lambda x: torch.round(x, decimals=2), [torch.rand(3)], "2 decimals", id="decimals"),
        pytest.param(torch.nn.Dropout(), [torch.rand(3)], r"\.eval\(\)", id="training"),
        pytest.param(lambda x: x ** torch.tensor([2, 3]), [torch.tensor([2, 3])], "known", id="powers of integers"),
        pytest.param(lambda x: x.to(torch.complex64), [torch.rand(3)], "dtype that Relay has", id="complex"),
    ],
)
def test_forms_that_are_not_read_are_named(function: Any, inputs: list[Any], message: str) -> None:
    infos = [(f"x{place}", (list(one.shape), str(one.dtype))) for place, one in enumerate(inputs)]
    with pytest.raises(UnsupportedError, match=message) as found:
        from_pytorch(traced(function, inputs), infos)
    assert found.value.code == "R2R-0563"
    assert "aten::" in str(found.value)


def test_dynamic_extents_stay_open() -> None:
    module = torch.jit.trace(torch.nn.Linear(3, 2), torch.rand(4, 3))
    mod, _ = from_pytorch(module, [("x", [relay_ir.Any(), 3])])
    result = relay_ir.infer_type(mod)["main"].ret_type
    assert result == relay_ir.TensorType((relay_ir.Any(), 2), "float32")
