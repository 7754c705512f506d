"""Layers that are one operator of PyTorch's: recurrent ones and attention, exported and traced.

PyTorch computes what is expected, and takes none of them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.frontend import from_pytorch

torch = pytest.importorskip("torch")

from relay2relax.relay_ir.frontend.pytorch.apart import programs  # noqa: E402
from relay2relax.relay_ir.frontend.pytorch.apart.single import Request, Slot  # noqa: E402

torch.manual_seed(0)
SEQUENCE = torch.randn(3, 2, 5)
Q, K, V = torch.randn(3, 2, 4, 5, 8)
attend = torch.nn.functional.scaled_dot_product_attention


class Function(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class States(torch.nn.Module):  # type: ignore[misc, name-defined]
    """An LSTM whose states are inputs."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any, h: Any, c: Any) -> Any:
        return self.layer(x, (h, c))


class Packed(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A GRU over sequences of several lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.GRU(5, 4)

    def forward(self, x: Any) -> Any:
        return self.layer(torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 2])))[0].data


def hidden() -> Any:
    """Return a mask of which one row hides all keys."""
    mask = torch.rand(2, 1, 5, 5) > 0.4
    mask[0, 0, 2] = False
    return mask


def refused(*_: Any) -> Any:
    pytest.fail("PyTorch takes an operator apart")


LAYERS: dict[str, tuple[Any, list[Any]]] = {
    "rnn": (torch.nn.RNN(5, 4, 2), [SEQUENCE]),
    "rnn relu": (torch.nn.RNN(5, 4, nonlinearity="relu", bias=False, batch_first=True), [SEQUENCE]),
    "gru": (torch.nn.GRU(5, 4, 2, bidirectional=True), [SEQUENCE, torch.randn(4, 2, 4)]),
    "gru of no batch": (torch.nn.GRU(5, 4, bias=False), [SEQUENCE[:, 0]]),
    "lstm": (States(torch.nn.LSTM(5, 4, 2, batch_first=True)), [SEQUENCE, *torch.randn(2, 2, 3, 4)]),
    "lstm that projects": (torch.nn.LSTM(5, 4, 2, bidirectional=True, proj_size=3), [SEQUENCE]),
    "lstm without biases": (torch.nn.LSTM(5, 4, 2, bidirectional=True, proj_size=3, bias=False), [SEQUENCE]),
    "rnn cell": (torch.nn.RNNCell(5, 4, nonlinearity="relu"), [SEQUENCE[0]]),
    "gru cell": (torch.nn.GRUCell(5, 4, bias=False), [SEQUENCE[0], torch.randn(2, 4)]),
    "lstm cell": (torch.nn.LSTMCell(5, 4), [SEQUENCE[0]]),
    "attention": (attend, [Q, K, V]),
    "attention of two axes": (attend, [Q[0, 0], K[0, 0], V[0, 0]]),
    "attention over a batch": (partial(attend, scale=0.3), [Q, K[:1], V[:1]]),
    "mask": (attend, [Q, K, V, hidden()]),
    "added mask": (attend, [Q, K, V, torch.where(hidden(), torch.randn(2, 1, 5, 5), -torch.inf)]),
    "causal": (partial(attend, is_causal=True), [Q, K[:, :, :3], V[:, :, :3]]),
    "heads in groups": (partial(attend, enable_gqa=True), [Q, K[:, :2], V[:, :2]]),
    "unflatten": (lambda x: x.unflatten(-1, (2, -1)), [Q]),
}


def flat(values: Any) -> list[Any]:
    return list(torch.utils._pytree.tree_leaves(values))


