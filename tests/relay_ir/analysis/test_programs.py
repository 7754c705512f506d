"""What programs use, compute and call; the cases are those of TVM's test_analysis_feature.py,
test_call_graph.py, test_pass_mac_count.py, test_analysis_extract_intermediate_expr.py and
test_analysis_extract_fake_quantized_ops.py, by their meaning.
"""

from __future__ import annotations

import pytest

from relay2relax import relay_ir
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.relay_ir import (
    Call,
    Expr,
    Function,
    GlobalVar,
    IRModule,
    Let,
    RefCreate,
    RefRead,
    Tuple,
    TupleGetItem,
    Var,
    const,
    op,
    structural_equal,
    var,
)
from relay2relax.relay_ir.analysis import (
    CallGraph,
    Feature,
    all_dtypes,
    detect_feature,
    extract_intermdeiate_expr,
    extract_intermediate_expr,
    get_total_mac_number,
    list_fake_quantized_op_freqs,
    search_fc_transpose,
)

RECURSIVE = relay_ir.parse("""#[version = "0.0.5"]
def @gx(%x: int32) -> int32 { %x }
def @sum_up(%i: int32) -> int32 {
  if (equal(%i, 0)) { %i } else { add(@sum_up(subtract(%i, 1)), add(@gx(%i), @gx(%i))) }
}
def @main(%i: int32) -> int32 { @sum_up(%i) }
""")


def test_a_function_that_calls_itself() -> None:
    graph = CallGraph(RECURSIVE)
    assert graph.is_recursive("sum_up")
    assert not graph.is_recursive(RECURSIVE.get_global_var("main"))
    assert [graph.ref_count(name) for name in ("gx", "sum_up", "main")] == [1, 2, 0]
    assert [graph.global_call_count(name) for name in ("gx", "sum_up", "main")] == [0, 2, 1]
    assert graph.print_var("main") == "Call graph node: main,  #refs = 0\n  call site: <main> calls sum_up\n"
    assert str(graph).count("Call graph node") == 3
    with pytest.raises(Relay2RelaxError, match="absent"):
        graph.ref_count("absent")


def test_features_of_constructs() -> None:
    x = var("x", shape=(10, 10))
    total = op.add(x, x)
    assert detect_feature(Function((x,), total)) == {Feature.fVar, Feature.fFunction, Feature.fOp, Feature.fCall}
    assert Feature.fGraph in detect_feature(Tuple((total, total)))
    assert detect_feature(RefRead(RefCreate(const(1)))) == {Feature.fRefRead, Feature.fRefCreate, Feature.fConstant}
    name = Var("f")
    loop = Let(name, Function((x,), Call(name, (x,))), Call(name, (x,)))
    assert Feature.fLetRec in detect_feature(loop)
    both = detect_feature(total, RECURSIVE)
    assert both == detect_feature(RECURSIVE, total) == detect_feature(RECURSIVE) | detect_feature(total)
    assert {Feature.fIf, Feature.fGlobalVar} <= both


def test_bodies_of_primitive_functions_are_not_looked_at() -> None:
    x = var("x", shape=(2,))
    assert detect_feature(Function((x,), op.exp(x), attrs={"Primitive": 1})) == {Feature.fFunction}


def conv(data: Expr, weight: Expr, **attrs: object) -> Expr:
    call: Expr = op.nn.conv2d(data, weight, **attrs)
    return call


def test_multiplications_of_products() -> None:
    a, b = var("a", shape=(512, 1024)), var("b", shape=(256, 1024))
    assert get_total_mac_number(Function((a, b), Tuple((op.nn.dense(a, b),)))) == 512 * 1024 * 256
    x, y = var("x", shape=(3, 4, 5)), var("y", shape=(3, 7, 5))
    assert get_total_mac_number(op.nn.batch_matmul(x, y)) == 3 * 4 * 5 * 7


def test_multiplications_of_convolutions() -> None:
    image, weight = var("data", shape=(1, 3, 224, 224)), var("weight", shape=(64, 3, 7, 7))
    inside = conv(image, weight, channels=64, kernel_size=(7, 7), padding=(1, 1))
    assert get_total_mac_number(inside) == 3 * 220 * 220 * 64 * 7 * 7
    back = var("weight", shape=(3, 64, 7, 7))
    wider = op.nn.conv2d_transpose(image, back, channels=64, kernel_size=(7, 7), padding=(1, 1))
    assert get_total_mac_number(wider) == 3 * 228 * 228 * 64 * 7 * 7
    data, taps = var("data", shape=(1, 64, 56, 56)), var("taps", shape=(64, 1, 3, 3))
    one, other = (conv(data, taps, kernel_size=(3, 3), padding=(1, 1), groups=64) for _ in range(2))
    assert get_total_mac_number(op.add(one, other)) == 2 * 64 * 56 * 56 * 3 * 3


