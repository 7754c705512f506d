"""Annotations and lowered programs: typed, printed and read again.

Annotations vanish, lowered calls are refused.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, graph, relay_ir, translator
from relay2relax.core.errors import UnsupportedError
from relay2relax.ops import TensorType, TupleType, relay_op
from relay2relax.ops.registry.record import OpError
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.types import FuncType, GlobalTypeVar, TypeCall

HEADER = '#[version = "0.0.5"]\n'
ANNOTATED = (
    HEADER
    + """
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = annotation.stop_fusion(%x);
  %1 = annotation.checkpoint((%0, exp(%0)));
  %2 = annotation.bitpack_end(annotation.bitpack_start(%1.1));
  add(%1.0, %2)
}
"""
)


def with_calls() -> relay_ir.IRModule:
    """Return a program with every annotation that has attributes."""
    x = relay_ir.var("x", shape=(2, 3), dtype="float32")
    op = relay_ir.op
    device = VirtualDevice(1, 0)
    value = op.annotation.compiler_begin(x, compiler="other")
    value = op.annotation.compiler_end(op.exp(value), compiler="other")
    value = op.annotation.cast_hint(value, dtype="float16")
    value = op.on_device(value, virtual_device=device, constrain_result=True)
    value = op.debug(value, debug_func="look.at")
    value = op.device_copy(value, src_virtual_device=device, dst_virtual_device=VirtualDevice(2, 0))
    return relay_ir.IRModule({relay_ir.GlobalVar("main"): relay_ir.Function((x,), value)})


@pytest.mark.parametrize("make", [lambda: relay_ir.parse(ANNOTATED), with_calls])
def test_annotations_are_their_input(make: Any) -> None:
    mod = make()
    data = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    plain = backends.create_executor("debug", mod).evaluate()(data)
    for backend in ("numpy", "c"):
        found = backends.create_executor("graph", mod, backend=backend).evaluate()(data)
        np.testing.assert_allclose(found, plain, rtol=1e-6)
    for translate in (translator.lower_to_tir, translator.via_graph):
        rx = translate(mod)
        found = backends.VirtualMachine(backends.build(rx, target="numpy"))["main"](data)
        np.testing.assert_allclose(found, plain, rtol=1e-6)
        assert not re.search("annotation|device|copy", rx.script())


def test_annotations_keep_their_attributes() -> None:
    mod = relay_ir.infer_type(with_calls())
    text = mod.astext(show_meta_data=False)
    assert 'compiler="other"' in text
    assert "virtual_device=VirtualDevice(device_type=1, virtual_device_id=0), constrain_result=True" in text
    for again in (
        relay_ir.parse(mod.astext()),
        relay_ir.load_json(relay_ir.save_json(mod)),
        graph.to_relay(*graph.from_relay(mod)),
    ):
        assert relay_ir.structural_equal(mod, again)
    assert "meta[relay.attrs.CompilerAttrs][0]" in mod.astext()


def test_functions_and_references_pass_through() -> None:
    text = (
        HEADER
        + """
def @main(%x: int32) -> int32 {
  let %f = annotation.checkpoint(fn (%y: int32) { add(%y, 1) });
  let %r = annotation.checkpoint(ref(%x));
  %f(ref_read(%r))
}
"""
    )
    mod = relay_ir.infer_type(relay_ir.parse(text))
    assert backends.create_executor("debug", mod).evaluate()(np.int32(4)) == 5


PLANNED = (
    HEADER
    + """
type Storage {
}

