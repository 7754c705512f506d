"""TVMScript as Python decorators: ``@I.ir_module``, ``@R.function`` and ``@T.prim_func`` on live
classes and functions.

    from __future__ import annotations
    from relay2relax.script import I, R, T  # or: from relay2relax.script import relax as R

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
            return R.nn.relu(x)

``Module`` is a :class:`relay2relax.relax_ir.IRModule`; a function alone becomes a relax_ir Function
or a tir PrimFunc. The source is found by ``inspect`` and read as ``relax_ir.parse`` reads a text;
the decorated code itself never runs. What the surrounding Python knows may be used by name, and
computed with: numbers, strings, lists, dtypes, dimensions, struct info, arrays
(``relax_ir/script/capture.py``). With ``from __future__ import annotations`` Python does not
evaluate annotations; without it the names in them have to exist.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import CellType, FrameType, FunctionType, ModuleType
from typing import Any

from relay2relax import relax_ir
from relay2relax.core.errors import ParseError
from relay2relax.core.script_source import ScriptSource
from relay2relax.relax_ir.script.capture import Words
from relay2relax.relax_ir.script.parser import read_script
from relay2relax.tir.ir.expr import const
from relay2relax.tir.ir.stmt import PrimFunc

_NUMBER = re.compile("u?int(8|16|32|64)")


class _Word(Words):
    """A word of TVMScript as Python sees it, in an annotation say: it can be called, indexed and
    asked for words.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> _Word:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Word(f"{self._text}.{name}")

    def __call__(self, *args: object, **keywords: object) -> _Word:
        dtype = self._text.removeprefix("T.")
        if len(args) == 1 and isinstance(args[0], int) and not keywords and _NUMBER.fullmatch(dtype):
            return const(args[0], dtype)  # type: ignore[return-value]  # T.int64(4) outside of a script is a number
        given = [*map(repr, args), *(f"{name}={value!r}" for name, value in keywords.items())]
        return _Word(f"{self._text}({', '.join(given)})")

    def __getitem__(self, index: object) -> _Word:
        return _Word(f"{self._text}[{index!r}]")

    def __repr__(self) -> str:
        return self._text


class _Modules(_Word):
    """The namespace ``I``."""

    @staticmethod
    def ir_module(cls: type | None = None, **_: object) -> Any:
        """Return the module that the decorated class describes.

        Raises ParseError and WellFormedError.
        """
        return _read_module if cls is None else _read_module(cls)


class _Relax(_Word):
    """The namespace ``R``."""

    @staticmethod
    def function(func: FunctionType | None = None, **_: object) -> Any:
        """Return the function that the decorated one describes.

        Inside a module's class it waits for that.
        """
        return _read_function if func is None else _read_function(func)


class _Tensors(_Word):
    """The namespace ``T``."""

    @staticmethod
    def prim_func(func: FunctionType | None = None, **_: object) -> Any:
        """Return the PrimFunc that the decorated function describes.

        Inside a module's class it waits for that.
        """
        return _read_function if func is None else _read_function(func)


I = ir = _Modules("I")  # noqa: E741
R = relax = _Relax("R")
T = tir = tirx = _Tensors("T")
ir_module = I.ir_module


def _read_module(cls: type) -> relax_ir.IRModule:
    return _read(cls, [value for value in vars(cls).values() if isinstance(value, FunctionType)])


def _read_function(func: FunctionType) -> relax_ir.Function | PrimFunc | FunctionType:
    owner, _, _ = func.__qualname__.rpartition(".")
    if owner and not owner.endswith("<locals>") and _is_of_module(func):
        return func
    return _read(func, [func])[func.__name__]


def _read(item: type | FunctionType, functions: list[FunctionType]) -> relax_ir.IRModule:
    try:
        lines, start = _lines(item, functions)
        name = functions[0].__code__.co_filename if functions else inspect.getsourcefile(item) or "<script>"
    except (OSError, TypeError) as error:
        raise ParseError(f"the source of {item.__name__} cannot be found: {error}") from error
    # Empty lines before it give every place the line that it has in the file.
    outside = dict(_outside(item, functions))
    source = ScriptSource("\n" * (start - 1) + "".join(lines), name, _namespaces(outside))
    return read_script(source, outside, live=True)


# Where the source is.


def _lines(item: type | FunctionType, functions: list[FunctionType]) -> tuple[list[str], int]:
    """Return the lines of a definition, decorators first, and the number of the first.

    Python finds the source of a class by its name, of which a notebook has several; that of a
    function by its line.
    """
    found = [node for node in _classes_around(functions[0]) if node.name == item.__name__] if functions else []
    if not isinstance(item, type) or not found:
        return inspect.getsourcelines(item)
    node = found[-1]
    first = min((decorator.lineno for decorator in node.decorator_list), default=node.lineno)
    return _file(functions[0])[first - 1 : node.end_lineno], first


def _file(func: FunctionType) -> list[str]:
    return linecache.getlines(func.__code__.co_filename, func.__globals__)


def _classes_around(func: FunctionType) -> list[ast.ClassDef]:
    """Return the definitions of classes that ``func`` stands in, innermost last."""
    line = func.__code__.co_firstlineno
    return [node for node in _classes("".join(_file(func))) if node.lineno <= line <= (node.end_lineno or node.lineno)]


@lru_cache(maxsize=4)
def _classes(text: str) -> list[ast.ClassDef]:
    """Return the definitions of classes in a text, by their lines."""
    try:
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    except SyntaxError:
        # A cell of a notebook with commands that are no Python; inspect may find the source
        # nonetheless.
        return []
    return sorted(nodes, key=lambda node: node.lineno)


def _is_of_module(func: FunctionType) -> bool:
    """Whether the class around ``func`` is a module, as far as its decorators tell."""
    around = _classes_around(func)
    return not around or any("ir_module" in ast.unparse(decorator) for decorator in around[-1].decorator_list)


# What the names around it are.


def _outside(item: type | FunctionType, functions: list[FunctionType]) -> Iterator[tuple[str, object]]:
    """Yield the names that the functions can see around them, and what they are.

    Later ones come first.

    Those that stand in annotations alone are no part of a function's closure; they are looked up
    where it is decorated, and in the functions around that.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    around = {part for part in item.__qualname__.split(".") if part != "<locals>"}
    frames: list[FrameType] = []
    while frame is not None:
        if not frames or frame.f_code.co_name in around:
            frames.append(frame)
        frame = frame.f_back
    yield from frames[0].f_globals.items()
    for func in functions:
        yield from func.__globals__.items()
    for one in reversed(frames):
        yield from one.f_locals.items()
    for func in functions:
        for name, cell in zip(func.__code__.co_freevars, func.__closure__ or (), strict=True):
            if _is_filled(cell):
                yield name, cell.cell_contents


def _is_filled(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _namespaces(outside: Mapping[str, object]) -> dict[str, str]:
    """Return the names that stand for TVMScript's namespaces, or for this module, and which."""
    found = {name: repr(value) for name, value in outside.items() if value is I or value is R or value is T}
    for name, value in outside.items():
        if isinstance(value, ModuleType) and value.__name__ == __name__:
            found |= {name: "I", **{f"{name}.{word}": repr(globals()[word]) for word in _NAMESPACES}}
    return found


_NAMESPACES = ("I", "R", "T", "ir", "relax", "tir", "tirx")

__all__ = ["I", "R", "T", "ir", "ir_module", "relax", "tir", "tirx"]
