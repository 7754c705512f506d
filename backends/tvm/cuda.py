"""What apache-tvm makes of a module for GPUs, and what NVIDIA's compiler makes of that.

Neither needs a GPU: on a machine without one apache-tvm writes sources and compiles nothing, so
that its build succeeds says little. nvrtc, from the wheels of the extra ``cuda``, compiles them.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relay2relax.backends.gpu.device import DEFAULT_ARCH, DEVICES, Device
from relay2relax.backends.tvm.limits import within_limits
from relay2relax.core.errors import CompilerError, Diagnostic, UnsupportedError
from relay2relax.core.errors.table import running
from relay2relax.relax_ir.ir.expr import IRModule
from relay2relax.relax_ir.tvm_bridge import to_tvm, tvm_errors

# What apache-tvm calls modules whose source is a GPU's.
_LANGUAGES = frozenset({"cuda", "opencl", "metal", "webgpu", "vulkan"})
# After it what the host does and what the GPU does are functions apart.
_SPLIT = "tirx.SplitHostDevice"
_MEND = "pip install 'relay2relax[cuda]'"
# What apache-tvm compiles with, fast approximations of functions included.
_OPTIONS = (
    "-default-device",
    "--device-int128",
    "--use_fast_math",
    "--ptxas-options=-v",
    "--ptxas-options=--register-usage-level=10",
)
_RESOURCES = re.compile(
    r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads"
    r".*?Used (\d+) registers([^\n]*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """What a compiled kernel takes: registers of a thread, bytes that it spills, and bytes of
    shared memory of a block.
    """

    name: str
    registers: int
    spilled: int
    shared: int


def gpu_target(kind: str = "cuda", arch: str = "sm_80") -> dict[str, Any]:
    """Return the target that apache-tvm is given for GPUs of ``kind``."""
    return {"kind": kind, "arch": arch} if kind == "cuda" else {"kind": kind}


def device_sources(mod: IRModule, target: Mapping[str, Any]) -> list[str]:
    """Return the sources of the kernels that apache-tvm's default pipeline makes of ``mod``.

    Raises TvmError where it cannot, and UnsupportedError for what cannot be lowered.
    """
    module = to_tvm(within_limits(mod, device_for(target)))
    import tvm
    from tvm import relax

    with tvm_errors(f"apache-tvm cannot build the module for {target['kind']}"), host_is_watched() as touching:
        built = relax.build(module, target=tvm.target.Target(dict(target), host="llvm"))
    refuse_touching(touching)
    return _sources(built.mod)


def device_for(target: Mapping[str, Any]) -> Device:
    """Return the device whose kernels a target is given; for others than NVIDIA's, and for newer
    ones, any will do.
    """
    return DEVICES.get(str(target.get("arch")), DEVICES[DEFAULT_ARCH])


@contextmanager
def host_is_watched() -> Iterator[list[str]]:
    """Build within, and give the functions of which a part that writes tensors is the host's.

    apache-tvm builds such functions: loops of theirs that its schedules did not bind to threads.
    On a machine with a GPU the processor then reads the GPU's memory, which ends the process.
    """
    import tvm
    import tvm_ffi

    found: list[str] = []
    if not hasattr(tvm_ffi, "structural_walk"):  # before apache-tvm 0.27
        yield found
        return
    walk: Callable[..., None] = tvm_ffi.structural_walk
    on_gpu: set[str] = set()

    class Watch:
        def run_before_pass(self, mod: Any, info: Any) -> None:
            if info.name == _SPLIT:
                targets = {var.name_hint: (func.attrs or {}).get("target") for var, func in mod.functions.items()}
                on_gpu.update(name for name, target in targets.items() if target is not None and "gpu" in target.keys)

        def run_after_pass(self, mod: Any, info: Any) -> None:
            for var, func in mod.functions.items() if info.name == _SPLIT else ():
                stores: list[Any] = []
                if var.name_hint in on_gpu:
                    walk(func.body, (tvm.tirx.BufferStore, stores.append), order="post")
                if stores:
                    found.append(var.name_hint)

    around = tvm.transform.PassContext.current()
    instruments = [tvm.instrument.pass_instrument(Watch)()]
    with tvm.transform.PassContext(around.opt_level, config=dict(around.config), instruments=instruments):
        yield found


def refuse_touching(functions: Sequence[str]) -> None:
    """Raise UnsupportedError where the host would write the tensors of ``functions``."""
    if functions:
        title = (
            f"apache-tvm leaves a part of {', '.join(functions)} to the processor, which cannot write a GPU's memory"
        )
        help = "kernels of `convert --schedule cuda` are all on the GPU"
        raise UnsupportedError(Diagnostic(title, help=help, kind=running.NOT_ON_BACKEND))


def _sources(module: Any) -> list[str]:
    own = [str(module.inspect_source())] if module.kind in _LANGUAGES else []
    return own + [source for one in module.imports for source in _sources(one)]


def _headers() -> list[Path]:
    """Return the folders with CUDA's headers that wheels have brought."""
    found = importlib.util.find_spec("nvidia")
    folders = [Path(one) for one in (found.submodule_search_locations or ())] if found is not None else []
    roots = sorted(one / "include" for folder in folders for one in folder.glob("cu[0-9]*"))
    return [folder for root in reversed(roots) for folder in (root, root / "cccl") if folder.is_dir()]


