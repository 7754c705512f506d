"""FuseOps and FuseTIR: the groups that TVM makes, the same programs, the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.relax_ir.transform import FuseOps, FuseTIR, LegalizeOps, Sequential
from relay2relax.tir.analysis.pattern import OpPattern, op_pattern
from relay2relax.tir.ir.stmt import PrimFunc

RANDOM = np.random.default_rng(5)
IMAGE = 'R.Tensor((2, 4, 6, 6), dtype="float32")'
PARAMS = (
    f'x: {IMAGE}, m: R.Tensor((6, 5), dtype="float32"), k: R.Tensor((5, 7), dtype="float32"), '
    'w: R.Tensor((8, 4, 3, 3), dtype="float32"), i: R.Tensor((3,), dtype="int64"), '
    's: R.Tensor((1,), dtype="float32"), c: R.Tensor((4,), dtype="float32"), b: R.Tensor((4, 1, 1), dtype="float32")'
)
# Calls by the kind that TVM 0.27's AnnotateTIROpPattern gives their programs.
KINDS = {
    OpPattern.ELEMWISE: [
        "R.exp(x)",
        "R.add(x, x)",
        "R.add(x, b)",
        "R.nn.relu(x)",
        'R.astype(x, "float16")',
        "R.where(R.greater(x, x), x, x)",
        'R.zeros(R.shape([2, 3]), "float32")',
    ],
    OpPattern.BROADCAST: ["R.broadcast_to(b, R.shape([2, 4, 6, 6]))", "R.expand_dims(m, axis=[0])", "R.squeeze(s)"],
    OpPattern.INJECTIVE: [
        "R.permute_dims(x, axes=[0, 2, 3, 1])",
        "R.reshape(x, R.shape([8, 36]))",
        "R.concat((x, x), axis=1)",
        "R.split(x, 2, axis=1)",
        "R.strided_slice(x, axes=[1], begin=[1], end=[2])",
        "R.tile(m, [2, 2])",
        "R.nn.pad(x, (0, 0, 0, 0, 1, 1, 1, 1))",
    ],
    OpPattern.COMM_REDUCE: ["R.sum(x, axis=[1])", "R.max(x, axis=[2])", "R.sum(x)"],
    OpPattern.OUT_ELEMWISE_FUSABLE: [
        "R.matmul(m, k)",
        "R.nn.conv2d(x, w, padding=(1, 1))",
        "R.nn.max_pool2d(x, pool_size=(2, 2))",
        "R.nn.avg_pool2d(x, pool_size=(2, 2))",
        "R.nn.softmax(x, axis=-1)",
        "R.mean(x, axis=[1])",
        "R.argmax(x, axis=1)",
        "R.nn.group_norm(x, c, c, num_groups=2, channel_axis=1, axes=[2, 3])",
    ],
    OpPattern.OPAQUE: ["R.take(m, i, axis=0)", "R.sort(m, axis=-1)"],
}


def module(body: str, result: str = "gv", params: str = PARAMS) -> rx.IRModule:
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    return rx.parse(
        "@I.ir_module\nclass Module:\n    @R.function\n"
        f"    def main({params}) -> R.Object:\n{lines}\n        return {result}\n"
    )


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def programs(mod: rx.IRModule) -> dict[str, PrimFunc]:
    return {var.name: func for var, func in mod.functions.items() if isinstance(func, PrimFunc)}


@pytest.mark.parametrize(("kind", "call"), [(kind, call) for kind, calls in KINDS.items() for call in calls])
def test_kinds_of_operators(kind: OpPattern, call: str) -> None:
    found = programs(LegalizeOps()(module(f"gv = {call}")))
    # What an operand is made of is a program of its own.
    last = list(found.values())[-1]
    assert op_pattern(last) is kind


@pytest.mark.tvm
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_those_of_tvm(kind: OpPattern) -> None:
    from tvm import relax

    for call in KINDS[kind]:
        annotated = relax.transform.AnnotateTIROpPattern()(
            relax.transform.LegalizeOps()(rx.to_tvm(module(f"gv = {call}")))
        )
        expected = {
            var.name_hint: int(func.attrs["op_pattern"])
            for var, func in annotated.functions.items()
            if func.attrs is not None and "op_pattern" in func.attrs
        }
        found = {name: int(op_pattern(func)) for name, func in programs(rx.from_tvm(annotated)).items()}
        assert found == expected, call


CHAINS = {
    "everything": (
        'x: R.Tensor(("n", 4, 6), dtype="float32"), w: R.Tensor((6, 6), dtype="float32"), s: R.Shape(["m"])',
        """
