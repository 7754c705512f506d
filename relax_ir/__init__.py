"""Relax: struct info with symbolic shapes, expressions in A-normal form, builder, checks, script
and passes.

    mod = relax_ir.parse(script)
    mod = relax_ir.transform.LegalizeOps()(mod)
    print(mod.script())

Begin reading in ``ir/expr.py`` and ``ir/struct_info.py``. Each room imports only those before it:

- ``ir/`` programs as data, how they are walked, how their small parts are written
- ``inference/`` the struct info of every expression
- ``analysis/`` questions: uses, definitions, well-formedness, equality, hashes
- ``build/`` programs made binding by binding, in normal form
- ``compiled/`` what TVM compiled, as programs that call its kernels
- ``transform/`` passes
- ``dpl/`` patterns, and what is put in place of what they match
- ``script/`` TVMScript, read and written
- ``tvm_bridge.py`` modules of an installed apache-tvm

Names load their modules when they are first used.
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submodules=["transform", "analysis", "dpl"],
    submod_attrs={
        "analysis.check": ["WellFormedError", "check_well_formed"],
        "analysis.hashing": ["structural_hash"],
        "analysis.structural_equal": [
            "DifferentError",
            "assert_structural_equal",
            "first_difference",
            "structural_equal",
        ],
        "build.builder": ["BlockBuilder", "call_op", "call_tir"],
        "build.expr_mutator": ["ExprMutator"],
        "build.sequence_builder": ["BuilderError"],
        "inference.infer": ["Inference", "StructInfoError"],
        "compiled.artefact": ["Compiled", "read_compiled"],
        "ir.devices": ["VDevice"],
        "ir.expr": [
            "Binding",
            "BindingBlock",
            "Call",
            "CallDPSPacked",
            "CallTIR",
            "Constant",
            "DataTypeImm",
            "Expr",
            "ExternFunc",
            "Function",
            "GlobalVar",
            "If",
            "IRModule",
            "MatchCast",
            "PrimValue",
            "SeqExpr",
            "ShapeExpr",
            "StringImm",
            "Tuple",
            "TupleGetItem",
            "Var",
        ],
        "ir.functor": ["ExprFunctor", "ExprVisitor"],
        "ir.struct_info": [
            "FuncStructInfo",
            "ObjectStructInfo",
            "PrimStructInfo",
            "ShapeStructInfo",
            "StructInfo",
            "TensorStructInfo",
            "TupleStructInfo",
        ],
        "ir.text": ["print_struct_info"],
        "script.parser": ["parse"],
        "script.printer": [
            "parameter_names",
            "print_apart",
            "print_function",
            "print_module",
            "script_file",
            "script_names",
        ],
        "transform.copy_with_new_vars": ["copy_with_new_vars"],
        "tvm_bridge": ["from_tvm", "to_tvm"],
    },
)

if TYPE_CHECKING:
    from relay2relax.relax_ir import analysis, dpl, transform
    from relay2relax.relax_ir.analysis.check import WellFormedError, check_well_formed
    from relay2relax.relax_ir.analysis.hashing import structural_hash
    from relay2relax.relax_ir.analysis.structural_equal import (
        DifferentError,
        assert_structural_equal,
        first_difference,
        structural_equal,
    )
    from relay2relax.relax_ir.build.builder import BlockBuilder, call_op, call_tir
    from relay2relax.relax_ir.build.expr_mutator import ExprMutator
    from relay2relax.relax_ir.build.sequence_builder import BuilderError
    from relay2relax.relax_ir.compiled.artefact import Compiled, read_compiled
    from relay2relax.relax_ir.inference.infer import Inference, StructInfoError
    from relay2relax.relax_ir.ir.devices import VDevice
    from relay2relax.relax_ir.ir.expr import (
        Binding,
        BindingBlock,
        Call,
        CallDPSPacked,
        CallTIR,
        Constant,
        DataTypeImm,
        Expr,
        ExternFunc,
        Function,
        GlobalVar,
        If,
        IRModule,
        MatchCast,
        PrimValue,
        SeqExpr,
        ShapeExpr,
        StringImm,
        Tuple,
        TupleGetItem,
        Var,
    )
    from relay2relax.relax_ir.ir.functor import ExprFunctor, ExprVisitor
    from relay2relax.relax_ir.ir.struct_info import (
        FuncStructInfo,
        ObjectStructInfo,
        PrimStructInfo,
        ShapeStructInfo,
        StructInfo,
        TensorStructInfo,
        TupleStructInfo,
    )
    from relay2relax.relax_ir.ir.text import print_struct_info
    from relay2relax.relax_ir.script.parser import parse
    from relay2relax.relax_ir.script.printer import (
        parameter_names,
        print_apart,
        print_function,
        print_module,
        script_file,
        script_names,
    )
    from relay2relax.relax_ir.transform.copy_with_new_vars import copy_with_new_vars
    from relay2relax.relax_ir.tvm_bridge import from_tvm, to_tvm

__all__ = [
    "Binding",
    "BindingBlock",
    "BlockBuilder",
    "BuilderError",
    "Call",
    "CallDPSPacked",
    "CallTIR",
    "Compiled",
    "Constant",
    "DataTypeImm",
    "DifferentError",
    "Expr",
    "ExprFunctor",
    "ExprMutator",
    "ExprVisitor",
    "ExternFunc",
    "FuncStructInfo",
    "Function",
    "GlobalVar",
    "IRModule",
    "If",
    "Inference",
    "MatchCast",
    "ObjectStructInfo",
    "PrimStructInfo",
    "PrimValue",
    "SeqExpr",
    "ShapeExpr",
    "ShapeStructInfo",
    "StringImm",
    "StructInfo",
    "StructInfoError",
    "TensorStructInfo",
    "Tuple",
    "TupleGetItem",
    "TupleStructInfo",
    "VDevice",
    "Var",
    "WellFormedError",
    "analysis",
    "assert_structural_equal",
    "call_op",
    "call_tir",
    "check_well_formed",
    "copy_with_new_vars",
    "dpl",
    "first_difference",
    "from_tvm",
    "parameter_names",
    "parse",
    "print_apart",
    "print_function",
    "print_module",
    "print_struct_info",
    "read_compiled",
    "script_file",
    "script_names",
    "structural_equal",
    "structural_hash",
    "to_tvm",
    "transform",
]
