"""What a pattern for nodes of a graph says, and the patterns that are known by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from relay2relax.core.matching.patterns import DFPattern
from relay2relax.relax_ir.ir.expr import Expr as RelaxExpr
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Emit:
    """What a form in Relax is made with: ``emit("matmul", a, b, out_dtype=emit.dtype)``.

    ``dtype`` is that of the node's first result.
    """

    call: Callable[..., RelaxExpr]
    dtype: str

    def __call__(self, name: str, *operands: RelaxExpr, **attrs: object) -> RelaxExpr:
        """Bind a call of the Relax operator ``R.<name>`` and return its variable."""
        return self.call(name, *operands, **attrs)


@dataclass(frozen=True, slots=True)
class Match:
    """A match: what each part of the pattern stands for, and its types."""

    found: Mapping[DFPattern, Sequence[Expr]]
    types: Callable[[Expr], object]

    def __getitem__(self, part: DFPattern) -> Expr:
        return self.found[part][0]

    def tensor(self, part: DFPattern) -> TensorType | None:
        """Return the type of what a part matched, None where that is no tensor."""
        found = self.types(self[part])
        return found if isinstance(found, TensorType) else None


@dataclass(frozen=True, slots=True, eq=False)
class FusionPattern:
    """A pattern whose matches become one node.

    ``name`` is the operator of the node (``msc.linear``). ``pattern`` is matched against the Relay
    of the graph. ``weights`` are the roles of constants, by the parts of the pattern that match
    them. ``check`` may refuse a match. ``relax`` emits what the node becomes in Relax, of its
    operands and then its weights, in the order of ``weights``; without it the node becomes what
    its parts become. ``needs`` are operators without which the graph is not looked at.
    """

    name: str
    pattern: DFPattern
    weights: Mapping[DFPattern, str] = field(default_factory=dict)
    check: Callable[[Match], bool] = lambda match: True
    relax: Callable[..., RelaxExpr] | None = None
    needs: tuple[str, ...] = ()


def types_of(mod: IRModule) -> Callable[[Expr], object]:
    """Return what gives the types of the expressions of a module."""
    return typed_module(mod).types.get
