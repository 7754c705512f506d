"""Every operator that the installed TVM registers: it is read by its name, kept, and written so
that TVM reads it back.

Those with a record are called as their examples say, and have the struct info that TVM infers. Of
those without one there is a sample here; what the machine does not carry out itself is refused when
it is to be run, by name.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from imported.models import info_differences
from operator_calls import EXAMPLES, RECORDS, label, type_of
from operator_draws import Draw
from typed import of_type, present

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import ExecutionError, Relay2RelaxError
from relay2relax.ops import relax_op
from relay2relax.relax_ir.inference.op_signatures import foreign_op, operator_names
from relay2relax.relax_ir.ir.struct_info import from_type
from relay2relax.tir.extent import static

pytestmark = pytest.mark.tvm
X, V, N = 'x: R.Tensor((2, 3), "float32")', 'v: R.Tensor((3,), "float32")', 'n: R.Tensor((2,), "int32")'
PREAMBLE = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.sblock("double"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + A[vi, vj]

    @T.prim_func(private=True, s_tir=True)
    def twice(A: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] + A[vi, vj]

    @R.function(private=True)
    def inner(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        return x

"""
SHAPED = 'R.Tensor((2, 3), dtype="float32")'
# Samples of operators without a record: parameters and call; the result is a variable.
SAMPLES = {
    "assert_op": ('c: R.Tensor((), "bool")', 'R.assert_op(c, format="no")'),
    "call_builtin_with_ctx": (X, f'R.call_builtin_with_ctx("test.context", (x,), ty_args=({SHAPED},))'),
    "call_dps_packed": (X, f'R.call_dps_packed("test.twice", (x,), out_ty={SHAPED})'),
    "call_inplace_packed": (X, f'R.call_inplace_packed("test.same", x, inplace_indices=[0], ty_args=({SHAPED},))'),
    "call_pure_packed": (X, f'R.call_pure_packed("test.same", x, ty_args=({SHAPED},))'),
    "call_py_func": (X, f'R.call_py_func("test.same", (x,), out_ty={SHAPED})'),
    "call_tir": (X, f"R.call_tir(cls.double, (x,), out_ty={SHAPED})"),
    "call_tir_inplace": (X, f"R.call_tir_inplace(cls.twice, (x,), [0], out_ty={SHAPED})"),
    "call_tir_with_grad": (X, f'R.call_tir_with_grad(cls.double, (x,), out_ty={SHAPED}, te_grad_name="g")'),
    "ccl.allgather": (X, "R.ccl.allgather(x, num_workers=2, in_group=True)"),
    "ccl.allreduce": (X, 'R.ccl.allreduce(x, op_type="sum", in_group=True)'),
    "ccl.broadcast_from_worker0": (X, "R.ccl.broadcast_from_worker0(x)"),
    "ccl.scatter_from_worker0": (X, "R.ccl.scatter_from_worker0(x, num_workers=2, axis=0)"),
    "hint_on_device": (X, 'R.hint_on_device(x, R.device(device_type=1, index=0), "global")'),
    "invoke_pure_closure": (X, f"R.invoke_pure_closure(R.make_closure(cls.inner, (x,)), (), ty_args=({SHAPED},))"),
    "make_closure": (X, "R.make_closure(cls.inner, (x,))"),
    "memory.alloc_storage": ("", 'R.memory.alloc_storage(R.shape([24]), 0, "global", "uint8")'),
    "memory.ensure_zero_offset": (X, "R.memory.ensure_zero_offset(x)"),
    "memory.kill_tensor": (X, "R.memory.kill_tensor(x)"),
    "memory.view": (X, 'R.memory.view(x, R.shape([3, 2]), R.dtype("float32"))'),
    "multinomial_from_uniform": (
        'p: R.Tensor((2, 3), "float32"), u: R.Tensor((2, 1), "float32"), i: R.Tensor((2, 1), "int64")',
        'R.multinomial_from_uniform(p, u, i, dtype="int64")',
    ),
    "nn.attention_var_len": (
        'q: R.Tensor((1, 4, 2, 8), "float32"), s: R.Tensor((3,), "int32")',
        "R.nn.attention_var_len(q, q, q, s, s, s, s, scale=None, causal_mask=None, window_size=None)",
    ),
    "null_value": ("", "R.null_value()"),
    "print": (X, 'R.print(x, format="{}")'),
    "vision.multibox_transform_loc": (
        'c: R.Tensor((1, 2, 3), "float32"), l: R.Tensor((1, 12), "float32"), a: R.Tensor((1, 3, 4), "float32")',
        "R.vision.multibox_transform_loc(c, l, a, clip=False, threshold=0.0, variances=[0.1, 0.1, 0.2, 0.2], "
        "keep_background=True, apply_softmax=True)",
    ),
    "vm.alloc_storage": ("", 'R.vm.alloc_storage(R.shape([24]), R.prim_value(0), R.dtype("uint8"), R.str("global"))'),
    "vm.kill_object": (X, "R.vm.kill_object(x)"),
}

