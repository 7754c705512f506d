"""The functions ``vm.builtin.*`` that compiled programs call: checks, shapes, memory, tuples,
closures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Optional, TypeAlias

import numpy as np

from relay2relax.backends.runtime.runtime_functions import null_value, reshape, shape_of, tensor_to_shape
from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.backends.vm.bytecode import DataType, FunctionRef
from relay2relax.backends.vm.shape_heap import EQUAL, EQUAL_SLOT, LOAD, STORE
from relay2relax.core.arrays import empty
from relay2relax.core.dtype import Array, numpy_dtype, of_array
from relay2relax.core.errors import Diagnostic, ExecutionError, mistake
from relay2relax.core.errors.table import running
from relay2relax.core.limits import out_of_memory
from relay2relax.ops.tensor import inspection


@dataclass(frozen=True, slots=True)
class Closure:
    """A function with values for its last parameters."""

    function: FunctionRef
    captured: tuple[object, ...]


_BYTE = np.dtype(np.uint8)
# The shape heap of a function; None of one that needs none.
Heap: TypeAlias = Optional[list[int]]


def _unlike(expected: str, found: object, context: str) -> ExecutionError:
    return ExecutionError(replace(mistake(running.VALUE, expected=expected, found=found), notes=(context.strip(),)))


def _refuse(problem: str, context: str) -> ExecutionError:
    return ExecutionError(Diagnostic(problem, notes=(context.strip(),), kind=running.VALUE))


def check_tensor_info(value: object, rank: int, dtype: DataType, context: str) -> None:
    """Raise ExecutionError unless ``value`` is an array of that rank (-1: any) and dtype ("void":
    any).
    """
    if not isinstance(value, np.ndarray):
        raise _unlike("a tensor", type(value).__name__, context)
    if rank >= 0 and value.ndim != rank:
        raise _unlike(f"a tensor of {rank} dimensions", f"shape {value.shape}", context)
    if dtype != "void" and value.dtype != numpy_dtype(dtype):
        raise _unlike(f"dtype {dtype}", of_array(value), context)


def check_shape_info(value: object, rank: int, context: str) -> None:
    """Raise ExecutionError unless ``value`` is a shape of that rank (-1: any), without negative
    extents.
    """
    if not isinstance(value, ShapeTuple):
        raise _unlike("a shape", type(value).__name__, context)
    if rank not in (-1, len(value)):
        raise _unlike(f"a shape of {rank} extents", tuple(value), context)
    if any(extent < 0 for extent in value):
        raise _unlike("extents that are not negative", tuple(value), context)


def check_tuple_info(value: object, size: int, context: str) -> None:
    """Raise ExecutionError unless ``value`` is a tuple of ``size`` fields."""
    if not isinstance(value, tuple) or isinstance(value, ShapeTuple):
        raise _unlike("a tuple", type(value).__name__, context)
    if len(value) != size:
        raise _unlike(f"a tuple of {size} fields", len(value), context)


def check_prim_value_info(value: object, dtype: DataType, context: str) -> None:
    """Raise ExecutionError unless ``value`` is a number that ``dtype`` can hold."""
    numbers = (int, float) if dtype.startswith("float") else (int,)
    if not isinstance(value, numbers) or (isinstance(value, bool) and dtype != "bool"):
        raise _unlike(f"a number of dtype {dtype}", type(value).__name__, context)


def check_func_info(value: object, context: str) -> None:
    """Raise ExecutionError unless ``value`` is a function."""
    if not isinstance(value, (Closure, FunctionRef)) and not callable(value):
        raise _unlike("a function", type(value).__name__, context)


def match_shape(value: object, heap: Heap, rank: int, *rest: int | str) -> None:
    """Compare the extents of a tensor or shape with constants and heap slots, or store them
    there.
    """
    shape = value if isinstance(value, tuple) else getattr(value, "shape", None)
    context = str(rest[-1])
    if not isinstance(shape, tuple):
        raise _unlike("a tensor or a shape", type(value).__name__, context)
    if len(shape) != rank:
        raise _unlike(f"{rank} dimensions", f"shape {tuple(shape)}", context)
    for dimension, actual in enumerate(shape):
        code, arg = rest[2 * dimension], rest[2 * dimension + 1]
        assert isinstance(arg, int)
        if code == EQUAL:
            expected = arg
        elif code == STORE:
            assert heap is not None
            heap[arg] = actual
            continue
        elif code == EQUAL_SLOT:
            assert heap is not None
            expected = heap[arg]
        else:
            continue
        if actual != expected:
            raise _refuse(
                f"dimension {dimension} is {actual}, expected {expected}; the shape is {tuple(shape)}", context
            )


def match_prim_value(value: int, heap: Heap, code: int, arg: int, context: str) -> None:
    """Compare a number with a constant or a heap slot, or store it there."""
    if code == STORE:
        assert heap is not None
        heap[arg] = int(value)
    elif code in (EQUAL, EQUAL_SLOT):
        expected = arg if code == EQUAL or heap is None else heap[arg]
        if value != expected:
            raise _refuse(f"the value is {value}, expected {expected}", context)


def make_shape(heap: Heap, rank: int, *codes: int) -> ShapeTuple:
    """Return a shape of constants and heap slots."""
    return ShapeTuple(make_prim_value(heap, codes[2 * d], codes[2 * d + 1]) for d in range(rank))


def scalar_to_tensor(value: int | float, dtype: DataType) -> Array:
    """Return a number as a tensor of rank 0."""
    return np.asarray(value, numpy_dtype(dtype))


def make_prim_value(heap: Heap, code: int, arg: int) -> int:
    """Return a constant, or the value of a heap slot."""
    if code == LOAD:
        assert heap is not None
        return heap[arg]
    return arg


def alloc_shape_heap(_machine: object, size: int) -> list[int]:
    """Return a shape heap."""
    return [0] * size


def alloc_storage(_machine: object, size: ShapeTuple, _device: int, _dtype: DataType, _scope: str) -> Array:
    """Return memory of ``size`` bytes.

    Raises OutOfMemoryError where there is not as much, LimitError where the limits do not allow it,
    ExecutionError where the size is negative.
    """
    if len(size) != 1 or size[0] < 0:
        asked = ", ".join(map(str, size))
        raise ExecutionError(f"({asked}) bytes of memory are asked for: an extent is negative", kind=running.VALUE)
    return empty(size, _BYTE, lambda: "a tensor")


def alloc_tensor(storage: Array, offset: int, shape: ShapeTuple, dtype: DataType) -> Array:
    """Return a tensor in ``storage``; raises ExecutionError where that is too small for it,
    OutOfMemoryError where its strides are too long.
    """
    if not isinstance(storage, np.ndarray):
        raise ExecutionError(f"a tensor cannot lie in {type(storage).__name__}", kind=running.VALUE)
    if not storage.flags.c_contiguous:
        storage = np.ascontiguousarray(storage)  # An argument whose elements lie in another order.
    try:
        if offset < 0:
            raise ValueError("memory does not begin there")
        placed: Array = np.ndarray(shape, numpy_dtype(dtype), storage, offset)
    except (TypeError, ValueError) as error:
        if 0 <= offset <= storage.nbytes and min(shape, default=1) == 0:
            raise out_of_memory(f"a tensor of {dtype}{tuple(shape)}", error, 0) from error
        raise ExecutionError(
            f"a tensor of {dtype}{tuple(shape)} does not lie {offset} bytes into {storage.nbytes} bytes of memory",
            kind=running.VALUE,
        ) from error
    return placed


def read_if_cond(value: object) -> int:
    """Return the value of a condition, a bool tensor without dimensions.

    Raises ExecutionError for anything else.
    """
    try:
        return int(bool(np.asarray(value).reshape(())))
    except ValueError as problem:
        raise ExecutionError(
            mistake(
                running.VALUE, expected="a condition without dimensions", found=f"{type(value).__name__}: {problem}"
            )
        ) from problem


def make_tuple(*values: object) -> tuple[object, ...]:
    """Return the tuple of the values."""
    return values


def tuple_getitem(value: tuple[object, ...], index: int) -> object:
    """Return one field of a tuple; raises ExecutionError where it has none of that number."""
    try:
        return value[index]
    except (IndexError, TypeError) as problem:
        raise ExecutionError(
            mistake(running.VALUE, expected=f"a tuple with a field {index}", found=type(value).__name__)
        ) from problem


def make_closure(function: FunctionRef, *captured: object) -> Closure:
    """Return a function with values for its last parameters."""
    return Closure(function, captured)


def copy(value: object) -> object:
    """Return the value, in another register."""
    return value


def apart(value: object, *others: object) -> object:
    """Return a value, of which those tensors are copied that show memory of ``others``."""
    if isinstance(value, tuple):
        return value if isinstance(value, ShapeTuple) else tuple(apart(one, *others) for one in value)
    return value.copy() if isinstance(value, np.ndarray) and _shows(value, others) else value


def _shows(tensor: Array, others: Iterable[object]) -> bool:
    """Whether a tensor may show memory of another one, or of one in a tuple of them."""
    tuples = [one for one in others if isinstance(one, tuple)]
    tensors = [one for one in others if isinstance(one, np.ndarray)]
    return any(np.may_share_memory(tensor, one) for one in tensors) or any(_shows(tensor, one) for one in tuples)


def tensor_check(rank: int, dtype: DataType, context: str) -> Callable[[object], None]:
    """Return ``check_tensor_info`` for one rank and dtype."""
    wanted = None if dtype == "void" else numpy_dtype(dtype)

    def check(value: object) -> None:
        if type(value) is not np.ndarray or value.ndim != rank or (wanted is not None and value.dtype != wanted):
            check_tensor_info(value, rank, dtype, context)

    return check


def shape_match(rank: int, *rest: int | str) -> Callable[[object, Heap], None]:
    """Return ``match_shape`` for known codes; static shapes are compared at once."""
    codes = [(rest[2 * d], rest[2 * d + 1]) for d in range(rank)]
    static = tuple(arg for code, arg in codes if code == EQUAL)
    if len(static) == rank:

        def compare(value: object, heap: Heap) -> None:
            if type(value) is not np.ndarray or value.shape != static:
                match_shape(value, heap, rank, *rest)

        return compare
    return lambda value, heap: match_shape(value, heap, rank, *rest)


# Checks that are prepared once for the constants they are called with.
SPECIALISED: Mapping[str, Callable[..., Callable[..., object]]] = {
    "vm.builtin.check_tensor_info": tensor_check,
    "vm.builtin.match_shape": shape_match,
}
BUILTINS: Mapping[str, Callable[..., object]] = {
    f"vm.builtin.{function.__name__}": function
    for function in (
        alloc_shape_heap,
        alloc_storage,
        alloc_tensor,
        apart,
        check_func_info,
        check_prim_value_info,
        check_shape_info,
        check_tensor_info,
        check_tuple_info,
        copy,
        make_closure,
        make_prim_value,
        scalar_to_tensor,
        make_shape,
        make_tuple,
        match_prim_value,
        match_shape,
        null_value,
        read_if_cond,
        reshape,
        shape_of,
        tensor_to_shape,
        tuple_getitem,
        inspection.tensor_ndim,
        inspection.tensor_shape_i,
        inspection.tensor_stride_i,
        inspection.tensor_byte_offset,
        inspection.tensor_elem_offset,
        inspection.tensor_dtype_code,
        inspection.tensor_dtype_bits,
        inspection.tensor_dtype_lanes,
    )
}
# The machine's own business: it changes which function runs.
INVOKE_CLOSURE = "vm.builtin.invoke_closure"
