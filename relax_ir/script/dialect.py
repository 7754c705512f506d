"""What the dialects of TVMScript spell differently in Relax.

``tir.printer`` has the same table for TensorIR.

``tvm`` is the one text that TVM 0.25, 0.26 and 0.27 all read; ``tvm-0.18`` is the classic form,
0.16–0.19. The three do not agree about one word: how ``R.call_pure_packed`` says what it returns.
``tvm-0.25`` and ``tvm-0.27`` (0.26 and 0.27) are ``tvm`` with that word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from relay2relax.core.errors import UnsupportedError
from relay2relax.ops.registry.record import OpDef


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect.

    ``prim_funcs`` is the dialect of its TensorIR. ``scalars_last`` says that ``call_tir`` takes
    scalars as ``tir_vars``, and its PrimFuncs after their results. ``result`` is the keyword of a
    packed call's result, None where its releases do not agree about one; ``release`` is the newest
    one whose operators may be written, "" for no bound. ``implied`` are keywords that they do not
    have, with the value that is built into their operator. ``empty`` makes arrays.
    ``names_scalars`` says that a scalar and the dimension that it is have two names, as in
    ``k: R.Prim(value="k_1")``.
    """

    name: str
    tir: str
    prim_funcs: str = "tvm"
    call_tir_out: str = ""
    scalars_last: bool = False
    result: str | None = None
    release: str = ""
    implied: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    empty: str = "tvm.runtime.empty"
    names_scalars: bool = False

    def lacks(self, op: OpDef, attrs: Any) -> str:
        """Return what keeps a call of ``op`` from being written in this dialect, nothing where it
        can be.
        """
        script = op.script
        if script is None:
            return f"Relax has no operator for {op.name}"
        if self.release and _number(script.since) > _number(self.release):
            return f"dialect {self.name} has no operator R.{script.name}"
        for (name, keyword), built_in in self.implied.items():
            if name == script.name and getattr(attrs, keyword) != built_in:
                return f"dialect {self.name} has R.{name} with {keyword}={built_in!r} only"
        return ""

    @property
    def imports(self) -> tuple[str, ...]:
        """The imports that a script needs as a Python file."""
        return (
            "from tvm.script import ir as I",
            f"from tvm.script import {self.tir} as T",
            "from tvm.script import relax as R",
        )


def _number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


# Axes of physical memory, which R.layout_transform does not name any more since 0.26.
_NO_SEPARATORS = {("layout_transform", "axis_separators"): None, ("layout_transform", "input_axis_separators"): None}

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("tvm", tir="tirx", implied=_NO_SEPARATORS),
        Dialect("tvm-0.25", tir="tirx", result="sinfo_args", names_scalars=True),
        Dialect("tvm-0.27", tir="tirx", result="ty_args", implied=_NO_SEPARATORS),
        Dialect(
            "tvm-0.18",
            tir="tir",
            prim_funcs="tvm-0.18",
            empty="tvm.nd.empty",
            names_scalars=True,
            call_tir_out="out_sinfo=",
            scalars_last=True,
            result="sinfo_args",
            release="0.18",
            implied={("nn.batch_norm", "training"): False, ("take", "mode"): "fast"},
        ),
    )
}  # fmt: skip


def dialect_of_version(version: str) -> str:
    """Return the dialect for one release of TVM from 0.25 on, which says more than the common
    one.
    """
    return "tvm-0.25" if version.startswith("0.25.") else "tvm-0.27"


def find_dialect(name: str) -> Dialect:
    """Return the dialect ``name``; raises UnsupportedError where there is none."""
    if name not in DIALECTS:
        raise UnsupportedError(f"unknown TVMScript dialect {name!r}; there are {', '.join(DIALECTS)}")
    return DIALECTS[name]
