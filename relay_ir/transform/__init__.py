"""Passes over Relay modules: each is a value that takes a module and returns one, and never changes
its argument.

    mod = transform.ToGraphNormalForm()(mod)

What a pass does not touch it returns as it was: spans, sharing and weights survive. Inferred types
are forgotten where anything changed. The pass manager is ``relay2relax.core.passes``;
``infrastructure.py`` has what passes over Relay share. Names load their modules when first used.
"""

from typing import TYPE_CHECKING

import lazy_loader

from relay2relax.core.passes import (
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    PassInstrument,
    PassPrintingInstrument,
    PassTimingInstrument,
    Sequential,
    module_pass,
)

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "batching.batching_ops": ["BatchingOps"],
        "batching.change_batch": ["ChangeBatch"],
        "batching.flexible_shape_dispatch": ["FlexibleShapeDispatch"],
        "combine.batch_matmul": ["CombineParallelBatchMatmul"],
        "combine.conv2d": ["CombineParallelConv2D"],
        "combine.dense": ["CombineParallelDense"],
        "common_subexpr": ["EliminateCommonSubexpr"],
        "dead_code": ["DeadCodeElimination", "RemoveUnusedFunctions"],
        "eta_expand": ["EtaExpand"],
        "fold_constant": ["FoldConstant"],
        "functional.continuations": ["ToCPS", "UnCPS", "to_cps", "un_cps"],
        "functional.defunctionalization": ["Defunctionalization"],
        "functional.partial_evaluate": ["PartialEvaluate"],
        "fusion.defuse_ops": ["DefuseOps"],
        "fusion.extract_fused_functions": ["ExtractFusedFunctions", "extract_fused_functions"],
        "fusion.fuse_ops": ["FuseOps"],
        "graph_normal_form": ["ToGraphNormalForm"],
        "infer_types": ["InferType"],
        "infrastructure": ["FunctionPass", "function_pass"],
        "inline": ["InlineLocalFunctions"],
        "inline_globals": ["Inline"],
        "lambda_lift": ["LambdaLift"],
        "layout.alter_op_layout": ["AlterOpLayout"],
        "layout.convert_layout": ["ConvertLayout", "LayoutConfig"],
        "layout.legalize": ["Legalize"],
        "layout.op_attrs": [
            "TempOpAttr",
            "register_alter_op_layout",
            "register_convert_op_layout",
            "register_legalize",
            "register_op_attr",
        ],
        "let_forms": ["ToANormalForm", "ToBasicBlockNormalForm"],
        "partition.annotate_target": ["AnnotateTarget"],
        "partition.compiler_functions": [
            "InlineCompilerFunctionsBoundTo",
            "MarkCompilerFunctionsAsExtern",
            "OutlineCompilerFunctionsWithExistingGlobalSymbols",
        ],
        "partition.merge_compiler_regions": ["MergeCompilerRegions"],
        "partition.merge_composite": ["MergeComposite"],
        "partition.partition_graph": ["PartitionGraph"],
        "plan_devices": ["PlanDevices"],
        "post_dfs_spans": ["CapturePostDfsIndexInSpans"],
        "precision.conversions": ["register_mixed_precision_conversion"],
        "precision.mixed_precision": ["ToMixedPrecision"],
        "precision.recast": ["Recast", "recast"],
        "qnn.canonicalize": ["QnnCanonicalize"],
        "qnn.legalize": ["QnnLegalize"],
        "quantize.affine": ["TensorAffineType", "TupleAffineType"],
        "quantize.fake_quantization": ["FakeQuantizationToInteger"],
        "quantize.fake_quantized_ops": [
            "register_fake_quantization_to_integer",
            "register_optional_fake_quantization_to_integer",
        ],
        "scale_axis.backward": ["BackwardFoldScaleAxis", "FoldScaleAxis"],
        "scale_axis.forward": ["ForwardFoldScaleAxis"],
        "simplify.atrous_conv": ["FlattenAtrousConv"],
        "simplify.canonicalize_cast": ["CanonicalizeCast"],
        "simplify.canonicalize_ops": ["CanonicalizeOps"],
        "simplify.div_to_mul": ["DivToMul"],
        "simplify.dynamic_to_static": ["DynamicToStatic"],
        "simplify.explicit_padding": ["FoldExplicitPadding"],
        "simplify.expressions": ["SimplifyExpr", "SimplifyExprPostAlterOp"],
        "simplify.fast_math": ["FastMath"],
        "simplify.fc_transpose": ["SimplifyFCTranspose"],
        "simplify.split_args": ["SplitArgs"],
        "simplify_inference": ["SimplifyInference"],
        "sparse.block_sparse": ["block_sparse"],
        "sparse.conv2d_to_sparse": ["Conv2dToSparse", "Conv2dToSparse2"],
        "sparse.dense_to_sparse": ["DenseToSparse"],
        "training.first_order_gradient": ["FirstOrderGradient"],
        "training.higher_order_gradient": ["HigherOrderGradient"],
        "training.lazy_gradient_init": ["LazyGradientInit"],
        "memory.manifest_lifetimes": ["ManifestLifetimes"],
        "memory.used_memory": ["AnnotateUsedMemory"],
    },
)

