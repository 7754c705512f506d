"""Passes over Relay, one by one."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.relay_ir import (
    Call,
    Constant,
    Function,
    GlobalVar,
    If,
    IRModule,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    transform,
    var,
)
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.rewrite import nodes

HEADER = '#[version = "0.0.5"]\n'


def parse(text: str) -> IRModule:
    return relay_ir.parse(HEADER + text)


def same(mod: IRModule, text: str) -> None:
    assert relay_ir.first_difference(relay_ir.infer_type(mod), relay_ir.infer_type(parse(text))) is None


def folded(text: str, **options: bool) -> relay_ir.Expr:
    return transform.FoldConstant(**options)(parse(text))["main"].body


def test_constants_fold() -> None:
    body = folded("def @main() { let %a = add(2f, 3f); multiply(%a, %a) }")
    assert isinstance(body, Constant)
    assert body.data.item() == 25
    assert body.data.dtype == np.float32


def test_fields_branches_and_shapes_fold() -> None:
    text = """def @main(%x: Tensor[(4, ?), float32], %y: Tensor[(2, 3), int8]) {
      %0 = (negative(3), %x);
      %1 = %0.0;
      %2 = if (less(%1, 0)) { shape_of(%y, dtype="int32") }
      else { shape_of(transpose(%y, axes=[1, 0]), dtype="int32") };
      (%2, shape_of(%x, dtype="int64"))
    }"""
    body = folded(text)
    assert isinstance(body, Tuple)
    assert isinstance(body.fields[0], Constant)
    assert body.fields[0].data.tolist() == [2, 3]
    assert isinstance(body.fields[1], Call)


@pytest.mark.parametrize(
    ("body", "elements"), [('full(1f, shape=[2], dtype="float32")', [1.0, 1.0]), ("zeros_like(2f)", 0.0)]
)
def test_fillings_of_constants_fold(body: str, elements: object) -> None:
    found = folded(f"def @main() {{ {body} }}")
    assert isinstance(found, Constant)
    assert found.data.tolist() == elements


@pytest.mark.parametrize("body", ["ones(shape=[2, 3])", "nn.dropout(1f)"])
def test_what_does_not_fold(body: str) -> None:
    mod = parse(f"def @main() {{ {body} }}")
    assert transform.FoldConstant()(mod)["main"].body is mod["main"].body


def test_equal_calls_are_shared() -> None:
    mod = parse("def @main(%x: float32) { add(tanh(%x), multiply(tanh(%x), add(%x, 1f))) }")
    body = of_type(transform.EliminateCommonSubexpr()(mod)["main"].body, Call)
    assert body.args[0] is of_type(body.args[1], Call).args[0]
    skipping = transform.EliminateCommonSubexpr(skip=lambda call: of_type(of_type(call, Call).op, Op).name == "tanh")
    kept = of_type(skipping(mod)["main"].body, Call)
    assert kept.args[0] is not of_type(kept.args[1], Call).args[0]


def test_calls_that_differ_in_attributes_stay() -> None:
    mod = parse("def @main(%x: Tensor[(2, 2), float32]) { add(sum(%x, axis=[0]), sum(%x, axis=[1])) }")
    assert transform.EliminateCommonSubexpr()(mod) is mod


def test_a_normal_form() -> None:
    mod = parse("def @main(%x: float32, %c: bool) { %0 = add(%x, 1f); if (%c) { tanh(%0) } else { %0 } }")
    same(
        transform.ToANormalForm()(mod),
        """def @main(%x: float32, %c: bool) {
          let %one = 1f;
          let %sum = add(%x, %one);
          let %result = if (%c) { let %y = tanh(%sum); %y } else { %sum };
          %result
        }""",
    )


def test_basic_blocks() -> None:
    mod = parse("def @main(%x: float32, %c: bool) { %0 = add(%x, 1f); if (%c) { tanh(%0) } else { %0 } }")
    same(
        transform.ToBasicBlockNormalForm()(mod),
        "def @main(%x: float32, %c: bool) { let %0 = add(%x, 1f); if (%c) { tanh(%0) } else { %0 } }".replace(
            "%0", "%shared"
        ),
    )
    plain = parse("def @main(%x: float32) { %0 = add(%x, 1f); multiply(%0, %0) }")
    assert transform.ToBasicBlockNormalForm()(plain) is plain


def test_normal_forms_undo_each_other() -> None:
    text = "def @main(%x: Tensor[(2, 3), float32]) { %0 = tanh(%x); %1 = (%0, exp(%0)); concatenate(%1) }"
    mod = parse(text)
    there = transform.ToANormalForm()(mod)
    assert any(isinstance(node, Let) for node in nodes(there["main"]))
    same(transform.ToGraphNormalForm()(there), text)


def test_values_used_once_are_inlined() -> None:
    text = """def @main(%x: float32) {
      let %once = tanh(%x);
      let %twice = exp(%once);
      let %captured = negative(%twice);
      let %f = fn (%y: float32) { add(%y, %captured) };
      add(%f(%twice), %f(%twice))
    }"""
    after = transform.DeadCodeElimination(inline_once=True)(parse(text))
    names = {node.var.name for node in nodes(after["main"]) if isinstance(node, Let)}
    assert names == {"twice", "captured", "f"}


def test_unused_functions() -> None:
    mod = parse(
        "def @a(%x: float32) -> float32 { @b(%x) } def @b(%x: float32) -> float32 { %x } "
        "def @c(%x: float32) -> float32 { @c(%x) } def @main(%x: float32) -> float32 { @a(%x) }"
    )
    after = transform.RemoveUnusedFunctions()(mod)
    assert {name.name for name in after.functions} == {"a", "b", "main"}
    assert transform.RemoveUnusedFunctions(("c", "main"))(mod) is mod
    with pytest.raises(relay_ir.TypeInferenceError.__mro__[1], match="no function @run"):
        transform.RemoveUnusedFunctions(("run",))(mod)


def test_inlining_of_globals() -> None:
    mod = parse(
        "def @twice(%x: float32, Inline=1) -> float32 { add(%x, %x) } "
        "def @main(%x: float32) -> float32 { @twice(@twice(%x)) }"
    )
    same(
        transform.Inline()(mod),
        "def @main(%x: float32) -> float32 { %0 = add(%x, %x); add(%0, %0) }",
    )


def test_lifting() -> None:
    mod = parse(
        """def @main(%x: float32, %n: int32) -> float32 {
          let %plain = fn (%y: float32) -> float32 { exp(%y) };
          let %loop = fn (%i: int32, %y: float32) -> float32 {
            if (less(%i, 1)) { %y } else { %loop(subtract(%i, 1), add(%y, %x)) }
          };
          %plain(%loop(%n, %x))
        }"""
    )
    after = relay_ir.infer_type(transform.LambdaLift()(mod))
    assert {name.name for name in after.functions} == {"main", "lifted_name0", "lifted_name1"}
    assert not any(isinstance(node, Function) for node in nodes(after["main"].body))
    closures = [function for function in after.functions.values() if function.attrs.get("Closure")]
    assert [param.name for param in closures[0].params] == ["x"]
    assert transform.LambdaLift()(after) is after


def test_what_removed_code_said_of_parameters_is_kept() -> None:
    text = "def @main(%x: Tensor[(2, 3), float32], %g, %b) { %0 = nn.layer_norm(%x, %g, %b, scale=False); %0 }"
    after = relay_ir.infer_type(transform.SimplifyInference()(parse(text)))
    assert after.types[after["main"].params[1]] == relay_ir.TensorType((3,), "float32")
    text = "def @main(%x: Tensor[(2, 3), float32], %b) { let %unused = nn.bias_add(%x, %b); %x }"
    after = relay_ir.infer_type(transform.DeadCodeElimination()(parse(text)))
    assert after["main"].body is after["main"].params[0]
    assert after.types[after["main"].params[1]] == relay_ir.TensorType((3,), "float32")
    x, y = var("x", shape=(2,)), var("y")
    mod = IRModule({GlobalVar("main"): Function((x,), Call(Function((y,), op.nn.relu(y)), (x,)))})
    assert y.type_annotation is None
    lifted = relay_ir.infer_type(transform.LambdaLift()(mod))["lifted_name0"]
    assert lifted.ret_type == lifted.params[0].type_annotation == relay_ir.TensorType((2,), "float32")


def test_layer_norm_becomes_arithmetic() -> None:
    x, gamma, beta = var("x", shape=(2, 5)), var("gamma", shape=(5,)), var("beta", shape=(5,))
    mod = IRModule({GlobalVar("main"): Function((x, gamma, beta), op.nn.layer_norm(x, gamma, beta, epsilon=1e-3))})
    after = relay_ir.infer_type(transform.SimplifyInference()(mod))
    names = {of_type(node.op, Op).name for node in nodes(after["main"]) if isinstance(node, Call)}
    assert names == {"mean", "variance", "subtract", "sqrt", "divide", "add", "multiply"}
    assert after["main"].ret_type == relay_ir.TensorType((2, 5), "float32")


def test_epsilons_are_float32_as_in_tvm() -> None:
    """TVM's SimplifyInference converts them, whatever the data are of."""
    x, g = var("x", shape=(1, 1, 1, 2), dtype="float64"), var("g", shape=(1,), dtype="float64")
    mod = IRModule({GlobalVar("main"): Function((x, g), op.nn.instance_norm(x, g, g, center=False, scale=False))})
    data = np.asarray([0.1, 0.2]).reshape(1, 1, 1, 2)
    found = create_executor("debug", transform.SimplifyInference()(mod)).evaluate()(data, np.ones(1))
    expected = (data - data.mean()) / np.sqrt(data.var() + np.float64(np.float32(1e-5)))
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("call", "weights"),
    [
        (lambda x, g, b: op.nn.layer_norm(x, g, b, axis=1), 6),
        (lambda x, g, b: op.nn.instance_norm(x, g, b, epsilon=1e-3), 6),
        (lambda x, g, b: op.nn.group_norm(x, g, b, num_groups=3), 6),
        (lambda x, g, b: op.nn.group_norm(x, g, b, num_groups=2, scale=False, center=False), 6),
        (lambda x, g, b: op.nn.l2_normalize(x, eps=1e-3, axis=[1]) + op.reshape(g + b, newshape=[6, 1]), 6),
        (lambda x, g, b: TupleGetItem(op.nn.batch_norm(x, g, b, b, g, scale=False), 0), 6),
    ],
)
def test_normalisations_are_arithmetic(call: Callable[..., relay_ir.Expr], weights: int) -> None:
    shape = (2, weights, 5)
    x, gamma, beta = var("x", shape=shape), var("gamma", shape=(weights,)), var("beta", shape=(weights,))
    mod = IRModule({GlobalVar("main"): Function((x, gamma, beta), call(x, gamma, beta))})
    after = transform.SimplifyInference()(mod)
    names = {of_type(node.op, Op).name for node in nodes(after["main"]) if isinstance(node, Call)}
    assert "sqrt" in names
    assert not any("norm" in name for name in names)
    rng = np.random.default_rng(0)
    args = [rng.uniform(0.5, 1.5, size).astype("float32") for size in (shape, weights, weights)]
    results = [create_executor("debug", one).evaluate()(*args) for one in (mod, after)]
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-5)