def agrees(mod: relay_ir.IRModule, params: dict[str, Any], module: Any, inputs: list[Any]) -> None:
    with torch.no_grad():
        wanted = flat(module(*inputs))
    typed = relay_ir.infer_type(mod)
    names = [one.name for one in typed["main"].params if one.name not in params]
    given = dict(zip(names, [one.numpy() for one in flat(inputs)], strict=True))
    found = backends.create_executor("vm", typed).evaluate()(**given, **params)
    results = list(found) if isinstance(found, tuple) else [found]
    for got, want in zip(results, wanted, strict=True):
        assert np.asarray(got).shape == tuple(want.shape)
        np.testing.assert_allclose(np.asarray(got), want.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("road", ["exported", "traced"])
def test_layers_compute_what_pytorch_does(name: str, road: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layer, inputs = LAYERS[name]
    module = (layer if isinstance(layer, torch.nn.Module) else Function(layer)).eval()
    for where in ("programs.decompositions", "programs.graph_of", "scripted.graph_of"):
        monkeypatch.setattr(f"relay2relax.relay_ir.frontend.pytorch.apart.{where}", refused)
    with torch.no_grad():
        if road == "exported":
            program = torch.export.export(module, tuple(inputs))
        else:
            program = torch.jit.trace(module, tuple(inputs), check_trace=False)
    infos = [(f"x{place}", list(one.shape)) for place, one in enumerate(flat(inputs))]
    agrees(*from_pytorch(program, None if road == "exported" else infos), module, inputs)


OPEN: dict[str, tuple[Any, list[Any], dict[int, str]]] = {
    "lstm": (torch.nn.LSTM(5, 4, 2, bidirectional=True, batch_first=True), [SEQUENCE], {0: "batch"}),
    "attention": (attend, [Q, K, V], {0: "batch", 2: "length"}),
    "causal attention": (partial(attend, is_causal=True), [Q, K, V], {2: "length"}),
    "places": (lambda x: x + torch.arange(x.shape[2])[:, None], [Q], {2: "length"}),
    "numbers": (lambda x: x + torch.full((x.shape[2], 1), 2.0) + torch.zeros(x.shape[2], 8), [Q], {2: "length"}),
    "new ones": (lambda x: x + x.new_ones(x.shape[0], 1, 1, 1), [Q], {0: "batch"}),
}


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("name", OPEN)
def test_layers_of_open_extents(name: str) -> None:
    layer, inputs, axes = OPEN[name]
    module = layer if isinstance(layer, torch.nn.Module) else Function(layer)
    dims: Any = {axis: torch.export.Dim(one, min=2, max=64) for axis, one in axes.items()}
    dynamic = [dims] * len(inputs)
    with torch.no_grad():
        program = torch.export.export(
            module, tuple(inputs), dynamic_shapes=dynamic if module is layer else (tuple(dynamic),)
        )
    longer = [torch.cat([one] * 2, dim=next(iter(axes))) for one in inputs]
    agrees(*from_pytorch(program), module, longer)


def test_what_draws_or_is_packed_is_refused() -> None:
    layer = torch.nn.LSTM(5, 4, 2, dropout=0.5)
    with pytest.raises(UnsupportedError, match="the module trains"):
        from_pytorch(torch.jit.trace(layer.train(), SEQUENCE, check_trace=False), [("x", [3, 2, 5])])
    dropping = Function(partial(attend, dropout_p=0.5))
    with pytest.raises(UnsupportedError, match="drops weights at random"):
        from_pytorch(torch.export.export(dropping, (Q, K, V)))

    packed = Packed()
    with pytest.raises(UnsupportedError, match=r"aten::_pack_padded_sequence"):
        from_pytorch(torch.jit.trace(packed, SEQUENCE, check_trace=False), [("x", [3, 2, 5])])


def test_half_precision_of_attention_is_computed_in_single() -> None:
    halves = [one.half() for one in (Q, K, V)]
    mod, _ = from_pytorch(torch.export.export(Function(attend), tuple(halves)))
    names = [one.name for one in mod["main"].params]
    given = dict(zip(names, [one.numpy() for one in halves], strict=True))
    found = np.asarray(backends.create_executor("vm", relay_ir.infer_type(mod)).evaluate()(**given))
    assert found.dtype == np.float16
    exact = attend(*(one.double() for one in halves)).numpy()
    # Half a step of the result: sums and products are exact enough.
    np.testing.assert_allclose(found.astype("float64"), exact, rtol=2**-10, atol=1e-6)


def test_programs_of_such_layers_stay_as_they_are() -> None:
    with torch.no_grad():
        encoder = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
        program = torch.export.export(encoder, (torch.randn(2, 3, 8),))
    assert programs.taken_apart(program, ()) == (program, {})


def test_single_operators_are_taken_apart_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            # What nothing reads is not looked at.
            torch.special.bessel_j0(x)
            return torch.einsum("ij,kj->ki", x, x + 1).diff() + torch.lerp(x[:, :1], x[:, 1:2], 1.0)

    x = torch.randn(3, 3)
    program = torch.export.export(Net(), (x,))
    monkeypatch.setattr(type(program), "run_decompositions", refused)
    mod, params = from_pytorch(program)
    agrees(mod, params, Net(), [x])
    assert {"span=einsum:0:0", "span=diff:0:0"} <= set(str(mod).split())


def test_numbers_that_are_equal_are_other_arguments() -> None:
    operator, tensors = torch.ops.aten.mul.Scalar, (((2,), torch.int64),)
    requests = {Request.of(operator, [Slot(0), one], {}, tensors) for one in (1, 1.0, True)}
    assert len(requests) == 3
