"""What names of old TVM are called in today's apache-tvm: 0.25 to 0.27, which have no Relay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

_DEVICES = "device cpu cuda rocm opencl metal vulkan vpi ext_dev gpu=cuda cl=opencl mtl=metal context=device"
_ARRAYS = "array=tensor NDArray=Tensor empty from_dlpack"
_REGISTRY = "register_func=register_global_func get_global_func"
_STRUCTURE = "structural_equal structural_hash get_first_structural_mismatch"
_PASSES = "Pass PassContext Sequential ModulePass PassInfo module_pass PrintIR"
_WATCHING = "PassInstrument PassTimingInstrument PassPrintingInstrument PrintAfterAll PrintBeforeAll pass_instrument"
_SCALARS = "IntImm FloatImm Var const PrimFunc min_value max_value floordiv floormod any indexdiv indexmod"

# Module of old TVM, module of today's, and names in it, ``theirs=today's``.
_PLACES = (
    ("tvm", "tvm", f"IRModule {_DEVICES} {_REGISTRY} __version__"),
    *((old, "tvm.runtime", _ARRAYS) for old in ("tvm.nd", "tvm.ndarray", "tvm.runtime.ndarray", "tvm.runtime")),
    *((old, "tvm", _DEVICES) for old in ("tvm.nd", "tvm.ndarray", "tvm.runtime.ndarray", "tvm.runtime")),
    ("tvm.runtime", "tvm.runtime", "load_module save_param_dict load_param_dict Module DataType Object Device"),
    ("tvm._ffi", "tvm", _REGISTRY),
    ("tvm._ffi", "tvm_ffi", "register_object convert"),
    ("tvm.target", "tvm.target", "Target create=Target"),
    ("tvm.target.target", "tvm.target", "Target"),
    ("tvm.ir", "tvm.ir", "IRModule GlobalVar Op load_json save_json assert_structural_equal Span SourceName Range"),
    ("tvm.ir", "tvm_ffi", _STRUCTURE),
    ("tvm.ir.module", "tvm.ir", "IRModule"),
    *((old, "tvm.ir.transform", _PASSES) for old in ("tvm.transform", "tvm.ir.transform")),
    *((old, "tvm.ir.instrument", _WATCHING) for old in ("tvm.instrument", "tvm.ir.instrument")),
    ("tvm.tir", "tvm.tirx", _SCALARS),
    ("tvm.te", "tvm.te", "var const min_value max_value any Tensor compute placeholder reduce_axis sum"),
    ("tvm.topi.utils", "tvm.topi.utils", "get_const_tuple get_const_int"),
    ("tvm.contrib.cc", "tvm.support.cc", "create_shared cross_compiler get_cc"),
    ("tvm.contrib.utils", "tvm.support.utils", "tempdir TempDirectory"),
    ("tvm.testing", "tvm.testing", "assert_allclose enabled_targets device_enabled fixture parameter main"),
    ("tvm.error", "tvm.error", "InternalError OpError OpNotImplemented OpAttributeInvalid OpAttributeRequired"),
)
# What programs pass through, with what to change by hand.
_PROGRAMS = {
    "tvm.relay.frontend.from_onnx": (
        "tvm.relax.frontend.onnx", "from_onnx",
        "it takes shape_dict=, and gives the module alone: relax.frontend.detach_params takes parameters out",
    ),
    "tvm.relay.frontend.from_pytorch": (
        "tvm.relax.frontend.torch", "from_exported_program",
        "it takes torch.export.export(model, args), and gives the module alone",
    ),
    "tvm.relay.build": (
        "tvm", "compile", "it takes a module of Relax; relax.transform.BindParams binds parameters before",
    ),
    "tvm.contrib.graph_executor.GraphModule": (
        "tvm.relax", "VirtualMachine", "it takes what tvm.compile gives and a device: vm['main'](*inputs)",
    ),
    "tvm.relay.save_param_dict": ("tvm.runtime", "save_param_dict", ""),
    "tvm.relay.load_param_dict": ("tvm.runtime", "load_param_dict", ""),
}  # fmt: skip
DEVICES = frozenset(word.partition("=")[0] for word in f"{_DEVICES} Device".split())


@dataclass(frozen=True, slots=True)
class Today:
    """A name of today's apache-tvm: its module, and what a person has to look at."""

    module: str
    name: str
    by_hand: str = ""

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@lru_cache(maxsize=1)
def names() -> Mapping[str, Today]:
    """Return what each dotted name of old TVM is today, those with the same name too."""
    return dict(_names())


def _names() -> Iterator[tuple[str, Today]]:
    for old, new, listed in _PLACES:
        for word in listed.split():
            theirs, _, today = word.partition("=")
            yield f"{old}.{theirs}", Today(new, today or theirs)
    for theirs, (module, name, by_hand) in _PROGRAMS.items():
        yield theirs, Today(module, name, by_hand)


def today(dotted: str, programs: bool) -> tuple[Today, str] | None:
    """Return what the longest beginning of a dotted name is today, and what is left of the name.

    Names that programs pass through are asked for with ``programs``.
    """
    words = dotted.split(".")
    for end in range(len(words), 1, -1):
        theirs = ".".join(words[:end])
        found = names().get(theirs)
        if found is not None and (programs or theirs not in _PROGRAMS):
            return found, ".".join(words[end:])
    return None
