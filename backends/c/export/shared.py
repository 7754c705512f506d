"""An exported library as one file that is a shared object: with its weights, and with data for
whoever reads the file.

The data lie in a section of their own, which is read without loading the file: nothing of a file
is run to see what it is.
"""

from __future__ import annotations

import io
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from relay2relax.backends.c.toolchain import compile_units, find_compiler, link
from relay2relax.backends.c.unit import Unit
from relay2relax.core.errors import ParseError, UnsupportedError
from relay2relax.core.output import Content
from relay2relax.core.output.content import create, parts_of

# A name that begins as ".rel" does would be one of relocations.
SECTION = "relay2relax"
_MAGIC = b"\x7fELF"
# What is put between two names of an object file: bytes of a file, in a section.
_INCLUDED = '".section {section}\\n.balign 64\\n{begin}.incbin \\"{path}\\"\\n{end}.previous\\n"\n'
_NAME = ".globl {0}\\n.hidden {0}\\n{0}:\\n"


def shared_objects(files: Mapping[str, Content], data: bytes, folder: Path, march: str = "native") -> tuple[str, ...]:
    """Return the paths of objects, made in an empty folder, that a shared object is linked of.

    ``files`` are a library's with its weights embedded, or none; ``data`` is what :func:`read_data`
    finds in what is linked. Raises CompilerError where there is no compiler, UnsupportedError where
    it makes other files than those of ELF, OSError where the folder cannot be written to.
    """
    compiler = find_compiler(march)
    if "__ELF__" not in compiler.macros:
        raise UnsupportedError("shared objects with data are made on systems that have ELF; export files of C instead")
    included = [_included(folder / "data", data, f'{SECTION},\\"a\\",%progbits')]
    texts = []
    for name, content in files.items():
        if name.endswith("_weights.bin"):
            ends = _NAME.format("r2r_weights"), _NAME.format("r2r_weights_end")
            included.append(_included(folder / name, content, ".data", *ends))
        elif name.endswith(".h"):
            create(folder / name, content)
        elif name.endswith(".c") and name != "main.c":
            texts.append(b"".join(parts_of(content)).decode())
    units = [*(Unit(text) for text in texts), Unit(f"__asm__(\n{''.join(included)});\n", runs_once=True)]
    return tuple(compile_units(compiler, units, folder, "-fvisibility=default"))


def _included(path: Path, content: Content, section: str, begin: str = "", end: str = "") -> str:
    """Write a file, and return what the assembler is told to put it into an object."""
    create(path, content)
    # A text of the assembler's inside of one of C.
    quoted = str(path).replace("\\", r"\\\\").replace('"', r"\\\"")
    return _INCLUDED.format(section=section, begin=begin, path=quoted, end=end)


def packed(parts: Mapping[str, bytes]) -> bytes:
    """Return parts by their names as one piece of data."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return held.getvalue()


def unpacked(data: bytes, path: Path) -> dict[str, bytes]:
    """Return the parts of what :func:`packed` gave; ``path`` is for messages.

    Raises ParseError for other data: parts are stored as they are, so they are no longer than that.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            stored = all(one.compress_type == zipfile.ZIP_STORED and not one.flag_bits & 1 for one in members)
            if stored and sum(one.file_size for one in members) <= len(data):
                return {one.filename: archive.read(one) for one in members}
    except (zipfile.BadZipFile, struct.error, OSError, EOFError, ArithmeticError, LookupError, ValueError) as error:
        raise ParseError(_not_ours(path)) from error
    raise ParseError(_not_ours(path))


def write_linked(objects: Sequence[str], target: Path) -> None:
    """Link objects into a file of the kind that its name says, which takes the place of another.

    ``.tar`` holds the objects, ``.o`` is one object, anything else a shared object. Raises
    CompilerError where they are not linked, OSError where the file cannot be written.
    """
    made = target.with_name(f".{target.name}.part")
    try:
        if target.suffix == ".tar":
            with tarfile.open(made, "w") as archive:
                for number, one in enumerate(objects):
                    archive.add(one, f"lib{number}.o")
        else:
            link(find_compiler(), objects, made, relocatable=target.suffix == ".o")
        made.replace(target)
    finally:
        made.unlink(missing_ok=True)


def read_linked(path: Path) -> tuple[bytes, bytes]:
    """Return a shared object, linked now where the file holds objects, and the data in it.

    Nothing of it is run. Raises ParseError where the file is not one that :func:`write_linked`
    wrote, CompilerError where objects cannot be linked, OSError where it cannot be read.
    """
    content = path.read_bytes()
    if content[:4] == _MAGIC and struct.unpack_from("<H", content.ljust(18), 16) == (3,):
        return content, _section(content, path)
    objects = [content] if content[:4] == _MAGIC else _members(path)
    data = next(filter(None, (_found(one) for one in objects)), None)
    if data is None:
        raise ParseError(_not_ours(path))
    with tempfile.TemporaryDirectory(prefix="relay2relax-") as folder:
        names = []
        for number, one in enumerate(objects):
            names.append(str(Path(folder, f"lib{number}.o")))
            Path(names[-1]).write_bytes(one)
        link(find_compiler(), names, Path(folder, "linked"))
        return Path(folder, "linked").read_bytes(), data


def _not_ours(path: Path) -> str:
    return f"{path} is no library that export_library of relay2relax wrote"


def _members(path: Path) -> list[bytes]:
    """Return the objects in an archive; they are read, not unpacked."""
    try:
        with tarfile.open(path, "r:") as archive:
            members = [one for one in archive if one.isfile() and one.name.endswith(".o")]
            objects = [stream.read() for one in members if (stream := archive.extractfile(one)) is not None]
    except (tarfile.TarError, EOFError) as error:
        raise ParseError(_not_ours(path)) from error
    # A linker takes a file of text for commands.
    if not all(one[:4] == _MAGIC for one in objects):
        raise ParseError(_not_ours(path))
    return objects


def _section(content: bytes, path: Path) -> bytes:
    found = _found(content)
    if found is None:
        raise ParseError(_not_ours(path))
    return found


def _found(content: bytes) -> bytes | None:
    """Return the data in a file of ELF with 64 bits, None where there are none or it is damaged."""
    order = "<" if content[5:6] == b"\x01" else ">"
    try:
        if content[:5] != _MAGIC + b"\x02":
            return None
        (headers,) = struct.unpack_from(f"{order}Q", content, 40)
        size, count, names_at = struct.unpack_from(f"{order}HHH", content, 58)
        sections = [struct.unpack_from(f"{order}I20xQQ", content, headers + size * at) for at in range(count)]
        _, names, length = sections[names_at]
    except (struct.error, IndexError, OverflowError):
        return None
    texts = content[names : names + length]
    for name, offset, extent in sections:
        if texts[name : name + len(SECTION) + 1] == SECTION.encode() + b"\0":
            return content[offset : offset + extent] if offset + extent <= len(content) else None
    return None
