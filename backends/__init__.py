"""Execution: Relay executors, the Relax virtual machine, and the backends that run tensor programs.

``create_executor`` runs Relay modules, ``build`` and ``VirtualMachine`` run Relax modules; both on
numpy (``numpy/tir.py`` and the operators' own kernels), on generated C (``c/``) or in an installed
apache-tvm (``tvm/``). ``export_c`` writes a Relax module as a C library; ``libraries`` lets
OpenBLAS or PyTorch compute what they can. Begin reading with ``targets.py``.
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submodules=["libraries"],
    submod_attrs={
        "c.export.export": ["export_c", "library_files"],
        "vm.executable": ["Executable"],
        "runtime.registry": ["register_func"],
        "numpy.threads.launch": ["check_kernels"],
        "relay.calibration": ["get_calibration_data"],
        "relay.executor": ["create_executor", "load_executor"],
        "scheduled.schedule_module": ["schedule_module"],
        "targets": ["build"],
        "tvm.limits": ["within_limits"],
        "transformed_weights": ["transform_params"],
        "runtime.virtual_machine": ["VirtualMachine"],
    },
)

if TYPE_CHECKING:
    from relay2relax.backends import libraries
    from relay2relax.backends.c.export.export import export_c, library_files
    from relay2relax.backends.numpy.threads.launch import check_kernels
    from relay2relax.backends.relay.calibration import get_calibration_data
    from relay2relax.backends.relay.executor import create_executor, load_executor
    from relay2relax.backends.runtime.registry import register_func
    from relay2relax.backends.runtime.virtual_machine import VirtualMachine
    from relay2relax.backends.scheduled.schedule_module import schedule_module
    from relay2relax.backends.targets import build
    from relay2relax.backends.transformed_weights import transform_params
    from relay2relax.backends.tvm.limits import within_limits
    from relay2relax.backends.vm.executable import Executable

__all__ = [
    "Executable",
    "VirtualMachine",
    "build",
    "check_kernels",
    "create_executor",
    "export_c",
    "get_calibration_data",
    "libraries",
    "library_files",
    "load_executor",
    "register_func",
    "schedule_module",
    "transform_params",
    "within_limits",
]
