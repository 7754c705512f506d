"""Fragments of matrices: what the threads of a warp hold together, and do as one.

A fragment is a matrix of 16 by 16 (``wmma`` of CUDA); which thread has which element is not said.
Here it is memory of a warp, one row for each fragment of a buffer, elements in the order of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.ir.expr import (
    Buffer,
    BufferData,
    BufferLoad,
    Call,
    IntImm,
    PrimExpr,
    StringImm,
    Var,
    binary,
    cast,
    const,
)
from relay2relax.tir.ir.stmt import BufferStore, For, Seq, Stmt

SIDE = 16
WARP = 32
FRAGMENT_CALLS = frozenset({"tvm_fill_fragment", "tvm_load_matrix_sync", "tvm_mma_sync", "tvm_store_matrix_sync"})
_SCOPES = ("wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator")


def is_fragment(buffer: Buffer) -> bool:
    """Whether a buffer holds fragments."""
    return buffer.scope in _SCOPES


def fragment_count(buffer: Buffer) -> int:
    """Return how many fragments a buffer has.

    Raises UnsupportedError where its extents are not known or are not those of fragments.
    """
    elements = 1
    for extent in buffer.shape:
        elements *= extent.value if isinstance(extent, IntImm) else 0
    if elements == 0 or elements % SIDE**2:
        raise _refused(f"the fragments {buffer.name}")
    return elements // SIDE**2


@dataclass(frozen=True, slots=True)
class Fragment:
    """One fragment of a buffer."""

    buffer: Buffer
    number: PrimExpr


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix in memory: element ``(row, column)`` is ``offset + row * stride + column`` among the
    elements of ``buffer``; rows and columns change places where ``turned``.
    """

    buffer: Buffer
    offset: PrimExpr
    stride: PrimExpr
    turned: bool


@dataclass(frozen=True, slots=True)
class Fill:
    """All elements of a fragment are one value."""

    target: Fragment
    value: PrimExpr


@dataclass(frozen=True, slots=True)
class Load:
    """A fragment is read."""

    target: Fragment
    source: Matrix


@dataclass(frozen=True, slots=True)
class Store:
    """A fragment is written."""

    target: Matrix
    source: Fragment


@dataclass(frozen=True, slots=True)
class Multiply:
    """``target = left @ right + addend``."""

    target: Fragment
    left: Fragment
    right: Fragment
    addend: Fragment


def operation(call: Call) -> Fill | Load | Store | Multiply:
    """Return what a call of :data:`FRAGMENT_CALLS` does.

    Raises UnsupportedError for fragments of another size, and for addresses that are not a
    buffer's.
    """
    match call:
        case Call("tvm_fill_fragment", (BufferData(buffer), *sizes, number, value)):
            _check(sizes)
            return Fill(Fragment(buffer, number), value)
        case Call(
            "tvm_load_matrix_sync", (BufferData(buffer), m, n, k, number, pointer, stride, StringImm(layout))
        ) if buffer.scope != "wmma.accumulator":
            _check((m, n, k))
            return Load(Fragment(buffer, number), Matrix(*_address(pointer), stride, layout == "col_major"))
        case Call("tvm_store_matrix_sync", (BufferData(buffer), m, n, k, number, pointer, stride, StringImm(layout))):
            _check((m, n, k))
            return Store(Matrix(*_address(pointer), stride, layout == "col_major"), Fragment(buffer, number))
        case Call("tvm_mma_sync", (BufferData(d), i, BufferData(a), j, BufferData(b), k, BufferData(c), number)):
            return Multiply(Fragment(d, i), Fragment(a, j), Fragment(b, k), Fragment(c, number))
    raise _refused(f"T.{call.name} of other arguments")


def _check(sizes: Sequence[PrimExpr]) -> None:
    if any(not isinstance(size, IntImm) or size.value != SIDE for size in sizes):
        raise _refused("fragments that are not 16 by 16 by 16")


def _address(pointer: PrimExpr) -> tuple[Buffer, PrimExpr]:
    """Return the buffer and the place among its elements that a pointer says."""
    match pointer:
        case Call("tvm_access_ptr", (_, BufferData(buffer), offset, *_)):
            return buffer, cast("int64", offset)
        case Call("address_of", (BufferLoad(buffer, indices),)):
            place: PrimExpr = IntImm(0)
            for index, extent in zip(indices, buffer.shape, strict=True):
                place = binary("+", binary("*", place, cast("int64", extent)), cast("int64", index))
            return buffer, place
    raise _refused("an address that is not a buffer's")


def _refused(what: str) -> UnsupportedError:
    return UnsupportedError(mistake(tensor_programs.NOT_EXPRESSED, what=what))


def loops_of(call: Call, warp: PrimExpr, memory: Mapping[Buffer, Buffer]) -> Stmt:
    """Return what a warp does by ``call`` as loops; ``memory`` has the fragments of all warps."""

    def element(one: Fragment, row: PrimExpr, column: PrimExpr) -> BufferLoad:
        place = binary("+", binary("*", row, IntImm(SIDE)), column)
        return BufferLoad(memory[one.buffer], (warp, cast("int64", one.number), place))

    def put(one: Fragment, row: PrimExpr, column: PrimExpr, value: PrimExpr) -> Stmt:
        return BufferStore(memory[one.buffer], element(one, row, column).indices, value)

    row, column, term = Var("row", "int64"), Var("column", "int64"), Var("term", "int64")
    match operation(call):
        case Fill(target, value):
            body = put(target, row, column, value)
        case Load(target, source):
            body = put(target, row, column, BufferLoad(source.buffer, _place(source, row, column)))
        case Store(target, source):
            body = BufferStore(target.buffer, _place(target, row, column), element(source, row, column))
        case Multiply(target, left, right, addend):
            dtype = target.buffer.dtype
            factors = element(left, row, term), element(right, term, column)
            times = binary("*", cast(dtype, factors[0]), cast(dtype, factors[1]))
            added = For(term, IntImm(SIDE), put(target, row, column, binary("+", element(target, row, column), times)))
            begin = put(target, row, column, element(addend, row, column))
            body = added if target == addend else Seq((begin, added))
    return For(row, IntImm(SIDE), For(column, IntImm(SIDE), body))


def _place(matrix: Matrix, row: PrimExpr, column: PrimExpr) -> tuple[PrimExpr, ...]:
    """Return the indices of an element."""
    first, second = (column, row) if matrix.turned else (row, column)
    offset = binary("+", binary("*", first, cast("int64", matrix.stride)), second)
    flat = binary("+", matrix.offset, offset)
    indices: list[PrimExpr] = []
    for extent in reversed(matrix.buffer.shape[1:]):
        indices.append(binary("%", flat, cast("int64", extent)))
        flat = binary("//", flat, cast("int64", extent))
    return (flat, *reversed(indices))


def memory_of_warps(buffer: Buffer, warps: PrimExpr) -> Buffer:
    """Return memory with a place for the fragments of each warp of a block."""
    dtype = buffer.dtype
    return Buffer(buffer.name, (warps, IntImm(fragment_count(buffer)), IntImm(SIDE**2)), dtype)


def thread_of(warp: PrimExpr) -> PrimExpr:
    """Return the number of the first thread of a warp."""
    return binary("*", warp, const(WARP, "int64"))
