"""Reading a pipeline: names of passes, each with its options where it has some.

A pipeline is written as calls in Python are, and never executed: options are literals.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import get_type_hints

from relay2relax.core.errors import Diagnostic, ParseError, Relay2RelaxError
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table.files import OPTION
from relay2relax.core.passes import Pass
from relay2relax.core.schema import read_value
from relay2relax.relay_ir import transform
from relay2relax.relay_ir.ir.module import IRModule

# What runs functions or passes of the user, which no text can name.
_OF_USERS = (Pass, transform.FunctionPass, transform.ModulePass, transform.Sequential)
_EXPECTED = "names of passes with commas between them, such as FoldConstant, FuseOps(fuse_opt_level=2)"


@lru_cache(maxsize=1)
def passes_by_name() -> Mapping[str, type[Pass[IRModule]]]:
    """Return the passes of ``relay_ir.transform`` by their names.

    Those that run functions or passes of the user are not among them.
    """
    named = {name: getattr(transform, name) for name in transform.__all__}
    kinds = {name: one for name, one in named.items() if isinstance(one, type) and issubclass(one, Pass)}
    return {name: one for name, one in kinds.items() if one not in _OF_USERS}


def read(text: str) -> tuple[Pass[IRModule], ...]:
    """Return the passes that ``text`` names, in their order.

    Raises Relay2RelaxError for what is no pipeline, for a pass or option that there is not, and for
    a value that the option cannot have.
    """
    try:
        tree = ast.parse(f"[{text}\n]", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _unread(text) from None
    if not isinstance(tree, ast.List) or not tree.elts:
        raise _unread(text)
    return tuple(_pass(node, text) for node in tree.elts)


def _pass(node: ast.expr, text: str) -> Pass[IRModule]:
    """Return the pass that one part of a pipeline names."""
    match node:
        case ast.Name(id=name):
            given = {}
        case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords):
            given = {one.arg: one.value for one in keywords if one.arg is not None}
            if len(given) < len(keywords):
                raise _unread(text)
        case _:
            raise _unread(text)
    kind = passes_by_name().get(name)
    if kind is None:
        help = f"{nearest(name, passes_by_name())} `relay2relax passes` lists them".lstrip()
        raise Relay2RelaxError(Diagnostic(f"there is no pass {name!r}", help=help), kind=OPTION)
    known = list(inspect.signature(kind).parameters)
    hints = get_type_hints(kind)
    options = {}
    for option, value in given.items():
        if option not in known:
            has = ", ".join(known) or "none"
            raise Relay2RelaxError(f"{name} has no option {option!r}; its options: {has}", kind=OPTION)
        options[option] = _value(f"{name}({option}=…)", value, hints[option])
    missing = [one for one in _required(kind) if one not in options]
    if missing:
        raise Relay2RelaxError(f"{name} needs the option {missing[0]}: {name}({missing[0]}=…)", kind=OPTION)
    return kind(**options)


def _required(kind: type[Pass[IRModule]]) -> list[str]:
    """Return the options of a pass that have no default."""
    params = inspect.signature(kind).parameters.values()
    return [one.name for one in params if one.default is inspect.Parameter.empty]


def _value(what: str, node: ast.expr, form: type[object]) -> object:
    """Return the value of an option, which is of the type that the pass declares."""
    try:
        return read_value(ast.literal_eval(node), form, what)
    except ParseError as error:
        raise Relay2RelaxError(error.diagnostics[0].title, kind=OPTION) from None
    except (ValueError, RecursionError, MemoryError):
        raise Relay2RelaxError(f"{what}: expected a literal, {ast.unparse(node)!r:.60} is none", kind=OPTION) from None
    except TypeError:
        raise Relay2RelaxError(f"{what} cannot be written as text; it is given in Python", kind=OPTION) from None


def _unread(text: str) -> Relay2RelaxError:
    return Relay2RelaxError(Diagnostic(f"{text!r:.80} is no pipeline", help=f"expected {_EXPECTED}"), kind=OPTION)