def nvrtc_problem() -> str | None:
    """Return why nvrtc cannot compile here, None where it can."""
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.bindings") is None:
        return "cuda-bindings is not installed"
    return None if _headers() else "CUDA's headers are not installed"


def compile_cuda(source: str, arch: str = "sm_80") -> tuple[Kernel, ...]:
    """Compile a CUDA source as apache-tvm writes it, and return what its kernels take.

    Raises CompilerError where nvrtc is missing or refuses the source.
    """
    return compiled(source, arch)[1]


def compiled(source: str, arch: str = "sm_80") -> tuple[bytes, tuple[Kernel, ...]]:
    """Compile a CUDA source with the options that apache-tvm gives nvrtc; return what the driver
    loads, and what its kernels take.

    Raises CompilerError where nvrtc is missing or refuses the source.
    """
    problem = nvrtc_problem()
    if problem is not None:
        raise CompilerError(Diagnostic(f"nvrtc cannot compile: {problem}", help=_MEND))
    from cuda.bindings import nvrtc

    text = source.replace("#include <cuda.h>", "")
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernels.cu", 0, [], [])
    options = [f"--gpu-architecture={arch}", *_OPTIONS, *(f"-I{folder}" for folder in _headers())]
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [one.encode() for one in options])
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = bytes(size)
        nvrtc.nvrtcGetProgramLog(program, log)
        said = log.decode(errors="replace")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            first = [line for line in said.splitlines() if "error" in line][:3]
            raise CompilerError(Diagnostic(f"nvrtc refuses the source for {arch}: {'; '.join(first)}"))
        _, size = nvrtc.nvrtcGetCUBINSize(program)
        code = bytes(size)
        nvrtc.nvrtcGetCUBIN(program, code)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return code, tuple(_kernel(*found) for found in _RESOURCES.findall(said))


def _kernel(name: str, stores: str, loads: str, registers: str, rest: str) -> Kernel:
    shared = re.search(r"(\d+) bytes smem", rest)
    return Kernel(name, int(registers), int(stores) + int(loads), int(shared[1]) if shared else 0)


def joined_sources(sources: Sequence[str]) -> str:
    """Return CUDA sources of several modules as one, with kernels of names of their own.

    Most of the compiler's time goes into the headers that each begins with.
    """
    heads = [source.partition('extern "C" __global__') for source in sources]
    # Half numbers and infinities bring definitions of their own: the longest head has most of them.
    longest = max((head for head, _, _ in heads), key=len, default="")
    included = dict.fromkeys(line for head, _, _ in heads for line in head.splitlines() if line.startswith("#include"))
    parts = [*(line for line in included if line not in longest and line != "#include <cuda.h>"), longest]
    for number, (_, mark, rest) in enumerate(heads):
        parts.append(re.sub(r"\b(\w+_kernel(?:_\d+)?)\b", rf"\1_of_{number}", mark + rest))
    return "\n".join(parts)
