"""Which constructs of the language a program uses."""

from __future__ import annotations

from enum import IntEnum
from typing import Union

from relay2relax.relay_ir.analysis.traversal import parts
from relay2relax.relay_ir.analysis.variables import free_vars
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relay_ir.ir.module import IRModule


class Feature(IntEnum):
    """What a program may use, with TVM's names and numbers."""

    fVar = 0
    fGlobalVar = 1
    fConstant = 2
    fTuple = 3
    fTupleGetItem = 4
    fFunction = 5
    fOp = 6
    fCall = 7
    fLet = 8
    fIf = 9
    fRefCreate = 10
    fRefRead = 11
    fRefWrite = 12
    fConstructor = 13
    fMatch = 14
    # Something that is not an atom is used more than once.
    fGraph = 15
    # A local function calls itself.
    fLetRec = 16


_ATOMS = (Var, GlobalVar, Constant, Op, Constructor)
_KINDS: dict[type, Feature] = {
    one: Feature[f"f{one.__name__}"]
    for one in (
        Var, GlobalVar, Constant, Tuple, TupleGetItem, Function, Op, Call, Let, If, RefCreate, RefRead, RefWrite,
        Constructor, Match,
    )
}  # fmt: skip


def detect_feature(a: Union[Expr, IRModule, None], b: Union[Expr, IRModule, None] = None) -> set[Feature]:
    """Return what an expression, a module, or both use.

    Bodies of functions that are marked ``Primitive`` are not looked at.
    """
    found: set[Feature] = set()
    for one in (a, b):
        roots = list(one.functions.values()) if isinstance(one, IRModule) else [] if one is None else [one]
        for root in roots:
            found |= _of(root)
    return found


def _of(root: Expr) -> set[Feature]:
    found: set[Feature] = set()
    seen: set[Expr] = set()
    ahead: list[Expr] = [root]
    while ahead:
        node = ahead.pop()
        if node in seen:
            if not isinstance(node, _ATOMS):
                found.add(Feature.fGraph)
            continue
        seen.add(node)
        found.add(_KINDS[type(node)])
        if isinstance(node, Let) and isinstance(node.value, Function) and node.var in free_vars(node.value):
            found.add(Feature.fLetRec)
        if not (isinstance(node, Function) and node.attrs.get("Primitive")):
            ahead.extend(parts(node))
    return found
