"""Where two programs part: every intermediate value is compared, and the first node that differs is
named.

``main`` is changed to return all of its intermediate values. That module is translated and run like
any other, so any translator and any backend can be looked into; a backend that fuses operators
fuses less here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from relay2relax import backends, relax_ir
from relay2relax.core import post_order
from relay2relax.core.tolerance import Difference, difference
from relay2relax.relay_ir import Call, Function, IRModule, Op, Tuple, infer_type
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import children
from relay2relax.relay_ir.transform import InlineLocalFunctions, ToGraphNormalForm
from relay2relax.translator.arguments import Argument, flatten

# Backends that take operators together, and what is said of those.
FUSING = ("c", "tvm")
FUSED_OTHERWISE = "seen with every value as an output, so otherwise fused than the program"


@dataclass(frozen=True, slots=True)
class NodeDifference:
    """A node whose value was compared: its place among ``count`` calls, the call, and how far it
    is off.
    """

    index: int
    count: int
    call: Call
    difference: Difference

    def __str__(self) -> str:
        assert isinstance(self.call.op, Op)
        origin = f" (span {self.call.span})" if self.call.span is not None else ""
        return (
            f"call {self.index + 1} of {self.count}, {self.call.op.name}{origin}, differs by "
            f"{self.difference.max_abs:.3g}: {self.difference.reason}"
        )


def inlined(mod: IRModule) -> IRModule:
    """Return ``mod`` with its types, in graph form, and with calls of function literals inlined."""
    mod.refuse_opaque("only Relay is translated; use the program from before it was lowered")
    flat = InlineLocalFunctions(marked=True)(ToGraphNormalForm()(mod))
    return typed_module(flat)


def expose_intermediates(mod: IRModule) -> tuple[IRModule, tuple[Call, ...]]:
    """Return ``mod`` in graph form with a ``main`` that returns the value of every call, and those
    calls in order.
    """
    flat = inlined(mod)
    calls = tuple(node for node in post_order([flat["main"].body], children) if isinstance(node, Call))
    main = Function(flat["main"].params, Tuple(calls))
    return infer_type(flat.with_function(flat.get_global_var("main"), main)), calls


def node_differences(
    mod: IRModule,
    arguments: Sequence[Argument],
    translate: Callable[[IRModule], relax_ir.IRModule],
    backend: str,
    length: int | None = None,
) -> Iterator[NodeDifference]:
    """Yield for every call, in order, how far its value on the Relax side is from Relay on numpy;
    of a tuple for each of its fields.

    ``length`` is that of the program's sums, None where it is not known.
    """
    exposed, calls = expose_intermediates(mod)
    expected = backends.create_executor("graph", exposed).evaluate()(*arguments)
    machine = backends.VirtualMachine(backends.build(translate(exposed), target=backend))
    actual = machine["main"](*arguments)
    for index, (call, one, other) in enumerate(zip(calls, actual, expected, strict=True)):
        for array, wanted in zip(flatten(one), flatten(other), strict=True):
            yield NodeDifference(index, len(calls), call, difference(array, wanted, length))


def first_difference(
    mod: IRModule,
    arguments: Sequence[Argument],
    translate: Callable[[IRModule], relax_ir.IRModule],
    backend: str,
    length: int | None = None,
) -> NodeDifference | None:
    """Return the first call whose value on the Relax side differs from Relay on numpy, None where
    all agree. Arguments are those of :func:`node_differences`.
    """
    found = node_differences(mod, arguments, translate, backend, length)
    return next((one for one in found if not one.difference.agrees), None)