def @main(%size: int64, %align: int64, %shape: Tensor[(2), int64], %x: Tensor[(3, 2), float32]) {
  let %s = memory.alloc_storage(%size, %shape, %align, virtual_device=meta[VirtualDevice][0]);
  %0 = memory.kill(%x);
  %1 = vm.shape_of(%x, dtype="int64");
  (%s, %0, %1, vm.reshape_tensor(%x, %shape, newshape=[2, 3]))
}
"""
)


def planned() -> relay_ir.IRModule:
    section = relay_ir.infer_type(with_calls()).astext().split("#[metadata]")[1]
    return relay_ir.parse(PLANNED + "#[metadata]" + section)


def test_lowered_programs_are_typed() -> None:
    mod = relay_ir.infer_type(planned())
    assert "-> (Storage[], (), Tensor[(2), int64], Tensor[(2, 3), float32])" in mod.astext(show_meta_data=False)
    again = relay_ir.load_json(relay_ir.save_json(mod))
    assert relay_ir.structural_equal(mod, again)
    without = PLANNED.replace("type Storage {\n}\n", "")
    section = planned().astext().split("#[metadata]")[1]
    with pytest.raises(relay_ir.TypeInferenceError, match="Storage"):
        relay_ir.infer_type(relay_ir.parse(without + "#[metadata]" + section))


def test_lowered_programs_are_refused_by_name() -> None:
    mod = planned()
    args = np.int64(24), np.int64(64), np.array([2, 3]), np.zeros((3, 2), np.float32)
    with pytest.raises(UnsupportedError, match=r"memory\.alloc_storage cannot be run: its memory was planned"):
        backends.create_executor("debug", mod).evaluate()(*args)
    for name in ("memory.alloc_storage", "memory.alloc_tensor", "memory.kill", "vm.invoke_tvm_op", "call_lowered"):
        record = relay_op(name)
        assert record is not None
        for facet in (record.numpy, record.compute):
            with pytest.raises(UnsupportedError, match=name):
                facet(None, None)


def test_shapes_of_the_virtual_machine(run_op: Any) -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert run_op("vm.shape_of", {"dtype": "int64"}, x).tolist() == [3, 2]
    found = run_op("vm.reshape_tensor", {"newshape": (2, 3)}, x, np.array([2, 3]))
    np.testing.assert_array_equal(found, x.reshape(2, 3))


def test_calls_of_functions() -> None:
    tensor = TensorType((2,), "float32")
    function = FuncType((tensor, tensor), tensor)
    lowered, invoke = relay_op("call_lowered"), relay_op("vm.invoke_tvm_op")
    assert lowered is not None
    assert invoke is not None
    both = TupleType((tensor, tensor))
    assert lowered.infer(lowered.attrs(), function, both) == tensor
    assert invoke.infer(invoke.attrs(), function, both, TupleType((tensor,))) == TupleType(())
    for types, message in (
        ((function, TupleType((tensor,))), "arguments are not"),
        ((tensor, both), "a function is expected"),
        ((function, tensor), "a tuple is expected"),
    ):
        with pytest.raises(OpError, match=message):
            lowered.infer(lowered.attrs(), *types)


def test_tensors_in_storage() -> None:
    record = relay_op("memory.alloc_tensor")
    assert record is not None
    number, shape = TensorType((), "int64"), TensorType((2,), "int64")
    storage = TypeCall(GlobalTypeVar("Storage"))
    constant = relay_ir.const(np.array([3, 2]))
    attrs = record.attrs(const_shape=constant, assert_shape=None)
    assert record.infer(attrs, storage, number, shape) == TensorType((3, 2), "float32")
    attrs = record.attrs(const_shape=None, assert_shape=(4, 5), dtype="int8")
    assert record.infer(attrs, storage, number, shape) == TensorType((4, 5), "int8")
    with pytest.raises(OpError, match="a Storage is expected"):
        record.infer(attrs, number, number, shape)
    with pytest.raises(OpError, match="assert_shape"):
        record.infer(record.attrs(const_shape=None, assert_shape=None), storage, number, shape)


def words(text: str) -> str:
    """Return the program of a text without comments, with single blanks."""
    return " ".join(re.sub(r"/\*.*?\*/", "", text).split())


@pytest.mark.golden
def test_recorded_programs(recorded: Any) -> None:
    wanted = re.compile(r"\b(annotation\.\w+|on_device|device_copy|memory\.\w+|vm\.\w+)\(")
    seen = set()
    for case in recorded("passes"):
        for key in ("text", "after"):
            text = case.get(key, "")
            names = set(wanted.findall(text))
            if not names or "primfn" in text or "IncompleteType" in text or "/* ty=" not in text:
                continue
            printed = relay_ir.infer_type(relay_ir.parse(text)).astext()
            program = words(text.split("#[metadata]")[0])
            assert words(printed.split("#[metadata]")[0]) == program, case["id"]
            seen |= names
    assert seen >= {
        "on_device",
        "device_copy",
        "annotation.compiler_begin",
        "memory.alloc_storage",
        "vm.reshape_tensor",
    }
