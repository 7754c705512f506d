"""What a pattern for nodes of a graph says, and the patterns that are known by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.matching.patterns import DFPattern
from relay2relax.graph.model import MSCJoint
from relay2relax.relax_ir.ir.expr import Call as RelaxCall
from relay2relax.relax_ir.ir.expr import Constant
from relay2relax.relax_ir.ir.expr import Expr as RelaxExpr
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Call, Expr
from relay2relax.relay_ir.ir.expr import Constant as RelayConstant
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Emit:
    """What a form in Relax is made with: ``emit("matmul", a, b, out_dtype=emit.dtype)``.

    ``dtype`` is that of the node's first result. ``node`` is the fused node, ``held`` are the
    constants that it holds, by role.
    """

    call: Callable[..., RelaxExpr]
    node: MSCJoint
    held: Mapping[str, Constant]

    def __call__(self, name: str, *operands: RelaxExpr, **attrs: object) -> RelaxExpr:
        """Bind a call of the Relax operator ``R.<name>`` and return its variable."""
        return self.call(name, *operands, **attrs)

    @property
    def dtype(self) -> str:
        """The dtype of the first result."""
        return self.node.outputs[0].dtype

    def number(self, role: str) -> float:
        """Return the value of a held constant of one element."""
        return float(self.held[role].data.item())

    def parts(self, op: str) -> list[MSCJoint]:
        """Return the parts of the node that call an operator, in their order."""
        return [part for graph in self.node.bodies for part in graph.nodes if spelled(part.op) == op]

    def shape(self, operand: int) -> tuple[int, ...]:
        """Return the extents of an operand of the node, -1 where they are open."""
        (parts,) = self.node.bodies
        return parts.find_node(parts.params[operand]).outputs[0].shape


@dataclass(frozen=True, slots=True)
class Match:
    """A match: what each part of the pattern stands for, and its types."""

    found: Mapping[DFPattern, Sequence[Any]]
    types: Callable[[Any], object]

    def __getitem__(self, part: DFPattern) -> Any:
        return self.found[part][0]

    def get(self, part: DFPattern) -> Any:
        """Return what a part matched, None where it stands in an alternative that did not."""
        found = self.found.get(part, ())
        return found[0] if found else None

    def attrs(self, part: DFPattern) -> Any:
        """Return the attributes of the call that a part matched, None where it is no call."""
        found = self.get(part)
        return found.attrs if isinstance(found, (Call, RelaxCall)) else None

    def constant(self, part: DFPattern) -> Array | None:
        """Return the data of the constant that a part matched, None where it is no constant."""
        found = self.get(part)
        return found.data if isinstance(found, (RelayConstant, Constant)) else None

    def is_about(self, part: DFPattern, value: float) -> bool:
        """Whether a part matched a constant of ``value``, as far as its dtype tells it."""
        found = self.constant(part)
        return found is not None and found.size == 1 and bool(np.isclose(found, value, rtol=1e-3))

    def tensor(self, part: DFPattern) -> TensorType | None:
        """Return the type of what a part matched, None where that is no tensor."""
        found = self.types(self[part])
        return found if isinstance(found, TensorType) else None


@dataclass(frozen=True, slots=True, eq=False)
class FusionPattern:
    """A pattern whose matches become one node.

    ``name`` is the operator of the node (``msc.linear``). ``pattern`` is matched against the Relay,
    or the Relax, of the graph; Relax's operators are called as scripts call them behind ``R.``.
    ``weights`` are the roles of constants, by the parts of the pattern that match them. ``check``
    may refuse a match. ``relax`` emits what the node becomes in Relax, of its operands and then its
    weights, in the order of ``weights``; without it the node becomes what its parts become.
    ``needs`` are operators without which the graph is not looked at. ``also`` are parts whose
    values are results too, behind that of the pattern; in the graph of a Relay program only.
    """

    name: str
    pattern: DFPattern
    weights: Mapping[DFPattern, str] = field(default_factory=dict)
    check: Callable[[Match], bool] = lambda match: True
    relax: Callable[..., RelaxExpr] | None = None
    needs: tuple[str, ...] = ()
    also: tuple[DFPattern, ...] = ()


def spelled(op: str) -> str:
    """Return the name by which patterns call an operator, of Relay or of Relax."""
    return op.removeprefix("relax.")


def types_of(mod: IRModule) -> Callable[[Expr], object]:
    """Return what gives the types of the expressions of a module."""
    return typed_module(mod).types.get
