"""How the virtual machine runs a PrimFunc on numpy.

A PrimFunc that still is its operator's own definition runs the record's numpy kernel, so that Relay
and Relax agree; any other one is evaluated block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from relay2relax.backends.numpy.binding import bind_call, check_apart
from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.backends.runtime.attribute_extents import attribute_variables
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ExecutionError
from relay2relax.ops.registry.evaluate import evaluate_call
from relay2relax.ops.registry.lower import Origin
from relay2relax.ops.registry.record import OpError
from relay2relax.tir.ir.stmt import PrimFunc


@contextmanager
def refusals_at_run_time() -> Iterator[None]:
    """What an operator refuses while its program runs is an ExecutionError."""
    try:
        yield
    except OpError as problem:
        raise ExecutionError(problem.message) from problem


def in_call_order(func: PrimFunc, run: Callable[..., object]) -> Callable[..., object]:
    """Return ``run``, which takes inputs, scalars and outputs of ``func``, as a function of its
    parameters in order.
    """
    buffers = [place for place, param in enumerate(func.params) if param in func.buffer_map]
    scalars = [place for place, param in enumerate(func.params) if param not in func.buffer_map]
    first = len(buffers) - func.num_outputs
    order = [*buffers[:first], *scalars, *buffers[first:]]
    if order == list(range(len(order))):
        return run
    return lambda *args: run(*[args[place] for place in order])


def numpy_kernel(func: PrimFunc) -> Callable[..., object]:
    """Return a function of inputs, scalars and outputs that runs ``func``, and returns what that
    returns.
    """
    buffers = len(func.buffers)
    scalars = len(func.params) - buffers
    first = buffers - func.num_outputs

    def split(args: Sequence[Any]) -> tuple[Sequence[Array], Sequence[int], Sequence[Array]]:
        return args[:first], args[first : first + scalars], args[first + scalars :]

    origin = func.origin
    if not isinstance(origin, Origin):

        def evaluate(*args: object) -> object:
            inputs, numbers, outputs = split(args)
            return evaluate_prim_func(func, inputs, outputs, numbers)

        return evaluate
    symbolic = bool(attribute_variables(origin.attrs)) or any(isinstance(a, tuple) for a in origin.args)

    def run(*args: object) -> None:
        inputs, numbers, outputs = split(args)
        values = bind_call(func, (*inputs, *outputs), numbers) if symbolic else {}
        check_apart(func, (*inputs, *outputs), range(len(inputs), buffers))
        with refusals_at_run_time():
            evaluate_call(origin, inputs, outputs, values)

    return run
