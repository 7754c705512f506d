"""Rules that expressions and types keep; the cases are those of TVM's test_ir_well_formed.py,
test_pass_check_kind.py and test_analysis_basic_block_normal_form.py, by their meaning.
"""

from __future__ import annotations

import pytest

from relay2relax import relay_ir
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
    FuncType,
    GlobalTypeVar,
    If,
    IRModule,
    Kind,
    Let,
    Match,
    PatternConstructor,
    PatternVar,
    RefType,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    TypeInferenceError,
    TypeRelation,
    TypeVar,
    Var,
    const,
    op,
    var,
)
from relay2relax.relay_ir.analysis import (
    check_basic_block_normal_form,
    check_constant,
    check_kind,
    unmatched_cases,
    well_formed,
)
from relay2relax.relay_ir.transform import ToBasicBlockNormalForm

X, Y, Z = Var("x"), Var("y"), Var("z")
TEN = const(10)
LET = Let(X, TEN, X)
OPTION = GlobalTypeVar("Option")
SOME, NONE = Constructor("Some", (TypeVar("A"),), OPTION), Constructor("None", (), OPTION)


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        (X, True),
        (LET, True),
        (Let(X, TEN, LET), False),
        (Function((X,), X), True),
        (Let(Y, Function((X,), X), Let(Z, Function((X,), X), TEN)), False),
        (Tuple((TEN, TEN)), True),
        (Tuple((LET, Let(X, TEN, X))), False),
        (Tuple((LET, X)), False),
        (Tuple((X, LET)), False),
        (TupleGetItem(Var("t"), 2), True),
        (Match(Call(NONE, ()), (Clause(PatternVar(X), X),)), True),
        (
            Match(
                Call(NONE, ()),
                (Clause(PatternConstructor(SOME, (PatternVar(X),)), X), Clause(PatternVar(X), X)),
            ),
            False,
        ),
    ],
)
def test_variables_are_bound_once_and_used_within(expr: Expr, wanted: bool) -> None:
    assert well_formed(expr) is wanted


def test_a_function_used_twice_is_well_formed() -> None:
    function = Function((X,), X)
    assert well_formed(Let(Y, function, Let(Z, function, TEN)))


def test_a_long_chain_needs_no_recursion() -> None:
    body: Expr = X
    for number in range(20_000):
        body = Let(Var(f"v{number}"), X, body)
    assert well_formed(Function((X,), body))


F = var("x", shape=(), dtype="float32")
ONE, TWO = const(1.0, "float32"), const(2.0, "float32")
CONDITION = var("cond", shape=(), dtype="bool")


def branches_on(value: Expr) -> Expr:
    return If(op.equal(F, TWO), op.multiply(value, TWO), op.multiply(value, ONE))


def test_values_of_one_block() -> None:
    assert check_basic_block_normal_form(op.add(X, op.add(X, X)))
    assert check_basic_block_normal_form(Let(Y, X, Y))
    name = Var("v1")
    assert check_basic_block_normal_form(Function((F,), Let(name, op.add(F, ONE), branches_on(name))))
    shared = Var("shared")
    assert check_basic_block_normal_form(Let(shared, Var("bound"), If(CONDITION, shared, op.add(shared, shared))))


def test_values_that_branches_share_need_a_let() -> None:
    free = Var("shared")
    inner = op.add(F, F)
    a, b = var("a", shape=()), var("b", shape=())
    functions = Tuple((Function((a,), op.add(inner, a)), Function((b,), op.add(inner, b))))
    for expr in (
        If(CONDITION, free, op.add(free, free)),
        Function((F,), branches_on(op.add(F, ONE))),
        Function((F,), functions),
    ):
        with pytest.raises(UnsupportedError, match="not in basic block normal form"):
            check_basic_block_normal_form(expr)


