"""Which operators of Relax, and which of their arguments, a dialect of TVMScript lacks.

What the dialects spell differently stands in ``tir.script.dialect``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from relay2relax.ops.registry.record import OpDef
from relay2relax.tir.script.dialect import CLASSIC, Dialect

# Axes of physical memory, which R.layout_transform does not name any more since 0.26.
_NO_SEPARATORS = {"axis_separators": None, "input_axis_separators": None}
# Keywords that no release of a dialect has, with the value that is built into their operator.
_IMPLIED: dict[tuple[str, str], Mapping[str, object]] = {
    ("tvm", "layout_transform"): _NO_SEPARATORS,
    ("tvm-0.27", "layout_transform"): _NO_SEPARATORS,
    (CLASSIC.name, "nn.batch_norm"): {"training": False},
    (CLASSIC.name, "take"): {"mode": "fast"},
}
_NOTHING: Mapping[str, object] = MappingProxyType({})


def implied(dialect: Dialect, operator: str) -> Mapping[str, object]:
    """Return the values of the arguments of ``R.operator`` that ``dialect`` cannot say."""
    return _IMPLIED.get((dialect.name, operator), _NOTHING)


def lacks(dialect: Dialect, op: OpDef, attrs: object) -> str:
    """Return what keeps a call of ``op`` from being written in ``dialect``, nothing where it can
    be.
    """
    script = op.script
    if script is None:
        return f"Relax has no operator for {op.name}"
    if dialect.release and _number(script.since) > _number(dialect.release):
        return f"dialect {dialect.name} has no operator R.{script.name}"
    for keyword, built_in in implied(dialect, script.name).items():
        if getattr(attrs, keyword) != built_in:
            return f"dialect {dialect.name} has R.{script.name} with {keyword}={built_in!r} only"
    return ""


def _number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))
