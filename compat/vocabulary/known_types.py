"""What inference found, by node: what TVM writes into its nodes as ``checked_type``."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from weakref import WeakKeyDictionary

from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Constructor, Expr, GlobalVar, Op, RelayExpr
from relay2relax.relay_ir.ir.module import IRModule, TypeData
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.relay_ir.ir.types import Type

_known: WeakKeyDictionary[Expr, Type] = WeakKeyDictionary()

# The tags of constructors, by the names of the type and of the constructor.
_tags: dict[tuple[str, str], int] = {}


def number(data: TypeData) -> None:
    """Give the constructors of a type their tags, as a module of TVM does."""
    first = zlib.crc32(data.header.name.encode()) % 128 << 24
    for place, one in enumerate(data.constructors):
        if one.tag < 0:
            object.__setattr__(one, "tag", first + place)
        _tags[data.header.name, one.name] = one.tag


def tag_of(constructor: Constructor) -> int:
    """Return the tag of a constructor, -1 where no module has its type."""
    return _tags.get((constructor.belong_to.name, constructor.name), constructor.tag)


def note(types: Mapping[Expr, Type]) -> None:
    """Remember the types of a module, as long as its nodes are."""
    _known.update((node, ty) for node, ty in types.items() if not isinstance(node, Op))


def forget(node: Expr) -> None:
    """Forget the type of a node."""
    _known.pop(node, None)


def table() -> Mapping[Expr, Type]:
    """Return the types that are known."""
    return _known


def inferred(*exprs: RelayExpr) -> bool:
    """Whether the types of all of these were found by inference."""
    return all(one in _known for one in exprs)


def type_of(expr: Expr) -> Type | None:
    """Return the type of ``expr``, None where it does not follow from its parts."""
    found = _known.get(expr)
    if found is None and not isinstance(expr, GlobalVar):
        below = {node: _known[node] for node in nodes(expr) if node in _known}
        found = TypeTable(IRModule(types=below)).of(expr)
        if found is not None:
            _known[expr] = found
    return found
