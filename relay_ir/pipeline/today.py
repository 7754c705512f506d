"""What stands today for each pass over Relay: a pass of Relax, the pass itself before converting,
or nothing, since converting or the C backend does it.

One record per pass of ``tvm.relay.transform``. ``suggest.py`` reads scripts by it, and
``docs/guide/pipelines.md`` prints it; the tests run every record on converted models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Way(Enum):
    """Where a pass is done today."""

    RELAX = "Relax"
    BEFORE = "before converting"
    NOTHING = "nothing to do"
    C = "the C backend does it"


@dataclass(frozen=True, slots=True)
class Today:
    """What to do for a pass.

    ``relax`` are passes of ``tvm.relax.transform`` as calls in Python, ``before`` the pass over
    Relay as ``pipeline.read`` takes it, ``note`` what one should know.
    """

    way: Way
    note: str
    relax: tuple[str, ...] = ()
    before: str = ""

    @property
    def has_options(self) -> bool:
        """Whether the pass over Relay is told something, for which ``before`` is an example."""
        return "(" in self.before


def _relax(*passes: str, note: str, before: str = "") -> Today:
    return Today(Way.RELAX, note, passes, before)


def _before(text: str, note: str, *passes: str) -> Today:
    return Today(Way.BEFORE, note, passes, text)


def _nothing(note: str, before: str = "") -> Today:
    return Today(Way.NOTHING, note, (), before)


def _c(note: str, before: str = "") -> Today:
    return Today(Way.C, note, (), before)


_PARTITION = ('FuseOpsByPattern([("own.dense", dpl.is_op("relax.matmul")(dpl.wildcard(), dpl.wildcard()))])',)
_MEMORY = ("LegalizeOps()", "ToNonDataflow()", "RemovePurityChecking()", "CallTIRRewrite()", "StaticPlanBlockMemory()")
_FUSION = ("LegalizeOps()", "AnnotateTIROpPattern()", "FuseOps()", "FuseTIR()")
_NHWC = 'ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})'

TODAY: Mapping[str, Today] = {
    # Relax has the pass.
    "FoldConstant": _relax("FoldConstant()", note="the same", before="FoldConstant"),
    "EliminateCommonSubexpr": _relax("EliminateCommonSubexpr()", note="the same", before="EliminateCommonSubexpr"),
    "DeadCodeElimination": _relax(
        "DeadCodeElimination()", note="private functions go, too", before="DeadCodeElimination"
    ),
    "RemoveUnusedFunctions": _relax(
        "DeadCodeElimination()", note="private functions that nothing calls go", before="RemoveUnusedFunctions"
    ),
    "FuseOps": _relax(*_FUSION, note="fuses tensor programs, so operators are legalised first", before="FuseOps"),
    "Legalize": _relax("LegalizeOps()", note="own functions are given as customize_legalize_map", before="Legalize"),
    "Inline": _relax("InlinePrivateFunctions()", note="inlines private functions, all of them", before="Inline"),
    "LambdaLift": _relax("LambdaLift()", note="the same", before="LambdaLift"),
    "SimplifyInference": _relax(
        "DecomposeOpsForInference()", note="batch and layer normalisation in parts", before="SimplifyInference"
    ),
    "ToMixedPrecision": _relax(
        'ToMixedPrecision(out_dtype="float16")', note="its lists of operators are fixed", before="ToMixedPrecision"
    ),
    "ConvertLayout": _relax(_NHWC, note="convolutions, and what follows them", before=""),
    "FastMath": _relax("FastMathTransform()", note="exp, tanh and erf as approximations", before="FastMath"),
    "CombineParallelDense": _relax(
        "CombineParallelMatmul()", note="products of one input as one", before="CombineParallelDense"
    ),
    "CombineParallelBatchMatmul": _relax(
        "CombineParallelMatmul()", note="products of one input as one", before="CombineParallelBatchMatmul"
    ),
    "BatchingOps": _relax("CombineParallelMatmul()", note="convolutions: before converting", before="BatchingOps"),
    "MergeComposite": _relax(*_PARTITION, note="patterns of relax.dpl take the place of the table"),
    "AnnotateTarget": _relax(
        *_PARTITION, note="annotate_codegen=True marks what is taken out; MergeCompositeFunctions joins it"
    ),
    "MergeCompilerRegions": _relax(*_PARTITION, "MergeCompositeFunctions()", note="joins what goes to one compiler"),
    "PartitionGraph": _relax(
        *_PARTITION, "MergeCompositeFunctions()", note="RunCodegen then calls the compiler", before="PartitionGraph"
    ),
    "ToANormalForm": _relax("Normalize()", note="Relax is in this form", before="ToANormalForm"),
    "ManifestAlloc": _relax(*_MEMORY, note="part of every default pipeline"),
    "ManifestLifetimes": _relax(*_MEMORY, "KillAfterLastUse()", note="part of every default pipeline"),
    "RewriteDataflowReshape": _relax("LegalizeOps()", "RewriteDataflowReshape()", note="reshapes without a copy"),
    # Before converting.
    "SimplifyExpr": _before("SimplifyExpr", "Relax has rules for reshapes alone", "RemoveRedundantReshape()"),
    "SimplifyExprPostAlterOp": _before("SimplifyExprPostAlterOp", "behind AlterOpLayout"),
    "FoldExplicitPadding": _before("FoldExplicitPadding", "Relax has no such pass"),
    "FoldScaleAxis": _before("FoldScaleAxis", "Relax folds batch normalisation alone", "FoldBatchnormToConv2D()"),
    "ForwardFoldScaleAxis": _before("ForwardFoldScaleAxis", "Relax has no such pass"),
    "BackwardFoldScaleAxis": _before(
        "BackwardFoldScaleAxis", "Relax folds batch normalisation alone", "FoldBatchnormToConv2D()"
    ),
    "FlattenAtrousConv": _before("FlattenAtrousConv", "Relax has no space_to_batch_nd"),
    "CombineParallelConv2D": _before("CombineParallelConv2D", "Relax combines products alone"),
    "CanonicalizeOps": _before("CanonicalizeOps", "converting writes bias_add as add anyway"),
    "CanonicalizeCast": _before("CanonicalizeCast", "Relax has no such pass"),
    "DivToMul": _before("DivToMul", "Relax has no such pass"),
    "SimplifyFCTranspose": _before(
        "SimplifyFCTranspose(target_weights=[])", "LiftTransformParams turns weights ahead", "LiftTransformParams()"
    ),
    "SplitArgs": _before("SplitArgs(max_function_args=64)", "for devices whose kernels take few arguments"),
    "DynamicToStatic": _before("DynamicToStatic", "extents that are known: BindSymbolicVars, or --dims"),
    "AlterOpLayout": _before("AlterOpLayout", "functions of the user are registered in Relay; of Relax, AlterOpImpl"),
    "FakeQuantizationToInteger": _before("FakeQuantizationToInteger", "Relax has no such pass"),
    "QnnLegalize": _before('QnnLegalize(target="c")', "what hardware wants"),
    "QnnCanonicalize": _before("QnnCanonicalize", "converting writes qnn operators out anyway"),
    "FirstOrderGradient": _before("FirstOrderGradient", "Relax: Gradient, of functions with one scalar result"),
    "ChangeBatch": _before('ChangeBatch(data={"data": 0}, batch_size=3)', "or convert --dims data=batch,_"),
    "Recast": _before(
        'Recast(dtype="float16", out_dtype="float32", ops=["nn.dense"])', "Relax: ToMixedPrecision, by fixed lists"
    ),
    "DenseToSparse": _before("", "takes weights, so it is called in Python"),
    "Conv2dToSparse": _before("", "takes weights, so it is called in Python"),
    "Conv2dToSparse2": _before("", "takes weights, so it is called in Python"),
    "FlexibleShapeDispatch": _before(
        "FlexibleShapeDispatch(buckets=[2, 4])", "one symbolic extent serves all of Relax: --dims data=batch,_"
    ),
    "OutlineCompilerFunctionsWithExistingGlobalSymbols": _before(
        "OutlineCompilerFunctionsWithExistingGlobalSymbols", "partitions are kept; see the page on them"
    ),
    "InlineCompilerFunctionsBoundTo": _before(
        "InlineCompilerFunctionsBoundTo(global_vars=[])", "or convert --partitions inline"
    ),
    "MarkCompilerFunctionsAsExtern": _before(
        "MarkCompilerFunctionsAsExtern", "partitions are kept; see the page on them"
    ),
    "PlanDevices": _before("PlanDevices", "devices stay as they are; Relax: RealizeVDevice", "RealizeVDevice()"),
    "AnnotateUsedMemory": _before("ToANormalForm, AnnotateUsedMemory", "a report: relay2relax inspect --summary"),
    "HigherOrderGradient": _before(
        "HigherOrderGradient, PartialEvaluate, InferType, DeadCodeElimination(inline_once=True)",
        "makes functions as data and cells; PartialEvaluate takes them away",
    ),
    "LazyGradientInit": _before(
        "FirstOrderGradient, LazyGradientInit", "behind FirstOrderGradient, which makes gradients of all kinds"
    ),
    "PartialEvaluate": _before("PartialEvaluate", "Relax has no such pass"),
    "ToCPS": _before("ToCPS, UnCPS", "without UnCPS it is not converted: Relax has no functions as data"),
    "UnCPS": _before("ToCPS, UnCPS", "behind ToCPS"),
    "Defunctionalization": _before("Defunctionalization", "functions as data are unfolded while converting, too"),
    "QuantizePartition": _before("", "part of quantize.quantize, which is called in Python; Relax has no quantiser"),
    "QuantizeAnnotate": _before("", "part of quantize.quantize, which is called in Python; Relax has no quantiser"),
    "QuantizeCalibrate": _before("", "part of quantize.quantize, which is called in Python; Relax has no quantiser"),
    "QuantizeRealize": _before("", "part of quantize.quantize, which is called in Python; Relax has no quantiser"),
    # Nothing to do.
    "RemoveStandaloneReshapes": _nothing("RewriteDataflowReshape is part of every default pipeline"),
    "LabelOps": _nothing("wrote down what code generation asked"),
    "AnnotateMemoryScope": _nothing("wrote down what code generation asked"),
    "InferType": _nothing("struct info is inferred while a program is built", "InferType"),
    "ToGraphNormalForm": _nothing("bindings of Relax share their values", "ToGraphNormalForm"),
    "ToBasicBlockNormalForm": _nothing("bindings of Relax share their values", "ToBasicBlockNormalForm"),
    "EtaExpand": _nothing("functions as data are unfolded while converting", "EtaExpand"),
    "InlineLocalFunctions": _nothing("function literals are unfolded while converting", "InlineLocalFunctions"),
    "CapturePostDfsIndexInSpans": _nothing("convert writes a map of nodes", "CapturePostDfsIndexInSpans"),
    "ExtractFusedFunctions": _nothing("a report on Relay"),
    # The C backend.
    "DefuseOps": _c("fused functions are taken apart, and fused anew", "FuseOps, DefuseOps"),
}


def rows() -> list[tuple[str, str, str, str]]:
    """Return the rows of the table: the pass, where it is done, how, and a note."""
    found = []
    for name, today in sorted(TODAY.items()):
        how = ", ".join(today.relax) if today.way is Way.RELAX else today.before
        if today.way is Way.BEFORE and today.relax:
            how = f"{how}; Relax: {', '.join(today.relax)}".lstrip("; ")
        found.append((name, today.way.value, how, today.note))
    return found
