"""The kernels that apache-tvm's default pipeline makes, as TVMScript with threads and barriers."""

from __future__ import annotations

from collections import Counter
from typing import Any

from relay2relax import relax_ir
from relay2relax.relax_ir.tvm_bridge import to_tvm

# Steps of apache-tvm 0.27's pipeline for tensor programs, up to where barriers and sums over
# threads are written out.
_SCHEDULED = """
CanonicalizeLoop LowerCrossThreadReduction LowerInitBlock PlanAndUpdateBufferAllocationLocation ConvertBlocksToOpaque
LiftThreadBinding ManifestSharedMemoryLocalStage CompactBufferAllocation LowerAutoCopy UnifyThreadBinding
LowerMatchBuffer StmtSimplify InjectPermutedLayout AnnotateIrregularLoop InjectSoftwarePipeline
TransformMmaBufferLayout LowerOpaqueBlock
""".split()  # noqa: SIM905
_FLAT = ["FlattenBuffer", "BF16ComputeLegalize"]


def default_kernels(module: relax_ir.IRModule) -> relax_ir.IRModule:
    """Return the PrimFuncs that apache-tvm makes of ``module`` for ``sm_80``, lowered."""
    return default_program(module)[0]


def default_program(module: relax_ir.IRModule) -> tuple[relax_ir.IRModule, Counter[str]]:
    """Return these, and how often ``main`` calls each."""
    import tvm
    from tvm import relax, s_tir, tirx
    from tvm.s_tir import dlight

    target = tvm.target.Target({"kind": "cuda", "arch": "sm_80"}, host="llvm")
    rules = [getattr(dlight.gpu, name)() for name in ("Matmul", "GEMV", "Reduction", "GeneralReduction", "Fallback")]
    steps: list[Any] = [
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FoldConstant(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
        dlight.ApplyDefaultSchedule(*rules),
    ]
    lowering = [getattr(s_tir.transform, name)() for name in _SCHEDULED]
    lowering += [getattr(tirx.transform, name)() for name in _FLAT]
    lowering += [
        tirx.transform.NarrowDataType(32),
        s_tir.transform.LoopPartition(),
        tirx.transform.VectorizeLoop(True),
        s_tir.transform.InjectVirtualThread(),
        s_tir.transform.InjectDoubleBuffer(),
        tirx.transform.StorageRewrite(),
        s_tir.transform.HoistIfThenElse(),
        tirx.transform.UnrollLoop(),
        s_tir.transform.RenormalizeSplitPattern(),
        tirx.transform.StmtSimplify(),
        tirx.transform.RemoveNoOp(),
        s_tir.transform.RewriteUnsafeSelect(),
        *(s_tir.transform.ThreadSync(scope) for scope in ("shared", "shared.dyn", "warp")),
        s_tir.transform.InferFragment(),
        s_tir.transform.LowerThreadAllreduce(),
    ]
    with target:
        bound = tvm.transform.Sequential(steps)(to_tvm(module))
        own = {
            var: func.with_attr("global_symbol", var.name_hint)
            for var, func in bound.functions.items()
            if isinstance(func, tirx.PrimFunc)
        }
        kernels = tirx.transform.BindTarget(target)(tvm.IRModule(own))
        calls: Counter[str] = Counter()

        def visit(node: Any) -> None:
            if isinstance(node, relax.Call) and getattr(node.op, "name", "") == "relax.call_tir":
                calls[node.args[0].name_hint] += 1

        relax.analysis.post_order_visit(bound["main"], visit)
        return relax_ir.parse(tvm.transform.Sequential(lowering)(kernels).script()), calls
