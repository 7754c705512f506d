"""Write docs/operators.md, the page of all operators, from their records: ``python
docs/operators.py``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from relay2relax.ops.registry.attributes import AttrField, attr_fields
from relay2relax.ops.registry.record import Expanded, OpDef, SameOp
from relay2relax.ops.registry.refusal import WITHOUT_RECORD, Refusal
from relay2relax.ops.registry.table import families, records_of

PAGE = Path(__file__).with_suffix(".md")
HEAD = """# Operators

One entry for each Relay operator, made from its record in `ops/` by `python docs/operators.py`; a test keeps it up to
date.

* **Attributes** are in Relay's order, with their kind and default; those without a default must be given.
* **Relax** says what the graph translator makes of a call: the operator of that name, several operators, or `call_tir`
  of the operator's own PrimFunc. The lower-to-TIR translator always makes the latter. A call that the Relax operators
  cannot express (constants that are not known, layouts they do not have) becomes `call_tir` as well.
* **Runs on** lists the backends. `numpy` takes every element type. `c` needs to know a result's
  shape before the program runs. `tvm` is an installed apache-tvm, which gets the Relax operators or the PrimFunc.
"""


def page() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *_index(), *_families(), *_relax_only(), *_without_record()]) + "\n"


def _index() -> Iterator[str]:
    for family in families():
        names = [op.relay for op in records_of(family) if op.relay is not None]
        if names:
            yield f"* [{_title(family)}](#{_title(family).replace(' ', '-')}): " + ", ".join(map(_code, names))
    yield ""


def _title(family: str) -> str:
    """Return the heading of a family, such as ``math.elementwise``."""
    return family.partition(".")[2].replace("_", " ")


def _families() -> Iterator[str]:
    for family in families():
        records = [op for op in records_of(family) if op.relay is not None]
        if not records:
            continue
        yield f"## {_title(family)}"
        yield ""
        yield _first_paragraph(import_module(f"relay2relax.ops.{family}").__doc__ or "")
        yield ""
        for op in records:
            yield from _entry(op)


def _entry(op: OpDef) -> Iterator[str]:
    yield f"### `{op.relay}`"
    yield ""
    yield _plain(op.doc)
    yield ""
    yield f"* Inputs: {', '.join(map(_code, op.inputs)) or 'none'}"
    attributes = attr_fields(op.attrs)
    if attributes:
        key = f" (`{op.attrs_key}`)" if op.attrs_key else ""
        yield f"* Attributes{key}: {', '.join(map(_attribute, attributes))}"
    yield f"* Result: {_result(op)}"
    yield f"* Relax: {_relax(op)}"
    yield f"* Runs on: {_backends(op)}"
    yield f"* Source: {_plain(op.source)}"
    if op.aliases:
        yield f"* Older names: {', '.join(map(_code, op.aliases))}"
    yield ""


def _attribute(field: AttrField) -> str:
    kind = field.kind + ("?" if field.optional else "")
    return f"`{field.name}: {kind}`" if field.required else f"`{field.name}: {kind} = {_default(field.default)}`"


def _default(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_default, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _result(op: OpDef) -> str:
    """Return what the record's type rule says of itself."""
    said = _first_paragraph(inspect.getdoc(op.infer) or "").removeprefix("Return ").rstrip(".")
    return said or "see the record"


def _relax(op: OpDef) -> str:
    if op.passes_through:
        return "its input"
    match op.relax:
        case SameOp():
            assert op.script is not None
            return f"`R.{op.script.name}`"
        case Expanded(expand):
            said = _first_paragraph(inspect.getdoc(expand) or "").rstrip(".")
            return f"expanded into Relax operators{': ' + said if said else ''}"
    return "none" if isinstance(op.compute, Refusal) else "`call_tir`"


def _backends(op: OpDef) -> str:
    if op.passes_through:
        return "numpy, c, tvm (nothing is computed)"
    if isinstance(op.numpy, Refusal):
        return f"none: {op.numpy.reason}"
    return "numpy" if isinstance(op.compute, Refusal) else "numpy, c, tvm"


def _relax_only() -> Iterator[str]:
    yield "## Relax operators that Relay does not have"
    yield ""
    for family in families():
        for op in records_of(family):
            if op.relay is None:
                yield f"* `R.{op.name}`: {_plain(op.doc)}"
    yield ""


def _without_record() -> Iterator[str]:
    yield "## Names without a record"
    yield ""
    for name, reason in WITHOUT_RECORD.items():
        yield f"* `{name}`: {reason}."


def _first_paragraph(text: str) -> str:
    return _plain(" ".join(text.split("\n\n")[0].split()))


def _plain(text: str) -> str:
    """Return a docstring's text as Markdown writes it."""
    return text.replace("``", "`")


def _code(text: str) -> str:
    return f"`{text}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