if TYPE_CHECKING:
    from relay2relax.relay_ir.transform.batching.batching_ops import BatchingOps
    from relay2relax.relay_ir.transform.batching.change_batch import ChangeBatch
    from relay2relax.relay_ir.transform.batching.flexible_shape_dispatch import FlexibleShapeDispatch
    from relay2relax.relay_ir.transform.combine.batch_matmul import CombineParallelBatchMatmul
    from relay2relax.relay_ir.transform.combine.conv2d import CombineParallelConv2D
    from relay2relax.relay_ir.transform.combine.dense import CombineParallelDense
    from relay2relax.relay_ir.transform.common_subexpr import EliminateCommonSubexpr
    from relay2relax.relay_ir.transform.dead_code import DeadCodeElimination, RemoveUnusedFunctions
    from relay2relax.relay_ir.transform.eta_expand import EtaExpand
    from relay2relax.relay_ir.transform.fold_constant import FoldConstant
    from relay2relax.relay_ir.transform.functional.continuations import ToCPS, UnCPS, to_cps, un_cps
    from relay2relax.relay_ir.transform.functional.defunctionalization import Defunctionalization
    from relay2relax.relay_ir.transform.functional.partial_evaluate import PartialEvaluate
    from relay2relax.relay_ir.transform.fusion.defuse_ops import DefuseOps
    from relay2relax.relay_ir.transform.fusion.extract_fused_functions import (
        ExtractFusedFunctions,
        extract_fused_functions,
    )
    from relay2relax.relay_ir.transform.fusion.fuse_ops import FuseOps
    from relay2relax.relay_ir.transform.graph_normal_form import ToGraphNormalForm
    from relay2relax.relay_ir.transform.infer_types import InferType
    from relay2relax.relay_ir.transform.infrastructure import FunctionPass, function_pass
    from relay2relax.relay_ir.transform.inline import InlineLocalFunctions
    from relay2relax.relay_ir.transform.inline_globals import Inline
    from relay2relax.relay_ir.transform.lambda_lift import LambdaLift
    from relay2relax.relay_ir.transform.layout.alter_op_layout import AlterOpLayout
    from relay2relax.relay_ir.transform.layout.convert_layout import ConvertLayout, LayoutConfig
    from relay2relax.relay_ir.transform.layout.legalize import Legalize
    from relay2relax.relay_ir.transform.layout.op_attrs import (
        TempOpAttr,
        register_alter_op_layout,
        register_convert_op_layout,
        register_legalize,
        register_op_attr,
    )
    from relay2relax.relay_ir.transform.let_forms import ToANormalForm, ToBasicBlockNormalForm
    from relay2relax.relay_ir.transform.memory.manifest_lifetimes import ManifestLifetimes
    from relay2relax.relay_ir.transform.memory.used_memory import AnnotateUsedMemory
    from relay2relax.relay_ir.transform.partition.annotate_target import AnnotateTarget
    from relay2relax.relay_ir.transform.partition.compiler_functions import (
        InlineCompilerFunctionsBoundTo,
        MarkCompilerFunctionsAsExtern,
        OutlineCompilerFunctionsWithExistingGlobalSymbols,
    )
    from relay2relax.relay_ir.transform.partition.merge_compiler_regions import MergeCompilerRegions
    from relay2relax.relay_ir.transform.partition.merge_composite import MergeComposite
    from relay2relax.relay_ir.transform.partition.partition_graph import PartitionGraph
    from relay2relax.relay_ir.transform.plan_devices import PlanDevices
    from relay2relax.relay_ir.transform.post_dfs_spans import CapturePostDfsIndexInSpans
    from relay2relax.relay_ir.transform.precision.conversions import register_mixed_precision_conversion
    from relay2relax.relay_ir.transform.precision.mixed_precision import ToMixedPrecision
    from relay2relax.relay_ir.transform.precision.recast import Recast, recast
    from relay2relax.relay_ir.transform.qnn.canonicalize import QnnCanonicalize
    from relay2relax.relay_ir.transform.qnn.legalize import QnnLegalize
    from relay2relax.relay_ir.transform.quantize.affine import TensorAffineType, TupleAffineType
    from relay2relax.relay_ir.transform.quantize.fake_quantization import FakeQuantizationToInteger
    from relay2relax.relay_ir.transform.quantize.fake_quantized_ops import (
        register_fake_quantization_to_integer,
        register_optional_fake_quantization_to_integer,
    )
    from relay2relax.relay_ir.transform.scale_axis.backward import BackwardFoldScaleAxis, FoldScaleAxis
    from relay2relax.relay_ir.transform.scale_axis.forward import ForwardFoldScaleAxis
    from relay2relax.relay_ir.transform.simplify.atrous_conv import FlattenAtrousConv
    from relay2relax.relay_ir.transform.simplify.canonicalize_cast import CanonicalizeCast
    from relay2relax.relay_ir.transform.simplify.canonicalize_ops import CanonicalizeOps
    from relay2relax.relay_ir.transform.simplify.div_to_mul import DivToMul
    from relay2relax.relay_ir.transform.simplify.dynamic_to_static import DynamicToStatic
    from relay2relax.relay_ir.transform.simplify.explicit_padding import FoldExplicitPadding
    from relay2relax.relay_ir.transform.simplify.expressions import SimplifyExpr, SimplifyExprPostAlterOp
    from relay2relax.relay_ir.transform.simplify.fast_math import FastMath
    from relay2relax.relay_ir.transform.simplify.fc_transpose import SimplifyFCTranspose
    from relay2relax.relay_ir.transform.simplify.split_args import SplitArgs
    from relay2relax.relay_ir.transform.simplify_inference import SimplifyInference
    from relay2relax.relay_ir.transform.sparse.block_sparse import block_sparse
    from relay2relax.relay_ir.transform.sparse.conv2d_to_sparse import Conv2dToSparse, Conv2dToSparse2
    from relay2relax.relay_ir.transform.sparse.dense_to_sparse import DenseToSparse
    from relay2relax.relay_ir.transform.training.first_order_gradient import FirstOrderGradient
    from relay2relax.relay_ir.transform.training.higher_order_gradient import HigherOrderGradient
    from relay2relax.relay_ir.transform.training.lazy_gradient_init import LazyGradientInit

