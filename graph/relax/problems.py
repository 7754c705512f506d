"""What a translation meets that Relax cannot express: collected, so that all of it is told at once.

A node that is refused is stood in for by a variable of its type, and the translation goes on; the
module that is made is thrown away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from relay2relax.core.errors import Diagnostic, Relay2RelaxError, UnsupportedError
from relay2relax.core.source import SourceRange, SourceText
from relay2relax.graph.model import NO_TENSORS, MSCJoint, MSCTensor
from relay2relax.relax_ir.ir.expr import Expr, Var
from relay2relax.relax_ir.ir.struct_info import ObjectStructInfo, StructInfo, TensorStructInfo, TupleStructInfo


@dataclass(slots=True)
class Problems:
    """Mistakes in the order of the nodes; ``place`` says where a node stands in ``source``."""

    place: Callable[[str], SourceRange | None] = lambda _: None
    source: SourceText | None = None
    found: list[Diagnostic] = field(default_factory=list)
    unknown: set[Expr] = field(default_factory=set)

    def add(self, name: str, error: Relay2RelaxError) -> None:
        """Note what is wrong with the node ``name``."""
        for one in error.diagnostics:
            placed = replace(one, where=one.where or self.place(name), kind=one.kind or error.kind)
            if placed not in self.found:
                self.found.append(placed)

    def stand_in(self, node: MSCJoint, known: bool = True) -> Var:
        """Return a variable for a refused node, of its type as far as tensors tell it.

        Where they may not tell all of it (``known``), nothing is said of what is made of it.
        """
        fields = [_info(tensor) for tensor in node.outputs]
        info = fields[0] if len(fields) == 1 else TupleStructInfo(tuple(fields)) if fields else ObjectStructInfo()
        made = Var(node.name, info)
        if not known or not fields or ObjectStructInfo() in fields:
            self.unknown.add(made)
        return made

    def check(self) -> None:
        """Raise UnsupportedError with all that was found, if anything was."""
        if self.found:
            raise UnsupportedError(self.found, self.source)


def _info(tensor: MSCTensor) -> StructInfo:
    """Return what is known of a value; little of one that is no tensor."""
    if tensor.dtype in NO_TENSORS:
        return ObjectStructInfo()
    fixed = all(extent >= 0 for extent in tensor.shape)
    return TensorStructInfo(tensor.shape if fixed else None, tensor.dtype, len(tensor.shape))
