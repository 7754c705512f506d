"""Which passes are tried on recorded programs, with which options, and what each of them keeps.

Every public pass stands here: as a trial, or under :data:`ELSEWHERE` with the reason why not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeAlias

from typed import of_type

from relay2relax.core.passes import Pass, PassContext
from relay2relax.relay_ir import Call, Expr, Function, IRModule, Let, Op, TensorType, Type, Var, op, transform
from relay2relax.relay_ir.analysis import free_vars
from relay2relax.relay_ir.dataflow_pattern import is_op, wildcard
from relay2relax.relay_ir.ir.rewrite import rewrite, substitute
from relay2relax.relay_ir.transform import TempOpAttr
from relay2relax.tir.extent import static

# A typed module and the function that runs -> the module behind the passes.
Made: TypeAlias = Callable[[IRModule, str], IRModule]


class Keeps(Enum):
    """What a program gives behind a pass, beside what it gave before."""

    VALUES = "the recorded values, within the tolerance of their dtypes"
    FIRST = "the recorded values as the first field of its result"
    FLOAT16 = "floats within the bound of float16 for the sums of the program"
    BFLOAT16 = "floats within the bound of bfloat16 for the sums of the program"
    FAST = "floats within what TVM's approximations are off by: 3e-3 of the largest"
    QUANTA = "floats within three quanta, which are as large as the program says"


@dataclass(frozen=True)
class Trial:
    """A pass with options, or several that belong together; ``keeps`` is what must not change."""

    name: str
    made: Made
    keeps: Keeps = Keeps.VALUES


def _plain(*passes: Pass[IRModule]) -> Made:
    return lambda mod, entry: transform.Sequential([*passes])(mod)


def _in(config: Mapping[str, object], one: Pass[IRModule]) -> Made:
    def made(mod: IRModule, entry: str) -> IRModule:
        with PassContext(opt_level=4, config=config):
            return one(mod)

    return made


_LAYOUTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "NHWC": {
        "nn.conv2d": ["NHWC", "HWIO"],
        "nn.conv2d_transpose": ["NHWC", "HWIO"],
        "nn.max_pool2d": ["NHWC"],
        "nn.avg_pool2d": ["NHWC"],
        "nn.global_avg_pool2d": ["NHWC"],
        "image.resize2d": ["NHWC"],
        "vision.roi_align": ["NHWC", "default"],
        "nn.deformable_conv2d": ["NHWC", "default"],
        "nn.conv3d": ["NDHWC", "DHWIO"],
        "nn.max_pool3d": ["NDHWC"],
        "nn.conv1d": ["NWC", "WIO"],
        "qnn.conv2d": ["NHWC", "HWIO"],
    },
    "NCHW": {
        "nn.conv2d": ["NCHW", "default"],
        "nn.conv2d_transpose": ["NCHW", "default"],
        "nn.max_pool2d": ["NCHW"],
        "image.resize2d": ["NCHW"],
        "qnn.conv2d": ["NCHW", "default"],
        "nn.conv3d": ["NCDHW", "default"],
    },
    "NHWC, OHWI": {"nn.conv2d": ["NHWC", "OHWI"]},
    "HWNC": {"nn.conv2d": ["HWNC", "default"]},
    "NCHW4c": {"nn.conv2d": ["NCHW4c", "OIHW4o"], "nn.max_pool2d": ["NCHW4c"]},
}
_NAMES = """
    nn.conv2d nn.dense nn.batch_matmul nn.bias_add nn.relu nn.max_pool2d add multiply subtract sigmoid tanh
    reshape transpose concatenate split nn.softmax sum mean exp cast where strided_slice
