"""Relay: its programs as data, its text and JSON, type inference, passes and workloads.

``expr.py`` and ``types.py`` hold the grammar; ``module.py`` what a program is made of. ``parse`` reads text, ``load`` any
file, ``infer_type`` finds the types; names load their modules when first used.
"""

from typing import TYPE_CHECKING

import lazy_loader

_exports = {
    "build": ["Any", "const", "var"],
    "device": ["Target", "VirtualDevice"],
    "expr": [
        "Call", "Clause", "Constant", "Constructor", "Expr", "Function", "GlobalVar", "If", "Let", "Match", "Op",
        "OpaqueAttrs", "Pattern", "PatternConstructor", "PatternTuple", "PatternVar", "PatternWildcard", "RefCreate",
        "RefRead", "RefWrite", "RelayExpr", "Tuple", "TupleGetItem", "Var", "children",
    ],
    "infer": ["infer_type"],
    "infer_errors": ["TypeInferenceError"],
    "json_reader": ["load_json"],
    "json_writer": ["save_json"],
    "loader": ["load"],
    "module": ["IRModule", "TypeData"],
    "params": ["bind_params", "load_params", "save_params"],
    "parser": ["parse", "parse_expr"],
    "printer": ["print_expr", "print_module"],
    "equality": ["first_difference", "structural_equal"],
    "types": [
        "FuncType", "GlobalTypeVar", "IncompleteType", "Kind", "RefType", "TensorType", "TupleType", "Type", "TypeCall",
        "TypeRelation", "TypeVar",
    ],
}  # fmt: skip

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["op", "testing", "transform"], submod_attrs=_exports
)

if TYPE_CHECKING:
    from relay2relax.relay_ir import op, testing, transform
    from relay2relax.relay_ir.build import Any, const, var
    from relay2relax.relay_ir.device import Target, VirtualDevice
    from relay2relax.relay_ir.expr import (
        Call,
        Clause,
        Constant,
        Constructor,
        Expr,
        Function,
        GlobalVar,
        If,
        Let,
        Match,
        Op,
        OpaqueAttrs,
        Pattern,
        PatternConstructor,
        PatternTuple,
        PatternVar,
        PatternWildcard,
        RefCreate,
        RefRead,
        RefWrite,
        RelayExpr,
        Tuple,
        TupleGetItem,
        Var,
        children,
    )
    from relay2relax.relay_ir.infer import infer_type
    from relay2relax.relay_ir.infer_errors import TypeInferenceError
    from relay2relax.relay_ir.json_reader import load_json
    from relay2relax.relay_ir.json_writer import save_json
    from relay2relax.relay_ir.loader import load
    from relay2relax.relay_ir.module import IRModule, TypeData
    from relay2relax.relay_ir.params import bind_params, load_params, save_params
    from relay2relax.relay_ir.parser import parse, parse_expr
    from relay2relax.relay_ir.printer import print_expr, print_module
    from relay2relax.relay_ir.equality import first_difference, structural_equal
    from relay2relax.relay_ir.types import (
        FuncType,
        GlobalTypeVar,
        IncompleteType,
        Kind,
        RefType,
        TensorType,
        TupleType,
        Type,
        TypeCall,
        TypeRelation,
        TypeVar,
    )
