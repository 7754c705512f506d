"""Gradients through branches, functions, cells and gradients, against PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core import UnsupportedError
from relay2relax.relay_ir import transform
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.tir.extent import static

torch = pytest.importorskip("torch")

HEADER = '#[version = "0.0.5"]\n'
T = "Tensor[(3), float64]"
POWER = """def @power(%x: float64, %n: float64) -> float64 {
  if (less(%n, 1f64)) { 1f64 } else { multiply(%x, @power(%x, subtract(%n, 1f64))) } }
"""
PROGRAMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "shared": (f"def @main(%x: {T}) {{ %0 = exp(%x); multiply(%0, multiply(%0, %x)) }}", lambda x: x.exp() ** 2 * x),
    "lets": (
        f"def @main(%x: {T}, %y: {T}) {{ let %a = multiply(%x, %y); let %b = add(%a, %x); multiply(%a, %b) }}",
        lambda x, y: x * y * (x * y + x),
    ),
    "checkpoint": (
        f"def @main(%x: {T}) {{ let %y = (exp(%x), multiply(%x, %x)); "
        f"subtract(annotation.checkpoint(sin(%y.0)), %y.1) }}",
        lambda x: x.exp().sin() - x * x,
    ),
    "then": (
        f"def @main(%x: {T}) {{ if (less(sum(%x), 100f64)) {{ let %y = multiply(%x, %x); add(%y, %x) }} "
        f"else {{ exp(%x) }} }}",
        lambda x: x * x + x,
    ),
    "otherwise": (
        f"def @main(%x: {T}) {{ %0 = sin(%x); if (greater(sum(%x), 100f64)) {{ %0 }} else {{ multiply(%0, %x) }} }}",
        lambda x: x.sin() * x,
    ),
    "closure": (
        f"def @main(%x: {T}) {{ let %f = fn (%a: {T}) -> {T} {{ multiply(%a, %x) }}; %f(%f(%x)) }}", lambda x: x**3
    ),
    "recursion": (POWER + "def @main(%x: float64) { @power(%x, 3f64) }", lambda x: x**3),
    "cell": (
        f"def @main(%x: {T}) {{ let %r = ref(%x); let %u = ref_write(%r, multiply(ref_read(%r), %x)); ref_read(%r) }}",
        lambda x: x * x,
    ),
    "match": (
        f"""type Choice[A] {{ Left(A), Right }}
def @main(%x: {T}) {{ let %c = Left(exp(%x));
  match? (%c) {{ Left(%l) => {{ multiply(%l, %x) }}, Right => {{ %x }} }} }}""",
        lambda x: x.exp() * x,
    ),
    "tuples": (
        f"def @main(%x: {T}, %y: {T}) {{ %0 = (%x, (%y, exp(%x))); %1 = %0.1; multiply(concatenate((%1.0, %0.0)), "
        "concatenate((%1.1, %1.0))) }",
        lambda x, y: torch.cat([y, x]) * torch.cat([x.exp(), y]),
    ),
}  # fmt: skip


def ran(mod: relay_ir.IRModule, inputs: list[Any]) -> Any:
    return create_executor("debug", relay_ir.infer_type(mod)).evaluate()(*inputs)


def drawn(mod: relay_ir.IRModule) -> list[Any]:
    numbers = np.random.default_rng(1)
    types = [of_type(mod.types[param], relay_ir.TensorType) for param in mod["main"].params]
    return [numbers.uniform(0.1, 0.9, [static(extent) or 0 for extent in ty.shape]) for ty in types]


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_pytorch(name: str) -> None:
    text, function = PROGRAMS[name]
    mod = relay_ir.infer_type(relay_ir.parse(HEADER + text))
    inputs = drawn(mod)
    result, found = ran(transform.HigherOrderGradient()(mod), inputs)
    tensors = [torch.tensor(one, requires_grad=True) for one in inputs]
    expected = function(*tensors)
    expected.sum().backward()
    np.testing.assert_allclose(result, expected.detach().numpy(), rtol=1e-6)
    for one, tensor in zip(found, tensors, strict=True):
        np.testing.assert_allclose(one, tensor.grad.numpy(), rtol=1e-6)


def test_gradients_of_gradients() -> None:
    mod = relay_ir.infer_type(relay_ir.parse(f"{HEADER}def @main(%x: {T}) {{ multiply(%x, multiply(%x, %x)) }}"))
    first = transform.HigherOrderGradient()(mod)["main"]
    y = relay_ir.var("y", shape=(3,), dtype="float64")
    taken = relay_ir.TupleGetItem(relay_ir.TupleGetItem(first(y), 1), 0)
    second = transform.HigherOrderGradient()(relay_ir.IRModule.from_expr(relay_ir.Function((y,), taken)))
    x = np.array([0.5, 1.0, 2.0])
    slope, (curvature,) = ran(second, [x])
    np.testing.assert_allclose(slope, 3 * x**2)
    np.testing.assert_allclose(curvature, 6 * x)


def test_partial_evaluation_takes_cells_away() -> None:
    mod = relay_ir.infer_type(relay_ir.parse(f"{HEADER}def @main(%x: {T}) {{ multiply(%x, multiply(%x, %x)) }}"))
    made = relay_ir.infer_type(transform.HigherOrderGradient()(mod))
    short = transform.DeadCodeElimination(inline_once=True, ignore_impurity=True)(transform.PartialEvaluate()(made))
    assert not any(isinstance(one, (relay_ir.RefCreate, relay_ir.RefWrite)) for one in nodes(short["main"]))
    inputs = drawn(mod)
    np.testing.assert_allclose(ran(short, inputs)[1][0], 3 * inputs[0] ** 2)


def test_what_is_refused() -> None:
    for text, message in (
        (f"def @main(%x: {T}) {{ prod(%x) }}", "gradient of the operator prod"),
        (f"def @main(%f: fn ({T}) -> {T}, %x: {T}) {{ %f(%x) }}", "gradients are of tensors"),
        (f"def @g(%x: {T}) -> {T} {{ %x }}\ndef @main(%x: {T}) {{ let %h = @g; %h(%x) }}", "@g is a value"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            transform.HigherOrderGradient()(relay_ir.parse(HEADER + text))


@pytest.mark.sweep(every=2)
def test_long_functions() -> None:
    value: Any = relay_ir.var("x", shape=())
    x = value
    for _ in range(3000):
        value = relay_ir.op.add(value, x)
    made = transform.HigherOrderGradient()(relay_ir.IRModule.from_expr(relay_ir.Function((x,), value)))
    assert len(list(nodes(made["main"]))) > 3000