"""
_OWN = _NAMES.split()
_PATTERNS = [
    ("own.linear", is_op("add")(is_op("nn.dense")(wildcard(), wildcard()), wildcard())),
    ("own.biased", is_op("nn.bias_add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard())),
    ("own.activated", is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), wildcard()))),
    ("own.two", is_op("multiply")(is_op("add")(wildcard(), wildcard()), wildcard())),
    ("own.moved", is_op("transpose")(is_op("reshape")(wildcard()))),
]


def _partitioned(bind_constants: bool) -> tuple[Pass[IRModule], ...]:
    return (
        transform.MergeComposite(_PATTERNS),
        transform.AnnotateTarget({"own": _OWN}),
        transform.MergeCompilerRegions(),
        transform.PartitionGraph(bind_constants=bind_constants),
    )


def _annotated(*more: Pass[IRModule]) -> Made:
    return _plain(transform.AnnotateTarget({"own": _OWN, "second": ["divide", "maximum", "minimum"]}), *more)


def _inlined(mod: IRModule, entry: str) -> IRModule:
    parts = transform.Sequential([*_partitioned(True)])(mod)
    names = [var.name for var in parts.functions if var.name not in {one.name for one in mod.functions}]
    return transform.InlineCompilerFunctionsBoundTo(names)(parts)


def _in_blocks(attrs: Any, args: Sequence[Expr], types: Sequence[Type], result: Type) -> Call | None:
    """Let convolutions have blocks of two channels, where they can be cut so."""
    data, weight = types
    assert isinstance(data, TensorType)
    assert isinstance(weight, TensorType)
    channels, outputs = static(data.shape[1]), static(weight.shape[0])
    if (attrs.data_layout, attrs.kernel_layout, attrs.groups) != ("NCHW", "OIHW", 1) or not channels or not outputs:
        return None
    if channels % 2 or outputs % 2:
        return None
    layouts = {"data_layout": "NCHW2c", "kernel_layout": "OIHW2i2o", "out_layout": "NCHW2c"}
    sizes = {"channels": outputs, "kernel_size": weight.shape[2:]}
    return Call(Op("nn.contrib_conv2d_NCHWc"), tuple(args), replace(attrs, **layouts, **sizes))


def _altered(mod: IRModule, entry: str) -> IRModule:
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", _in_blocks):
        return transform.AlterOpLayout()(mod)


def _turned(mod: IRModule, entry: str) -> IRModule:
    """Turn the weights that a caller would have turned."""
    given = mod[entry].params
    named = {param.name: param for param in given}
    made = transform.SimplifyFCTranspose(tuple(named))(mod)
    function = made[entry]
    values: dict[Expr, Expr] = {}
    for param in set(function.params) - set(given):
        values[param] = op.transpose(named[param.name.removesuffix(".T")], [1, 0])
    # The pass orders parameters by their uses; callers give them by name.
    changed = replace(function, params=given, body=substitute(function.body, values))
    return made.with_function(made.get_global_var(entry), changed) if values else mod


def _batch(mod: IRModule, entry: str) -> IRModule:
    """Ask for the batch that is there: nothing may change."""
    first = mod.types[mod[entry].params[0]] if mod[entry].params else None
    extent = static(first.shape[0]) if isinstance(first, TensorType) and first.shape else None
    return mod if extent is None else transform.ChangeBatch({mod[entry].params[0]: 0}, extent)(mod)


def _named(kind: Callable[[tuple[str, ...]], Pass[IRModule]], *before: Pass[IRModule]) -> Made:
    """A pass that is told by name which functions it changes."""
    return lambda mod, entry: transform.Sequential([*before, kind((entry,))])(mod)


def _continued(mod: IRModule, entry: str) -> IRModule:
    return transform.UnCPS((entry,))(transform.ToCPS((entry,))(mod))


def _evaluated(mod: IRModule, entry: str) -> IRModule:
    dead = transform.DeadCodeElimination(inline_once=True)
    return transform.Sequential([transform.PartialEvaluate(), transform.InferType(), dead])(mod)


def _lifetimes(mod: IRModule, entry: str) -> IRModule:
    """Take the calls of memory.kill out again, which nobody runs: no variable may be needed behind
    its own.
    """

    def visit(node: Expr) -> Expr:
        match node:
            case Let(_, Call(Op("memory.kill"), (Var() as var,)), body):
                assert var not in free_vars(body), f"%{var.name} is needed behind its end"
                return body
        return node

    made = transform.Sequential([transform.ToANormalForm(), transform.ManifestLifetimes()])(mod)
    functions = {var: of_type(rewrite(one, visit), Function) for var, one in made.functions.items()}
    return replace(made, functions=functions, types={})


def _build(level: int) -> Made:
    def made(mod: IRModule, entry: str) -> IRModule:
        from relay2relax.relay_ir.pipeline import passes_of_build

        passes = [one for one in passes_of_build(vm=True) if one.info.name != "RemoveUnusedFunctions"]
        with PassContext(opt_level=level):
            return transform.Sequential(passes)(mod)

    return made


TRIALS: tuple[Trial, ...] = (
    Trial("AlterOpLayout", _altered),
    Trial("AnnotateTarget", _annotated()),
    Trial("AnnotateUsedMemory", _plain(transform.ToANormalForm(), transform.AnnotateUsedMemory())),
    Trial("BackwardFoldScaleAxis", _plain(transform.SimplifyInference(), transform.BackwardFoldScaleAxis())),
    Trial("BatchingOps", _plain(transform.BatchingOps())),
    Trial("CanonicalizeCast", _plain(transform.CanonicalizeCast())),
    Trial("CanonicalizeOps", _plain(transform.CanonicalizeOps())),
    Trial("CapturePostDfsIndexInSpans", _plain(transform.CapturePostDfsIndexInSpans())),
    Trial("ChangeBatch", _batch),
    Trial("CombineParallelBatchMatmul", _plain(transform.CombineParallelBatchMatmul(2))),
    Trial("CombineParallelConv2D", _plain(transform.CombineParallelConv2D(2))),
    Trial("CombineParallelDense", _plain(transform.CombineParallelDense(2))),
    Trial("CombineParallelDense, flat", _plain(transform.CombineParallelDense(2, to_batch=False))),
    *(Trial(f"ConvertLayout {name}", _plain(transform.ConvertLayout(one))) for name, one in _LAYOUTS.items()),
    Trial("DeadCodeElimination", _plain(transform.DeadCodeElimination())),
    Trial("DeadCodeElimination, inline_once", _plain(transform.DeadCodeElimination(inline_once=True))),
    Trial("Defunctionalization", lambda mod, entry: transform.Defunctionalization(entry)(mod)),
    Trial("DefuseOps", _plain(transform.FuseOps(2), transform.DefuseOps())),
    Trial("DivToMul", _plain(transform.DivToMul())),
    Trial("DynamicToStatic", _plain(transform.DynamicToStatic())),
    Trial("EliminateCommonSubexpr", _plain(transform.EliminateCommonSubexpr())),
    Trial("EtaExpand", _plain(transform.EtaExpand(True, True))),
    Trial("FakeQuantizationToInteger", _plain(transform.FakeQuantizationToInteger()), Keeps.QUANTA),
    Trial("FakeQuantizationToInteger, QAT", _plain(transform.FakeQuantizationToInteger(use_qat=True)), Keeps.QUANTA),
    Trial("FastMath", _plain(transform.FastMath()), Keeps.FAST),
    Trial("FirstOrderGradient", _plain(transform.FirstOrderGradient()), Keeps.FIRST),
    Trial("FlattenAtrousConv", _plain(transform.FlattenAtrousConv())),
    Trial("FoldConstant", _plain(transform.FoldConstant())),
    Trial("FoldConstant, quantised", _plain(transform.FoldConstant(fold_qnn=True))),
    Trial("FoldExplicitPadding", _plain(transform.FoldExplicitPadding())),
    Trial("FoldScaleAxis", _plain(transform.SimplifyInference(), transform.FoldScaleAxis())),
    Trial("ForwardFoldScaleAxis", _plain(transform.SimplifyInference(), transform.ForwardFoldScaleAxis())),
    Trial("FuseOps 0", _plain(transform.FuseOps(0))),
    Trial("FuseOps 1", _plain(transform.FuseOps(1))),
    Trial("FuseOps 2", _plain(transform.FuseOps(2))),
    Trial("FuseOps, link_params", _in({"relay.FuseOps.link_params": True}, transform.FuseOps(2))),
    Trial("FuseOps, max_depth", _in({"relay.FuseOps.max_depth": 3}, transform.FuseOps(2))),
    Trial("HigherOrderGradient", _named(transform.HigherOrderGradient), Keeps.FIRST),
    Trial("InferType", _plain(transform.InferType())),
    Trial("Inline", _plain(transform.FuseOps(2), transform.Inline())),
    Trial("InlineCompilerFunctionsBoundTo", _inlined),
    Trial("InlineLocalFunctions", _plain(transform.InlineLocalFunctions())),
    Trial("InlineLocalFunctions, marked", _plain(transform.FuseOps(2), transform.InlineLocalFunctions(marked=True))),
    Trial("LambdaLift", _plain(transform.LambdaLift())),
    Trial("LambdaLift of fused", _plain(transform.FuseOps(2), transform.LambdaLift())),
    Trial("LazyGradientInit", _plain(transform.FirstOrderGradient(), transform.LazyGradientInit()), Keeps.FIRST),
    Trial("Legalize", _plain(transform.Legalize())),
    Trial("ManifestLifetimes", _lifetimes),
    Trial("MergeCompilerRegions", _annotated(transform.MergeCompilerRegions())),
    Trial("MergeComposite", _plain(transform.MergeComposite(_PATTERNS))),
    Trial("PartialEvaluate", _evaluated),
    Trial("PartitionGraph", _plain(*_partitioned(True))),
    Trial("PartitionGraph, constants apart", _plain(*_partitioned(False))),
    Trial("PartitionGraph of two", _annotated(transform.MergeCompilerRegions(), transform.PartitionGraph())),
    Trial("PlanDevices", _plain(transform.PlanDevices())),
    Trial("QnnCanonicalize", _plain(transform.QnnCanonicalize())),
    *(
        Trial(f"QnnLegalize {one}".strip(), _plain(transform.QnnLegalize(one)))
        for one in ("", "c", "arm_cpu", "cuda", "hexagon")
    ),
    Trial("RemoveUnusedFunctions", _named(transform.RemoveUnusedFunctions)),
    Trial("SimplifyExpr", _plain(transform.SimplifyExpr())),
    Trial("SimplifyExprPostAlterOp", _plain(transform.SimplifyExprPostAlterOp())),
    Trial("SimplifyFCTranspose", _turned),
    Trial("SimplifyInference", _plain(transform.SimplifyInference())),
    Trial("SplitArgs", _plain(transform.SplitArgs(2))),
    Trial("ToANormalForm", _plain(transform.ToANormalForm())),
    Trial("ToBasicBlockNormalForm", _plain(transform.ToBasicBlockNormalForm())),
    Trial("ToCPS and UnCPS", _continued),
    Trial("ToGraphNormalForm", _plain(transform.ToGraphNormalForm())),
    Trial("ToGraphNormalForm of lets", _plain(transform.ToANormalForm(), transform.ToGraphNormalForm())),
    Trial("ToMixedPrecision float16", _plain(transform.ToMixedPrecision("float16", 2)), Keeps.FLOAT16),
    Trial("ToMixedPrecision bfloat16", _plain(transform.ToMixedPrecision("bfloat16", 2)), Keeps.BFLOAT16),
    Trial("relay.build at level 3", _build(3)),
)
# Passes that are not tried on each case, and why.
ELSEWHERE: Mapping[str, str] = {
    "Conv2dToSparse": "takes the weights of a program, which become other parameters (test_sparse.py)",
    "Conv2dToSparse2": "takes the weights of a program, which become other parameters (test_sparse.py)",
    "DenseToSparse": "takes the weights of a program, which become other parameters (test_sparse.py)",
    "ExtractFusedFunctions": "makes a module of parts without main (test_programs.py)",
    "FlexibleShapeDispatch": "asks which inputs have a batch, which no case says (test_batching.py)",
    "MarkCompilerFunctionsAsExtern": "takes bodies away; what they computed no program says (test_partition_passes.py)",
    "OutlineCompilerFunctionsWithExistingGlobalSymbols": "asks for functions that are literals of a compiler "
    "(test_partition_passes.py)",
    "Recast": "rounds to integers what the user says may be (test_recast.py)",
    "ToCPS": "is tried with UnCPS, which gives the function its type again",
    "UnCPS": "is tried with ToCPS",
}
# Operators that choose by what they compute: in lower precision another pixel, which is as near.
CHOOSING = frozenset({"image.grid_sample", "vision.roi_align"})
# Cases whose numbers the lower precisions cannot hold, and why.
COARSE: Mapping[str, str] = {
    "387eade92735": "the product of 24 numbers is below what float16 can say",
    "5aae544242f5": "the product of many numbers is below what float16 can say",
    "c5744a3b62f0": "the product of many numbers is below what float16 can say",
    "89b149b64e42": "what a loop adds up is beyond float16",
    "b0169864db8e": "a column of scales is so small that products are below what float16 can say",
    "b1579d44ef2b": "a column of scales is so small that products are below what float16 can say",
    "rand35": "a normalisation over one element divides nothing by nearly nothing",
    "rand198": "a remainder of nearly its divisor becomes 0",
    "rand7": "a remainder becomes an integer",
}
