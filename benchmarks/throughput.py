"""Inner loops as the compiler made them, judged without the hardware: the share of the
multiply-adds that a processor can begin, and vectors that are moved to and from the stack.

    python benchmarks/throughput.py                                 all programs, all processors
    python benchmarks/throughput.py --models "matmul 512³"          some programs of micro.py
    python benchmarks/throughput.py --processors znver3,skylake     some processors

``llvm-mca`` knows how long instructions take and which ports they wait for. Nothing is timed: a
busy machine says the same as a quiet one. ``mended`` is the share without what is known to be wrong
in LLVM's model of a processor (docs/reference/blocking.md).
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from common import table
from micro import CASES, LARGE, case
from peers import Model

from relay2relax.backends.c.export.export import library_files
from relay2relax.backends.c.toolchain import Compiler, find_compiler
from relay2relax.core.errors import CompilerError

# The versions that know the newer processors, first.
_ANALYSERS = ("llvm-mca-19", "llvm-mca-16", "llvm-mca")
_TURNS = 100
# A loop with fewer is not one of sums of products.
_LEAST = 3


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor by ``llvm-mca``'s name, how many multiply-adds on whole vectors it begins in a
    cycle, and what code for it is made for: an instruction set of this machine's compiler, or a
    target's processor; where LLVM's model of it has an error, which ``reads`` it takes for
    arithmetic, too, or that its vectors have a ``queue`` of their own, which LLVM leaves out.
    """

    name: str
    begins: float
    march: str = "native"
    target: str = ""
    reads: str = ""
    queue: bool = False

    @property
    def compiler(self) -> Compiler:
        """What compiles for it; raises CompilerError where there is none."""
        return find_compiler(self.march, self.target, self.name if self.target else "")

    @property
    def triple(self) -> str:
        """What ``llvm-mca`` calls its kind of machine."""
        return self.target or "x86_64"


PROCESSORS = (
    Processor("skylake", 2, "x86-64-v3"),
    Processor("znver3", 2, "x86-64-v3"),
    # Half of a vector at a time. What reads a number for all lanes takes a port of arithmetic, says
    # LLVM, but none where the multiply-add itself reads it.
    Processor("znver4", 1, "x86-64-v4", reads=r"\bvbroadcastss(?=\s[^%]*\(.*\), %zmm)"),
    Processor("skylake-avx512", 2, "x86-64-v4"),
    # LLVM gives it one, and takes a Cortex-A76 for a Cortex-A57, which has one.
    Processor("sapphirerapids", 1, "x86-64-v4"),
    Processor("cortex-a76", 1, target="aarch64"),
    Processor("neoverse-n1", 2, target="aarch64"),
    # Two of SVE, which are twice as wide.
    Processor("neoverse-v1", 2, target="aarch64"),
    # With the wheel's compiler: Debian's knows neither. LLVM takes the first for a Cyclone, which
    # has three.
    Processor("apple-m1", 3, target="aarch64-linux-musl"),
    # Half a vector at a time, and a cycle to begin. Vectors wait in a queue, says LLVM's
    # description, while other instructions go on; for llvm-mca all end in their order.
    Processor("sifive-x280", 1 / 3, target="riscv64-linux-musl", queue=True),
)
_FUSED = re.compile(r"\s(?:vfn?m(?:add|sub)\d+[ps][sd]|fml[as]|vfn?m(?:acc|sac|add|sub)\.v[vf])\s")
# Numbers of AArch64 begin with # as well.
_COMMENT = re.compile(r"\s*(?:#(?![\d-])|//).*")
_BRANCH = re.compile(r"\s+(?:j[a-z]+|b\.?[a-z]*|t?cbn?z|tbn?z)\s+(?:.*,\s*)?(\.L\w+)")
_LABEL = re.compile(r"(\.L\w+):")
# LLVM has to be told how vectors of RISC-V are used: each is a register.
_ASSUMED = {"riscv64": ("# LLVM-MCA-RISCV-LMUL M1", "# LLVM-MCA-RISCV-SEW E32")}
_STORED = re.compile(r"\s(?:v?mov[au]p[sd]\s+%[xyz]mm\d+, [^%]|st[rp]\s+[qvd]\d|st1|vs\d?e\d+)")
_STACK = re.compile(r"[xyz]mm\d+.*\(%rsp\)|\(%rsp\).*[xyz]mm\d+|\b[qvz]\d+\b.*\[sp")


@dataclass(frozen=True, slots=True)
class Loop:
    """An innermost loop: its instructions, how many of them multiply and add, and how many move
    vectors from or to the stack.
    """

    lines: tuple[str, ...]
    fused: int
    spilled: int


