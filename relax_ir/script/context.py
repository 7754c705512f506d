"""What the readers of a module share, and how the readers of its parts see each other."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from relay2relax.relax_ir.inference.infer import Inference
from relay2relax.relax_ir.ir.devices import GlobalInfo
from relay2relax.relax_ir.ir.expr import Expr, ExternFunc, GlobalVar, Var
from relay2relax.relax_ir.script.omitted import OmittedConstants
from relay2relax.tir.script.context import ReadContext

# Sees to it that the signature of a function is known; the node is where it is used.
Require: TypeAlias = Callable[[GlobalVar, ast.AST], None]


class ModuleName:
    """What ``Module`` and ``cls`` stand for."""


@dataclass(frozen=True, slots=True)
class ModuleContext:
    """What the readers of one module share.

    ``text`` is the script; each function has names of its own. ``constants`` are arrays and plain
    values for names that the script does not define. ``checks`` says whether what the text says of
    values is compared with what they are, ``is_alone`` that its functions stand in no module.

    The rest grows as the module is read. ``externs`` are functions that the module knows by a name
    of its own; calls name them as they are registered. ``places`` are the nodes that define
    variables. ``scalars_last`` are callees that were called with ``tir_vars``, whose scalars come
    after the results. ``omitted`` are constants that the text leaves out.
    """

    text: ReadContext
    constants: Mapping[str, object]
    checks: bool
    is_alone: bool
    inference: Inference = field(default_factory=Inference)
    globals: dict[str, GlobalVar] = field(default_factory=dict)
    externs: dict[str, ExternFunc] = field(default_factory=dict)
    global_infos: dict[str, tuple[GlobalInfo, ...]] = field(default_factory=dict)
    places: dict[Var, ast.AST] = field(default_factory=dict)
    scalars_last: set[GlobalVar] = field(default_factory=set)
    omitted: OmittedConstants = field(default_factory=lambda: OmittedConstants({}))

    @property
    def devices(self) -> Sequence[GlobalInfo] | None:
        """The devices of the module; None for functions alone, which are read without them."""
        return None if self.is_alone else self.global_infos.get("vdevice", ())

    def function_context(self) -> ReadContext:
        """Return the context of one function, which knows the module by its names."""
        return self.text.with_names(dict.fromkeys(self.text.source.modules - {"cls"}, ModuleName()))


class Values(Protocol):
    """The reader of expressions, as the readers of their parts see it."""

    def value(self, node: ast.AST) -> object:
        """Return what ``node`` is: an expression, a scalar or Python number, a tuple or list of
        those, struct info.
        """
        ...

    def argument(self, node: ast.AST) -> Expr:
        """Return ``node`` as an argument in A-normal form."""
        ...

    def is_value(self, node: ast.expr) -> bool:
        """Whether ``node`` is a variable, or a field of one."""
        ...
