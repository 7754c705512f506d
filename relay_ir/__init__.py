"""Relay: its programs as data, its text and JSON, type inference, passes and workloads.

``expr.py`` and ``types.py`` hold the grammar; ``module.py`` what a program is made of. ``parse`` reads text, ``load``
any file, ``infer_type`` finds the types. Names load their modules when they are first used.
"""

from typing import TYPE_CHECKING

import lazy_loader

# The names of each module; below, type checkers are told the same.
_exports = {
    "build": ["Any", "const", "var"],
    "device": ["Target", "VirtualDevice", "cpu", "gpu"],
    "equality": ["first_difference", "structural_equal"],
    "expr": [
        "Call", "Clause", "Constant", "Constructor", "Expr", "Function", "GlobalVar", "If", "Let",
        "Match", "Op", "OpaqueAttrs", "Pattern", "PatternConstructor", "PatternTuple", "PatternVar",
        "PatternWildcard", "RefCreate", "RefRead", "RefWrite", "RelayExpr", "Tuple", "TupleGetItem",
        "Var", "children",
    ],
    "functor": ["ExprFunctor", "ExprMutator", "ExprVisitor"],
    "infer": ["infer_type"],
    "infer_errors": ["TypeInferenceError"],
    "json_reader": ["load_json"],
    "json_writer": ["save_json"],
    "loader": ["load"],
    "module": ["IRModule", "Module", "TypeData"],
    "opaque": ["OpaqueFunction", "OpaqueNode"],
    "params": ["bind_params", "load_params", "save_params"],
    "parser": ["parse", "parse_expr"],
    "prelude": ["Prelude"],
    "printer": ["print_expr", "print_module"],
    "scope_builder": ["ScopeBuilder"],
    "types": [
        "FuncType", "GlobalTypeVar", "IncompleteType", "Kind", "RefType", "TensorType", "TupleType",
        "Type", "TypeCall", "TypeRelation", "TypeVar",
    ],
}  # fmt: skip

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["annotation", "frontend", "op", "testing", "transform"], submod_attrs=_exports
)

if TYPE_CHECKING:
    from relay2relax.relay_ir import annotation as annotation
    from relay2relax.relay_ir import frontend as frontend
    from relay2relax.relay_ir import op as op
    from relay2relax.relay_ir import testing as testing
    from relay2relax.relay_ir import transform as transform
    from relay2relax.relay_ir.build import Any as Any
    from relay2relax.relay_ir.build import const as const
    from relay2relax.relay_ir.build import var as var
    from relay2relax.relay_ir.device import Target as Target
    from relay2relax.relay_ir.device import VirtualDevice as VirtualDevice
    from relay2relax.relay_ir.device import cpu as cpu
    from relay2relax.relay_ir.device import gpu as gpu
    from relay2relax.relay_ir.equality import first_difference as first_difference
    from relay2relax.relay_ir.equality import structural_equal as structural_equal
    from relay2relax.relay_ir.expr import Call as Call
    from relay2relax.relay_ir.expr import Clause as Clause
    from relay2relax.relay_ir.expr import Constant as Constant
    from relay2relax.relay_ir.expr import Constructor as Constructor
    from relay2relax.relay_ir.expr import Expr as Expr
    from relay2relax.relay_ir.expr import Function as Function
    from relay2relax.relay_ir.expr import GlobalVar as GlobalVar
    from relay2relax.relay_ir.expr import If as If
    from relay2relax.relay_ir.expr import Let as Let
    from relay2relax.relay_ir.expr import Match as Match
    from relay2relax.relay_ir.expr import Op as Op
    from relay2relax.relay_ir.expr import OpaqueAttrs as OpaqueAttrs
    from relay2relax.relay_ir.expr import Pattern as Pattern
    from relay2relax.relay_ir.expr import PatternConstructor as PatternConstructor
    from relay2relax.relay_ir.expr import PatternTuple as PatternTuple
    from relay2relax.relay_ir.expr import PatternVar as PatternVar
    from relay2relax.relay_ir.expr import PatternWildcard as PatternWildcard
    from relay2relax.relay_ir.expr import RefCreate as RefCreate
    from relay2relax.relay_ir.expr import RefRead as RefRead
    from relay2relax.relay_ir.expr import RefWrite as RefWrite
    from relay2relax.relay_ir.expr import RelayExpr as RelayExpr
    from relay2relax.relay_ir.expr import Tuple as Tuple
    from relay2relax.relay_ir.expr import TupleGetItem as TupleGetItem
    from relay2relax.relay_ir.expr import Var as Var
    from relay2relax.relay_ir.expr import children as children
    from relay2relax.relay_ir.functor import ExprFunctor as ExprFunctor
    from relay2relax.relay_ir.functor import ExprMutator as ExprMutator
    from relay2relax.relay_ir.functor import ExprVisitor as ExprVisitor
    from relay2relax.relay_ir.infer import infer_type as infer_type
    from relay2relax.relay_ir.infer_errors import TypeInferenceError as TypeInferenceError
    from relay2relax.relay_ir.json_reader import load_json as load_json
    from relay2relax.relay_ir.json_writer import save_json as save_json
    from relay2relax.relay_ir.loader import load as load
    from relay2relax.relay_ir.module import IRModule as IRModule
    from relay2relax.relay_ir.module import Module as Module
    from relay2relax.relay_ir.module import TypeData as TypeData
    from relay2relax.relay_ir.opaque import OpaqueFunction as OpaqueFunction
    from relay2relax.relay_ir.opaque import OpaqueNode as OpaqueNode
    from relay2relax.relay_ir.params import bind_params as bind_params
    from relay2relax.relay_ir.params import load_params as load_params
    from relay2relax.relay_ir.params import save_params as save_params
    from relay2relax.relay_ir.parser import parse as parse
    from relay2relax.relay_ir.parser import parse_expr as parse_expr
    from relay2relax.relay_ir.prelude import Prelude as Prelude
    from relay2relax.relay_ir.printer import print_expr as print_expr
    from relay2relax.relay_ir.printer import print_module as print_module
    from relay2relax.relay_ir.scope_builder import ScopeBuilder as ScopeBuilder
    from relay2relax.relay_ir.types import FuncType as FuncType
    from relay2relax.relay_ir.types import GlobalTypeVar as GlobalTypeVar
    from relay2relax.relay_ir.types import IncompleteType as IncompleteType
    from relay2relax.relay_ir.types import Kind as Kind
    from relay2relax.relay_ir.types import RefType as RefType
    from relay2relax.relay_ir.types import TensorType as TensorType
    from relay2relax.relay_ir.types import TupleType as TupleType
    from relay2relax.relay_ir.types import Type as Type
    from relay2relax.relay_ir.types import TypeCall as TypeCall
    from relay2relax.relay_ir.types import TypeRelation as TypeRelation
    from relay2relax.relay_ir.types import TypeVar as TypeVar