# Samples that the machine carries out, or would with the functions that they name.
CARRIED_OUT = {
    "assert_op", "call_dps_packed", "call_inplace_packed", "call_pure_packed", "call_tir", "call_tir_inplace",
    "call_tir_with_grad", "hint_on_device",
    "invoke_pure_closure", "make_closure", "memory.alloc_storage", "memory.ensure_zero_offset",
    "memory.kill_tensor", "memory.view", "null_value", "print", "vm.alloc_storage", "vm.kill_object",
}  # fmt: skip
# Those without a sample, and why.
ELSEWHERE = {
    "dist.annotate_sharding": "it is about a mesh of devices, which modules do not have here",
    "dist.call_tir_local_view": "as dist.annotate_sharding",
    "dist.redistribute": "as dist.annotate_sharding",
    "dist.redistribute_replica_to_shard": "as dist.annotate_sharding",
    "to_vdevice": "it names a device of the module: tests/relax_ir/test_relax_placement.py",
    "invoke_closure": "as invoke_pure_closure, in impure functions",
    "memory.alloc_tensor": "it takes a storage: tests/relax_ir/test_relax_passes_memory.py",
    "memory.kill_storage": "as memory.alloc_tensor",
    "vm.alloc_tensor": "as memory.alloc_tensor",
    "vm.call_tir_dyn": "lowered programs alone have it",
}
RECORDED = [name for name in operator_names() if relax_op(name) is not None]
INSPECTED = [name for name in RECORDED if name.startswith("inspect.")]
# What TVM says of these calls is not what it computes: the extents of a grid "xy" are turned, those
# of a descending row are too many.
MISJUDGED: dict[str, Any] = {
    "meshgrid": lambda attrs: attrs["indexing"] == "xy",
    "arange": lambda attrs: attrs["step"] < 0,
}


def example(name: str) -> Any:
    """Return a call of a record, without annotations, as TVM reads it: the first that is drawn and
    that it takes.
    """
    import tvm

    op = relax_op(name)
    assert op is not None
    draw = EXAMPLES["R.wrap_param" if op.passes_through else label(op)]
    problem: Exception | None = None
    for seed in range(12):
        attrs, args = draw(Draw(seed))
        if name in MISJUDGED and MISJUDGED[name](attrs):
            continue
        types = [type_of(arg) for arg in args]
        given = [
            rx.ShapeExpr(one) if isinstance(one, tuple) else rx.Var(f"x{number}", from_type(one))
            for number, one in enumerate(types)
        ]
        builder = rx.BlockBuilder()
        made = rx.Call(op, tuple(given), op.attrs(**({} if op.passes_through else attrs)))
        try:
            rx.Inference().of(made)
        except rx.StructInfoError as error:
            # A call of Relay's that Relax does not take.
            problem = error
            continue
        with builder.function("main", [one for one in given if isinstance(one, rx.Var)]):
            builder.emit_func_output(builder.emit(made))
        text = builder.get().script("tvm-0.27")
        try:
            return tvm.script.from_source(re.sub(r"\) -> .*:\n", "):\n", re.sub(r"gv: .* = R\.", "gv = R.", text)))
        except Exception as error:  # noqa: BLE001 - TVM raises whatever it likes
            problem = error
    raise AssertionError(f"TVM reads no example of R.{name}: {problem}")


def main_of(module: Any) -> str:
    """Return TVM's text of the function ``main``."""
    text = str(module.script())
    return text[text.index("def main") :]


def written_again(read: rx.IRModule) -> str:
    """Return TVM's text of what it reads of ours."""
    import tvm

    return main_of(tvm.script.from_source(read.script("tvm-0.27")))


def test_every_operator_has_its_case() -> None:
    assert {*RECORDED, *SAMPLES, *ELSEWHERE} == set(operator_names())
    assert {label(op) for op in map(relax_op, RECORDED) if op is not None and not op.passes_through} <= set(RECORDS)


@pytest.mark.parametrize("name", [name for name in RECORDED if name not in INSPECTED])
@pytest.mark.sweep(every=2)
def test_what_has_a_record_is_read_written_and_inferred(name: str) -> None:
    pytest.importorskip("tvm")
    module = example(name)
    read = rx.from_tvm(module)
    assert info_differences(read) == []
    assert written_again(read) == main_of(module)


@pytest.mark.sweep(every=6)
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_what_has_no_record_is_kept(name: str) -> None:
    tvm = pytest.importorskip("tvm")
    params, call = SAMPLES[name]
    body = f"        cls = Module\n        y = {call}\n        return y\n"
    text = f"{PREAMBLE}    @R.function(pure=False)\n    def main({params}):\n{body}"
    module = tvm.script.from_source(text)
    assert foreign_op(name) is not None
    # TVM's own text of this one is nothing that it reads.
    read = rx.parse(text) if name == "call_py_func" else rx.from_tvm(module)
    assert written_again(read) == main_of(module)
    if name not in CARRIED_OUT:
        infos = [of_type(one.info, rx.TensorStructInfo) for one in of_type(read["main"], rx.Function).params]
        arguments = [np.zeros([present(static(e)) for e in present(one.shape)], one.dtype) for one in infos]
        with pytest.raises(Relay2RelaxError, match=re.escape(f"R.{name}")):
            backends.VirtualMachine(backends.build(read, "numpy"))["main"](*arguments)


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
def test_headers_of_tensors(target: str) -> None:
    """TVM has no word for these operators, so its programs are made by hand."""
    tvm = pytest.importorskip("tvm")
    from tvm import ir, relax

    x, axis = relax.Var("x", relax.TensorType(dtype="float16", ndim=3)), relax.Var("axis", ir.PrimType("int64"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, axis]):
        calls = [
            relax.Call(ir.Op.get(f"relax.{name}"), [x, *([axis] if "_i" in name[-2:] else [])]) for name in INSPECTED
        ]
        builder.emit_func_output(relax.Tuple([builder.emit(call) for call in calls]))
    module, data = builder.get(), np.zeros((2, 3, 5), np.float16)
    machine = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu())
    read = rx.from_tvm(module)
    assert info_differences(read) == []
    ours = backends.VirtualMachine(backends.build(read, target))["main"]
    for place in range(3):
        assert list(ours(data, place)) == list(machine["main"](tvm.runtime.tensor(data), place))
    for place in (-1, 3):
        with pytest.raises(ExecutionError, match=f"axis {place} of a tensor of 3 dimensions"):
            ours(data, place)
