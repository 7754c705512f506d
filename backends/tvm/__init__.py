"""Relax modules in a real apache-tvm: the module goes over as script text, is built there, and runs
there.

    executable = build(rx)               # apache-tvm's own default pipeline for llvm
    outputs = executable["main"](x, w)   # numpy in, numpy out
    module = to_tvm(rx)                  # a tvm.IRModule, for whatever else TVM can do with it

TVM is imported when one of these is called, not before. ``relax_ir/tvm_bridge.py`` hands modules
over, ``core/tvm_installation.py`` says which releases of apache-tvm work with which of
apache-tvm-ffi, ``limits.py`` lowers what is known not to build, ``executable.py`` builds,
``machine.py`` runs.
"""

from relay2relax.backends.tvm.executable import TvmExecutable, build, on_device
from relay2relax.backends.tvm.limits import within_limits
from relay2relax.backends.tvm.machine import TvmFunction
from relay2relax.core.tvm_installation import TvmError, installation_problem, tvm_available
from relay2relax.relax_ir.tvm_bridge import to_tvm

__all__ = ["TvmError", "TvmExecutable", "TvmFunction", "build", "installation_problem", "on_device",
           "to_tvm", "tvm_available", "within_limits"]  # fmt: skip
