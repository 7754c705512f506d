"""The passes that ``relay.build`` of TVM 0.18 ran, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.core.passes import Pass
from relay2relax.relay_ir import transform
from relay2relax.relay_ir.ir.module import IRModule


def prefix_of_build(vm: bool = False, homogeneous: bool = True) -> Sequence[Pass[IRModule]]:
    """Return the part of ``passes_of_build`` before devices are planned and operators fused."""
    return (
        transform.RemoveUnusedFunctions(("main",)),
        transform.ToBasicBlockNormalForm(),
        transform.QnnLegalize(),
        *([transform.Legalize()] if homogeneous else []),
        transform.SimplifyInference(),
        *([transform.EtaExpand(expand_constructor=True)] if vm else []),
        # TVM means to leave casts to int32 apart, but its function always answers False.
        transform.EliminateCommonSubexpr(),
        transform.CombineParallelConv2D(3),
        transform.CombineParallelDense(3),
        transform.CombineParallelBatchMatmul(3),
        transform.FoldConstant(),
        transform.FoldScaleAxis(),
        transform.SimplifyExpr(),
        transform.CanonicalizeCast(),
        transform.CanonicalizeOps(),
        transform.FlattenAtrousConv(),
        *([transform.AlterOpLayout(), transform.SimplifyExprPostAlterOp()] if homogeneous else []),
        transform.FastMath(),
        transform.FoldConstant(),
    )


def passes_of_build(vm: bool = False, homogeneous: bool = True, max_function_args: int = 0) -> Sequence[Pass[IRModule]]:
    """Return what ``relay.build``, or with ``vm`` ``relay.vm.compile``, ran before operators were
    lowered.

    ``homogeneous`` says that there is one target, whose ``max_function_args`` SplitArgs and
    FuseOps heed. A
    ``Sequential`` runs those that the level of the context takes: at level 3 neither FastMath nor
    the three passes that combine products. AlterOpLayout and Legalize ask the functions that are
    registered here; those that TVM has for its targets are not. LabelOps and AnnotateMemoryScope,
    which write down what code generation asks, are left out.
    """
    split = [transform.SplitArgs(max_function_args)] if homogeneous and max_function_args else []
    fuse = transform.FuseOps(max_function_args=max_function_args if homogeneous else 0)
    return (*prefix_of_build(vm, homogeneous), *split, transform.PlanDevices(), fuse, transform.Inline())
