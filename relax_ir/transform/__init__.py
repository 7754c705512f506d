"""Passes over Relax modules: values that are called with a module and return one.

    mod = Sequential([LegalizeOps(), FoldConstant()])(BindParams("main", weights)(mod))

A pass does not change the module it is given. The pass manager is ``relay2relax.core.passes``;
``rewriting/`` has the two ways in which passes walk a module. ``fusion/`` computes operators
together, ``memory/`` allocates, plans and releases. Names load their modules when first used.
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
        "attach_global_symbol": ["AttachGlobalSymbol"],
        "bind_params": ["BindParams"],
        "bind_symbolic_vars": ["BindSymbolicVars"],
        "canonicalize_bindings": ["CanonicalizeBindings"],
        "common_subexpr": ["EliminateCommonSubexpr"],
        "convert_to_dataflow": ["ConvertToDataflow"],
        "dead_code": ["DeadCodeElimination"],
        "dispatch_calls": ["DispatchCalls"],
        "fold_constant": ["FoldConstant"],
        "fusion.fuse_ops": ["FuseOps"],
        "fusion.fuse_tir": ["FuseTIR"],
        "legalize_ops": ["LegalizeOps"],
        "lift_transform_params": ["LiftTransformParams"],
        "memory.call_tir_rewrite": ["CallTIRRewrite"],
        "memory.kill_after_last_use": ["KillAfterLastUse"],
        "memory.plan_memory": ["LowerAllocTensor", "StaticPlanBlockMemory"],
        "memory.rewrite_dataflow_reshape": ["RewriteDataflowReshape"],
        "normalize": ["Normalize"],
        "remove_identities": ["RemoveIdentities"],
        "to_non_dataflow": ["ToNonDataflow"],
        "user_passes": ["DataflowBlockPass", "FunctionPass", "dataflowblock_pass", "function_pass"],
    },
)

if TYPE_CHECKING:
    from relay2relax.relax_ir.transform.attach_global_symbol import AttachGlobalSymbol
    from relay2relax.relax_ir.transform.bind_params import BindParams
    from relay2relax.relax_ir.transform.bind_symbolic_vars import BindSymbolicVars
    from relay2relax.relax_ir.transform.canonicalize_bindings import CanonicalizeBindings
    from relay2relax.relax_ir.transform.common_subexpr import EliminateCommonSubexpr
    from relay2relax.relax_ir.transform.convert_to_dataflow import ConvertToDataflow
    from relay2relax.relax_ir.transform.dead_code import DeadCodeElimination
    from relay2relax.relax_ir.transform.dispatch_calls import DispatchCalls
    from relay2relax.relax_ir.transform.fold_constant import FoldConstant
    from relay2relax.relax_ir.transform.fusion.fuse_ops import FuseOps
    from relay2relax.relax_ir.transform.fusion.fuse_tir import FuseTIR
    from relay2relax.relax_ir.transform.legalize_ops import LegalizeOps
    from relay2relax.relax_ir.transform.lift_transform_params import LiftTransformParams
    from relay2relax.relax_ir.transform.memory.call_tir_rewrite import CallTIRRewrite
    from relay2relax.relax_ir.transform.memory.kill_after_last_use import KillAfterLastUse
    from relay2relax.relax_ir.transform.memory.plan_memory import LowerAllocTensor, StaticPlanBlockMemory
    from relay2relax.relax_ir.transform.memory.rewrite_dataflow_reshape import RewriteDataflowReshape
    from relay2relax.relax_ir.transform.normalize import Normalize
    from relay2relax.relax_ir.transform.remove_identities import RemoveIdentities
    from relay2relax.relax_ir.transform.to_non_dataflow import ToNonDataflow
    from relay2relax.relax_ir.transform.user_passes import (
        DataflowBlockPass,
        FunctionPass,
        dataflowblock_pass,
        function_pass,
    )

__all__ = [
    "AttachGlobalSymbol",
    "BindParams",
    "BindSymbolicVars",
    "CallTIRRewrite",
    "CanonicalizeBindings",
    "ConvertToDataflow",
    "DataflowBlockPass",
    "DeadCodeElimination",
    "DispatchCalls",
    "EliminateCommonSubexpr",
    "FoldConstant",
    "FunctionPass",
    "FuseOps",
    "FuseTIR",
    "KillAfterLastUse",
    "LegalizeOps",
    "LiftTransformParams",
    "LowerAllocTensor",
    "ModulePass",
    "Normalize",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "RemoveIdentities",
    "RewriteDataflowReshape",
    "Sequential",
    "StaticPlanBlockMemory",
    "ToNonDataflow",
    "dataflowblock_pass",
    "function_pass",
    "module_pass",
]
