"""``tvm.ir``, ``tvm.transform``, ``tvm.tir`` and ``tvm.te``."""

from __future__ import annotations

from relay2relax.compat.table.entry import Absent, Module, Names

_EXPR = "relay_ir.ir.expr"
_TYPES = "relay_ir.ir.types"
_CORE = "core.passes"

COMPARING = Names(
    "compat.relay.comparing",
    "structural_equal assert_structural_equal "
    "get_first_structural_mismatch structural_hash load_json save_json make_node",
    today="structural_equal=relay_ir.structural_equal load_json=relay_ir.load_json save_json=relay_ir.save_json "
    "get_first_structural_mismatch=relay_ir.first_difference",
    by_hand="assert relay_ir.structural_equal(a, b)",
)
TYPES = (
    Names("ops.registry.types", "TensorType TupleType Type", "extents that are numbers are Python's"),
    Names(
        _TYPES, "FuncType GlobalTypeVar IncompleteType TypeCall TypeRelation TypeVar RelayRefType=RefType TypeKind=Kind"
    ),
    Names(_TYPES, "TypeConstraint=TypeRelation", "the only constraints are relations"),
)
PASSES = (
    Names(_CORE, "Pass PassContext PassInstrument"),
    Names("compat.relay.passes", "ModulePass PassInfo Sequential module_pass PrintIR=print_ir"),
    Absent("ApplyPassToFunction", "it is asked by no pass of Relay"),
)
INSTRUMENTS = Names(
    "relay_ir.pipeline.instruments",
    "PassInstrument PassTimingInstrument PassPrintingInstrument PrintAfterAll PrintBeforeAll pass_instrument",
)

MODULES = (
    Module(
        "tvm.ir",
        (
            Names("relay_ir.ir.module", "IRModule TypeData"),
            Names(_EXPR, "GlobalVar Op RelayExpr Constructor BaseFunc=Function"),
            *TYPES,
            COMPARING,
            Names("compat.relay.building", "Span=SpanFace SequentialSpan=SequentialSpanFace SourceName"),
            Names("compat.relay.operators", "register_op_attr"),
            Names("relay_ir.transform", "TensorAffineType TupleAffineType"),
            Names("compat.vocabulary.objects", "Array Map Attrs DictAttrs Node Range PrimExpr EnvFunc"),
            Absent(
                "PoolInfo WorkspacePoolInfo ConstantPoolInfo "
                "PoolInfoProperties WorkspaceMemoryPools ConstantMemoryPools "
                "AllocatedPoolInfo register_intrin_lowering VDevice GlobalInfo DummyGlobalInfo PointerType PrimType",
                "they belong to the lowering of TVM, of which nothing is here",
            ),
        ),
    ),
    Module("tvm.ir.module", (Names("relay_ir.ir.module", "IRModule"),)),
    Module("tvm.ir.op", (Names(_EXPR, "Op"), Names("compat.relay.operators", "register_op_attr"))),
    Module("tvm.ir.expr", (Names(_EXPR, "GlobalVar RelayExpr"),)),
    Module("tvm.ir.type", TYPES),
    Module("tvm.ir.base", (COMPARING,)),
    Module("tvm.ir.attrs", (COMPARING, Names("compat.vocabulary.objects", "Attrs DictAttrs"))),
    Module("tvm.ir.container", (Names("compat.vocabulary.objects", "Array Map"),)),
    Module("tvm.ir.adt", (Names("relay_ir.ir.module", "TypeData"), Names(_EXPR, "Constructor"))),
    Module("tvm.ir.transform", PASSES, today="relay_ir.transform"),
    Module("tvm.ir.instrument", (INSTRUMENTS,)),
    Module("tvm.ir.analysis"),
    Module("tvm.ir.supply", (Names("relay_ir.ir.supply", "NameSupply GlobalVarSupply"),)),
    Module(
        "tvm.ir.diagnostics",
        (
            Names(
                "compat.relay.diagnostics",
                "get_renderer override_renderer DiagnosticContext Diagnostic DiagnosticLevel",
            ),
        ),
    ),
    Module("tvm.transform", PASSES, today="relay_ir.transform"),
    Module("tvm.instrument", (INSTRUMENTS,)),
    Module(
        "tvm.tir",
        (
            Names("compat.vocabulary.numbers", "Any IntImm FloatImm Var SizeVar const"),
            Names("tir.ir.expr", "PrimExpr StringImm"),
            Names("tir.ir.stmt", "PrimFunc"),
            Names(
                "compat.vocabulary.numbers",
                "min_value max_value floordiv floormod any indexdiv=floordiv indexmod=floormod",
            ),
        ),
    ),
    Module("tvm.tir.expr", (Names("compat.vocabulary.numbers", "Any IntImm FloatImm Var SizeVar"),)),
    Module("tvm.tir.op", (Names("compat.vocabulary.numbers", "min_value max_value"),)),
    Module(
        "tvm.te",
        (
            Names("compat.vocabulary.numbers", "var size_var const min_value max_value any"),
            Names("tir.te", "Tensor compute placeholder reduce_axis"),
            Absent("create_schedule thread_axis Schedule", "operators are scheduled by the backends here"),
        ),
    ),
    Module(
        "tvm.topi",
        (Absent("nn testing generic", "kernels are those of the operators' records"),),
    ),
    Module(
        "tvm.topi.utils",
        (
            Names("compat.vocabulary.numbers", "get_const_tuple get_const_int"),
            Names("compat.testing.topi", "nchw_pack_layout"),
        ),
    ),
    Module("tvm.topi.nn.qnn", (Names("compat.testing.topi", "SQNN_DTYPE_TO_CODE"),)),
    Module("tvm.topi.nn.utils", (Names("compat.testing.topi", "get_pad_tuple1d get_pad_tuple get_pad_tuple3d"),)),
    Module("tvm.script", (Names("compat.running.printing", "tir=T relax=R ir=I ir_module"),)),
    Module("tvm.topi.testing", fallback="compat.testing.topi:reference"),
)
