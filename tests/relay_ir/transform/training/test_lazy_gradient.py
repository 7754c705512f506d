"""LazyGradientInit, as TVM's test_pass_lazy_gradient_init.py: types and numbers stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import Call, Constructor, Function, IRModule, Let, TensorType, TupleType, Var, op, transform
from relay2relax.relay_ir.build.prelude import library_text
from relay2relax.relay_ir.ir.rewrite import nodes

T = TensorType((10, 10), "float32")


def lazy(function: Function) -> IRModule:
    mod = relay_ir.infer_type(IRModule.from_expr(function))
    after = relay_ir.infer_type(transform.LazyGradientInit()(mod))
    assert after.types[after["main"]] == mod.types[mod["main"]]
    return after


def run(mod: IRModule, *args: Any) -> Any:
    return create_executor("debug", mod).evaluate()(*args)


def drawn(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape or (10, 10)).astype("float32")


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "nothing": (lambda x: x, lambda x: x),
    "add": (lambda x: x + x, lambda x: x + x),
    "multiply": (lambda x: x * x, lambda x: x * x),
    "zeros": (lambda x: x + op.zeros((10, 10), "float32"), lambda x: x),
    "ones": (lambda x: x + op.ones((10, 10), "float32"), lambda x: x + 1),
    "zeros_like": (lambda x: x + op.zeros_like(x), lambda x: x),
    "ones_like": (lambda x: x + op.ones_like(x), lambda x: x + 1),
    # TVM makes one of zeros_like, and gives x here.
    "product with zero": (lambda x: x * op.zeros_like(x), lambda x: 0 * x),
    "product with one": (lambda x: op.ones_like(x) * x, lambda x: x),
    "others": (lambda x: op.nn.relu(op.exp(x)) - x, lambda x: np.exp(x) - x),
    "concatenation": (lambda x: op.concatenate([x, x + x], axis=0), lambda x: np.concatenate([x, x + x])),
    "parts": (lambda x: op.split(x, 2)[0] + op.split(x, 2)[1], lambda x: x[:5] + x[5:]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_tensor(name: str) -> None:
    make, expected = FUNCTIONS[name]
    x, data = Var("x", T), drawn(0)
    np.testing.assert_allclose(np.asarray(run(lazy(Function((x,), make(x))), data)), expected(data), rtol=1e-5)


def test_tuples() -> None:
    x = Var("x", TupleType((T, T)))
    given = (drawn(0), drawn(1))
    body = relay_ir.TupleGetItem(x, 0) + relay_ir.TupleGetItem(x, 1)
    np.testing.assert_allclose(np.asarray(run(lazy(Function((x,), body)), given)), given[0] + given[1], rtol=1e-5)
    y = Var("y", T)
    first, second = run(lazy(Function((y,), relay_ir.Tuple((y, y + y)))), given[0])
    np.testing.assert_array_equal(np.asarray(first), given[0])
    np.testing.assert_allclose(np.asarray(second), given[0] * 2)


def test_sums_of_other_shapes() -> None:
    x, y = Var("x", TensorType((3, 4, 1), "float32")), Var("y", TensorType((1, 5), "float32"))
    a, b = drawn(0, 3, 4, 1), drawn(1, 1, 5)
    np.testing.assert_allclose(np.asarray(run(lazy(Function((x, y), x + y)), a, b)), a + b, rtol=1e-5)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "identity": lambda x, y: x,
    "product": lambda x, y: x * y,
    "sum and product": lambda x, y: (x + y) * x,
    "deep": lambda x, y: op.tanh(x * y) * op.exp(y) + x,
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("evaluated", ["", "before", "after"])
def test_gradients(name: str, evaluated: str) -> None:
    """What FirstOrderGradient gives stays, evaluated in part before or after it, too."""
    x, y = Var("x", T), Var("y", T)
    mod = relay_ir.infer_type(IRModule.from_expr(Function((x, y), PROGRAMS[name](x, y))))
    plain = relay_ir.infer_type(transform.FirstOrderGradient()(mod))
    after = plain
    if evaluated == "before":
        after = relay_ir.infer_type(transform.PartialEvaluate()(after))
    after = relay_ir.infer_type(transform.LazyGradientInit()(after))
    if evaluated == "after":
        after = relay_ir.infer_type(transform.PartialEvaluate()(after))
    args = (drawn(0), drawn(1))
    found, expected = (run(one, *args) for one in (after, plain))
    np.testing.assert_allclose(np.asarray(found[0]), np.asarray(expected[0]), rtol=1e-5)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5)


def test_branches_and_calls() -> None:
    text = """
    def @f(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { add(%x, ones_like(%x)) }
    def @main(%x: Tensor[(2), float32], %c: bool) -> Tensor[(2), float32] {
      let %y = if (%c) { @f(%x) } else { multiply(%x, 2f) };
      let %g = fn (%z: Tensor[(2), float32]) { add(%z, %y) };
      %g(%x)
    }"""
    mod = relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]{text}'))
    after = relay_ir.infer_type(transform.LazyGradientInit()(mod))
    data = drawn(0, 2)
    for choice, expected in ((True, 2 * data + 1), (False, 3 * data)):
        np.testing.assert_allclose(np.asarray(run(after, data, np.asarray(choice))), expected, rtol=1e-5)


def test_zeros_are_not_made() -> None:
    x = Var("x", T)
    found = lazy(Function((x,), x + op.zeros_like(x)))["main"]
    made = {node.op.name for node in nodes(found) if isinstance(node, Call) and isinstance(node.op, Constructor)}
    assert made == {"Raw", "Zero"}


def test_a_module_that_has_the_library_already() -> None:
    x = Var("x", T)
    main = relay_ir.GlobalVar("main")
    mod = relay_ir.parse(library_text(("gradient",))).with_function(main, Function((x,), x * x))
    after = relay_ir.infer_type(transform.LazyGradientInit()(mod))
    assert len(after.type_definitions) == 1
    np.testing.assert_allclose(np.asarray(run(after, drawn(0))), drawn(0) ** 2, rtol=1e-5)


def test_what_is_refused() -> None:
    text = "def @main[A](%x: A) -> A { %x }"
    with pytest.raises(UnsupportedError, match="polymorphic"):
        transform.LazyGradientInit()(relay_ir.parse(f'#[version = "0.0.5"]{text}'))
    text = library_text() + "def @main(%x: int32) -> List[int32] { Cons(%x, Nil) }"
    with pytest.raises(UnsupportedError, match=r"not of List|data types|polymorphic"):
        transform.LazyGradientInit()(relay_ir.parse(text))


def test_lets_stay_lets() -> None:
    x, y = Var("x", T), Var("y")
    found = lazy(Function((x,), Let(y, x + x, y * y)))
    np.testing.assert_allclose(np.asarray(run(found, drawn(0))), (2 * drawn(0)) ** 2, rtol=1e-5)
