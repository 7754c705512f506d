"""Attribute dataclasses: what kinds of fields Relay's attributes have, and how to ask a class about
them.

An operator's attributes are a frozen dataclass whose fields are annotated with the aliases below.
The alias tells mypy the Python type, and tells the text and JSON readers and writers how Relay
stores the field. A field without default must be given. ``None`` stands for Relay's null.

    @dataclass(frozen=True, slots=True)
    class SoftmaxAttrs:
        axis: Int = -1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Annotated, Any, Optional, TypeAlias, Union, get_args, get_origin, get_type_hints

from relay2relax.core.dtype import check_dtype, check_named_dtype
from relay2relax.core.words import check_layout
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir.expr import FloatImm, IntImm


@dataclass(frozen=True, slots=True)
class Kind:
    """How Relay declares a field, in the words of its C++ attributes, e.g. ``Array<IndexExpr>``."""

    name: str


class BoxInt(int):
    """An integer that TVM 0.18 stores as a boxed object (``meta[runtime.BoxInt][i]`` in text).

    Equal to the int.
    """


class GlobalFunction(str):
    """The name of a function of TVM's registry, which is stored as an object of its own
    (``meta[EnvFunc][i]``).
    """


Int: TypeAlias = Annotated[int, Kind("int")]
Bool: TypeAlias = Annotated[bool, Kind("bool")]
# A truth value that is an object: JSON refers to it, and it may be null.
OptionalBool: TypeAlias = Annotated[Optional[bool], Kind("Bool")]
Double: TypeAlias = Annotated[float, Kind("double")]
# An inline string and a reference to a String object differ in JSON only.
InlineString: TypeAlias = Annotated[str, Kind("string")]
String: TypeAlias = Annotated[str, Kind("String")]
DType: TypeAlias = Annotated[str, Kind("DataType")]
IndexExpr: TypeAlias = Annotated[Extent, Kind("IndexExpr")]
OptionalIndexExpr: TypeAlias = Annotated[Optional[Extent], Kind("IndexExpr")]
IndexExprArray: TypeAlias = Annotated[tuple[Extent, ...], Kind("Array<IndexExpr>")]
OptionalIndexExprArray: TypeAlias = Annotated[Optional[tuple[Extent, ...]], Kind("Array<IndexExpr>")]
Integer: TypeAlias = Annotated[int, Kind("Integer")]
OptionalInteger: TypeAlias = Annotated[Optional[int], Kind("Integer")]
IntegerArray: TypeAlias = Annotated[tuple[int, ...], Kind("Array<Integer>")]
OptionalIntegerArray: TypeAlias = Annotated[Optional[tuple[int, ...]], Kind("Array<Integer>")]
FloatImmArray: TypeAlias = Annotated[Optional[tuple[FloatImm, ...]], Kind("Array<FloatImm>")]
OptionalFloatImm: TypeAlias = Annotated[Optional[FloatImm], Kind("FloatImm")]
PadWidth: TypeAlias = Annotated[tuple[tuple[int, ...], ...], Kind("Array<Array<Integer>>")]
IndexExprPairs: TypeAlias = Annotated[tuple[tuple[Extent, ...], ...], Kind("Array<Array<IndexExpr>>")]
# A number whose dtype is that of the data, or its own.
Number: TypeAlias = Annotated[Union[int, float, IntImm, FloatImm, None], Kind("IndexExpr")]
# ``split``: a section count, or the places to cut at.
Sections: TypeAlias = Annotated[Union[int, tuple[int, ...]], Kind("BoxInt|Array<BoxInt>")]

# ``arange``: an expression of Relay, given once more as an input.
Expr: TypeAlias = Annotated[Any, Kind("Expr")]
# What lowered programs refer to: a placed device, a constant of Relay, a function by name, any
# objects by name.
VirtualDevice: TypeAlias = Annotated[Optional[Any], Kind("VirtualDevice")]
Constant: TypeAlias = Annotated[Optional[Any], Kind("Constant")]
IndexMapping: TypeAlias = Annotated[Any, Kind("IndexMap")]
EnvFunc: TypeAlias = Annotated[str, Kind("EnvFunc")]
ObjectMap: TypeAlias = Annotated[tuple[tuple[str, Any], ...], Kind("Map<String,ObjectRef>")]


def check_words(attrs: object) -> None:
    """Check the words among attributes: those declared as dtypes, and strings that are layouts.

    Raises DTypeError or WordError, which name the attribute.
    """
    cls: type = type(attrs)
    for name, check in _words(cls):
        value = getattr(attrs, name)
        if value is not None:
            check(value)


@lru_cache(maxsize=None)
def _words(cls: type) -> tuple[tuple[str, Callable[[str], object]], ...]:
    hints = get_type_hints(cls, include_extras=True) if is_dataclass(cls) else {}
    defaults = {field.name: field.default for field in fields(cls)} if is_dataclass(cls) else {}
    kinds = ((name, _kind(hint)) for name, hint in hints.items() if get_origin(hint) is Annotated)
    checks = ((name, _word_check(kind, name, defaults[name])) for name, kind in kinds)
    return tuple((name, check) for name, check in checks if check is not None)


def _word_check(kind: str, name: str, default: object) -> Callable[[str], object] | None:
    """Return what checks the attribute ``name`` where it is a word, None for other attributes.

    A dtype may be left out where that is the ``default``.
    """
    if kind == "DataType":
        return check_dtype if default == "" else check_named_dtype
    return check_layout if kind in ("string", "String") and name.endswith("layout") else None


@dataclass(frozen=True, slots=True)
class NoAttrs:
    """The attributes of an operator that has none."""


@dataclass(frozen=True, slots=True)
class AttrField:
    """One field of an attribute class; ``default`` is ``MISSING`` where Relay demands a value.

    ``optional`` says whether the field may be ``None``, Relay's null. ``check`` raises DTypeError
    or WordError for a value that is not the word that it should be; None where the field is not
    one.
    """

    name: str
    kind: str
    default: object
    optional: bool = False
    check: Callable[[str], object] | None = None

    @property
    def required(self) -> bool:
        """Whether the field has no default."""
        return self.default is MISSING


def attr_fields(cls: type) -> tuple[AttrField, ...]:
    """Return the fields of an attribute class in Relay's declaration order."""
    return _attr_fields(cls)


@lru_cache(maxsize=None)
def _attr_fields(cls: type) -> tuple[AttrField, ...]:
    hints = get_type_hints(cls, include_extras=True)
    plain = get_type_hints(cls)
    return tuple(
        AttrField(f.name, kind, f.default, type(None) in get_args(plain[f.name]), _word_check(kind, f.name, f.default))
        for f, kind in ((f, _kind(hints[f.name])) for f in fields(cls))
    )


def _kind(hint: object) -> str:
    if get_origin(hint) is Annotated:
        for extra in get_args(hint)[1:]:
            if isinstance(extra, Kind):
                return extra.name
    raise TypeError(f"attribute field is not annotated with a Relay kind: {hint!r}")