def inner_loops(assembly: str) -> Iterator[Loop]:
    """Yield the innermost loops of sums of products in a compiled file, in order: those that keep
    what they multiply and add, or move it to the stack.
    """
    lines = [_COMMENT.sub("", line).rstrip() for line in assembly.splitlines()]
    labels = {found[1]: number for number, line in enumerate(lines) if (found := _LABEL.fullmatch(line))}
    turns: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        branch = _BRANCH.fullmatch(line)
        begin = labels.get(branch[1], number) if branch else number
        if begin < number:
            turns.append((begin, number))
    for begin, end in turns:
        if any((b, e) != (begin, end) and begin <= b and e <= end for b, e in turns):
            continue
        body = tuple(one for one in lines[begin + 1 : end + 1] if re.match(r"\s+[^.\s]", one))
        fused = sum(bool(_FUSED.search(one)) for one in body)
        spilled = sum(bool(_STACK.search(one)) for one in body)
        if fused >= _LEAST and (spilled or not any(_STORED.search(one) for one in body)):
            yield Loop(body, fused, spilled)


def analyser() -> str | None:
    """Return the newest ``llvm-mca`` there is."""
    return next(filter(shutil.which, _ANALYSERS), None)


def share(loop: Loop, processor: Processor, mended: bool = False) -> float | None:
    """Return the multiply-adds that ``processor`` begins in the loop, as a share of those it could;
    ``mended``, without what is known to be wrong in LLVM's model of it.

    All data are at hand. None where there is no ``llvm-mca``, or it does not know the processor.
    """
    lines = loop.lines
    if mended and processor.reads:
        lines = tuple(re.sub(processor.reads, "vmovups", one) for one in lines)
    found = cycles(lines, processor, processor.queue and mended)
    return None if found is None else loop.fused / processor.begins / found


def cycles(lines: Sequence[str], processor: Processor, queue: bool = False) -> float | None:
    """Return the cycles of a turn of a loop; with a ``queue``, for which nothing waits, those
    that the busiest part of the processor takes.
    """
    found = analyser()
    if found is None:
        return None
    command = [found, f"-mtriple={processor.triple}", f"-mcpu={processor.name}", f"-iterations={_TURNS}"]
    lines = (*_ASSUMED.get(processor.triple.partition("-")[0], ()), *lines)
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
    total = re.search(r"Block RThroughput:\s+([\d.]+)" if queue else r"Total Cycles:\s+(\d+)", done.stdout)
    known = total is not None and "not a recognized processor" not in done.stderr
    return float(total[1]) / (1 if queue else _TURNS) if total and known else None


@lru_cache(maxsize=None)
def assembly(name: str, processor: Processor) -> str:
    """Return the kernels of a program of ``micro.py`` as the compiler for a processor made them."""
    compiler, cpu = processor.compiler, processor.name if processor.target else ""
    with tempfile.TemporaryDirectory() as folder:
        texts = library_files(Model(case(name)).relax(), "m", processor.march, target=processor.target, cpu=cpu)
        made = []
        for file, content in texts.items():
            if file.startswith("m_kernels") and isinstance(content, bytes):
                path = Path(folder, file)
                path.write_bytes(content)
                made.append(_compiled(compiler, path))
    return "\n".join(made)


def _compiled(compiler: Compiler, path: Path) -> str:
    # Zig takes "-" for the name of a file.
    made = path.with_suffix(".s")
    command = [*compiler.command, *compiler.flags, "-O3", "-S", "-o", str(made), str(path)]
    subprocess.run(command, capture_output=True, text=True, check=True)
    return made.read_text()


def main() -> None:
    """Print a row for every inner loop of every program on every processor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    products = [name for name, one in {**CASES, **LARGE}.items() if one.operations]
    parser.add_argument("--models", type=lambda text: text.split(","), default=products)
    parser.add_argument("--processors", type=lambda text: text.split(","), default=[one.name for one in PROCESSORS])
    given = parser.parse_args()
    rows = []
    for processor in (one for one in PROCESSORS if one.name in given.processors):
        try:
            print(f"{processor.name}: {processor.compiler}", flush=True)
        except CompilerError as error:
            print(f"{processor.name}: left out, {error.diagnostics[0].title}")
            continue
        for name in given.models:
            for loop in inner_loops(assembly(name, processor)):
                found = [share(loop, processor, mended) for mended in (False, True)]
                reached = ["not known" if one is None else f"{one:.0%}" for one in found]
                rows.append([processor.name, name, str(loop.fused), str(loop.spilled), *reached])
    table("Inner loops of products", ["processor", "program", "multiply-adds", "spilled", "share", "mended"], rows)


if __name__ == "__main__":
    main()
