"""Modules of Relay as TVM has them: changed in place, and typed only when a pass asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from relay2relax.compat import version
from relay2relax.compat.vocabulary import known_types
from relay2relax.compat.vocabulary.teaching import Lesson
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relay_ir.inference.infer import infer_type
from relay2relax.relay_ir.ir.expr import Constructor, Expr, Function, GlobalVar
from relay2relax.relay_ir.ir.module import IRModule, TypeData
from relay2relax.relay_ir.ir.types import GlobalTypeVar

_init = IRModule.__init__
_from_expr = IRModule.from_expr


def __init__(self: IRModule, functions: object = None, type_definitions: object = None, attrs: object = None,
             *rest: object, **named: object) -> None:  # fmt: skip
    given = {} if functions is None else cast("Mapping[object, Function]", functions)
    by_var = {GlobalVar(one) if isinstance(one, str) else one: function for one, function in given.items()}
    _init(self, by_var, type_definitions or {}, attrs or {}, *rest, **named)  # type: ignore[arg-type]
    if self.types:
        known_types.note(self.types)
    for data in self.type_definitions.values():
        known_types.number(data)


def set_item(self: IRModule, name: object, value: object) -> None:
    """Set a function or a definition of a type; nothing is inferred, but by TVM 0.7 and before.

    There it raises TypeInferenceError for an ill-typed function, which is not added.
    """
    before = self.functions, self.type_definitions
    if isinstance(value, TypeData):
        header = name if isinstance(name, GlobalTypeVar) else value.header
        self.type_definitions = {**self.type_definitions, header: value}
        known_types.number(value)
    else:
        var = name if isinstance(name, GlobalVar) else self._vars.get(str(name), GlobalVar(str(name)))
        main = value if isinstance(value, Function) else _from_expr(cast(Expr, value))["main"]
        kept = {one: function for one, function in self.functions.items() if one.name != var.name}
        order = {one: kept.get(one, main) for one in self.functions} if var in self.functions else {**kept, var: main}
        self.functions = order
    _changed(self)
    if version.until("0.7"):
        _infer(self, before)


def _infer(mod: IRModule, before: tuple[object, object]) -> None:
    try:
        mod.types = infer_type(mod).types
    except Relay2RelaxError:
        mod.functions, mod.type_definitions = before  # type: ignore[assignment]
        _changed(mod)
        raise
    known_types.note(mod.types)


def delete_item(self: IRModule, name: str | GlobalVar) -> None:
    """Take a function out."""
    gone = name if isinstance(name, str) else name.name
    self.functions = {one: function for one, function in self.functions.items() if one.name != gone}
    _changed(self)


def _changed(mod: IRModule) -> None:
    mod.types = {}
    mod.__post_init__()


def update(self: IRModule, other: IRModule | Mapping[object, object]) -> None:
    """Set the functions and types of another module, or of a mapping."""
    mod = other if isinstance(other, IRModule) else IRModule(other)  # type: ignore[arg-type]
    for header, data in mod.type_definitions.items():
        set_item(self, header, data)
    for var, function in mod.functions.items():
        set_item(self, self._vars.get(var.name, var), function)


def from_expr(expr: Expr, functions: object = None, type_defs: object = None, **named: object) -> IRModule:
    """Return a module whose ``main`` is ``expr``, beside ``functions`` and types."""
    if isinstance(expr, Function) and "global_symbol" in expr.attrs:
        made = IRModule({GlobalVar(str(expr.attrs["global_symbol"])): expr})
    else:
        made = _from_expr(expr, **named)  # type: ignore[arg-type]
    if not functions and not type_defs:
        return made
    others = cast("Mapping[GlobalVar, Function]", functions or {})
    return replace(made, functions={**others, **made.functions}, type_definitions=type_defs or {})  # type: ignore[arg-type]


def get_type(self: IRModule, name: str) -> list[object]:
    """Return the name of a type, and its constructors."""
    header = get_global_type_var(self, name)
    return [header, *self.type_definitions[header].constructors]


def get_global_type_var(self: IRModule, name: str) -> GlobalTypeVar:
    """Return the name of a type; raises ValueError where there is none."""
    for header in self.type_definitions:
        if header.name == name:
            return header
    raise ValueError(f"the module does not define the type {name}")


def get_constructor(self: IRModule, tag: int) -> Constructor:
    """Return the constructor of a tag; raises ValueError where there is none."""
    for data in self.type_definitions.values():
        for one in data.constructors:
            if one.tag == tag:
                return one
    raise ValueError(f"the module has no constructor of tag {tag}")


def import_from_std(self: IRModule, name: str) -> None:
    """Add the definitions of a part of the standard library, such as ``prelude.rly``."""
    from relay2relax.relay_ir.build.module_prelude import add_library

    add_library(self, name.partition(".")[0])


def with_attr(self: IRModule, key: str | Mapping[str, object], value: object = None) -> IRModule:
    """Return the module with an attribute, or several of them."""
    added = dict(key) if isinstance(key, Mapping) else {key: value}
    return replace(self, attrs={**self.attrs, **added})


def without_attr(self: IRModule, key: str) -> IRModule:
    """Return the module without an attribute."""
    return replace(self, attrs={name: value for name, value in self.attrs.items() if name != key})


def contains(self: IRModule, name: object) -> bool:
    """Whether there is a function of the name."""
    return (name.name if isinstance(name, GlobalVar) else name) in self._vars


def get_item(self: IRModule, name: object) -> object:
    """Return a function, or the definition of a type; raises Relay2RelaxError for other names."""
    if isinstance(name, GlobalTypeVar):
        return self.type_definitions[name]
    var = name if isinstance(name, GlobalVar) and name in self.functions else None
    return self.functions[var or self.get_global_var(name.name if isinstance(name, GlobalVar) else str(name))]


def lessons() -> Iterator[Lesson]:
    """Yield what modules are taught."""
    taught = {
        "__init__": __init__, "__setitem__": set_item, "__delitem__": delete_item, "__getitem__": get_item,
        "__contains__": contains, "update": update, "update_func": set_item, "from_expr": staticmethod(from_expr),
        "get_type": get_type, "get_global_type_var": get_global_type_var, "get_constructor": get_constructor,
        "import_from_std": import_from_std, "with_attr": with_attr, "with_attrs": with_attr,
        "without_attr": without_attr,
        "get_attr": lambda self, key: self.attrs.get(key),
        "get_global_vars": lambda self: list(self.functions),
        "get_global_type_vars": lambda self: list(self.type_definitions),
        "functions_items": lambda self: sorted(self.functions.items(), key=lambda one: one[0].name),
        "clone": lambda self: replace(self),
        "_add": lambda self, var, value, update=True: set_item(self, var, value),
        "same_as": lambda self, other: self is other,
        "show": lambda self, **options: print(self),
    }  # fmt: skip
    for name, value in taught.items():
        yield Lesson(IRModule, name, value)
