"""``tvm.relay.op.register``: operators of scripts, which have a type and nothing to run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import NoReturn, cast

from relay2relax.compat.vocabulary.teaching import Lesson
from relay2relax.core.errors import UnsupportedError
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import register_op, relay_op
from relay2relax.ops.registry.types import Type
from relay2relax.relay_ir.ir.expr import Op

# Relations that TVM knows by name, and the operators that have them here.
_RELATIONS = {"Identity": "copy", "Broadcast": "add", "BroadcastComp": "equal", "IdentityCompRel": "equal"}


def register(op_name: str, describe: str = "") -> None:
    """Register an operator; raises OpError where there is one of the name."""
    register_op(OpDef(doc=describe, source="a script", inputs=(), infer=_unknown, numpy=_unknown, compute=_unknown,
                      relay=op_name), replace=False)  # fmt: skip


def _unknown(*_: object, **__: object) -> NoReturn:
    raise UnsupportedError("a script registered this operator, and nothing that computes it")


def _record(op: Op) -> OpDef:
    return cast(OpDef, relay_op(op.name))


def add_argument(self: Op, name: str, type: str, description: str) -> None:
    """Let the operator have one more input."""
    record = _record(self)
    register_op(dataclasses.replace(record, inputs=(*record.inputs, name)))


def add_type_rel(self: Op, rel_name: str, type_rel_func: Callable[..., Type] | None = None) -> None:
    """Let a function, or a relation of that name, say what type results have."""
    rule: Callable[..., Type]
    if type_rel_func is not None:
        given = type_rel_func

        def rule(attrs: object, *types: Type) -> Type:
            return given(list(types), None)

    elif rel_name in _RELATIONS:
        rule = cast(OpDef, relay_op(_RELATIONS[rel_name])).infer
    else:
        raise UnsupportedError(f"the relation {rel_name} has no name here; a function can say the same")
    register_op(dataclasses.replace(_record(self), infer=rule))


def register_attr(key: str) -> Callable[..., None]:
    """Return the function that registers a value of an operator under ``key``."""

    def note(op_name: str, value: object, level: int = 10) -> None:
        from relay2relax.compat.relay.operators import register_op_attr

        register_op_attr(op_name, key, value, level)

    return note


register_pattern, register_stateful = register_attr("TOpPattern"), register_attr("TOpIsStateful")


class OpPattern:
    """How operators may be fused."""

    ELEMWISE, BROADCAST, INJECTIVE, COMM_REDUCE, OUT_ELEMWISE_FUSABLE, TUPLE, OPAQUE = 0, 1, 2, 3, 4, 7, 8


def lessons() -> Iterator[Lesson]:
    """Yield what operators are taught."""
    yield Lesson(Op, "add_argument", add_argument)
    yield Lesson(Op, "add_type_rel", add_type_rel)
    for name in ("set_num_inputs", "set_support_level", "set_attrs_type_key"):
        yield Lesson(Op, name, lambda self, value: None)