@pytest.mark.sweep(every=2)
def test_long_chains() -> None:
    length = 3 * sys.getrecursionlimit()
    x = var("x", shape=(1,))
    body: relay_ir.Expr = x
    for _ in range(length):
        body = op.add(body, x)
    mod = IRModule({GlobalVar("main"): Function((x,), body)})
    there = transform.ToANormalForm()(mod)
    assert sum(isinstance(node, Let) for node in nodes(there["main"])) == length
    back = transform.ToGraphNormalForm()(there)
    assert relay_ir.structural_equal(back, mod)
    again = transform.ToANormalForm()(there)
    assert sum(isinstance(node, Let) for node in nodes(again["main"])) == 2 * length
    for one in (transform.FoldConstant(), transform.EliminateCommonSubexpr(), transform.SimplifyInference()):
        assert one(mod) is mod
    assert transform.DeadCodeElimination(inline_once=True)(there)["main"].body is not there["main"].body


def test_a_node_shared_by_many_scopes() -> None:
    x, c = var("x", shape=(1,)), var("c", "bool")
    shared = op.tanh(x)
    body: relay_ir.Expr = shared
    for _ in range(2 * sys.getrecursionlimit()):
        body = If(c, shared, op.exp(body))
    mod = IRModule({GlobalVar("main"): Function((x, c), body)})
    after = transform.ToBasicBlockNormalForm()(mod)["main"].body
    assert isinstance(after, Let)
    assert after.value is shared
