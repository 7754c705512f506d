"""Which functions of a translation are for external compilers."""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax import relax_ir
from relay2relax.graph.model import MSCGraph
from relay2relax.graph.relax.partitions import mark_of
from relay2relax.ops.target.annotation import OWN_COMPILER, CompilerAttrs
from relay2relax.relax_ir.ir.visit import all_sequences, bindings


@dataclass(frozen=True, slots=True)
class Partition:
    """A function for an external ``compiler``, which is empty where only a pattern was found.

    ``composites`` are the names of the patterns in it, in order.
    """

    name: str
    compiler: str
    composites: tuple[str, ...]

    def __str__(self) -> str:
        patterns = f" of {', '.join(self.composites)}" if self.composites else ""
        return f"{self.name} is a function for {self.compiler or 'a pattern'}{patterns}"


def partitions(module: relax_ir.IRModule) -> tuple[Partition, ...]:
    """Return the functions of ``module`` that say ``Codegen`` or ``Composite``, in its order."""
    found: list[Partition] = []
    for var, func in module.functions.items():
        if not isinstance(func, relax_ir.Function):
            continue
        compiler, own = (str(func.attrs.get(name, "")) for name in ("Codegen", "Composite"))
        if compiler or own:
            inside = [
                str(binding.value.attrs["Composite"])
                for seq in all_sequences([func.body])
                for binding in bindings(seq)
                if isinstance(binding.value, relax_ir.Function) and "Composite" in binding.value.attrs
            ]
            found.append(Partition(var.name, compiler, (own, *inside) if own else tuple(inside)))
    return tuple(found)


def compilers(graph: MSCGraph) -> tuple[str, ...]:
    """Return for which external compilers, and of which patterns, a Relay program has functions or
    annotated regions, each once.
    """
    said = [mark.compiler or mark.composite for part in graph.subgraphs() if (mark := mark_of(part)) is not None]
    annotated = [
        node.attrs.compiler
        for part in graph.subgraphs()
        for node in part.nodes
        if isinstance(node.attrs, CompilerAttrs) and node.attrs.compiler != OWN_COMPILER
    ]
    return tuple(dict.fromkeys((*said, *annotated)))
