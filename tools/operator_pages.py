"""Write docs/reference/operators, a page of operators for each room of ``ops/``, from their
records: ``python tools/operator_pages.py``.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from relay2relax.ops.registry.attributes import AttrField, attr_fields
from relay2relax.ops.registry.record import Expanded, OpDef, Otherwise, SameOp
from relay2relax.ops.registry.refusal import WITHOUT_RECORD, Refusal
from relay2relax.ops.registry.table import families, records_of
from relay2relax.tir.ir.expr import FloatImm

PAGES = Path(__file__).resolve().parents[1] / "docs" / "reference" / "operators"
COLUMNS = 100
INTRODUCTION = """One entry for each Relay operator, made from its record in `ops/` by
`python tools/operator_pages.py`; a test keeps the pages up to date."""
MEANINGS = (
    "**Attributes** are in Relay's order, with their kind and default; those without a default must be given.",
    "**Bad values** says what becomes of elements of inputs that the operator has no use for, on every backend of "
    "ours. Nothing outside of a tensor is read or written. What is refused is an `ExecutionError`.",
    "**Relax** says what the graph translator makes of a call: the operator of that name, several operators, or "
    "`call_tir` of the operator's own PrimFunc. The lower-to-TIR translator always makes the latter. A call that the "
    "Relax operators cannot express (constants that are not known, layouts they do not have) becomes `call_tir` as "
    "well.",
    "**Runs on** lists the backends. `numpy` takes every element type. `c` needs to know a result's shape before the "
    "program runs. `tvm` is an installed apache-tvm, which gets the Relax operators or the PrimFunc.",
)


def pages() -> dict[str, str]:
    """Return the text of every page by its file's name: an index, and one for each room."""
    rooms = dict.fromkeys(_room(family) for family in families() if _relay_records(family))
    texts = {f"{room}.md": _text(_room_page(room)) for room in rooms}
    return {"index.md": _text(_index(tuple(rooms))), **texts}


def write(folder: Path = PAGES) -> None:
    """Write all pages to ``folder``, and remove those of rooms that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    found = pages()
    for old in folder.glob("*.md"):
        if old.name not in found:
            old.unlink()
    for name, text in found.items():
        (folder / name).write_text(text, encoding="utf-8")


def _text(lines: Iterator[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def _index(rooms: Sequence[str]) -> Iterator[str]:
    yield from ("# Operators", "", INTRODUCTION, "")
    for meaning in MEANINGS:
        yield from _bullet(meaning)
    yield ""
    for room in rooms:
        yield from (f"## [{room}]({room}.md)", "")
        for family in _families_of(room):
            names = [_code(op.relay or "") for op in _relay_records(family)]
            if names:
                yield from _bullet(f"[{_title(family)}]({room}.md#{_anchor(family)}): {', '.join(names)}")
        yield ""
    yield from _relax_only()
    yield from _without_record()


def _room_page(room: str) -> Iterator[str]:
    yield from (f"# Operators: {room}", "", INTRODUCTION, "What the entries say is told in [Operators](index.md).", "")
    for family in _families_of(room):
        records = _relay_records(family)
        if not records:
            continue
        yield from (f"## {_title(family)}", "")
        yield from _wrapped(_first_paragraph(import_module(f"relay2relax.ops.{family}").__doc__ or ""))
        yield ""
        for op in records:
            yield from _entry(op)


def _families_of(room: str) -> list[str]:
    return [family for family in families() if _room(family) == room]


def _relay_records(family: str) -> list[OpDef]:
    return [op for op in records_of(family) if op.relay is not None]


def _room(family: str) -> str:
    """Return the room of a family, such as ``math`` of ``math.elementwise``."""
    return family.partition(".")[0]


def _title(family: str) -> str:
    """Return the heading of a family, such as ``math.elementwise``."""
    return family.partition(".")[2].replace("_", " ")


def _anchor(family: str) -> str:
    return _title(family).replace(" ", "-")


def _bullet(text: str) -> Iterator[str]:
    yield from _wrapped(f"* {text}", "  ")


def _wrapped(text: str, indent: str = "") -> Iterator[str]:
    """Yield the lines of a paragraph; code is not broken."""
    whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(whole, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    yield from (line.replace("\0", " ") for line in lines)


def _entry(op: OpDef) -> Iterator[str]:
    yield from (f"### `{op.relay}`", "")
    yield from _wrapped(_plain(op.doc))
    yield ""
    for fact in _facts(op):
        yield from _bullet(fact)
    yield ""


def _facts(op: OpDef) -> Iterator[str]:
    yield f"Inputs: {', '.join(map(_code, op.inputs)) or 'none'}"
    attributes = attr_fields(op.attrs)
    if attributes:
        key = f" (`{op.attrs_key}`)" if op.attrs_key else ""
        yield f"Attributes{key}: {', '.join(map(_attribute, attributes))}"
    yield f"Result: {_result(op)}"
    if op.on_bad_values:
        yield f"Bad values: {_plain(op.on_bad_values)}"
    yield f"Relax: {_relax(op)}"
    yield f"Runs on: {_backends(op)}"
    yield f"Source: {_plain(op.source)}"
    if op.aliases:
        yield f"Older names: {', '.join(map(_code, op.aliases))}"


def _attribute(field: AttrField) -> str:
    kind = field.kind + ("?" if field.optional else "")
    return f"`{field.name}: {kind}`" if field.required else f"`{field.name}: {kind} = {_default(field.default)}`"


def _default(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_default, value))}]"
    if isinstance(value, FloatImm):
        return f"{value.value:.7g}"
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
        case Otherwise(why):
            return f"`call_tir`: {_plain(why)}"
    return "none" if isinstance(op.compute, Refusal) else "`call_tir`"


def _backends(op: OpDef) -> str:
    if op.passes_through:
        return "numpy, c, tvm (nothing is computed)"
    if isinstance(op.numpy, Refusal):
        return f"none: {op.numpy.reason}"
    return "numpy" if isinstance(op.compute, Refusal) else "numpy, c, tvm"


def _relax_only() -> Iterator[str]:
    yield from ("## Relax operators that Relay does not have", "")
    for family in families():
        for op in records_of(family):
            if op.relay is None:
                bad = f" Bad values: {_plain(op.on_bad_values)}" if op.on_bad_values else ""
                yield from _bullet(f"`R.{op.name}`: {_plain(op.doc)}{bad}")
    yield ""


def _without_record() -> Iterator[str]:
    yield from ("## Names without a record", "")
    for name, reason in WITHOUT_RECORD.items():
        yield from _bullet(f"`{name}`: {reason}.")


def _first_paragraph(text: str) -> str:
    return _plain(" ".join(text.split("\n\n")[0].split()))


def _plain(text: str) -> str:
    """Return a docstring's text as Markdown writes it."""
    return text.replace("``", "`")


def _code(text: str) -> str:
    return f"`{text}`"


if __name__ == "__main__":
    write()
