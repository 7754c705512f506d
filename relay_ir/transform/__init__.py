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
        "common_subexpr": ["EliminateCommonSubexpr"],
        "dead_code": ["DeadCodeElimination", "RemoveUnusedFunctions"],
        "eta_expand": ["EtaExpand"],
        "fold_constant": ["FoldConstant"],
        "graph_normal_form": ["ToGraphNormalForm"],
        "infer_types": ["InferType"],
        "infrastructure": ["FunctionPass", "function_pass"],
        "inline": ["InlineLocalFunctions"],
        "inline_globals": ["Inline"],
        "lambda_lift": ["LambdaLift"],
        "let_forms": ["ToANormalForm", "ToBasicBlockNormalForm"],
        "partition_graph": ["PartitionGraph"],
        "plan_devices": ["PlanDevices"],
        "simplify_inference": ["SimplifyInference"],
    },
)

if TYPE_CHECKING:
    from relay2relax.relay_ir.transform.common_subexpr import EliminateCommonSubexpr
    from relay2relax.relay_ir.transform.dead_code import DeadCodeElimination, RemoveUnusedFunctions
    from relay2relax.relay_ir.transform.eta_expand import EtaExpand
    from relay2relax.relay_ir.transform.fold_constant import FoldConstant
    from relay2relax.relay_ir.transform.graph_normal_form import ToGraphNormalForm
    from relay2relax.relay_ir.transform.infer_types import InferType
    from relay2relax.relay_ir.transform.infrastructure import FunctionPass, function_pass
    from relay2relax.relay_ir.transform.inline import InlineLocalFunctions
    from relay2relax.relay_ir.transform.inline_globals import Inline
    from relay2relax.relay_ir.transform.lambda_lift import LambdaLift
    from relay2relax.relay_ir.transform.let_forms import ToANormalForm, ToBasicBlockNormalForm
    from relay2relax.relay_ir.transform.partition_graph import PartitionGraph
    from relay2relax.relay_ir.transform.plan_devices import PlanDevices
    from relay2relax.relay_ir.transform.simplify_inference import SimplifyInference

__all__ = [
    "DeadCodeElimination",
    "EliminateCommonSubexpr",
    "EtaExpand",
    "FoldConstant",
    "FunctionPass",
    "InferType",
    "Inline",
    "InlineLocalFunctions",
    "LambdaLift",
    "ModulePass",
    "PartitionGraph",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PlanDevices",
    "RemoveUnusedFunctions",
    "Sequential",
    "SimplifyInference",
    "ToANormalForm",
    "ToBasicBlockNormalForm",
    "ToGraphNormalForm",
    "function_pass",
    "module_pass",
]
