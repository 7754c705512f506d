"""What the nodes of a graph become in Relax, noted while they are translated.

A node may be translated several times: a function that is called twice is put in the place of both
calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from relay2relax.graph.relax.values import Closure, Value
from relay2relax.relax_ir import BlockBuilder, GlobalVar, Var
from relay2relax.relax_ir.ir.expr import Binding, Constant, MatchCast


@dataclass(frozen=True, slots=True)
class Trace:
    """What became of nodes, by their names; these are unique in a module.

    ``values``  what stands for a node's value, each time that it was translated. ``bound``  the
    variables that were bound for it, helpers among them. ``constants``  of held weights.
    ``functions``  what stands for a function that stayed one: a function of the module or a local
    one. ``graphs`` the functions of the module that were made of graphs, by the graphs' names.
    """

    values: dict[str, list[Value]] = field(default_factory=dict)
    bound: dict[str, list[Var]] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    functions: dict[Closure, list[Var | GlobalVar]] = field(default_factory=dict)
    graphs: dict[str, list[GlobalVar]] = field(default_factory=dict)
    # The nodes that are being translated, the innermost last.
    _stack: list[str] = field(default_factory=list)

    def begin(self, name: str) -> None:
        """What is bound from now on is bound for the node ``name``."""
        self._stack.append(name)

    def end(self, value: Value | None = None) -> None:
        """The node that was begun last is translated; ``value`` stands for it."""
        name = self._stack.pop()
        if value is not None:
            self.values.setdefault(name, []).append(value)

    def given(self, values: Mapping[str, Value]) -> None:
        """Note what nodes are that are not translated: parameters, and what comes from outside."""
        for name, value in values.items():
            self.values.setdefault(name, []).append(value)

    def made(self, closure: Closure, var: Var | GlobalVar) -> None:
        """Note the function that ``closure`` became."""
        self.functions.setdefault(closure, []).append(var)
        if isinstance(var, GlobalVar):
            self.graphs.setdefault(closure.graph.name, []).append(var)

    def note(self, var: Var) -> None:
        """Note a variable that was bound."""
        if self._stack:
            self.bound.setdefault(self._stack[-1], []).append(var)


class TracedBuilder(BlockBuilder):
    """A builder that tells ``trace`` what it binds."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self.trace = trace

    def emit_normalized(self, binding: Binding | MatchCast) -> None:
        """Append ``binding`` and note its variable."""
        super().emit_normalized(binding)
        self.trace.note(binding.var)
