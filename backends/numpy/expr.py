"""Scalar expressions of tensor programs evaluated for every point of a grid at once.

A grid is the product of axes, each a variable that runs over a range. The value of an expression is
an array with one dimension per axis, of length 1 along the axes it does not depend on, or a numpy
scalar. A load at indices that are affine in the axes is a strided view of its buffer, without a
copy; any other load gathers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from relay2relax.backends.numpy.intrinsics import BINARY, INTRINSICS
from relay2relax.backends.runtime.extern_calls import call_outside, is_outside, math_call
from relay2relax.core.arithmetic import converted
from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import ExecutionError, UnsupportedError, mistake
from relay2relax.core.errors.table import running
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferData,
    BufferLoad,
    Call,
    Cast,
    FloatImm,
    FunctionCall,
    IntImm,
    Not,
    PrimExpr,
    Select,
    StringImm,
    Var,
    children,
    conjuncts,
)
from relay2relax.tir.ir.visit import subexpressions

# The constant part of an affine form is kept under None.
Affine = dict["Var | None", int]


@dataclass(frozen=True, slots=True)
class Axis:
    """``var`` runs over ``[begin, begin + extent)``."""

    var: Var
    begin: int
    extent: int


def strided(memory: Array, begin: int, shape: Sequence[int], steps: Sequence[int], name: str) -> Array:
    """Return what lies in one-dimensional ``memory`` from element ``begin`` on, ``steps`` elements
    apart.

    Raises ExecutionError where an element would lie outside.
    """
    reach = [step * (extent - 1) for step, extent in zip(steps, shape, strict=True)]
    least, most = begin + sum(min(one, 0) for one in reach), begin + sum(max(one, 0) for one in reach)
    if 0 in shape:
        return np.zeros(shape, memory.dtype)
    if least < 0 or most >= memory.size:
        raise ExecutionError(
            f"{name} has elements from {least} to {most}, the memory where it lies {memory.size}", kind=running.VALUE
        )
    return as_strided(memory[begin:], tuple(shape), [step * memory.itemsize for step in steps])


class Grid:
    """Evaluates expressions over the product of ``axes``.

    Messages begin with the name of the ``function`` that is run. ``scalars`` bind variables to one
    value each; ``arrays`` bind them to a value per grid point, in the form described above;
    ``clip`` makes loads outside their buffer read the nearest element instead of raising, for
    branches that are not taken there; ``asked`` says at which points they are.
    """

    def __init__(
        self,
        function: str,
        buffers: Mapping[Buffer, Array],
        scalars: Mapping[Var, Any],
        axes: Sequence[Axis] = (),
        arrays: Mapping[Var, Array] | None = None,
        clip: bool = False,
        asked: Array | None = None,
    ) -> None:
        self.function = function
        self.buffers = buffers
        self.scalars = scalars
        self.axes = tuple(axes)
        self.arrays = dict(arrays or {})
        self.clip = clip
        self.asked = asked
        self.place = {axis.var: position for position, axis in enumerate(self.axes)}
        self._memo: dict[int, Any] = {}
        self._shared: set[int] = set()

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of points along each axis."""
        return tuple(axis.extent for axis in self.axes)

    def restricted(self, ranges: Mapping[int, tuple[int, int]], clip: bool, asked: Array | None = None) -> Grid:
        """Return the part of the grid within ``ranges`` (axis position to half-open range of
        offsets).
        """
        axes = list(self.axes)
        for position, (low, high) in ranges.items():
            axes[position] = replace(axes[position], begin=axes[position].begin + low, extent=high - low)
        cut = tuple(slice(*ranges[d]) if d in ranges else slice(None) for d in range(len(axes)))
        arrays = {}
        for var, value in self.arrays.items():
            slices = tuple(c if n > 1 else slice(None) for c, n in zip(cut, value.shape, strict=True))
            arrays[var] = value[slices]
        if self.asked is not None:
            around = self.asked
            if around.ndim:
                around = around[tuple(c if n > 1 else slice(None) for c, n in zip(cut, around.shape, strict=True))]
            asked = around if asked is None else np.logical_and(around, asked)
        return Grid(self.function, self.buffers, self.scalars, axes, arrays, clip or self.clip, asked)

    def evaluate(self, expr: PrimExpr) -> Any:
        """Return the value of ``expr`` at every point."""
        seen: set[int] = set()
        stack = [expr]
        while stack:
            node = stack.pop()
            if id(node) in seen:
                self._shared.add(id(node))
                continue
            seen.add(id(node))
            stack.extend(children(node))
        try:
            return self._value(expr)
        finally:
            self._memo.clear()
            self._shared.clear()

    def _value(self, expr: PrimExpr) -> Any:
        if id(expr) in self._memo:
            return self._memo[id(expr)]
        value = self._compute(expr)
        if id(expr) in self._shared:
            self._memo[id(expr)] = value
        return value

    def _compute(self, expr: PrimExpr) -> Any:
        match expr:
            case IntImm(value, dtype):
                return numpy_dtype(dtype).type(value)
            case FloatImm(value, dtype):
                return numpy_dtype(dtype).type(value)
            case Var():
                return self._variable(expr)
            case Binary(op, a, b):
                return BINARY[op](self._value(a), self._value(b))
            case Not(a):
                return np.logical_not(self._value(a))
            case Cast(dtype, value):
                return converted(self._value(value), numpy_dtype(dtype))
            case Select(condition, then, otherwise) if _data_decide(then) or _data_decide(otherwise):
                # What is not chosen may lie anywhere.
                return self._guarded(condition, then, otherwise)
            case Select(condition, then, otherwise):
                return np.where(self._value(condition), self._value(then), self._value(otherwise))
            case Call("if_then_else", (condition, then, otherwise), _):
                return self._guarded(condition, then, otherwise)
            case Call("reinterpret", (value,), dtype):
                return np.asarray(self._value(value)).view(numpy_dtype(dtype))
            case Call(name, args, _) if name in INTRINSICS:
                return INTRINSICS[name](*(self._value(arg) for arg in args))
            case Call() if (known := math_call(expr)) is not None:
                return self._value(known)
            case Call() if is_outside(expr):
                return call_outside(expr, [self.argument(arg) for arg in expr.args[1:]])
            case Call(name):
                raise UnsupportedError(mistake(running.NOT_ON_BACKEND, what=f"the intrinsic T.{name}", backend="numpy"))
            case FunctionCall(name):
                raise UnsupportedError(
                    f"numpy does not call Module.{name}, another function of the module", kind=running.NOT_ON_BACKEND
                )
            case BufferLoad(buffer, indices):
                return self.load(buffer, indices)
        raise UnsupportedError(
            mistake(running.NOT_ON_BACKEND, what=f"the expression {type(expr).__name__}", backend="numpy")
        )

    def argument(self, expr: PrimExpr) -> Any:
        """Return what a function outside of the program is given for ``expr``; arrays share the
        program's memory.
        """
        match expr:
            case StringImm(value):
                return value
            case BufferData(buffer):
                return self.argument(
                    Call("address_of", (BufferLoad(buffer, (IntImm(0),) * len(buffer.shape)),), "handle")
                )
            case Var() if isinstance(self.scalars.get(expr), np.ndarray):
                return self.scalars[expr]
            case Call("address_of", (BufferLoad(buffer, indices),)):
                array = self.buffers[buffer]
                if not array.flags.c_contiguous:
                    raise ExecutionError(f"a function takes the address of {buffer.name!r}, which has no dense rows")
                place = 0
                for index, extent in zip(indices, array.shape, strict=True):
                    place = place * extent + int(self._value(index))
                return array.reshape(-1)[place:]
            case Call("tvm_stack_make_shape", extents):
                return tuple(int(self._value(extent)) for extent in extents)
            case Call("tvm_stack_make_array", (data, shape, strides, _, _, offset)):
                memory = self.argument(data)[int(self._value(offset)) :]
                extents = self.argument(shape)
                if isinstance(strides, Call) and strides.name == "tvm_stack_make_shape":
                    return strided(
                        memory, 0, extents, self.argument(strides), f"{self.function}: an array that is made here"
                    )
                return memory[: math.prod(extents)].reshape(extents)
        value = self._value(expr)
        return value.item() if isinstance(value, (np.ndarray, np.generic)) else value

    def _variable(self, var: Var) -> Any:
        position = self.place.get(var)
        if position is not None:
            axis = self.axes[position]
            points = np.arange(axis.begin, axis.begin + axis.extent, dtype=numpy_dtype(var.dtype))
            return points.reshape([-1 if d == position else 1 for d in range(len(self.axes))])
        if var in self.arrays:
            return self.arrays[var]
        if var in self.scalars:
            return numpy_dtype(var.dtype).type(self.scalars[var])
        raise ExecutionError(f"the value of variable {var.name!r} is not known here", kind=running.EXTENT)

    def depends(self, expr: PrimExpr) -> set[int]:
        """Return the positions of the axes that ``expr`` depends on."""
        found: set[int] = set()
        for node in subexpressions(expr):
            if isinstance(node, Var):
                if node in self.place:
                    found.add(self.place[node])
                elif node in self.arrays:
                    found.update(d for d, n in enumerate(self.arrays[node].shape) if n > 1)
        return found

    def affine(self, expr: PrimExpr) -> Affine | None:
        """Return ``expr`` as factors of axis variables and a constant, or None where it is not of
        that form.
        """
        match expr:
            case IntImm(value):
                return {None: value}
            case Var() if expr in self.place:
                return {expr: 1, None: 0}
            case Var() if expr in self.scalars:
                return {None: int(self.scalars[expr])}
            case Cast("int64" | "int32", value) if value.dtype in ("int32", "int64"):
                return self.affine(value)
            case Binary(("+" | "-" | "*" | "//" | "%") as op, a, b):
                left, right = self.affine(a), self.affine(b)
                if left is None or right is None:
                    return None
                return self._combine(op, left, right)
        return None

    def _combine(self, op: str, a: Affine, b: Affine) -> Affine | None:
        if op in ("+", "-"):
            sign = 1 if op == "+" else -1
            result = dict(a)
            for var, factor in b.items():
                result[var] = result.get(var, 0) + sign * factor
            return result
        if op == "*":
            if len(a) == 1:
                return {var: factor * a[None] for var, factor in b.items()}
            return {var: factor * b[None] for var, factor in a.items()} if len(b) == 1 else None
        if len(b) > 1 or b[None] <= 0:
            return None
        by = b[None]
        if all(factor % by == 0 for var, factor in a.items() if var is not None):
            if op == "//":
                return {var: factor // by for var, factor in a.items()}
            return {None: a[None] % by}
        low, high = self._range(a)
        if low // by == high // by:
            if op == "//":
                return {None: low // by}
            return {**a, None: a[None] - low // by * by}
        return None

    def _range(self, form: Affine) -> tuple[int, int]:
        low = high = form[None]
        for var, factor in form.items():
            if var is not None:
                axis = self.axes[self.place[var]]
                ends = (factor * axis.begin, factor * (axis.begin + axis.extent - 1))
                low, high = low + min(ends), high + max(ends)
        return low, high

    def view(self, buffer: Buffer, indices: Sequence[PrimExpr], writable: bool = False) -> Array | None:
        """Return the elements at ``indices`` as a strided view, or None where that is not possible.

        Axes that no index depends on have length 1; for a ``writable`` view every axis must be
        used.
        """
        array = self.buffers[buffer]
        strides = [0] * len(self.axes)
        offset: list[int] = []
        for index, extent, stride in zip(indices, array.shape, array.strides, strict=True):
            form = self.affine(index)
            if form is None:
                return None
            low, high = self._range(form)
            if low < 0 or high >= extent:
                return None
            offset.append(form[None])
            for var, factor in form.items():
                if var is not None:
                    strides[self.place[var]] += factor * stride
                    offset[-1] += factor * self.axes[self.place[var]].begin
        if writable and any(s == 0 and a.extent > 1 for s, a in zip(strides, self.axes, strict=True)):
            return None
        shape = [a.extent if s or writable else 1 for s, a in zip(strides, self.axes, strict=True)]
        # Indexing with nothing would give a number, not a view.
        start = array[tuple(slice(o, o + 1) for o in offset)] if offset else array
        return as_strided(start, shape, strides, writeable=writable)

    def load(self, buffer: Buffer, indices: Sequence[PrimExpr]) -> Any:
        """Return the elements of ``buffer`` at ``indices``, at every point."""
        if buffer not in self.buffers:
            raise ExecutionError(f"buffer {buffer.name!r} is used before it exists")
        array = self.buffers[buffer]
        if 0 in self.shape:
            return np.empty(self.shape, array.dtype)
        found = self.view(buffer, indices)
        if found is not None:
            return found if self.axes else found[()]
        places = self.positions(buffer, indices)
        if not array.size:
            # Nobody asks for these.
            return np.zeros(np.broadcast_shapes(*(place.shape for place in places)), array.dtype)
        return array[places]

    def positions(self, buffer: Buffer, indices: Sequence[PrimExpr]) -> tuple[Any, ...]:
        """Return the indices as arrays.

        Outside the buffer they are clipped, or raise ExecutionError.
        """
        result = []
        for dimension, (index, extent) in enumerate(zip(indices, self.buffers[buffer].shape, strict=True)):
            found = np.asarray(self._value(index))
            if found.size and (found.min() < 0 or found.max() >= extent):
                outside = np.logical_or(found < 0, found >= extent)
                if self.asked is not None:
                    outside = np.logical_and(outside, self.asked)
                if (self.asked is not None or not self.clip) and outside.any():
                    wrong = np.broadcast_to(found, outside.shape)[outside][0]
                    where = f"dimension {dimension} of {buffer.name!r}, which has extent {extent}"
                    raise ExecutionError(mistake(running.INDEX, index=f"{self.function}: index {wrong}", place=where))
                found = np.clip(found, 0, max(extent - 1, 0))
            result.append(found)
        return tuple(result)

    def _guarded(self, condition: PrimExpr, then: PrimExpr, otherwise: PrimExpr) -> Any:
        """Evaluate a lazy conditional: the part of the grid where it may hold is a box, other
        conditions mask.
        """
        ranges: dict[int, tuple[int, int]] = {}
        masks: list[PrimExpr] = []
        for part in conjuncts(condition):
            axes = self.depends(part)
            value = np.asarray(self._value(part))
            if len(axes) > 1:
                masks.append(part)
                continue
            position = next(iter(axes), -1)
            holds = np.flatnonzero(value)
            if not holds.size:
                return self._branch(otherwise, {})
            if position < 0:
                continue
            low, high = int(holds[0]), int(holds[-1]) + 1
            if high - low != holds.size:
                masks.append(part)
            elif holds.size != self.axes[position].extent:
                before = ranges.get(position, (0, self.axes[position].extent))
                ranges[position] = (max(low, before[0]), min(high, before[1]))
                if ranges[position][0] >= ranges[position][1]:
                    return self._branch(otherwise, {})
        if not ranges and not masks:
            return self._value(then)
        inside = self.restricted(ranges, clip=bool(masks))
        if masks:
            mask = np.asarray(True)
            for part in masks:
                mask = np.asarray(np.logical_and(mask, inside.evaluate(part)))
            chosen = np.where(
                mask,
                self.restricted(ranges, True, mask).evaluate(then),
                self.restricted(ranges, True, np.logical_not(mask)).evaluate(otherwise),
            )
        else:
            chosen = inside.evaluate(then)
        if not ranges:
            return chosen
        other = self._branch(otherwise, ranges)
        used = set(ranges)
        for value in (chosen, other):
            used.update(d for d, n in enumerate(np.shape(value)) if n > 1)
        used.update(self.depends(then))
        shape = [axis.extent if d in used else 1 for d, axis in enumerate(self.axes)]
        result = np.empty(shape, np.asarray(chosen).dtype)
        result[...] = other
        result[tuple(slice(*ranges[d]) if d in ranges else slice(None) for d in range(len(shape)))] = chosen
        return result

    def _branch(self, otherwise: PrimExpr, ranges: Mapping[int, tuple[int, int]]) -> Any:
        # Where the condition holds somewhere, the other branch is evaluated at points that do not
        # ask for it.
        return self.restricted({}, clip=bool(ranges)).evaluate(otherwise)


def _data_decide(expr: PrimExpr) -> bool:
    """Whether an index within ``expr`` is loaded."""
    nodes = (node for node in subexpressions(expr) if isinstance(node, BufferLoad))
    return any(isinstance(part, BufferLoad) for node in nodes for i in node.indices for part in subexpressions(i))
