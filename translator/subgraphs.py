"""Parts of a Relay module with the values that go in and come out when the whole runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from relay2relax import backends
from relay2relax.core.dtype import Array
from relay2relax.relay_ir.inference.infer import infer_type, typed_module
from relay2relax.relay_ir.ir.expr import Expr, Function
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.subgraphs import Part
from relay2relax.translator.arguments import Argument, flatten


@dataclass(frozen=True, slots=True)
class RecordedPart:
    """A part as a module, the arrays of its parameters by name, and its results."""

    module: IRModule
    inputs: Mapping[str, Array]
    expected: tuple[Array, ...]


def record_parts(mod: IRModule, parts: Sequence[Part], arguments: Sequence[Argument]) -> tuple[RecordedPart, ...]:
    """Return the parts of ``mod`` with their values, when it is run with ``arguments`` on numpy.

    Raises what the debug executor raises.
    """
    mod = typed_module(mod)
    main = mod["main"]
    wanted = {one for part in parts for one in (*(given.node for given in part.inputs), *part.outputs)}
    seen: dict[Expr, Any] = {
        param: value for param, value in zip(main.params, arguments, strict=True) if param in wanted
    }

    def observe(expr: Expr, value: Any) -> None:
        if expr in wanted:
            seen[expr] = value

    backends.create_executor("debug", mod).evaluate(observe=observe)(*arguments)
    return tuple(recorded_part(mod, part, seen.__getitem__) for part in parts)


def recorded_part(mod: IRModule, part: Part, value_of: Callable[[Expr], Any]) -> RecordedPart:
    """Return a part of ``mod`` with its values, where ``value_of`` gives those of nodes."""
    inputs: dict[str, Array] = {}
    for param, one in zip(part.function.params, part.inputs, strict=True):
        value = value_of(one.node)
        for place in one.path:
            value = value[place]
        inputs[param.name] = flatten(value)[0]
    expected = tuple(array for node in part.outputs for array in flatten(value_of(node)))
    return RecordedPart(alone(mod, part.function), inputs, expected)


def outputs_of(mod: IRModule, arguments: Sequence[Argument]) -> list[Array]:
    """Return the arrays that ``mod`` gives on numpy; raises what the debug executor raises."""
    return flatten(backends.create_executor("debug", mod).evaluate()(*arguments))


def alone(mod: IRModule, function: Function) -> IRModule:
    """Return the module of ``function`` as ``@main``, with the other functions of ``mod``."""
    functions = {**mod.functions, mod.get_global_var("main"): function}
    return infer_type(replace(mod, functions=functions, types={}))
