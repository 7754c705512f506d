"""Which type variables expressions and types use and bind; the cases are those of TVM's
test_pass_vars.py, by their meaning.
"""

from __future__ import annotations

import pytest

from relay2relax import relay_ir
from relay2relax.relay_ir import (
    Expr,
    Function,
    FuncType,
    Let,
    RefType,
    TensorType,
    Tuple,
    TupleType,
    Type,
    TypeInferenceError,
    TypeVar,
    Var,
)
from relay2relax.relay_ir.analysis import all_type_vars, bound_type_vars, free_type_vars

A, B, C = TypeVar("a"), TypeVar("b"), TypeVar("c")
W, X, Y, Z = Var("w"), Var("x", A), Var("y", B), Var("z", C)
NOTHING = Tuple(())


@pytest.mark.parametrize(
    ("what", "bound", "together"),
    [
        (FuncType((A,), B, (A, B)), [A, B], [A, B]),
        (FuncType((B,), C, (A,)), [A], [A, B, C]),
        (FuncType((), TupleType((A, B, C))), [], [A, B, C]),
        (TupleType((A, RefType(B), TensorType((2,), "int32"))), [], [A, B]),
        (Function((), NOTHING, None, (A, B)), [A, B], [A, B]),
        (Function((), NOTHING, C), [], []),
        (Let(X, NOTHING, X), [], [A]),
        (Let(X, Function((), NOTHING, None, (B, C)), X), [B, C], [A, B, C]),
        (Function((X,), Y, B, (A,)), [A], [A, B]),
        (Function((X,), Let(Y, X, Z)), [], [A, B, C]),
        (Function((W,), W), [], []),
    ],
)
def test_variables_of_types(what: Expr | Type, bound: list[TypeVar], together: list[TypeVar]) -> None:
    assert sorted(one.name for one in bound_type_vars(what)) == [one.name for one in bound]
    assert sorted(one.name for one in all_type_vars(what)) == [one.name for one in together]
    assert set(free_type_vars(what)) == set(together) - set(bound)


def test_constructors_bind_what_their_definition_binds() -> None:
    mod = relay_ir.parse("""#[version = "0.0.5"]
type Pair[A, B] { Pair(A, B), }
def @main(%x: int32) { Pair(%x, %x) }
""")
    (definition,) = mod.type_definitions.values()
    found = bound_type_vars(mod["main"], mod)
    assert found == list(definition.type_vars)
    assert free_type_vars(mod["main"], mod) == []
    with pytest.raises(TypeInferenceError, match="unknown type `Pair`"):
        free_type_vars(mod["main"])
