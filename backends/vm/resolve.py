"""Entries of the function table as Python functions of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from relay2relax.backends.numpy.kernels import in_call_order, numpy_kernel, refusals_at_run_time
from relay2relax.backends.runtime.arguments import make_plain
from relay2relax.backends.runtime.dlpack import shared
from relay2relax.backends.runtime.extern_calls import outside_names
from relay2relax.backends.runtime.registry import find_func
from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.backends.vm import bytecode as bc
from relay2relax.backends.vm.builtins import BUILTINS
from relay2relax.backends.vm.conversion import convert
from relay2relax.ops.registry.evaluate import kernel_value, with_values
from relay2relax.tir.arith.evaluate import extent_function

if TYPE_CHECKING:
    from relay2relax.backends.c.loaded_module import CompiledModule

Callee: TypeAlias = Callable[..., object]


def resolve(entry: bc.FunctionEntry, native: CompiledModule | None) -> Callee | None:
    """Return what ``entry`` computes; None for what the machine itself carries out.

    ``native`` is the compiled code of target c, None on numpy. Raises ExecutionError for a function
    that nobody registered.
    """
    match entry:
        case bc.Builtin(name):
            return BUILTINS.get(name)
        case bc.Packed(name):
            return _packed(name)
        case bc.Kernel():
            return kernel_of(entry, native)
        case bc.OperatorCall():
            return _operator(entry)
        case bc.ShapeFunction():
            return _shape_function(entry)
    return None


def kernel_of(entry: bc.Kernel, native: CompiledModule | None, fitting: bool = False) -> Callee:
    """Return what a kernel computes; of ``fitting`` arguments it may be known that they fit."""
    func = entry.func
    if native is None or func.name not in native.entries:
        return in_call_order(func, numpy_kernel(func))
    call = native.kernel_call(func.name)
    return in_call_order(func, call.fitting if fitting else call.checked)


def names_looked_up(entries: Iterable[bc.FunctionEntry]) -> Iterator[str]:
    """Yield the names of the functions that are looked up, by the machine and within kernels."""
    for entry in entries:
        match entry:
            case bc.Packed(name):
                yield name
            case bc.Kernel(_, func):
                yield from sorted(outside_names(func))


def _packed(name: str) -> Callee:
    """Return the function ``name``, whose results become what the machine computes with: arrays,
    tuples, numbers.
    """
    function = find_func(name)

    def run(*args: object) -> object:
        result = convert(function(*map(shared, args)), f"the result of {name}")
        make_plain(args)
        return result

    return run


def _operator(entry: bc.OperatorCall) -> Callee:
    """Return the record's kernel with its attributes; shapes reach it as plain tuples.

    Of numbers that are no tensors, as operators of two scalars are given, it makes a number.
    """
    op, attrs, extents = entry.op, entry.attrs, entry.extents

    def run(*args: object) -> object:
        given = [tuple(arg) if isinstance(arg, ShapeTuple) else arg for arg in args]
        used = attrs
        if extents:
            values = given.pop()
            assert isinstance(values, tuple)
            used = with_values(attrs, dict(zip(extents, values, strict=True)))
        with refusals_at_run_time():
            if len(given) == 2 and all(isinstance(one, (bool, int, float)) for one in given):
                return kernel_value(op, used, [np.asarray(one) for one in given]).item()
            return kernel_value(op, used, given)

    return run


def _shape_function(entry: bc.ShapeFunction) -> Callee:
    results = [(slot, extent_function(expr, entry.slots)) for slot, expr in entry.results]

    def run(heap: list[int]) -> None:
        for slot, compute in results:
            heap[slot] = compute(heap)

    return run
