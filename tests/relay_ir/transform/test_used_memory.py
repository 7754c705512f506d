"""How many bytes are alive at calls; programs and numbers are those of TVM's
test_used_memory_annotator.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from relay2relax import relay_ir
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import Any, Call, Expr, Function, IRModule, Let, Var, op, transform, var
from relay2relax.relay_ir.analysis import free_vars
from relay2relax.tir.extent import Extent


def kernel(body: Expr) -> Function:
    return Function(tuple(free_vars(body)), body, attrs={"Primitive": 1})


def of_one(function: Callable[[Expr], Expr], shape: Sequence[Extent], dtype: str = "int8") -> Function:
    return kernel(function(var("x", shape=tuple(shape), dtype=dtype)))


def pool(x: Expr) -> Expr:
    call: Expr = op.nn.max_pool2d(x)
    return call


def smaller(x: Expr) -> Expr:
    call: Expr = op.nn.max_pool2d(x, pool_size=(2, 2), layout="NHWC")
    return call


def numbers(function: Function) -> list[int]:
    found = function.attrs["used_memory"]
    assert isinstance(found, tuple)
    return [int(one) for one in found]


def annotated(body: Expr) -> tuple[list[list[int]], int]:
    """Return the numbers of the functions, in order, and that of the inputs and results."""
    mod = transform.ToANormalForm()(relay_ir.infer_type(IRModule.from_expr(body)))
    main = transform.AnnotateUsedMemory()(relay_ir.infer_type(mod))["main"]
    found: list[list[int]] = []
    rest = main.body
    while isinstance(rest, Let):
        if isinstance(rest.value, Function):
            found.append(numbers(rest.value))
        rest = rest.body
    whole = main.attrs["io_used_memory"]
    assert isinstance(whole, int)
    return found, whole


SMALL, FLAT = (1, 2, 2, 4), (1, 4, 5, 6)


def image(shape: Sequence[Extent] = SMALL, dtype: str = "int8") -> Var:
    return var("input", shape=tuple(shape), dtype=dtype)


def test_one_function() -> None:
    assert annotated(Call(of_one(pool, SMALL), (image(),))) == ([[32]], 32)


def test_functions_in_a_row() -> None:
    body: Expr = image((1, 8, 8, 2))
    for extent in (8, 7, 6):
        body = Call(of_one(smaller, (1, extent, extent, 2)), (body,))
    assert annotated(body) == ([[128 + 98], [98 + 72], [72 + 50]], 128 + 50)


def test_other_dtypes() -> None:
    wider = of_one(lambda x: op.cast(x, "uint32"), (1, 2, 2, 2), "int16")
    assert annotated(Call(wider, (image((1, 2, 2, 2), "int16"),))) == ([[48]], 48)


def test_the_result_of_another_function_is_alive() -> None:
    data = image(FLAT)
    calls = [Call(of_one(lambda x: op.reshape(x, (1, 4, 30)), FLAT), (data,)) for _ in range(2)]
    assert annotated(op.concatenate(relay_ir.Tuple(tuple(calls)), axis=0)) == ([[240], [360]], 120 + 240)


def test_results_of_several_functions_are_alive() -> None:
    data = image(FLAT)
    functions: list[Callable[[Expr], Expr]] = [op.tanh, pool, lambda x: op.exp(op.nn.relu(op.abs(x)))]
    calls = tuple(Call(of_one(one, FLAT), (data,)) for one in functions)
    inputs = tuple(var(name, shape=FLAT, dtype="int8") for name in "xyz")
    joined = kernel(op.concatenate(relay_ir.Tuple(inputs), axis=3))
    assert annotated(Call(joined, calls)) == ([[240], [360], [480], [360 + 360]], 120 + 360)


def test_branches_of_branches() -> None:
    data = image()
    a, b = (Call(of_one(op.nn.relu, SMALL), (data,)) for _ in range(2))
    c, d = (Call(of_one(op.nn.relu, SMALL), (b,)) for _ in range(2))
    assert annotated(op.concatenate(relay_ir.Tuple((a, c, d)), axis=3)) == ([[32], [48], [48], [64]], 16 + 48)


def test_a_function_inside_a_function() -> None:
    x = var("x", shape=SMALL, dtype="int8")
    composite = Function((x,), smaller(x), attrs={"Composite": "my_composite_func"})
    outer = kernel(Call(composite, (var("y", shape=SMALL, dtype="int8"),)))
    assert annotated(Call(outer, (image(),))) == ([[20]], 20)


def test_a_function_that_is_called_twice() -> None:
    inner, data = of_one(pool, SMALL), image()
    once = Call(inner, (data,))
    assert annotated(Call(inner, (once,))) == ([[32, 32]], 32)
    both = op.concatenate(relay_ir.Tuple((once, Call(inner, (data,)))), axis=0)
    assert annotated(both) == ([[32, 48]], 48)


def test_a_function_that_is_called_many_times() -> None:
    y = Call(of_one(op.tanh, FLAT), (image(FLAT),))
    inner = of_one(lambda x: op.nn.max_pool2d(x, pool_size=(2, 2)), FLAT)
    body = op.concatenate(relay_ir.Tuple(tuple(Call(inner, (y,)) for _ in range(20))), axis=3)
    assert annotated(body) == ([[240], [120 + 80 * one for one in range(1, 21)]], 120 + 80 * 20)


@pytest.mark.parametrize(("outside", "inside"), [((1, 2, 2, Any()), SMALL), (SMALL, (Any(), 2, 2, 4))])
def test_shapes_that_are_not_known(outside: Sequence[Extent], inside: Sequence[Extent]) -> None:
    with pytest.raises(UnsupportedError, match="AnnotateUsedMemory does not support dynamic shapes"):
        annotated(Call(of_one(pool, inside), (image(outside),)))


def test_branches_of_the_program() -> None:
    mod = relay_ir.parse("""#[version = "0.0.5"]
def @main(%c: bool, %x: Tensor[(8), int8]) {
  let %f = fn (%a: Tensor[(8), int8], Primitive=1) { nn.relu(%a) };
  let %y = if (%c) { let %z = %f(%x); %z } else { let %w = %f(%x); let %v = %f(%w); %v };
  add(%y, %x)
}
""")
    made = transform.AnnotateUsedMemory()(relay_ir.infer_type(mod))["main"]
    assert isinstance(made.body, Let)
    assert isinstance(made.body.value, Function)
    # In each call %x, which is used afterwards, and the result; in the last one %w as well.
    assert numbers(made.body.value) == [16, 16, 24]
