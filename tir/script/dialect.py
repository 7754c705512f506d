"""What the releases of TVM spell differently in TVMScript, as data for readers and printers.

``tvm`` is the one text that TVM 0.25, 0.26 and 0.27 all read; ``tvm-0.18`` is the classic form,
0.16–0.19. The three of today do not agree about one word: how ``R.call_pure_packed`` says what it
returns. ``tvm-0.25`` and ``tvm-0.27`` (0.26 and 0.27) are ``tvm`` with that word.

Which operators of Relax a dialect lacks stands in ``relax_ir.script.dialect``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import tensor_programs
from relay2relax.core.words import Code, code

_TODAY = {"fmod": "truncmod"}
# Until 0.23 T.round took ties away from zero; nearbyint is what T.round means since.
_CLASSIC = {"fmod": "truncmod", "round": "nearbyint"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect.

    ``release`` is the newest one whose operators may be written, "" for no bound.

    Of modules: ``tir`` is the namespace of tensor programs, ``empty`` makes arrays.

    Of Relax: ``scalars_last`` says that ``call_tir`` takes scalars as ``tir_vars``, and its
    PrimFuncs after their results. ``result`` is the keyword of a packed call's result, None where
    its releases do not agree about one. ``names_scalars`` says that a scalar and the dimension that
    it is have two names, as in ``k: R.Prim(value="k_1")``.

    Of tensor programs: ``today`` says that attributes of the whole program stand in a dictionary,
    and that assertions name a kind of error. ``attributes`` is how the names of functions'
    attributes begin. ``intrinsics`` are functions under other names than ours, ``no_intrinsics``
    those that there are none for.
    """

    name: str
    release: str = ""
    # Modules.
    tir: Code = code("tirx")
    empty: Code = code("tvm.runtime.empty")
    # Relax.
    call_tir_out: Code = code("")
    scalars_last: bool = False
    result: Code | None = None
    names_scalars: bool = False
    # Tensor programs.
    decorator: Code = code("s_tir=True")
    block: Code = code("T.sblock")
    block_attributes: Code = code("T.sblock_attr")
    block_buffer: Code = code("T.sblock_alloc_buffer")
    memory: Code = code("T.alloc_buffer")
    attributes: str = "tirx."
    today: bool = True
    true: Code = code("True")
    false: Code = code("False")
    intrinsics: Mapping[str, str] = field(default_factory=lambda: _TODAY)
    no_intrinsics: frozenset[str] = frozenset()

    @property
    def imports(self) -> tuple[Code, ...]:
        """The imports that a script needs as a Python file."""
        return (
            code("from tvm.script import ir as I"),
            code("from tvm.script import {} as T", self.tir),
            code("from tvm.script import relax as R"),
        )


TODAY = Dialect("tvm")
CLASSIC = Dialect(
    "tvm-0.18",
    release="0.18",
    tir=code("tir"),
    empty=code("tvm.nd.empty"),
    names_scalars=True,
    call_tir_out=code("out_sinfo="),
    scalars_last=True,
    result=code("sinfo_args"),
    decorator=code(""),
    block=code("T.block"),
    block_attributes=code("T.block_attr"),
    block_buffer=code("T.alloc_buffer"),
    # Without `data=` it is memory of its own, in whatever follows; T.alloc_buffer belongs to the
    # block around it.
    memory=code("T.decl_buffer"),
    attributes="tir.",
    today=False,
    true=code("T.bool(True)"),
    false=code("T.bool(False)"),
    intrinsics=_CLASSIC,
    no_intrinsics=frozenset({"fma"}),
)
DIALECTS = {
    dialect.name: dialect
    for dialect in (
        TODAY,
        Dialect("tvm-0.25", result=code("sinfo_args"), names_scalars=True),
        Dialect("tvm-0.27", result=code("ty_args")),
        CLASSIC,
    )
}

# Functions of the T namespace that take their arguments as they stand. On floats T.truncmod is C's
# fmod.
INTRINSICS = frozenset(
    """
    exp exp2 exp10 log log2 log10 log1p sqrt rsqrt tanh sigmoid erf sin cos tan asin acos atan sinh cosh asinh
    acosh atanh atan2 floor ceil trunc round nearbyint fabs abs pow fmod copysign hypot isnan isinf isfinite
    likely if_then_else popcount clz fma
    """.split()  # noqa: SIM905
)

_CLASSIC_WORDS = re.compile(
    r"\btvm\.script\s+import\s+[^\n]*\btir\b|\bT\.block\b|\bT\.block_attr\b|\bT\.Buffer\[|\"tir\.noalias\""
)
_TODAYS_WORDS = re.compile(r"\bimport\s+[^\n]*\btirx\b|\bT\.sblock|\bs_tir\s*=|\bT\.let\b|\"tirx\.noalias\"")


def dialect_of(text: str) -> Dialect:
    """Return the dialect that ``text`` is in: ``tvm`` unless its words are classic ones.

    A few words of TVM 0.16–0.23 mean something else than today.
    """
    return CLASSIC if _CLASSIC_WORDS.search(text) and not _TODAYS_WORDS.search(text) else TODAY


def dialect_of_version(version: str) -> str:
    """Return the name of the dialect for one release of TVM from 0.25 on, which says more than
    the common one.
    """
    return "tvm-0.25" if version.startswith("0.25.") else "tvm-0.27"


def find_dialect(name: str) -> Dialect:
    """Return the dialect ``name``; raises UnsupportedError where there is none."""
    if name not in DIALECTS:
        raise UnsupportedError(
            f"unknown TVMScript dialect {name!r}; there are {', '.join(DIALECTS)}", kind=tensor_programs.NOT_EXPRESSED
        )
    return DIALECTS[name]
