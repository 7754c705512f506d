"""The C of every kernel, as the C backend writes it where nothing is fused."""

from __future__ import annotations

from relay2relax import relax_ir
from relay2relax.backends.c.codegen.header import HEADER
from relay2relax.backends.c.codegen.program import write_units
from relay2relax.backends.c.codegen.threads import LOADED
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.schedule import fused, scheduled
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.core.errors import CompilerError, Relay2RelaxError
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.translator import Traced
from relay2relax.viewer.drawing import Drawing
from relay2relax.viewer.model import Text

# So many kernels are written; a page of all would be longer than anybody reads.
_MOST = 400


def kernels_text(lowered: Traced, drawing: Drawing) -> Text | None:
    """Return the C of the PrimFuncs of a lowered program; None where there is no C compiler, whose
    machine decides what is written.

    Kernels that cannot be written say why.
    """
    try:
        machine = find_compiler().machine
    except CompilerError:
        return None
    users: dict[str, list[int]] = {}
    for node in lowered.map.graph:
        box = drawing.of.get(node.name)
        if box is not None and node.op != "graph":
            for one in node.relax:
                name = lowered.map.relax[one].prim_func
                if name:
                    users.setdefault(name, []).append(box)
    parts: list[str] = []
    lines: list[tuple[int, int]] = []
    at = 0
    for name in list(users)[:_MOST]:
        text = f"/* {name} */\n{_kernel(lowered.module, name, machine)}"
        lines += [(box, at) for box in dict.fromkeys(users[name])]
        parts.append(text)
        at += text.count("\n") + 1
    if len(users) > _MOST:
        parts.append(f"/* {len(users) - _MOST} more kernels are left out. */")
    return Text("c", "C", "\n".join(parts), tuple(lines))


def _kernel(module: relax_ir.IRModule, name: str, machine: Machine) -> str:
    func = module[name]
    if not isinstance(func, PrimFunc):
        return "/* no PrimFunc */\n"
    try:
        units, _ = write_units([(func, scheduled(fused(func, machine), machine))], frozenset(), LOADED)
    except Relay2RelaxError as error:
        return f"/* not written: {error.diagnostics[0].title} */\n".replace("*/ */", "*/")
    text = "\n".join(unit.text for unit in units if not unit.runs_once) or units[-1].text
    return text.removeprefix(HEADER).strip() + "\n"
