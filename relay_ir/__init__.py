"""Relay: its programs as data, its text and JSON, type inference, passes and workloads.

    mod = relay_ir.infer_type(relay_ir.parse(text))
    print(mod["main"].body, mod.types[mod["main"].body])

Begin reading in ``ir/expr.py`` and ``ir/types.py``, which hold the grammar; ``ir/module.py`` says
what a program is made of. Each room imports only those before it:

- ``ir/`` programs as data; how they are walked, rebuilt and compared
- ``compat/`` what earlier versions of TVM wrote, as calls of today
- ``json/`` and ``text/`` the two formats of TVM, read and written
- ``inference/`` the types
- ``build/`` programs written in Python: variables, operators as functions, the prelude
- ``analysis/`` questions asked of programs: their variables, counts of operators
- ``dataflow_pattern/`` patterns over data flow: matched, rewritten, partitioned
- ``io/``, ``transform/``, ``frontend/``, ``testing/`` files, passes, models of other frameworks,
  workloads; ``subgraphs/`` parts of a program as programs of their own
- ``pipeline/`` passes chosen by a text, and what each of them changed; ``visualize/`` pictures: a
  tree in the terminal, DOT
- ``qnn/`` passes over quantised operators under TVM's names; ``quantize/`` makes programs in floats
  compute with integers

Names load their modules when they are first used.
"""

from typing import TYPE_CHECKING

import lazy_loader

# The names of each module; below, type checkers are told the same.
_exports = {
    "build": ["annotation", "op"],
    "build.build": ["Any", "var"],
    "ir.device": ["Target", "VirtualDevice", "cpu", "gpu"],
    "ir.equality": ["first_difference", "structural_equal"],
    "ir.expr": [
        "Call", "Clause", "Constant", "Constructor", "Expr", "Function", "GlobalVar", "If", "Let",
        "Match", "Op", "OpaqueAttrs", "Pattern", "PatternConstructor", "PatternTuple", "PatternVar",
        "PatternWildcard", "RefCreate", "RefRead", "RefWrite", "RelayExpr", "Tuple", "TupleGetItem",
        "Var", "children", "const",
    ],
    "ir.functor": ["ExprFunctor", "ExprMutator", "ExprVisitor"],
    "inference.infer": ["infer_type"],
    "inference.errors": ["TypeInferenceError"],
    "json.reader": ["load_json"],
    "json.writer": ["save_json"],
    "io.loader": ["load"],
    "ir.module": ["IRModule", "Module", "TypeData"],
    "ir.opaque": ["OpaqueFunction", "OpaqueNode"],
    "io.params": ["bind_params", "load_params", "save_params"],
    "text.parser": ["parse", "parse_expr"],
    "build.prelude": ["Prelude"],
    "text.printer": ["print_expr", "print_module"],
    "build.scope_builder": ["ScopeBuilder"],
    "ir.types": [
        "FuncType", "GlobalTypeVar", "IncompleteType", "Kind", "RefType", "TensorType", "TupleType",
        "Type", "TypeCall", "TypeRelation", "TypeVar",
    ],
}  # fmt: skip

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "analysis",
        "dataflow_pattern",
        "frontend",
        "pipeline",
        "qnn",
        "quantize",
        "subgraphs",
        "testing",
        "transform",
        "visualize",
    ],
    submod_attrs=_exports,
)