def test_what_the_pass_makes_is_in_the_form() -> None:
    mod = ToBasicBlockNormalForm()(relay_ir.infer_type(IRModule.from_expr(Function((F,), branches_on(F + ONE)))))
    assert check_basic_block_normal_form(mod["main"])


def test_constants() -> None:
    assert check_constant(Tuple((TEN, Tuple((ONE, TWO)))))
    assert not check_constant(Tuple((TEN, X)))


def test_cases_that_no_clause_covers() -> None:
    data = TypeData(OPTION, (TypeVar("A"),), (SOME, NONE))
    mod = IRModule(type_definitions={OPTION: data})
    only = Match(X, (Clause(PatternConstructor(SOME, (PatternVar(Y),)), Y),))
    (missing,) = unmatched_cases(only, mod)
    assert isinstance(missing, PatternConstructor)
    assert missing.constructor is NONE
    assert unmatched_cases(Match(X, (Clause(PatternVar(Y), Y),))) == []


SHAPE, CONSTRAINT = TypeVar("s", Kind.SHAPE_VAR), TypeVar("c", Kind.CONSTRAINT)
PLAIN, TENSOR = TypeVar("t"), TensorType((1, 2, 3), "float32")
RELATION = TypeRelation("Broadcast", (TENSOR, PLAIN), 1)
LIST = GlobalTypeVar("List")
LISTS = IRModule(type_definitions={LIST: TypeData(LIST, (PLAIN,), ())})


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        (SHAPE, Kind.SHAPE_VAR),
        (CONSTRAINT, Kind.CONSTRAINT),
        (TupleType((PLAIN, FuncType((), TENSOR), TENSOR)), Kind.TYPE),
        (FuncType((PLAIN, TENSOR), TupleType((PLAIN, TENSOR)), (PLAIN,), (RELATION,)), Kind.TYPE),
        (RefType(TupleType((RefType(TENSOR), RefType(FuncType((), TENSOR))))), Kind.TYPE),
        (RELATION, Kind.CONSTRAINT),
        (LIST, Kind.ADT_HANDLE),
        (GlobalTypeVar("other", Kind.TYPE), Kind.TYPE),
        (TypeCall(LIST, (TupleType(()),)), Kind.TYPE),
        (TypeData(LIST, (PLAIN,), (Constructor("Cons", (PLAIN,), LIST),)), Kind.TYPE_DATA),
    ],
)
def test_kinds(type_: Type | TypeData, kind: Kind) -> None:
    assert check_kind(type_, LISTS) is kind


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (TupleType((PLAIN, SHAPE)), "a field of a tuple is of kind SHAPE_VAR, expected TYPE"),
        (FuncType((SHAPE,), PLAIN), "a parameter of a function type is of kind SHAPE_VAR"),
        (FuncType((), CONSTRAINT), "the result of a function type is of kind CONSTRAINT"),
        (FuncType((), TupleType((SHAPE, SHAPE))), "a field of a tuple"),
        (FuncType((), PLAIN, (), (TypeRelation("Identity", (SHAPE, PLAIN), 1),)), "an argument of a type relation"),
        (RefType(SHAPE), "the content of a reference"),
        (TupleType((TENSOR, FuncType((), SHAPE))), "the result of a function type"),
        (TypeCall(GlobalTypeVar("v", Kind.TYPE), ()), "what is applied to types is of kind TYPE, expected ADT_HANDLE"),
        (TypeCall(LIST, (RELATION,)), "an argument of a data type is of kind CONSTRAINT"),
        (TypeCall(LIST, ()), "`List` takes 1 type arguments"),
        (TypeCall(GlobalTypeVar("Tree"), ()), "unknown type `Tree`"),
        (TypeData(LIST, (), (Constructor("Cons", (SHAPE,), LIST),)), "a field of a constructor"),
    ],
)
def test_types_of_another_kind_are_refused(type_: Type | TypeData, message: str) -> None:
    with pytest.raises(TypeInferenceError, match=message):
        check_kind(type_, LISTS)
