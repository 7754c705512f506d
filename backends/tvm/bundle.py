"""Libraries that apache-tvm's runtime runs alone, without its compiler or that of CUDA.

On a machine without a GPU apache-tvm puts the source of its kernels into what it exports, and
whoever loads that needs a compiler. Here nvrtc compiles the sources first, as apache-tvm would on
the machine with the GPU, and the library gets what it made of them.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from relay2relax.backends.tvm.cuda import compiled, device_for, gpu_target, host_is_watched, refuse_touching
from relay2relax.backends.tvm.limits import within_limits
from relay2relax.relax_ir.ir.expr import IRModule
from relay2relax.relax_ir.tvm_bridge import to_tvm, tvm_errors

_LIBRARY = b"_lib"
_SYMBOL = "__tvm_ffi__library_bin"


def runtime_library(mod: IRModule, arch: str | None = None, graphs: bool = False) -> bytes:
    """Return ``mod``, built by apache-tvm's default pipeline, as a shared library: for this
    processor, or for GPUs of ``arch``, there with launches as CUDA graphs where ``graphs``.

    Raises TvmError where apache-tvm cannot build it, UnsupportedError for what cannot be lowered,
    and CompilerError where nvrtc is needed and missing.
    """
    module = to_tvm(within_limits(mod, None if arch is None else device_for({"arch": arch})))
    import tvm
    from tvm import relax

    kind = "llvm" if arch is None else "cuda"
    target = tvm.target.Target("llvm") if arch is None else tvm.target.Target(gpu_target("cuda", arch), host="llvm")
    config = {"relax.backend.use_cuda_graph": True} if graphs else {}
    passes = tvm.transform.PassContext(opt_level=3, config=config)
    with tvm_errors(f"apache-tvm cannot build the module for {kind}"), passes, host_is_watched() as touching:
        built = relax.build(module, target=target)
    refuse_touching(touching)
    sources = [str(one.inspect_source()) for one in _imports(built.mod) if one.kind == "cuda"]
    kernels = {one.encode(): compiled(one, arch)[0] for one in sources} if arch is not None else {}
    with tvm_errors("apache-tvm cannot write the library"), tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "library.so"
        built.mod.export_library(str(made), fpack_imports=_packer(kernels) if kernels else None)
        return made.read_bytes()


def _packer(kernels: Mapping[bytes, bytes]) -> Callable[..., str]:
    """Return what writes the modules that a library imports as a file for the host's compiler."""

    def pack(module: Any, _system: bool, _prefix: str, folder: str) -> str:
        import tvm

        packed = bytes(tvm.runtime._ffi_api.ModulePackImportsToTensor(module).numpy())
        blob, text = Path(folder) / "kernels.bin", Path(folder) / "kernels.c"
        blob.write_bytes(with_kernels(packed, kernels))
        text.write_text(
            f'__asm__(".section .rodata\\n.global {_SYMBOL}\\n.balign 16\\n{_SYMBOL}:\\n.incbin \\"{blob}\\"\\n");\n'
        )
        return str(text)

    return pack


def _imports(module: Any) -> Iterator[Any]:
    """Yield the modules that a library imports, and that those import."""
    found: list[Any] = [*module.imports]
    while found:
        one = found.pop()
        yield one
        found.extend(one.imports)


def with_kernels(packed: bytes, kernels: Mapping[bytes, bytes]) -> bytes:
    """Return the modules that a library imports, as apache-tvm packs them, with what was compiled
    in place of its source.

    Packed are a length, two lists of numbers, and for each module its kind and, unless it is the
    library itself, its bytes; those of one for CUDA are a format, a table of functions, the code.
    """
    place = 8
    for _ in range(2):
        place += 8 + 8 * _number(packed, place)
    made = [packed[8:place]]
    while place < len(packed):
        kind, place = _string(packed, place)
        made.append(_framed(kind))
        if kind == _LIBRARY:
            continue
        held, place = _string(packed, place)
        made.append(_framed(_compiled(held, kernels) if kind == b"cuda" else held))
    return _framed(b"".join(made))


def _compiled(held: bytes, kernels: Mapping[bytes, bytes]) -> bytes:
    form, after = _string(held, 0)
    if form != b"cuda":
        # There is a GPU here: apache-tvm has compiled it.
        return held
    source = next(one for one in kernels if held.endswith(_framed(one)))
    return _framed(b"cubin") + held[after : len(held) - len(_framed(source))] + _framed(kernels[source])


def _number(data: bytes, place: int) -> int:
    (number,) = struct.unpack_from("<Q", data, place)
    return int(number)


def _string(data: bytes, place: int) -> tuple[bytes, int]:
    end = place + 8 + _number(data, place)
    return data[place + 8 : end], end


def _framed(data: bytes) -> bytes:
    return struct.pack("<Q", len(data)) + data