if TYPE_CHECKING:
    from relay2relax.relay_ir import analysis as analysis
    from relay2relax.relay_ir import dataflow_pattern as dataflow_pattern
    from relay2relax.relay_ir import frontend as frontend
    from relay2relax.relay_ir import pipeline as pipeline
    from relay2relax.relay_ir import qnn as qnn
    from relay2relax.relay_ir import quantize as quantize
    from relay2relax.relay_ir import subgraphs as subgraphs
    from relay2relax.relay_ir import testing as testing
    from relay2relax.relay_ir import transform as transform
    from relay2relax.relay_ir import visualize as visualize
    from relay2relax.relay_ir.build import annotation as annotation
    from relay2relax.relay_ir.build import op as op
    from relay2relax.relay_ir.build.build import Any as Any
    from relay2relax.relay_ir.build.build import var as var
    from relay2relax.relay_ir.build.prelude import Prelude as Prelude
    from relay2relax.relay_ir.build.scope_builder import ScopeBuilder as ScopeBuilder
    from relay2relax.relay_ir.inference.errors import TypeInferenceError as TypeInferenceError
    from relay2relax.relay_ir.inference.infer import infer_type as infer_type
    from relay2relax.relay_ir.io.loader import load as load
    from relay2relax.relay_ir.io.params import bind_params as bind_params
    from relay2relax.relay_ir.io.params import load_params as load_params
    from relay2relax.relay_ir.io.params import save_params as save_params
    from relay2relax.relay_ir.ir.device import Target as Target
    from relay2relax.relay_ir.ir.device import VirtualDevice as VirtualDevice
    from relay2relax.relay_ir.ir.device import cpu as cpu
    from relay2relax.relay_ir.ir.device import gpu as gpu
    from relay2relax.relay_ir.ir.equality import first_difference as first_difference
    from relay2relax.relay_ir.ir.equality import structural_equal as structural_equal
    from relay2relax.relay_ir.ir.expr import Call as Call
    from relay2relax.relay_ir.ir.expr import Clause as Clause
    from relay2relax.relay_ir.ir.expr import Constant as Constant
    from relay2relax.relay_ir.ir.expr import Constructor as Constructor
    from relay2relax.relay_ir.ir.expr import Expr as Expr
    from relay2relax.relay_ir.ir.expr import Function as Function
    from relay2relax.relay_ir.ir.expr import GlobalVar as GlobalVar
    from relay2relax.relay_ir.ir.expr import If as If
    from relay2relax.relay_ir.ir.expr import Let as Let
    from relay2relax.relay_ir.ir.expr import Match as Match
    from relay2relax.relay_ir.ir.expr import Op as Op
    from relay2relax.relay_ir.ir.expr import OpaqueAttrs as OpaqueAttrs
    from relay2relax.relay_ir.ir.expr import Pattern as Pattern
    from relay2relax.relay_ir.ir.expr import PatternConstructor as PatternConstructor
    from relay2relax.relay_ir.ir.expr import PatternTuple as PatternTuple
    from relay2relax.relay_ir.ir.expr import PatternVar as PatternVar
    from relay2relax.relay_ir.ir.expr import PatternWildcard as PatternWildcard
    from relay2relax.relay_ir.ir.expr import RefCreate as RefCreate
    from relay2relax.relay_ir.ir.expr import RefRead as RefRead
    from relay2relax.relay_ir.ir.expr import RefWrite as RefWrite
    from relay2relax.relay_ir.ir.expr import RelayExpr as RelayExpr
    from relay2relax.relay_ir.ir.expr import Tuple as Tuple
    from relay2relax.relay_ir.ir.expr import TupleGetItem as TupleGetItem
    from relay2relax.relay_ir.ir.expr import Var as Var
    from relay2relax.relay_ir.ir.expr import children as children
    from relay2relax.relay_ir.ir.expr import const as const
    from relay2relax.relay_ir.ir.functor import ExprFunctor as ExprFunctor
    from relay2relax.relay_ir.ir.functor import ExprMutator as ExprMutator
    from relay2relax.relay_ir.ir.functor import ExprVisitor as ExprVisitor
    from relay2relax.relay_ir.ir.module import IRModule as IRModule
    from relay2relax.relay_ir.ir.module import Module as Module
    from relay2relax.relay_ir.ir.module import TypeData as TypeData
    from relay2relax.relay_ir.ir.opaque import OpaqueFunction as OpaqueFunction
    from relay2relax.relay_ir.ir.opaque import OpaqueNode as OpaqueNode
    from relay2relax.relay_ir.ir.types import FuncType as FuncType
    from relay2relax.relay_ir.ir.types import GlobalTypeVar as GlobalTypeVar
    from relay2relax.relay_ir.ir.types import IncompleteType as IncompleteType
    from relay2relax.relay_ir.ir.types import Kind as Kind
    from relay2relax.relay_ir.ir.types import RefType as RefType
    from relay2relax.relay_ir.ir.types import TensorType as TensorType
    from relay2relax.relay_ir.ir.types import TupleType as TupleType
    from relay2relax.relay_ir.ir.types import Type as Type
    from relay2relax.relay_ir.ir.types import TypeCall as TypeCall
    from relay2relax.relay_ir.ir.types import TypeRelation as TypeRelation
    from relay2relax.relay_ir.ir.types import TypeVar as TypeVar
    from relay2relax.relay_ir.json.reader import load_json as load_json
    from relay2relax.relay_ir.json.writer import save_json as save_json
    from relay2relax.relay_ir.text.parser import parse as parse
    from relay2relax.relay_ir.text.parser import parse_expr as parse_expr
    from relay2relax.relay_ir.text.printer import print_expr as print_expr
    from relay2relax.relay_ir.text.printer import print_module as print_module