n = T.int64()
m = T.int64()
with R.dataflow():
    a = R.add(x, R.const(1.0, "float32"))
    b = R.nn.relu(a)
    c = R.add(b, R.const([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "float32"))
    d = R.matmul(c, w)
    e = R.nn.relu(d)
    f = R.add(e, d)
    g = R.split(f, 2, axis=1)
    h = g[0]
    i = g[1]
    j = R.add(h, i)
    k = R.concat((j, h), axis=1)
    l = R.nn.relu(k)
    o = R.sum(l, axis=[1])
    p = R.exp(o)
    q = R.broadcast_to(R.const(1.0, "float32"), R.shape([m, 4]))
    r = R.exp(q)
    R.output(p, r)
""",
        "(p, r)",
    ),
    "diamond": (
        'x: R.Tensor((4, 6), dtype="float32")',
        """
with R.dataflow():
    a = R.exp(x)
    b = R.negative(a)
    c = R.sqrt(a)
    d = R.add(b, c)
    e = R.permute_dims(d, axes=[1, 0])
    f = R.nn.relu(e)
    R.output(f)
""",
        "f",
    ),
    "an output in between": (
        'x: R.Tensor((4, 6), dtype="float32")',
        """
with R.dataflow():
    a = R.exp(x)
    b = R.negative(a)
    c = R.nn.relu(b)
    R.output(b, c)
""",
        "(b, c)",
    ),
    "fields of a tuple from outside": (
        'x: R.Tensor((4, 1, 6), dtype="float32")',
        """
with R.dataflow():
    f = R.call_dps_packed("test_fusion.two", (x,), [R.Tensor((4, 1, 6), "float32"), R.Tensor((4, 1, 6), "float32")])
    g = f[0]
    h = f[1]
    i = R.squeeze(g)
    j = R.exp(i)
    k = R.squeeze(h)
    l = R.exp(k)
    m = R.add(g, h)
    R.output(j, l, m)
""",
        "(j, l, m)",
    ),
    "two convolutions that meet": (
        'x: R.Tensor((1, 4, 6, 6), dtype="float32"), w: R.Tensor((4, 4, 3, 3), dtype="float32")',
        """
with R.dataflow():
    a = R.nn.conv2d(x, w, padding=(1, 1))
    b = R.nn.relu(a)
    c = R.nn.conv2d(x, w, padding=(1, 1))
    d = R.add(b, c)
    e = R.nn.relu(d)
    f = R.nn.max_pool2d(e, pool_size=(2, 2))
    g = R.nn.relu(f)
    R.output(g)
""",
        "g",
    ),
}


@pytest.mark.tvm
@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.sweep(every=2)
def test_groups_are_those_of_tvm(name: str) -> None:
    from tvm import relax

    params, body, result = CHAINS[name]
    lowered = LegalizeOps()(module(body, result, params))
    ours = FuseOps()(lowered)
    rx.check_well_formed(ours)
    annotated = relax.transform.AnnotateTIROpPattern()(rx.to_tvm(lowered))
    theirs = rx.from_tvm(relax.transform.FuseOps()(annotated))
    assert {var.name for var in ours.functions} == {var.name for var in theirs.functions}
    for var, func in ours.functions.items():
        other = theirs[var.name]
        if var.name.startswith("fused"):
            assert isinstance(func, rx.Function)
            assert isinstance(other, rx.Function)
            assert rx.first_difference(func, other) is None
    merged, expected = FuseTIR()(ours), rx.from_tvm(relax.transform.FuseTIR()(relax.transform.FuseOps()(annotated)))
    rx.check_well_formed(merged)
    found = programs(merged)
    assert found.keys() == programs(expected).keys()
    for key, func in programs(expected).items():
        # TVM passes the dimension of a result as a scalar, too; ours is read off the result.
        if not key.startswith("fused") or "broadcast_to" in key:
            continue
        mine = rx.IRModule({rx.GlobalVar("f"): found[key]})
        assert rx.first_difference(mine, rx.IRModule({rx.GlobalVar("f"): func})) is None, key


@pytest.mark.tvm
def test_what_nothing_needs_and_weights_in_a_tuple() -> None:
    from tvm import relax

    mod = module(
        """
R.func_attr({"num_input": 1})
with R.dataflow():
    a = w[0]
    b = R.astype(a, "float32")
    c = R.matmul(x, b)
    d = R.nn.relu(c)
    e = R.matmul(x, w[1])
    f = R.exp(e)
    R.output(f)
""",
        "f",
        'x: R.Tensor((4, 6), "float32"), w: R.Tuple(R.Tensor((6, 6), "float16"), R.Tensor((6, 6), "float32"))',
    )
    lowered = LegalizeOps()(mod)
    ours = FuseOps()(lowered)
    theirs = relax.transform.FuseOps()(relax.transform.AnnotateTIROpPattern()(rx.to_tvm(lowered)))
    assert {var.name for var in ours.functions} == {var.name for var in rx.from_tvm(theirs).functions}
    args = normal(4, 6), (normal(6, 6).astype("float16"), normal(6, 6))
    actual, expected = (backends.VirtualMachine(backends.build(one))["main"](*args) for one in (FuseTIR()(ours), mod))
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


@pytest.mark.tvm
@pytest.mark.compiler
@pytest.mark.parametrize("target", ["numpy", "c", "tvm"])
@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.sweep(every=2)
def test_fused_programs_compute_the_same(name: str, target: str) -> None:
    if target != "tvm":

        @backends.register_func("test_fusion.two", override=True)
        def _(source: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
            first[...] = source * 2
            second[...] = source - 1

    elif "outside" in name:
        pytest.skip("the function is registered with our machine")
    params, body, result = CHAINS[name]
    mod = module(body, result, params)
    main = mod["main"]
    assert isinstance(main, rx.Function)
    args = [value_of(param.info) for param in main.params]
    expected = backends.VirtualMachine(backends.build(mod))["main"](*args)
    fused = Sequential([LegalizeOps(), FuseOps(), FuseTIR()])(mod)
    assert rx.structural_equal(rx.parse(fused.script()), fused)
    built = backends.build(fused, target=target)
    actual = backends.VirtualMachine(built)["main"](*args)
    for one, other in zip(_flat(actual), _flat(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def value_of(info: rx.StructInfo) -> Any:
    match info:
        case rx.TensorStructInfo(shape, dtype):
            return normal(*(extent if isinstance(extent, int) else 3 for extent in shape or ())).astype(dtype)
        case rx.TupleStructInfo(fields):
            return tuple(map(value_of, fields))
    return ShapeTuple((5,))


def _flat(value: Any) -> list[Any]:
    return [leaf for one in value for leaf in _flat(one)] if isinstance(value, tuple) else [value]


def test_a_shape_that_is_passed_on_is_no_tensor() -> None:
    """Dimensions that no tensor tells come in a shape, which may be a variable of the caller."""
    mod = rx.parse("""
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def rows(y: T.handle, n: T.int64, z: T.handle):
        Y = T.match_buffer(y, (n - 1,))
        Z = T.match_buffer(z, (n - 1,))
        for i in range(n - 1):
            with T.sblock("b"):
                v = T.axis.spatial(n - 1, i)
                Z[v] = Y[v] + T.float32(1)

    @R.function(private=True)
    def fused(y: R.Tensor(("n - 1",), "float32"), s: R.Shape(["n"])) -> R.Tensor(("n - 1",), "float32"):
        R.func_attr({"Primitive": True})
        n = T.int64()
        with R.dataflow():
            a = R.call_tir(Module.rows, (y,), R.Tensor((n - 1,), "float32"), tir_vars=R.shape([n]))
            b = R.call_tir(Module.rows, (a,), R.Tensor((n - 1,), "float32"), tir_vars=R.shape([n]))
            R.output(b)
        return b

    @R.function
    def main(y: R.Tensor(("n - 1",), "float32"), s: R.Shape(["n"])) -> R.Tensor(("n - 1",), "float32"):
        with R.dataflow():
            a = Module.fused(y, s)
            R.output(a)
        return a
""")
    merged = FuseTIR()(mod)
    rx.check_well_formed(merged)
    assert {var.name for var in merged.functions} == {"fused", "main"}
    machine = backends.VirtualMachine(backends.build(merged, "numpy"))
    np.testing.assert_array_equal(machine["main"](np.array([1, 2], "float32"), (3,)), [3, 4])


def test_a_group_has_a_limit() -> None:
    body = "with R.dataflow():\n    v0 = R.exp(x)\n"
    body += "".join(f"    v{n} = R.exp(v{n - 1})\n" for n in range(1, 8)) + "    R.output(v7)"
    lowered = LegalizeOps()(module(body, "v7", 'x: R.Tensor((4,), dtype="float32")'))
    counts = {
        most: sum("fused" in var.name for var in FuseOps(max_depth=most)(lowered).functions) for most in (1, 4, 8)
    }
    assert counts == {1: 0, 4: 1, 8: 1}  # of four and four, which are one function
    assert "cls.fused_tir_exp_tir_exp_tir_exp_tir_exp(" in FuseOps(max_depth=4)(lowered).script()


def test_a_long_chain_needs_no_stack() -> None:
    info = rx.TensorStructInfo((2,), "float32")
    x = rx.Var("x", info)
    bb = rx.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            value: rx.Expr = x
            for _ in range(5_000):
                value = bb.emit(rx.call_op("negative", value))
            out = bb.emit_output(value)
        bb.emit_func_output(out)
    fused = FuseTIR()(FuseOps()(LegalizeOps()(bb.get())))
    main = fused["main"]
    assert isinstance(main, rx.Function)
    assert len(main.body.blocks[0].bindings) == 5_000 // 256 + 1  # the last group is what is left