def test_multiplications_of_a_network() -> None:
    data = [var(name, shape=(1, 64, 56, 56)) for name in ("data1", "data2")]
    weight, dense = var("weight_conv", shape=(64, 64, 3, 3)), var("weight_dense", shape=(1, 56 * 56 * 64))
    convolved = [conv(one, weight, channels=64, kernel_size=(3, 3), padding=(1, 1)) for one in data]
    flattened = op.nn.batch_flatten(op.add(*convolved))
    body = Tuple((*convolved, op.nn.dense(flattened, dense), flattened))
    # The number is that of TVM's test.
    assert get_total_mac_number(Function((*data, weight, dense), body)) == 231411712


def test_what_has_no_known_extent_cannot_be_counted() -> None:
    x = var("x", shape=(relay_ir.Any(), 8))
    with pytest.raises(UnsupportedError, match="cannot be counted"):
        get_total_mac_number(op.nn.dense(x, var("w", shape=(4, 8))))


def test_dtypes() -> None:
    x = var("x", shape=(2,), dtype="int8")
    assert all_dtypes(op.cast(x, "float16")) == {"int8", "float16"}


def test_transposed_weights_of_dense() -> None:
    x, w = var("x", shape=(1, 200)), var("dense_weight", shape=(200, 100))
    assert search_fc_transpose(op.nn.dense(x, op.transpose(w, (1, 0)))) == ["dense_weight"]
    assert search_fc_transpose(op.nn.dense(x, var("w", shape=(100, 200)))) == []


def test_expressions_by_their_numbers() -> None:
    x, w1, w2 = var("x", shape=(1, 1, 5, 1)), Var("w1"), Var("w2")
    y = conv(x, w1, kernel_size=(3, 3), padding=(1, 1), channels=1)
    x1 = conv(y, w2, kernel_size=(3, 3), padding=(1, 1), channels=1)
    z = op.add(y, x1)
    split = op.split(z, indices_or_sections=1, axis=0)
    field = TupleGetItem(split, 0)
    last = op.add(field, const(1, "float32"))
    mod = IRModule.from_expr(last)
    for number, wanted in enumerate((y, x1, z, split, field, last)):
        assert structural_equal(extract_intermediate_expr(mod, number), IRModule.from_expr(wanted))
    assert extract_intermdeiate_expr is extract_intermediate_expr
    with pytest.raises(Relay2RelaxError, match="there is no expression 6: main has 6"):
        extract_intermediate_expr(mod, 6)


def dequantized(shape: tuple[int, ...], scale: float = 2.0) -> Expr:
    call: Expr = op.qnn.dequantize(var("x", shape=shape, dtype="int8"), const(scale), const(0))
    return call


def quantized(data: Expr) -> Expr:
    call: Expr = op.qnn.quantize(data, const(1.0), const(0), out_dtype="int8")
    return call


def test_operators_in_fake_quantised_regions() -> None:
    first = quantized(op.nn.dense(dequantized((128, 64)), dequantized((256, 64))))
    relu = quantized(op.nn.relu(op.qnn.dequantize(first, const(2.0), const(114))))
    back = op.qnn.dequantize(relu, const(1.0), const(0))
    last = op.sigmoid(quantized(op.nn.dense(back, dequantized((64, 256)))))
    assert list_fake_quantized_op_freqs(IRModule.from_expr(last)) == {"nn.dense": 2, "nn.relu": 1}
    moved = op.reshape(op.transpose(dequantized((1, 3, 4, 4)), (1, 0, 2, 3)), (3, -1))
    assert list_fake_quantized_op_freqs(IRModule.from_expr(quantized(moved))) == {"transpose": 1, "reshape": 1}
    joined = op.concatenate(Tuple(tuple(dequantized((1, 4), n + 0.5) for n in range(4))), axis=1)
    assert list_fake_quantized_op_freqs(IRModule.from_expr(quantized(joined))) == {"concatenate": 1}


def test_a_region_with_a_float_parameter_does_not_count() -> None:
    mixed = quantized(op.add(dequantized((4,)), var("f", shape=(4,))))
    assert list_fake_quantized_op_freqs(IRModule({GlobalVar("main"): Function((), mixed)})) == {}


def test_features_of_the_prelude() -> None:
    # The set is that of TVM's test.
    assert {one.name for one in detect_feature(relay_ir.Prelude().mod)} == {
        "fVar", "fGlobalVar", "fConstant", "fTuple", "fTupleGetItem", "fFunction", "fOp", "fCall", "fLet", "fIf",
        "fConstructor", "fMatch",
    }  # fmt: skip
