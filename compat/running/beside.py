"""What needs apache-tvm itself: it runs in a process of its own, which knows no facade."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from relay2relax.compat.running.printing import teach_printing
from relay2relax.core.errors import UnsupportedError
from relay2relax.relax_ir.ir.expr import IRModule as RelaxModule
from relay2relax.relax_ir.script.parser import parse

# TVM's words for extents that are open are its own variables.
_FROM_FX = """
import sys, torch, tvm
from tvm.relax.frontend.torch import from_fx
from relay2relax.relax_ir import from_tvm
model, inputs, options = torch.load(sys.argv[1], weights_only=False)
tir = getattr(tvm, "tirx", None) or tvm.tir
names = {}
def extent(one):
    return names.setdefault(one, tir.Var(one, "int64")) if isinstance(one, str) else one
with torch.no_grad():
    mod = from_fx(model, [(list(map(extent, shape)), dtype) for shape, dtype in inputs], **options)
with open(sys.argv[2], "w", encoding="utf-8") as stream:
    stream.write(from_tvm(mod).script(show_meta=True))
"""


def from_fx(model: object, input_info: Sequence[object], **options: object) -> RelaxModule:
    """Return what apache-tvm imports of a traced module of PyTorch.

    Raises UnsupportedError where no apache-tvm is installed, or it refuses the module.
    """
    import torch

    teach_printing()

    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "model"), Path(folder, "made")
        torch.save((model, list(input_info), options), given)
        command = [sys.executable, "-c", _FROM_FX, str(given), str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["it ended"])[-1]
            raise UnsupportedError(f"from_fx of an installed apache-tvm is asked in a process of its own: {reason}")
        return parse(made.read_text(encoding="utf-8"))
