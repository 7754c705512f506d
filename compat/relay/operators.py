"""``tvm.relay.op``: operators as functions, and what is registered for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from relay2relax.compat.vocabulary.teaching import Lesson
from relay2relax.ops.registry.table import relay_names, relay_op
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import Call, Op, Tuple
from relay2relax.relay_ir.transform.layout import op_attrs

Function = Callable[..., object]


def operator(name: str) -> object:
    """Return the function of the operator ``name``; raises AttributeError where there is none."""
    return getattr(op, name)


def named(prefix: str) -> Callable[[str], object]:
    """Return what looks names up among the operators that begin with ``prefix``."""

    def look_up(name: str) -> object:
        return getattr(getattr(op, prefix), name)

    return look_up


nn, image, vision, random = named("nn"), named("image"), named("vision"), named("random")
annotation, memory, vm, qnn, contrib, dyn = (
    named("annotation"), named("memory"), named("vm"), named("qnn"), named("contrib"), named("dyn"),
)  # fmt: skip


def get(name: str) -> Op:
    """Return the operator ``name``; raises AttributeError for one that is not known."""
    return op.get(name)


def register_qnn_legalize(op_name: str, legal_op: object = None, level: int = 10) -> object:
    """Register what ``qnn.transform.Legalize`` makes of an operator."""
    return register_op_attr(op_name, "FTVMQnnLegalize", legal_op, level)


def register_qnn_canonicalize(op_name: str, legal_op: object = None, level: int = 10) -> object:
    """Register what ``qnn.transform.CanonicalizeOps`` makes of an operator."""
    return register_op_attr(op_name, "FTVMQnnCanonicalize", legal_op, level)


def register_op_attr(op_name: str, attr_key: str, value: object = None, level: int = 10) -> object:
    """Register ``value`` for an operator; without it return a decorator that does."""

    def register(given: object) -> object:
        op_attrs.register_op_attr(op_name, attr_key, given)  # type: ignore[arg-type]
        return given

    return register if value is None else register(value)


def registering(attr_key: str) -> Function:
    """Return the function that registers for operators under ``attr_key``."""

    def register(op_name: str, value: object = None, level: int = 10) -> object:
        return register_op_attr(op_name, attr_key, value, level)

    return register


register_alter_op_layout = registering("FTVMAlterOpLayout")
register_convert_op_layout = registering("FTVMConvertOpLayout")
register_legalize = registering("FTVMLegalize")
register_gradient = registering("FPrimalGradient")
register_compute = registering("FTVMCompute")
register_strategy = registering("FTVMStrategy")
register_external_compiler = registering("relay.ext")


def get_attr(self: Op, name: str) -> object:
    """Return what is registered for the operator, None where nothing is."""
    found = op_attrs.op_attr(self.name, name)
    record = relay_op(self.name)
    if found is None and name == "TOpPattern" and record is not None:
        return int(record.fusion.pattern)
    return found


def set_attr(self: Op, name: str, value: object, plevel: int = 10) -> None:
    """Register a value for the operator."""
    op_attrs.register_op_attr(self.name, name, value)  # type: ignore[arg-type]


def reset_attr(self: Op, name: str) -> None:
    """Take back what is registered for the operator."""
    op_attrs.forget_op_attr(self.name, name)


def list_op_names() -> list[str]:
    """Return the names of all operators."""
    return list(relay_names())


def _num_inputs(self: Op) -> int:
    """Return how many inputs the operator takes, -1 for any number."""
    record = relay_op(self.name)
    return -1 if record is None or record.variadic else len(record.inputs)


def lessons() -> Iterator[Lesson]:
    """Yield what operators and calls are taught."""
    yield Lesson(Op, "get", staticmethod(get))
    yield Lesson(Op, "list_op_names", staticmethod(list_op_names))
    yield Lesson(Op, "get_attr", get_attr)
    yield Lesson(Op, "has_attr", lambda self, name: get_attr(self, name) is not None)
    yield Lesson(Op, "set_attr", set_attr)
    yield Lesson(Op, "reset_attr", reset_attr)
    yield Lesson(Op, "num_inputs", property(_num_inputs))
    yield Lesson(Op, "name_hint", property(lambda self: self.name))
    yield Lesson(Call, "astuple", lambda self: self)
    yield Lesson(Call, "tuple_value", property(lambda self: self))
    yield Lesson(Tuple, "astuple", lambda self: self)
    yield Lesson(Tuple, "__getitem__", lambda self, index: self.fields[index])
    yield Lesson(Tuple, "__len__", lambda self: len(self.fields))
