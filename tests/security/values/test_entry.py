"""Arrays as they come from elsewhere, at every place where they enter: other byte orders, bytes of
bool other than 0 and 1, memory that is strided, read-only or not aligned, elements that are no
numbers.

Expected values are numpy's, of the same numbers in plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.backends.relay.values import AdtValue, RefValue, admitted
from relay2relax.core.arrays import plain_array
from relay2relax.core.dtype import DTypeError
from relay2relax.core.errors import ExecutionError
from relay2relax.core.errors.table import running
from relay2relax.relay_ir.ir.expr import Constructor
from relay2relax.relay_ir.ir.types import GlobalTypeVar

pytestmark = pytest.mark.compiler
TARGETS = ("numpy", "c")
Entry = Callable[[relay_ir.IRModule, str, list[np.ndarray]], Any]


def typed(body: str) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\ndef @main{body}'))


SUM = "(%x: Tensor[({n}), {dtype}], %y: Tensor[({n}), {dtype}]) {{ add(%x, %y) }}"
TRUE = '(%x: Tensor[({n}), bool]) {{ (sum(cast(%x, dtype="int32")), where(%x, %x, logical_not(%x)), any(%x)) }}'


def machine(mod: relay_ir.IRModule, target: str, args: list[np.ndarray]) -> Any:
    return backends.VirtualMachine(backends.build(translator.lower_to_tir(mod), target=target))["main"](*args)


def twice(mod: relay_ir.IRModule, target: str, args: list[np.ndarray]) -> Any:
    """The second call of a machine takes a shorter way."""
    run = backends.VirtualMachine(backends.build(translator.via_graph(mod), target=target))["main"]
    run(*(np.zeros(arg.shape, arg.dtype.newbyteorder("=")) for arg in args))
    return run(*args)


def weights(mod: relay_ir.IRModule, target: str, args: list[np.ndarray]) -> Any:
    names = [param.name for param in mod["main"].params]
    bound = translator.via_graph(mod, dict(zip(names, args, strict=True)))
    return backends.VirtualMachine(backends.build(bound, target=target))["main"]()


def constants(mod: relay_ir.IRModule, target: str, args: list[np.ndarray]) -> Any:
    names = [param.name for param in mod["main"].params]
    bound = relay_ir.bind_params(mod, dict(zip(names, args, strict=True)))
    return backends.create_executor("graph", relay_ir.infer_type(bound), target).evaluate()()


def executor(mod: relay_ir.IRModule, target: str, args: list[np.ndarray]) -> Any:
    return backends.create_executor("vm", mod, target).evaluate()(*args)


ENTRIES = (machine, twice, weights, constants, executor)


def arrays(result: Any) -> list[np.ndarray]:
    return [np.asarray(one) for one in result] if isinstance(result, tuple) else [np.asarray(result)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_other_byte_orders(entry: Entry, target: str) -> None:
    for dtype, extent in (("float32", "3"), ("int16", "?")):
        mod = typed(SUM.format(n=extent, dtype=dtype))
        x, y = np.array([1, 2, 300], dtype), np.array([5, -7, 1000], dtype)
        (found,) = arrays(entry(mod, target, [x.astype(x.dtype.newbyteorder(">")), y]))
        assert found.dtype == x.dtype
        assert found.tolist() == (x + y).tolist()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_every_byte_but_zero_is_true(entry: Entry, target: str) -> None:
    x = np.array([7, 0, 255, 1, 2, 0, 128, 64], np.uint8).view(np.bool_)
    count, same, some = arrays(entry(typed(TRUE.format(n="8")), target, [x]))
    assert count == 6
    assert same.view(np.uint8).tolist() == [1] * 8
    assert some.view(np.uint8) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_an_index_of_such_bytes_stays_inside(target: str) -> None:
    take = 'take(%t, cast(%b, dtype="int32"), axis=0, mode="fast")'
    mod = typed(f"(%b: Tensor[(8), bool], %t: Tensor[(2, 3), float32]) {{ {take} }}")
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = machine(mod, target, [np.full(8, 7, np.uint8).view(np.bool_), table])
    assert found.tolist() == [table[1].tolist()] * 8


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_memory_of_other_forms(entry: Entry, target: str) -> None:
    mod = typed(SUM.format(n="3", dtype="float32"))
    plain = np.array([1, 2, 3], np.float32)
    shifted = np.frombuffer(b"\0" + plain.tobytes(), np.uint8)[1:].view(np.float32)
    half = np.array([1, 2, 3], np.float32).astype(np.float16)
    for one in (shifted, plain[::-1][::-1], np.repeat(plain, 2)[::2], np.broadcast_to(plain, (2, 3))[1]):
        (found,) = arrays(entry(mod, target, [one, plain]))
        assert found.tolist() == [2, 4, 6]
    if entry not in (weights, constants):
        (found,) = arrays(entry(mod, target, [half[::-1], plain]))
        assert found.tolist() == [4, 4, 4]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("entry", [machine, executor])
def test_what_is_no_number_is_refused(entry: Entry, target: str) -> None:
    mod = typed(SUM.format(n="3", dtype="float32"))
    plain = np.ones(3, np.float32)
    pairs = np.zeros(3, [("a", "f4")])
    for one in (
        plain.astype(object),
        np.array(["1", "2", "3"]),
        plain + 1j,
        np.zeros(3, "V4"),
        np.zeros(3, "M8[s]"),
        pairs,
    ):
        with pytest.raises(ExecutionError) as caught:
            entry(mod, target, [plain, one])
        assert running.ARGUMENT.code in str(caught.value)
        assert "argument `y`" in str(caught.value)


def test_no_program_holds_what_is_no_number() -> None:
    for one in (np.ones(3, object), np.array(["a"]), np.ones(3, complex), np.zeros(3, "V4")):
        for make in (relay_ir.Constant, relax_ir.Constant, plain_array):
            with pytest.raises(DTypeError):
                make(one)


def test_plain_arrays_stay_what_they_are() -> None:
    for dtype in ("float32", "int8", "bool", "uint64"):
        one = np.zeros((2, 3), dtype)
        assert plain_array(one) is one
        assert relay_ir.Constant(one).data is one


IN_PLACE = """
from tvm.script import ir as I, tir as T, relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def more(A: T.Buffer((T.int64(3),), "float32")):
        for i in range(T.int64(3)):
            with T.block("b"):
                v = T.axis.spatial(T.int64(3), i)
                A[v] = A[v] + T.float32(1)

    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir_inplace(
                cls.more, (x,), inplace_indices=[0], out_sinfo=[R.Tensor((3,), "float32")]
            )
            R.output(y)
        return y