__all__ = [
    "AlterOpLayout",
    "AnnotateTarget",
    "AnnotateUsedMemory",
    "BackwardFoldScaleAxis",
    "BatchingOps",
    "CanonicalizeCast",
    "CanonicalizeOps",
    "CapturePostDfsIndexInSpans",
    "ChangeBatch",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "Conv2dToSparse",
    "Conv2dToSparse2",
    "ConvertLayout",
    "DeadCodeElimination",
    "Defunctionalization",
    "DefuseOps",
    "DenseToSparse",
    "DivToMul",
    "DynamicToStatic",
    "EliminateCommonSubexpr",
    "EtaExpand",
    "ExtractFusedFunctions",
    "FakeQuantizationToInteger",
    "FastMath",
    "FirstOrderGradient",
    "FlattenAtrousConv",
    "FlexibleShapeDispatch",
    "FoldConstant",
    "FoldExplicitPadding",
    "FoldScaleAxis",
    "ForwardFoldScaleAxis",
    "FunctionPass",
    "FuseOps",
    "HigherOrderGradient",
    "InferType",
    "Inline",
    "InlineCompilerFunctionsBoundTo",
    "InlineLocalFunctions",
    "LambdaLift",
    "LayoutConfig",
    "LazyGradientInit",
    "Legalize",
    "ManifestLifetimes",
    "MarkCompilerFunctionsAsExtern",
    "MergeCompilerRegions",
    "MergeComposite",
    "ModulePass",
    "OutlineCompilerFunctionsWithExistingGlobalSymbols",
    "PartialEvaluate",
    "PartitionGraph",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PlanDevices",
    "QnnCanonicalize",
    "QnnLegalize",
    "Recast",
    "RemoveUnusedFunctions",
    "Sequential",
    "SimplifyExpr",
    "SimplifyExprPostAlterOp",
    "SimplifyFCTranspose",
    "SimplifyInference",
    "SplitArgs",
    "TempOpAttr",
    "TensorAffineType",
    "ToANormalForm",
    "ToBasicBlockNormalForm",
    "ToCPS",
    "ToGraphNormalForm",
    "ToMixedPrecision",
    "TupleAffineType",
    "UnCPS",
    "block_sparse",
    "extract_fused_functions",
    "function_pass",
    "module_pass",
    "recast",
    "register_alter_op_layout",
    "register_convert_op_layout",
    "register_fake_quantization_to_integer",
    "register_legalize",
    "register_mixed_precision_conversion",
    "register_op_attr",
    "register_optional_fake_quantization_to_integer",
    "to_cps",
    "un_cps",
]
