"""Patterns over Relax's data flow, under TVM's names.

    x = wildcard()
    pattern = is_op("relax.add")(x, x)
    pattern.match(value, get_var2val(function))
    rewrite_call(pattern, lambda value, found: call_op("multiply", found[x], two), function)

    with PatternContext() as context:
        is_call_tir("matmul") >> is_call_tir("relu")
    context.match_dfb(block)
    rewrite_bindings(context, new_values, function)

Patterns and their matcher are those of every IR (``core/matching``). What belongs to Relax is here:
``view.py`` says how its programs are seen, ``block_match.py`` finds a context in a block,
``rewriters.py`` and ``rewriting.py`` replace what matches.
"""

from relay2relax.core.matching.constraints import PatternContext, PatternSeq, SameShapeConstraint
from relay2relax.core.matching.language import (
    has_dtype,
    has_shape,
    is_expr,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from relay2relax.core.matching.patterns import (
    AndPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataflowVarPattern,
    DataTypePattern,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    FunctionPattern,
    GlobalVarPattern,
    NotPattern,
    PrimArrPattern,
    ShapePattern,
    TupleGetItemPattern,
    TypePattern,
    UnorderedTuplePattern,
    VarPattern,
    WildcardPattern,
)
from relay2relax.core.matching.view import PatternError
from relay2relax.relax_ir.dpl.patterns import (
    OrPattern,
    StructInfoPattern,
    TuplePattern,
    has_attr,
    has_struct_info,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    make_fused_bias_activation_pattern,
    reject,
)
from relay2relax.relax_ir.dpl.rewriting import (
    ExprPatternRewriter,
    OrRewriter,
    PatternMatchingRewriter,
    rewrite_bindings,
    rewrite_call,
)

__all__ = [
    "AndPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DFPattern",
    "DataTypePattern",
    "DataflowVarPattern",
    "ExprPattern",
    "ExprPatternRewriter",
    "ExternFuncPattern",
    "FunctionPattern",
    "GlobalVarPattern",
    "NotPattern",
    "OrPattern",
    "OrRewriter",
    "PatternContext",
    "PatternError",
    "PatternMatchingRewriter",
    "PatternSeq",
    "PrimArrPattern",
    "SameShapeConstraint",
    "ShapePattern",
    "StructInfoPattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "TypePattern",
    "UnorderedTuplePattern",
    "VarPattern",
    "WildcardPattern",
    "has_attr",
    "has_dtype",
    "has_shape",
    "has_struct_info",
    "is_call_dps_packed",
    "is_call_packed",
    "is_call_tir",
    "is_const",
    "is_dfv",
    "is_expr",
    "is_gv",
    "is_op",
    "is_shape",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "make_fused_bias_activation_pattern",
    "reject",
    "rewrite_bindings",
    "rewrite_call",
    "wildcard",
]