"""


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_read_only_is_not_written_to(target: str) -> None:
    run = backends.VirtualMachine(backends.build(relax_ir.parse(IN_PLACE), target=target))["main"]
    assert run(np.ones(3, np.float32)).tolist() == [2, 2, 2]
    locked = np.frombuffer(np.ones(3, np.float32).tobytes(), np.float32)
    with pytest.raises(ExecutionError, match="read-only"):
        run(locked)
    assert locked.tolist() == [1, 1, 1]
    parts = np.ones(6, np.float32)
    assert run(parts[::2]).tolist() == [2, 2, 2]
    assert parts.tolist() == [2, 1, 2, 1, 2, 1]


@pytest.mark.parametrize("target", TARGETS)
def test_functions_from_outside_write_any_byte(target: str) -> None:
    def fill(_x: np.ndarray, result: np.ndarray) -> None:
        result.view(np.uint8)[:] = 7

    backends.register_func("tests.bytes", override=True)(fill)
    program = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8,), "float32")) -> R.Tensor((), "int32"):
        y = R.call_dps_packed("tests.bytes", (x,), out_sinfo=R.Tensor((8,), "bool"))
        z = R.sum(R.astype(y, "int32"))
        return z
"""
    run = backends.VirtualMachine(backends.build(relax_ir.parse(program), target=target))["main"]
    assert run(np.zeros(8, np.float32)) == 8


def test_values_of_algebraic_types() -> None:
    cons = Constructor("Cons", (), GlobalTypeVar("List"))
    big = np.array([1, 2], ">f4")
    deep: Any = AdtValue(cons)
    for _ in range(5000):
        deep = AdtValue(cons, (big, deep))
    found: Any = admitted(deep, "x")
    assert found.fields[1].fields[0].dtype == np.float32
    cell = RefValue((big, np.full(2, 7, np.uint8).view(np.bool_)))
    assert admitted(cell, "x") is cell
    assert cell.value[0].dtype == np.float32
    assert cell.value[1].view(np.uint8).tolist() == [1, 1]
    plain = AdtValue(cons, (np.ones(2, np.float32),))
    assert admitted(plain, "x") is plain
    with pytest.raises(ExecutionError):
        admitted((np.ones(2, object),), "x")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("entry", [machine, executor])
def test_what_finds_nothing_has_an_empty_result(entry: Entry, target: str) -> None:
    mod = typed("(%x: Tensor[(2, 3), float32]) { argwhere(%x) }")
    assert entry(mod, target, [np.zeros((2, 3), np.float32)]).shape == (0, 2)
