"""Other machines that code can be made for: their compilers, and how those name a processor."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from relay2relax.core.errors import CompilerError, Diagnostic

# What people call a machine, and the triple that compilers know.
TRIPLES: Mapping[str, str] = {
    "aarch64": "aarch64-linux-gnu",
    "riscv64": "riscv64-linux-gnu",
    "x86_64": "x86_64-linux-gnu",
    "wasm32": "wasm32-wasi",
}
# Bits of a vector where a processor, or one with that instruction set, has wider ones by SVE than
# by NEON; on others NEON is as wide.
_SVE_BITS: Mapping[str, int] = {"a64fx": 512, "neoverse-v1": 256, "armv8.2-a+sve": 256}
# What every engine of WebAssembly has had since 2023; a processor is only asked for by its name.
_LEAST = {"wasm32": "generic+simd128"}
_ZIG = "-m ziglang cc"


@dataclass(frozen=True, slots=True)
class Platform:
    """What code is made for.

    ``triple`` says machine, system and library, "" for this machine; ``cpu`` is the processor and
    ``march`` the instruction set, as C compilers call them. At most one of the two is given; with
    none it is what the compiler takes for every processor of the triple.
    """

    triple: str = ""
    cpu: str = ""
    march: str = ""

    @property
    def arch(self) -> str:
        """The first word of the triple."""
        return self.triple.partition("-")[0]

    @property
    def named(self) -> str:
        """The processor or instruction set that was asked for, else the triple."""
        return self.cpu or self.march or self.triple

    def flags(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return what tells the compiler ``command`` the processor."""
        zig = is_zig(command)
        cpu = self.cpu or (_LEAST.get(self.arch, "") if not self.march else "")
        wide = _SVE_BITS.get(cpu or self.march)
        sve = (f"-msve-vector-bits={wide}",) if wide else ()
        if zig:
            chosen = cpu or self.march
            return (f"-mcpu={_zig_name(chosen)}", *sve) if chosen else ()
        if self.march or not cpu:
            return (f"-march={self.march}", *sve) if self.march else ()
        # gcc and clang call by -mcpu, on x86, something else.
        x86 = (self.arch or "x86") in ("x86", "x86_64", "i386") and not wide
        return (f"-march={cpu}",) if x86 else (f"-mcpu={cpu}", *sve)


NATIVE = Platform(march="native")


def is_zig(command: tuple[str, ...]) -> bool:
    """Return whether a compiler is that of the ziglang wheel, or of an installed Zig."""
    return _ZIG in shlex.join(command) or command[0].endswith("zig")


def _zig_name(name: str) -> str:
    """Return what Zig calls a processor: words are joined by underscores, and features follow.

    An instruction set of ARM is a feature of the generic processor.
    """
    processor, plus, features = name.partition("+")
    version = re.fullmatch(r"armv(\d)(?:\.(\d))?-a", processor)
    if version is not None:
        number = "_".join(filter(None, version.groups()))
        return f"generic+v{number}a{plus}{features}"
    return processor.replace("-", "_").replace(".", "_") + plus + features


def platform_of(target: str, cpu: str, march: str) -> Platform:
    """Return the platform of a target, by its short name or triple, and a processor."""
    return Platform(TRIPLES.get(target, target), cpu, march)


def cross_compiler(triple: str, path: str) -> tuple[str, ...]:
    """Return the command of a compiler for ``triple``: the system's ``TRIPLE-gcc``, else the one of
    the ziglang wheel.

    Raises CompilerError where there is neither.
    """
    gcc = f"{triple}-gcc"
    if shutil.which(gcc, path=path) is not None:
        return (gcc,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, *_ZIG.split(), "-target", triple)
    help = f"install {gcc} (Debian: gcc-{triple}), or the extra: pip install 'relay2relax[cc]'"
    raise CompilerError(Diagnostic(f"there is no C compiler for {triple!r}", help=help))


def archiver(command: tuple[str, ...]) -> str:
    """Return the program that makes archives of what ``command``, a compiler for a triple,
    compiles.
    """
    if is_zig(command):
        return shlex.join(("python3", "-m", "ziglang", "ar"))
    return command[0].removesuffix("gcc") + "ar"
