"""The metadata section: objects that a text refers to as ``meta[key][index]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay2relax.core.errors import LimitError, Relay2RelaxError
from relay2relax.core.errors.table import reading
from relay2relax.core.script_source import counted
from relay2relax.core.words import Code, code, vouched
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.relay_ir.ir.types import Type
from relay2relax.relay_ir.text.lexer import Lexer, metadata_offsets
from relay2relax.relay_ir.text.names import object_key
from relay2relax.relay_ir.text.omitted import Omitted, OmittedObjects

OMITTED = code(
    "/* For debugging purposes the metadata section has been omitted.\n"
    " * If you would like to see the full metadata section you can set the \n"
    " * option to `True` when invoking `astext`. \n"
    " */"
)


class MetadataReader:
    """What the section at the end of a text defines.

    It is decoded when something first refers to it.
    """

    def __init__(self, lexer: Lexer) -> None:
        self._lexer = lexer
        self._table: Mapping[str, Sequence[object]] | None = None
        self.omitted = OmittedObjects()
        self.given: Mapping[str, Sequence[object]] = {}  # what stands for a section that is missing

    def take(self, lexer: Lexer) -> object:
        """Return the object that the current token of ``lexer``, a ``meta`` reference, stands for,
        and go on.

        Where the text has no section, it is what stands for one that was left out.
        """
        key, _, index = lexer.value[5:-1].partition("][")
        objects = self._objects()
        if not objects:
            lexer.advance()
            return self.omitted.find(Omitted(key, int(index)))
        found = objects.get(key)
        if found is None:
            lexer.fail(
                f"the metadata has no objects `{key}`",
                label=f"known keys: {', '.join(objects)}",
                kind=reading.RELAY_METADATA,
            )
        if int(index) >= len(found):
            lexer.fail(
                f"the metadata has {counted(len(found), 'object')} `{key}`",
                label="no object with this index",
                kind=reading.RELAY_METADATA,
            )
        lexer.advance()
        return found[int(index)]

    def _objects(self) -> Mapping[str, Sequence[object]]:
        if self._table is None:
            from relay2relax.relay_ir.json.reader import decode_nodes

            text = self._lexer.text
            start, begin = metadata_offsets(text)
            if start == begin:
                self._table = self.given
            else:
                try:
                    self._table = decode_nodes(text[begin:])
                except LimitError:
                    raise
                except Relay2RelaxError as error:
                    self._refuse(error, start, begin)
        assert self._table is not None
        return self._table

    def _refuse(self, error: Relay2RelaxError, start: int, end: int) -> None:
        problem = error.diagnostics[0]
        self._lexer.fail(
            f"the metadata section cannot be read: {problem.title}", start, end, kind=reading.RELAY_METADATA
        )

    def finish(self) -> None:
        """Check the section, which must be the current token, and that nothing is left to read."""
        self._objects()


class MetadataWriter:
    """Numbers objects by kind in the order in which they are first referred to."""

    def __init__(self) -> None:
        self.table: dict[str, list[object]] = {}
        self._names: dict[int, Code] = {}

    def refer(self, value: object) -> Code:
        """Return ``meta[key][index]`` for ``value``; the same object has the same name."""
        name = self._names.get(id(value))
        if name is None:
            from relay2relax.relay_ir.json.writer import type_key

            key = type_key(value)
            objects = self.table.setdefault(key, [])
            name = self._names[id(value)] = code("meta[{}][{}]", object_key(key), len(objects))
            objects.append(value)  # also keeps the object alive, so that its id stays its own
        return name

    def section(self, show: bool, types: Mapping[Expr, Type]) -> Code:
        """Return what stands after the program: nothing, the section, or the remark that it was
        left out.
        """
        if not self.table:
            return code("")
        if not show:
            return code("\n{}", OMITTED)
        from relay2relax.relay_ir.json.writer import encode_metadata

        # TVM collects the kinds in a hash map, which as a rule gives them back last one first.
        return code("\n#[metadata]\n{}", vouched(encode_metadata(dict(reversed(self.table.items())), types)))
