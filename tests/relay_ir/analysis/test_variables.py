"""Which variables expressions use and bind; the meaning of each case is that of TVM's tests."""

from __future__ import annotations

from relay2relax import relay_ir
from relay2relax.relay_ir import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
    GlobalTypeVar,
    If,
    Let,
    Match,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    Tuple,
    Var,
    const,
    var,
)
from relay2relax.relay_ir.analysis import all_vars, bound_vars, free_vars

X, Y, Z, A = var("x"), var("y"), var("z"), var("a")
CONS = Constructor("Cons", (), GlobalTypeVar("List"))


def check(expr: Expr, free: list[Var], bound: list[Var], together: list[Var]) -> None:
    assert free_vars(expr) == free
    assert bound_vars(expr) == bound
    assert all_vars(expr) == together


def test_a_variable_is_free() -> None:
    check(X, [X], [], [X])


def test_constants_have_no_variables() -> None:
    check(const(1), [], [], [])


def test_a_let_binds_its_variable() -> None:
    check(Let(X, const(1), X), [], [X], [X])
    check(Let(X, Y, Tuple((X, Z))), [Y, Z], [X], [X, Y, Z])


def test_a_function_binds_its_parameters_whether_used_or_not() -> None:
    check(Function((X, Y), Tuple((Y, Z))), [Z], [X, Y], [X, Y, Z])


def test_variables_stand_once_and_in_order_of_meeting() -> None:
    check(Tuple((X, Y, X, Z, Y)), [X, Y, Z], [], [X, Y, Z])
    check(If(Z, Y, X), [Z, Y, X], [], [Z, Y, X])


def test_what_is_called_comes_before_arguments() -> None:
    check(Call(Y, (X,)), [Y, X], [], [Y, X])


def test_arms_bind_the_variables_of_their_patterns() -> None:
    pattern = PatternConstructor(CONS, (PatternVar(X), PatternTuple((PatternVar(Y), PatternWildcard()))))
    arms = (Clause(pattern, Tuple((X, Y, A))), Clause(PatternWildcard(), Z))
    check(Match(A, arms), [A, Z], [X, Y], [A, X, Y, Z])
    assert bound_vars(pattern) == [X, Y]


def test_a_long_chain_needs_no_recursion() -> None:
    chain: Expr = X
    for _ in range(20_000):
        chain = Tuple((chain,))
    for _ in range(20_000):
        chain = Let(relay_ir.var("v"), Y, chain)
    assert free_vars(chain) == [Y, X]
    assert len(bound_vars(chain)) == 20_000
