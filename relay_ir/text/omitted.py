"""What stands for objects of a metadata section that was left out of the text.

``print(mod)`` and ``astext(show_meta_data=False)`` leave the section out, and a dump is made of
nothing else. The text still says of every constant which type it has: a constant becomes a
parameter, ``constant_0``, ``constant_1``, … by its place in the section. Dimensions become symbols.
Attributes are worked out where operands or the type of the result decide them, and asked for by
name elsewhere (``relay_ir.parse(…, attrs=…)``); nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import reading
from relay2relax.core.walk import post_order
from relay2relax.ops.registry.record import OpDef
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, GlobalVar, Var, children
from relay2relax.relay_ir.ir.rewrite import nodes, rewrite
from relay2relax.relay_ir.ir.types import IncompleteType, TensorType, TupleType, Type
from relay2relax.tir.extent import ANY, Extent, static
from relay2relax.tir.ir.expr import Var as PrimVar

CONSTANT = "relay.Constant"
# Dimensions that are a variable; other expressions of dimensions are of unknown value.
_SYMBOLS = ("tir.Var", "tir.SizeVar")


@dataclass(frozen=True, slots=True)
class Omitted:
    """An object of the metadata of which nothing but its kind and its place is known."""

    key: str
    index: int

    @property
    def is_attributes(self) -> bool:
        """Whether it is the attributes of a call."""
        return self.key.startswith("relay.attrs.")

    def __str__(self) -> str:
        return f"meta[{self.key}][{self.index}]"


class OmittedObjects:
    """What has stood for objects so far; the same object is always the same thing.

    ``any``  whether the text has referred to one of which nothing is known. ``given``  what was
    said of attributes, by the words that stand for them; ``taken`` are those that were needed.
    """

    def __init__(self) -> None:
        self.any = False
        self.given: Mapping[str, Mapping[str, object]] = {}
        self.taken: set[str] = set()
        self.constants: dict[int, Var] = {}
        self._symbols: dict[Omitted, PrimVar] = {}

    def find(self, one: Omitted) -> Omitted | Extent | Type:
        """Return what stands for an object without looking around: dimensions, and types to be
        inferred.
        """
        if one.key in _SYMBOLS:
            name = f"{one.key.removeprefix('tir.').lower()}_{one.index}"
            return self._symbols.setdefault(one, PrimVar(name, "int64"))
        if one.key.startswith("tir."):
            return ANY
        if one.key == "IncompleteType":
            return IncompleteType()
        self.any = True
        return one

    def constant(self, index: int, type_: Type) -> Var:
        """Return the parameter that stands for constant ``index``."""
        return self.constants.setdefault(index, Var(f"constant_{index}", type_))


def _extents_of(result: Type | None) -> object:
    """Return the shape of a tensor of static type, None for any other."""
    extents = [static(extent) for extent in result.shape] if isinstance(result, TensorType) else [None]
    return None if any(extent is None for extent in extents) else tuple(extents)


def _dtype_of(result: Type | None) -> object:
    return result.dtype if isinstance(result, TensorType) else None


def _has_counts(result: Type | None) -> object:
    return len(result.fields) == _WITH_COUNTS if isinstance(result, TupleType) else None


# ``unique`` gives values, indices, inverse, how many, and how often each.
_WITH_COUNTS = 5
# Attributes that the type of the result decides.
_DECIDED: Mapping[tuple[str, str], Callable[[Type | None], object]] = {
    # The dtype is a field that no broadcast looks at.
    ("broadcast_to", "dtype"): lambda _: "",
    ("broadcast_to", "shape"): _extents_of,
    ("collapse_sum_to", "dtype"): _dtype_of,
    ("collapse_sum_to", "shape"): _extents_of,
    ("cumprod", "dtype"): _dtype_of,
    ("cumsum", "dtype"): _dtype_of,
    ("full", "dtype"): _dtype_of,
    ("full", "shape"): _extents_of,
    ("nn.contrib_dense_pack", "out_dtype"): _dtype_of,
    ("ones", "dtype"): _dtype_of,
    ("ones", "shape"): _extents_of,
    ("unique", "return_counts"): _has_counts,
    ("zeros", "dtype"): _dtype_of,
    ("zeros", "shape"): _extents_of,
}


def decided(record: OpDef, attribute: str, args: Sequence[Expr], result: Type | None) -> object:
    """Return an attribute that operands or the type of the result decide, None where they do
    not.
    """
    found: object = operand_of(record, attribute, args)
    decide = _DECIDED.get((record.name, attribute))
    return decide(result) if found is None and decide is not None else found


def is_omitted(value: object) -> bool:
    """Whether the value of an attribute is an omitted object, or holds one."""
    return isinstance(value, Omitted) or (isinstance(value, tuple) and any(map(is_omitted, value)))


def operand_of(record: OpDef | None, attribute: str, args: Sequence[Expr]) -> Expr | None:
    """Return the operand that an attribute holds once more (``start`` of ``arange``), None where it
    is no operand.
    """
    if record is None or attribute not in record.inputs:
        return None
    place = record.inputs.index(attribute)
    return args[place] if place < len(args) else None


def sections(written: object, result: Type | None, axis: int) -> int | tuple[int, ...] | None:
    """Return what ``split`` along ``axis`` was told to make ``result``: how many parts, or, where a
    list is ``written``, where to cut. None where the result does not say.

    The extent of the last part does not matter.
    """
    if not isinstance(result, TupleType):
        return None
    if not isinstance(written, tuple):
        return len(result.fields)
    found, end = [], 0
    for part in result.fields[:-1]:
        extent = static(part.shape[axis]) if isinstance(part, TensorType) and -part.rank <= axis < part.rank else None
        if extent is None:
            return None
        end += extent
        found.append(end)
    return tuple(found)


def with_parameters(functions: Mapping[GlobalVar, Function], constants: Iterable[Var]) -> dict[GlobalVar, Function]:
    """Return functions whose last parameters are the constants that they use, or that functions use
    which they call.

    Raises UnsupportedError where such a function is used as a value: nobody can give it more.
    """
    every = tuple(constants)
    if not every:
        return dict(functions)
    used = {var: set(nodes(function)) for var, function in functions.items()}
    needed: dict[GlobalVar, list[Var]] = {}
    for var in functions:
        called = post_order((var,), lambda one: [other for other in functions if other in used[one]])
        reached = list(called)
        needed[var] = [one for one in every if any(one in used[other] for other in reached)]
    return {var: _extended(function, var, needed) for var, function in functions.items()}


def _extended(function: Function, var: GlobalVar, needed: Mapping[GlobalVar, Sequence[Var]]) -> Function:
    own = [Var(one.name, one.type_annotation) for one in needed[var]]
    place = dict(zip((one.name for one in own), own, strict=True))
    stand: dict[Expr, Expr] = dict(zip(needed[var], own, strict=True))

    def visit(node: Expr) -> Expr:
        if isinstance(node, Call) and isinstance(node.op, GlobalVar) and needed.get(node.op):
            return replace(node, args=(*node.args, *(place[one.name] for one in needed[node.op])))
        if any(isinstance(one, GlobalVar) and needed.get(one) for one in _values(node)):
            raise UnsupportedError(
                "the text leaves out constants of a function that is used as a value; "
                "print it with astext(show_meta_data=True)",
                kind=reading.RELAY_METADATA,
            )
        return node

    body = rewrite(function.body, visit, stand)
    return replace(function, params=(*function.params, *own), body=body)


def _values(node: Expr) -> Iterable[Expr]:
    """Return the children of a node that are not called."""
    return node.args if isinstance(node, Call) else children(node)
