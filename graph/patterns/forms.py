"""What fused nodes become in Relax, by the names of their patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from relay2relax.graph.model import GraphError
from relay2relax.graph.patterns.msc import msc_patterns
from relay2relax.graph.patterns.nn import nn_patterns
from relay2relax.graph.patterns.pattern import Emit, FusionPattern
from relay2relax.graph.patterns.relax import relax_patterns
from relay2relax.relax_ir.ir.expr import Expr as RelaxExpr

# Patterns of users, by name.
_REGISTERED: dict[str, FusionPattern] = {}


def register_pattern(pattern: FusionPattern) -> FusionPattern:
    """Let nodes of the name of ``pattern`` become what its ``relax`` emits; return the pattern."""
    _REGISTERED[pattern.name] = pattern
    return pattern


def relax_form(name: str, of_relax: bool = False) -> Callable[..., RelaxExpr] | None:
    """Return what emits a fused node in Relax, None where it becomes its parts.

    ``of_relax``: the node is of a Relax program, whose parts are Relax's operators already.
    """
    if name in _REGISTERED:
        return _REGISTERED[name].relax
    known = relax_patterns() if of_relax else (*msc_patterns(), *nn_patterns())
    return next((one.relax for one in known if one.name == name), None)


def emitted(form: Callable[..., RelaxExpr], emit: Emit, operands: Iterable[RelaxExpr]) -> RelaxExpr:
    """Return what ``form`` emits of a fused node, its operands and what it holds.

    Raises GraphError where the node is not what its pattern matches: documents may say anything.
    """
    try:
        return form(emit, *operands, *emit.held.values())
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, AssertionError) as error:
        node = emit.node
        raise GraphError(f"the parts of {node.name!r} are not those of the pattern {node.op!r}: {error}") from error
