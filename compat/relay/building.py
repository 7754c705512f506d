"""Expressions made by hand: variables, constants, scopes, loops, bindings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from relay2relax.compat.vocabulary.known_types import type_of
from relay2relax.compat.vocabulary.teaching import face
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.source import SequentialSpan, Span
from relay2relax.relay_ir.analysis import free_vars
from relay2relax.relay_ir.build import build
from relay2relax.relay_ir.build.scope_builder import ScopeBuilder as OurScopeBuilder
from relay2relax.relay_ir.inference.infer import infer_type
from relay2relax.relay_ir.io.params import load_params, save_params
from relay2relax.relay_ir.ir import expr as ir
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import substitute
from relay2relax.relay_ir.ir.types import TensorType, Type
from relay2relax.relay_ir.text.parser import parse as our_parse
from relay2relax.relay_ir.text.parser import parse_expr
from relay2relax.tir.extent import Extent


def var(
    name_hint: str,
    type_annotation: Type | str | None = None,
    shape: Sequence[Extent] | None = None,
    dtype: str = "float32",
    span: Span | None = None,
) -> ir.Var:
    """Return a new variable, of a type or of a shape and dtype."""
    if type_annotation is not None and shape is not None:
        raise ValueError("Can only specify either type_annotation or shape.")
    return build.var(name_hint, type_annotation, shape, dtype, span)


_NARROW = {"int64": "int32", "float64": "float32"}


def const(value: object, dtype: object = None, span: Span | None = None) -> ir.Constant:
    """Return a constant; without a dtype integers and floats of 64 bits, arrays too, get 32."""
    if isinstance(dtype, TensorType):
        dtype = dtype.dtype
    name = dtype if dtype is None or isinstance(dtype, str) else np.dtype(cast(type, dtype)).name
    if name is None and isinstance(value, (np.ndarray, np.generic)):
        name = _NARROW.get(value.dtype.name)
    return ir.Constant(ir.const(value, name).data, span)


def bind(expr: ir.Expr, binds: Mapping[ir.Expr, ir.Expr]) -> ir.Expr:
    """Return ``expr`` with variables replaced.

    Parameters of a function that are bound are gone; what is free in their values is a parameter
    then.
    """
    if not isinstance(expr, ir.Function):
        return substitute(expr, binds)
    left = tuple(param for param in expr.params if param not in binds)
    body = substitute(expr.body, binds)
    known = {*left, *free_vars(expr)}
    found = [one for one in free_vars(body) if one not in known]
    return replace(expr, params=(*left, *found), body=body, ret_type=None if found else expr.ret_type)


def bind_params_by_name(function: ir.Function, params: Mapping[str, object]) -> ir.Function:
    """Return a function whose parameters of these names are constants.

    Raises Relay2RelaxError where several have the name.
    """
    named: dict[str, list[ir.Var]] = {}
    for one in function.params:
        named.setdefault(one.name, []).append(one)
    values: dict[ir.Expr, ir.Expr] = {}
    for name, value in params.items():
        if len(named.get(name, ())) > 1:
            raise Relay2RelaxError(f"several parameters are called {name!r}; which of them is bound is not known")
        values.update((one, ir.const(np.asarray(value))) for one in named.get(name, ()))
    left = tuple(one for one in function.params if one not in values)
    return replace(function, params=left, body=substitute(function.body, values))


def parse(
    source: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: object = None,
) -> IRModule:
    """Return the module of a text, typed, beside the functions of ``init_module``.

    ``init_meta_table`` has the objects that the text refers to. Raises ParseError for another text,
    TypeInferenceError for an ill-typed program.
    """
    objects = cast("Mapping[str, Sequence[object]]", init_meta_table or {})
    return infer_type(our_parse(source, source_name, beside=init_module, objects=objects))


def fromtext(text: str, source_name: str = "from_string") -> object:
    """Return the module or the expression of a text."""
    return parse(text, source_name) if "def @" in text or "type " in text else parse_expr(text, source_name)


class ScopeBuilder(OurScopeBuilder):
    """Programs written down statement by statement."""

    def let(self, var: object, value: object) -> ir.Var:
        """Bind a value to a variable, a name, or a name and a type."""
        if isinstance(var, tuple):
            var = ir.Var(*var)
        elif isinstance(var, str):
            var = ir.Var(var, type_of(value) if isinstance(value, ir.RelayExpr) else None)  # type: ignore[arg-type]
        return super().let(cast(ir.Var, var), value)

    def type_of(self, expr: ir.Expr) -> Type:
        """Return the type of an expression, as far as it is declared."""
        if isinstance(expr, ir.Var):
            return cast(Type, expr.type_annotation)
        return cast(Type, type_of(expr))


def while_loop(
    cond: Callable[..., ir.Expr], loop_vars: Sequence[ir.Expr], loop_bodies: Callable[..., Sequence[ir.Expr]]
) -> ir.Let:
    """Return a function that repeats ``loop_bodies`` while ``cond`` holds."""
    scope = ScopeBuilder()
    loop = ir.Var("while_loop")
    fresh = [
        ir.Var(one.name if isinstance(one, ir.Var) else f"arg{i}", scope.type_of(one))
        for i, one in enumerate(loop_vars)
    ]
    with scope.if_scope(cond(*fresh)):
        scope.ret(loop(*loop_bodies(*fresh)))
    with scope.else_scope():
        scope.ret(ir.Tuple(tuple(fresh)))
    return ir.Let(loop, ir.Function(tuple(fresh), scope.get()), loop)


def save_param_dict(params: Mapping[str, object]) -> bytearray:
    """Return parameters as the bytes of a ``.params`` file."""
    return bytearray(save_params({name: np.asarray(value) for name, value in params.items()}))


def load_param_dict(data: bytes | bytearray) -> dict[str, object]:
    """Return the parameters of the bytes of a ``.params`` file."""
    from relay2relax.compat.running.results import legacy

    return {name: legacy(np.array(value)) for name, value in load_params(bytes(data)).items()}


def astext(value: object, show_meta_data: bool = True, annotate: object = None) -> str:
    """Return a program as text."""
    return cast(str, value.astext(show_meta_data, annotate))  # type: ignore[attr-defined]


def pretty_print(value: object) -> str:
    """Return a program as text without its metadata."""
    return str(value)


def is_dynamic(ty: object) -> bool:
    """Whether an extent of a type is not known."""
    from relay2relax.relay_ir.inference.type_table import _is_dynamic

    return _is_dynamic(cast(Type, ty))


def _span(source_name: object, line: int, end_line: int, column: int, end_column: int) -> Span:
    return Span(str(source_name), line, column, end_line, end_column)


def _sequential(spans: Sequence[Span]) -> SequentialSpan:
    return SequentialSpan.of(tuple(spans))


class SourceName(str):
    """The name of a source."""

    @property
    def name(self) -> str:
        """The name itself."""
        return str(self)


SpanFace = face("Span", Span, _span)
SequentialSpanFace = face("SequentialSpan", SequentialSpan, _sequential)
