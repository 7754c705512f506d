"""``tvm.ir``: structural equality, JSON, and nodes by their type keys."""

from __future__ import annotations

from relay2relax.compat.vocabulary import known_types
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.table import all_ops
from relay2relax.relay_ir.compat.attrs_codec import coerce
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.equality import first_difference
from relay2relax.relay_ir.ir.expr import Function, OpaqueAttrs, RelayExpr
from relay2relax.relay_ir.ir.hashing import hash_of
from relay2relax.relay_ir.ir.module import IRModule


def _difference(lhs: object, rhs: object, map_free_vars: bool) -> str | None:
    """Return where two objects differ; what inference found of both counts as declared."""
    if isinstance(lhs, IRModule) and isinstance(rhs, IRModule) and bool(lhs.types) != bool(rhs.types):
        lhs, rhs = _typed(lhs), _typed(rhs)
    if type(lhs).__module__.startswith(("relay2relax.relax_ir", "relay2relax.tir.ir.stmt")):
        from relay2relax.relax_ir.analysis import structural_equal as of_relax

        return of_relax.first_difference(lhs, rhs, map_free_vars)  # type: ignore[arg-type]
    inferred = isinstance(lhs, RelayExpr) and isinstance(rhs, RelayExpr) and known_types.inferred(lhs, rhs)
    return first_difference(lhs, rhs, map_free_vars, known_types.table() if inferred else None)


def _typed(mod: IRModule) -> IRModule:
    """Return ``mod`` with its types, itself where it has none."""
    try:
        return typed_module(mod)
    except Relay2RelaxError:
        return mod


def structural_equal(lhs: object, rhs: object, map_free_vars: bool = False) -> bool:
    """Whether two objects are built alike."""
    return _difference(lhs, rhs, map_free_vars) is None


def assert_structural_equal(lhs: object, rhs: object, map_free_vars: bool = False) -> None:
    """Raise ValueError where two objects are not built alike, with the place of the difference."""
    found = _difference(lhs, rhs, map_free_vars)
    if found is not None:
        raise ValueError(f"StructuralEqual check failed, caused by lhs and rhs at {found}\n{lhs}\n\n{rhs}")


def get_first_structural_mismatch(lhs: object, rhs: object, map_free_vars: bool = False) -> object:
    """Return the first place where two objects differ, None where there is none."""
    return _difference(lhs, rhs, map_free_vars)


def make_node(type_key: str, **values: object) -> object:
    """Return the attributes of a type key, such as ``relay.attrs.Conv2DAttrs``.

    Those of a key that no operator has are kept as they are given. Raises ValueError for other
    nodes.
    """
    for record in all_ops():
        if record.attrs_key == type_key:
            declared = {one.name: one for one in attr_fields(record.attrs)}
            return record.attrs(**{name: coerce(declared[name], value) for name, value in values.items()})
    if type_key == "DictAttrs":
        return dict(values)
    if "attrs." in type_key:
        return OpaqueAttrs(type_key, tuple(values.items()))
    raise ValueError(f"nodes of {type_key} are not made here")


def structural_hash(node: object, map_free_vars: bool = False) -> int:
    """Return a number that is the same for objects that are built alike."""
    return hash_of(node, map_free_vars)


def save_json(node: object) -> str:
    """Return the JSON document of a module or an expression."""
    from relay2relax.relay_ir.json.writer import save_json as save

    return save(node)


def load_json(text: str) -> object:
    """Return the object of a JSON document: a module, an expression, a type, a container.

    Raises ParseError for another text.
    """
    from relay2relax.relay_ir.json.reader import load_json as load
    from relay2relax.relay_ir.json.reader import load_json_object

    found = load_json_object(text)
    if isinstance(found, IRModule):
        return load(text)
    if not isinstance(found, RelayExpr):
        return found
    mod = load(text)
    return mod["main"] if isinstance(found, Function) else mod["main"].body
