"""Modules of TVM of which nothing is provided: they can be imported, and say why when used."""

from __future__ import annotations

from relay2relax.compat.table.entry import Module

_WHY = {
    "programs are not tuned here": "tvm.autotvm tvm.auto_scheduler tvm.meta_schedule tvm.contrib.tar tvm.autotvm.tuner",
    "other machines are not reached": "tvm.rpc",
    "nothing of TVM's lowering is here": (
        "tvm.relay.backend.graph_executor_codegen "
        "tvm.relay.collage tvm.tir.usmp.utils tvm.tir.stmt_functor tvm.utils "
        "tvm.relay.backend.aot tvm.ir.memory_pools tvm.runtime.profiling "
        "tvm.runtime.profiler_vm tvm.relay.transform.infer_layout_utils "
        "tvm.target.datatype"
    ),
    "kernels are those of the operators' records": (
        "tvm.topi.cuda tvm.topi.arm_cpu.qnn_legalize tvm.topi.sparse.utils tvm.topi.generic "
        "tvm.topi.x86 tvm.topi.cuda.conv3d_winograd tvm.relay.qnn.op.legalizations "
        "tvm.relay.qnn.op.canonicalizations tvm.relay.op.strategy"
    ),
    "other compilers are not called": (
        "tvm.relay.op.contrib.ethosu tvm.relay.op.contrib.cutlass tvm.relay.op.contrib.cudnn "
        "tvm.relay.op.contrib.cublas tvm.relay.op.contrib.cmsisnn tvm.relay.op.contrib.dnnl "
        "tvm.relay.testing.byoc tvm.contrib.target.onnx tvm.contrib.target.coreml tvm.micro "
        "tvm.contrib.pipeline_executor tvm.contrib.pipeline_executor_build tvm.contrib.cutlass "
        "tvm.testing.usmp tvm.relay.testing.tflite"
    ),
    "programs are run by the executors, not written as Python": "tvm.relay.testing.py_converter",
}

MODULES = tuple(Module(name, why=why) for why, names in _WHY.items() for name in names.split())
