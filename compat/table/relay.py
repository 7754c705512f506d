"""``tvm.relay`` and the modules of its language."""

from __future__ import annotations

from relay2relax.compat.table.entry import Absent, Module, Names
from relay2relax.compat.table.ir import TYPES

_EXPR = "relay_ir.ir.expr"
_BUILDING = "compat.relay.building"

EXPRESSIONS = Names(
    _EXPR,
    "Constant Tuple Var GlobalVar Call Let If TupleGetItem RefCreate RefRead RefWrite Expr=RelayExpr RelayExpr "
    "ExprWithOp=RelayExpr",
    "an expression is never changed; types stand beside the tree",
)
DATA_TYPES = (
    Names(_EXPR, "Constructor Clause Match PatternWildcard PatternVar PatternConstructor PatternTuple"),
    Names("relay_ir.ir.module", "TypeData"),
    Names("compat.vocabulary.objects", "Pattern"),
)
HELPERS = Names(_BUILDING, "var const bind", today="var=relay_ir.var const=relay_ir.const")
RELAY_TYPES = (
    *TYPES,
    Names("relay_ir.ir.types", "RefType"),
    Names("compat.vocabulary.types", "scalar_type ShapeVar=shape_var"),
    Names("relay_ir.build.build", "Any"),
    Names(_BUILDING, "is_dynamic"),
)
FUNCTORS = Names(
    "compat.relay.functors",
    "ExprFunctor ExprVisitor ExprMutator",
    "recursive, as in TVM",
    "ExprFunctor=relay_ir.ExprFunctor ExprVisitor=relay_ir.ExprVisitor ExprMutator=relay_ir.ExprMutator",
)
WITH_FIELDS = Names(
    "relay_ir.build.with_fields",
    "CallWithFields VarWithFields TupleWithFields TupleGetItemWithFields ConstantWithFields IfWithFields LetWithFields",
)
TYPE_FUNCTORS = Names("compat.relay.functors", "TypeFunctor TypeVisitor TypeMutator")
SPANS = Names(_BUILDING, "Span=SpanFace SequentialSpan=SequentialSpanFace SourceName")
TEXT = Names(_BUILDING, "parse fromtext pretty_print astext", today="parse=relay_ir.parse fromtext=relay_ir.parse")
EXECUTORS = (
    Names(
        "compat.running.executors",
        "create_executor",
        "programs run on numpy, whatever the target",
        "create_executor=backends.create_executor",
    ),
    Names(
        "compat.running.factory",
        "build optimize",
        by_hand="translate with translator.translate(mod, params=params), then backends.build(program, 'c') "
        "and backends.VirtualMachine",
    ),
    Names("compat.relay.passes", "build_config"),
)
PARAMS = Names(
    _BUILDING,
    "save_param_dict load_param_dict",
    today="save_param_dict=relay_ir.save_params load_param_dict=relay_ir.load_params",
)

COMPOSED = Names(
    "relay_ir.build.composed",
    "concatenate stack variance std mean_variance mean_std logsumexp strided_set matrix_set_diag stft adv_index einsum "
    "meshgrid reverse_reshape unique sparse_fill_empty_rows segment_sum",
)

MODULES = (
    Module(
        "tvm.relay",
        (
            EXPRESSIONS,
            Names(_EXPR, "Function"),
            HELPERS,
            *RELAY_TYPES,
            *DATA_TYPES,
            FUNCTORS,
            TYPE_FUNCTORS,
            SPANS,
            TEXT,
            Names("relay_ir.text.parser", "parse_expr"),
            Names("relay_ir.build.composed", "TupleWrapper"),
            *EXECUTORS,
            PARAMS,
            Names("relay_ir.build.module_prelude", "Prelude", today="Prelude=relay_ir.Prelude"),
            Names("compat.relay.functors", "SpanCheck=ExprVisitor", "places stand beside the tree"),
            Names(_BUILDING, "ScopeBuilder", today="ScopeBuilder=relay_ir.ScopeBuilder"),
            COMPOSED,
            Names("relay_ir.ir.module", "Module", until="0.6"),
            Absent("collage", "it belongs to the compiler of TVM, of which nothing is here"),
        ),
        "compat.relay.operators:operator",
        today="relay_ir.op",
    ),
    Module(
        "tvm.relay.ir_pass",
        (Names("relay_ir.transform.device_copies", "rewrite_annotated_ops"),),
        "compat.relay.older:ir_pass",
        until="0.5",
    ),
    Module("tvm.relay.module", (Names("relay_ir.ir.module", "Module"),), until="0.6"),
    Module(
        "tvm.relay.expr",
        (
            EXPRESSIONS,
            HELPERS,
            Names(_EXPR, "Function"),
            Names("relay_ir.build.composed", "TupleWrapper"),
            WITH_FIELDS,
        ),
    ),
    Module(
        "tvm.relay.function",
        (Names(_EXPR, "Function"), Names("compat.relay.functors", "FunctionWithFields=function_with_fields")),
    ),
    Module("tvm.relay.ty", RELAY_TYPES),
    Module("tvm.relay.adt", DATA_TYPES),
    Module("tvm.relay.base", (SPANS, TEXT)),
    Module("tvm.relay.expr_functor", (FUNCTORS,)),
    Module("tvm.relay.type_functor", (TYPE_FUNCTORS,)),
    Module("tvm.relay.scope_builder", (Names(_BUILDING, "ScopeBuilder"),)),
    Module("tvm.relay.loops", (Names(_BUILDING, "while_loop"),)),
    Module("tvm.relay.parser", (TEXT, Names("relay_ir.text.parser", "parse_expr"))),
    Module("tvm.parser", (TEXT, Names("relay_ir.text.parser", "parse_expr"))),
    Module("tvm.relay.prelude", (Names("relay_ir.build.module_prelude", "Prelude StaticTensorArrayOps"),)),
    Module("tvm.relay.param_dict", (PARAMS,)),
    Module("tvm.relay.build_module", (*EXECUTORS, Names(_BUILDING, "bind_params_by_name"))),
)
