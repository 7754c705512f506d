"""A Relay module: functions, type definitions, and the tables that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from relay2relax.core.amounts import counted
from relay2relax.core.errors import Diagnostic, Relay2RelaxError, UnsupportedError, mistake
from relay2relax.core.errors.table import running
from relay2relax.core.source import SourceRange, SourceText
from relay2relax.relay_ir.ir.expr import Constructor, Expr, Function, GlobalVar
from relay2relax.relay_ir.ir.opaque import OpaqueFunction
from relay2relax.relay_ir.ir.rewrite import free_vars
from relay2relax.relay_ir.ir.types import GlobalTypeVar, Type, TypeVar


@dataclass(frozen=True, slots=True)
class TypeData:
    """The definition of an ADT."""

    header: GlobalTypeVar
    type_vars: tuple[TypeVar, ...] = ()
    constructors: tuple[Constructor, ...] = ()
    extern: bool = False


def _by_name(functions: Iterable[GlobalVar]) -> dict[str, GlobalVar]:
    """Return the variables by name, the first one of each."""
    found: dict[str, GlobalVar] = {}
    for var in functions:
        found.setdefault(var.name, var)
    return found


@dataclass(slots=True, eq=False)
class IRModule:
    """Functions by their global variable, and ADTs by their name.

    A module changes where a function is set, ``mod["f"] = function``, and there only; what it
    refers to never does. Passes make new modules (``replace``, ``with_function``).

    ``types``  what type inference found, by node; empty before it ran.
    ``locations``  where a node stands in ``source``, for messages; only of nodes that a text reader
        made.
    ``document_nodes``  the number that a node has in the document of ``save_json`` that it was read
        of; only of such nodes.
    ``opaque_functions``  functions that are not Relay, which are kept and written, but neither
        looked into nor run.
    ``recorded``  whether ``types`` are what a document says; nothing runs by them before inference
        has found the same.
    ``dims``  what open extents of parameters of ``main`` are called, where a frontend found names;
        translators take them where they are given no others.
    """

    functions: Mapping[GlobalVar, Function] = field(default_factory=dict)
    type_definitions: Mapping[GlobalTypeVar, TypeData] = field(default_factory=dict)
    attrs: Mapping[str, object] = field(default_factory=dict)
    types: Mapping[Expr, Type] = field(default_factory=dict, repr=False)
    source: SourceText | None = field(default=None, repr=False)
    locations: Mapping[Expr, SourceRange] = field(default_factory=dict, repr=False)
    document_nodes: Mapping[Expr, int] = field(default_factory=dict, repr=False)
    opaque_functions: Mapping[GlobalVar, OpaqueFunction] = field(default_factory=dict)
    recorded: bool = field(default=False, repr=False)
    dims: Mapping[str, Sequence[str | int | None]] = field(default_factory=dict, repr=False)
    _vars: Mapping[str, GlobalVar] = field(init=False, repr=False)
    _opaque_vars: Mapping[str, GlobalVar] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._vars, self._opaque_vars = _by_name(self.functions), _by_name(self.opaque_functions)

    @classmethod
    def from_expr(cls, expr: Expr, types: Mapping[Expr, Type] | None = None, recorded: bool = False) -> IRModule:
        """Return a module whose ``@main`` is ``expr``; where that is not a function, one of its
        free variables is made.

        ``types`` are those that are known of its nodes, ``recorded`` those of a document.
        """
        main = expr if isinstance(expr, Function) else Function(free_vars(expr), expr)
        return cls({GlobalVar("main"): main}, types=types or {}, recorded=recorded)

    def refuse_opaque(self, reason: str) -> None:
        """Raise UnsupportedError, with ``reason``, for every function that is not Relay.

        Nothing where there is none.
        """
        found = [
            Diagnostic(f"@{var.name} is a {function.type_key}; {reason}")
            for var, function in sorted(self.opaque_functions.items(), key=lambda one: one[0].name)
        ]
        if found:
            raise UnsupportedError(found)

    def is_opaque(self, var: GlobalVar) -> bool:
        """Whether ``var`` names a function that is not Relay."""
        return var.name in self._opaque_vars

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the global variable ``name``; raises Relay2RelaxError where the module has
        none.
        """
        if name in self._vars:
            return self._vars[name]
        if name in self._opaque_vars:
            function = self.opaque_functions[self._opaque_vars[name]]
            raise UnsupportedError(f"@{name} is a {function.type_key}, not a function of Relay")
        known = ", ".join(sorted(self._vars)) or "none"
        raise Relay2RelaxError(mistake(running.NO_FUNCTION, owner="the module", name=f"@{name}", known=known))

    def __contains__(self, name: object) -> bool:
        """Whether the module has a function of Relay called ``name``, or bound to that variable."""
        return name in (self._vars if isinstance(name, str) else self.functions)

    def __getitem__(self, name: str | GlobalVar) -> Function:
        return self.functions[name if isinstance(name, GlobalVar) else self.get_global_var(name)]

    def __setitem__(self, name: str | GlobalVar, function: Function) -> None:
        """Add a function, or replace one, once its types are found to be right.

        The module then has its types.

        Nothing is added where TypeInferenceError is raised. Functions that call each other are
        given together, to the constructor.
        """
        from relay2relax.relay_ir.inference.infer import infer_type

        var = name if isinstance(name, GlobalVar) else self._vars.get(name, GlobalVar(name))
        others = {one: value for one, value in self.functions.items() if one is not self._vars.get(var.name)}
        opaque = self._opaque_without({var.name})
        given = replace(self, functions={**others, var: function}, types={}, opaque_functions=opaque)
        checked = infer_type(given)
        self.functions, self.types, self.opaque_functions = checked.functions, checked.types, opaque
        self.__post_init__()

    def with_function(self, var: GlobalVar, function: Function) -> IRModule:
        """Return a module in which ``var`` is bound to ``function``; inferred types are
        forgotten.
        """
        opaque = self._opaque_without({var.name})
        return replace(self, functions={**self.functions, var: function}, types={}, opaque_functions=opaque)

    def without_functions(self, names: Iterable[str]) -> IRModule:
        """Return a module without the functions ``names``; inferred types are forgotten."""
        gone = set(names)
        kept = {var: function for var, function in self.functions.items() if var.name not in gone}
        return replace(self, functions=kept, types={}, opaque_functions=self._opaque_without(gone))

    def _opaque_without(self, names: Set[str]) -> dict[GlobalVar, OpaqueFunction]:
        return {var: function for var, function in self.opaque_functions.items() if var.name not in names}

    def astext(
        self,
        show_meta_data: bool = True,
        annotate: Callable[[Expr], str] | None = None,
        exact_floats: bool = False,
    ) -> str:
        """Return the module as Relay text, as TVM 0.18 prints it; see ``printer.print_module``."""
        from relay2relax.relay_ir.text.printer import print_module

        return print_module(self, show_meta_data, annotate, exact_floats=exact_floats)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the beginning of the text."""
        from relay2relax.core.output.notebook import shown

        return shown(f"Relay module: {counted(len(self.functions), 'function')}", str(self))

    def __str__(self) -> str:
        from relay2relax.relay_ir.text.printer import print_module

        return print_module(self, show_meta_data=False, header=False)


# What the class was called until TVM 0.6.
Module = IRModule


def as_module(given: object) -> IRModule:
    """Return ``given``; raises Relay2RelaxError where it is not a module of Relay."""
    if not isinstance(given, IRModule):
        raise Relay2RelaxError(f"a module of Relay is expected, found {type(given).__name__}")
    return given
