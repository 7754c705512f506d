"""Which of several results is right: the same program, computed in float64, decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Union

import numpy as np

from relay2relax.backends import create_executor
from relay2relax.backends.relay.kernels import static_signatures
from relay2relax.core.dtype import Array, is_float, of_array
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.lower import lower_call
from relay2relax.ops.registry.types import TensorType
from relay2relax.parity.tables import data_frame, html_table
from relay2relax.relay_ir.inference.fixed_extents import fix_extents
from relay2relax.relay_ir.inference.infer import infer_type, typed_module
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, Let, Match, Op, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, rewrite
from relay2relax.relay_ir.ir.types import floats_as
from relay2relax.relay_ir.transform.infrastructure import map_functions
from relay2relax.tir.extent import is_any
from relay2relax.tir.ir.expr import BufferLoad, Cast, FloatImm
from relay2relax.tir.ir.visit import all_expressions, subexpressions
from relay2relax.translator.arguments import Argument, flatten

_WIDE = "float64"
# Expressions that have a dtype which is theirs, and no part of a name.
_VALUES = (Cast, FloatImm, BufferLoad)
# What results are compared with: Relay on numpy, or what was recorded.
REFERENCE = "the reference"


@dataclass(frozen=True, slots=True)
class Judgement:
    """How far each program's output is from the same program in float64.

    ``errors`` are the largest, as shares of the largest magnitude that is right, by the program's
    name; infinite where one has a NaN or an infinity that the other does not have.
    """

    output: int
    errors: Mapping[str, float]

    @property
    def nearest(self) -> tuple[str, ...]:
        """The programs that are nearest: several where they are equally near."""
        least = min(self.errors.values())
        return tuple(name for name, error in self.errors.items() if error == least)

    def __str__(self) -> str:
        groups: dict[float, list[str]] = {}
        for name, error in sorted(self.errors.items(), key=lambda one: one[1]):
            groups.setdefault(error, []).append(name)
        said = ", ".join(f"{error:.2g} ({', '.join(names)})" for error, names in groups.items())
        return f"output {self.output}, against float64: off by {said} of the largest value, the nearest first"

    def to_json(self) -> dict[str, object]:
        """Return the judgement as plain values; an infinite error is None."""
        errors = {name: error if np.isfinite(error) else None for name, error in self.errors.items()}
        return {"output": self.output, "errors": errors, "nearest": list(self.nearest)}

    def _records(self) -> list[dict[str, object]]:
        return [
            {"output": self.output, "program": name, "error": error, "nearest": name in self.nearest}
            for name, error in sorted(self.errors.items(), key=lambda one: one[1])
        ]

    def to_dataframe(self) -> Any:
        """Return a row for each program, the nearest first, as a frame of pandas.

        Raises UnsupportedError where that is not installed.
        """
        return data_frame(self._records())

    def _repr_html_(self) -> str:
        return html_table(("program", "error", "nearest"), self._records(), str(self))


def in_float64(mod: IRModule) -> IRModule:
    """Return ``mod`` with float64 for every float dtype, in types, constants and attributes.

    Numbers are not rounded on the way that the program rounds. Raises UnsupportedError where that
    is another program: where bits of a float are looked at, a type rule asks for its own dtype, as
    quantised operators do for scales, or the definition of an operator does, as that of resizing
    for places.
    """

    def change(function: Function) -> Function:
        made = _Widening(_variables(function)).of(function)
        assert isinstance(made, Function)
        return made

    try:
        wide = infer_type(replace(map_functions(mod, change), types={}))
    except Relay2RelaxError as error:
        raise _no_float64(error.diagnostics[0].title) from error
    for op, attrs, types in dict.fromkeys(static_signatures(wide.types)):
        func = lower_call(op, attrs, types, op.infer(attrs, *types), "wide")
        found = (part for one in all_expressions(func.body) for part in subexpressions(one))
        narrow = sorted({one.dtype for one in found if isinstance(one, _VALUES) and is_float(one.dtype)} - {_WIDE})
        if narrow:
            raise _no_float64(f"{op.name} is defined by {', '.join(narrow)} within")
    return wide


def judge(
    mod: IRModule, arguments: Sequence[Argument], results: Mapping[str, Sequence[Array]]
) -> tuple[Judgement, ...]:
    """Return for each float output of ``mod`` how far ``results`` are from it in float64.

    ``arguments`` are those that the ``results`` were computed of, by the names of programs. Extents
    that ``mod`` leaves open are theirs. Raises UnsupportedError where ``mod`` cannot be said in
    float64, and what running raises.
    """
    wide = in_float64(_closed(mod, arguments))
    exact = flatten(create_executor("debug", wide, backend="numpy").evaluate()(*map(_wide, arguments)))
    found = []
    for output, right in enumerate(exact):
        given = {name: arrays[output] for name, arrays in results.items()}
        if given and all(is_float(of_array(one)) for one in given.values()):
            found.append(Judgement(output, {name: _error(one, right) for name, one in given.items()}))
    return tuple(found)


def _closed(mod: IRModule, arguments: Sequence[Argument]) -> IRModule:
    """Return ``mod`` with the extents of ``arguments`` for those that it leaves open, so that what
    operators are defined by can be looked at; itself where it takes no such extents.
    """
    mod = typed_module(mod)
    dims: dict[str, list[int | None]] = {}
    for param, value in zip(mod["main"].params, arguments, strict=False):
        type_ = mod.types[param]
        if isinstance(type_, TensorType) and isinstance(value, np.ndarray) and value.ndim == type_.rank:
            pairs = zip(type_.shape, value.shape, strict=True)
            dims[param.name] = [extent if is_any(known) else None for known, extent in pairs]
    try:
        return fix_extents(mod, dims)
    except Relay2RelaxError:
        return mod


class Collected:
    """The outputs of the programs of a comparison, by names such as ``via_graph on c``.

    >>> collected = parity.Collected()
    >>> with translator.outputs_shown(collected.add):
    ...     report = translator.compare(mod)
    """

    def __init__(self) -> None:
        self.results: dict[str, list[Array]] = {}

    def add(self, program: str, backend: str, output: int, found: Array, expected: Array) -> None:
        """Keep one output, and once what it is compared with."""
        reference = self.results.setdefault(REFERENCE, [])
        if len(reference) == output:
            reference.append(expected)
        self.results.setdefault(f"{program} on {backend}", []).append(found)


def _no_float64(problem: str) -> UnsupportedError:
    return UnsupportedError(mistake(translating.FLOAT64, problem=problem))


def _error(found: Array, right: Array) -> float:
    """Return the largest error as a share of the largest finite magnitude that is right."""
    actual, expected = np.asarray(found, np.float64), np.asarray(right, np.float64)
    finite = np.isfinite(expected)
    same = np.where(finite, np.isfinite(actual), (actual == expected) | (np.isnan(actual) & np.isnan(expected)))
    if not same.all():
        return float("inf")
    if not finite.any():
        return 0.0
    largest = float(np.max(np.abs(expected[finite])))
    return float(np.max(np.abs(actual[finite] - expected[finite]))) / (largest or 1.0)


def _wide(argument: Argument) -> Argument:
    if isinstance(argument, (tuple, list)):
        return tuple(_wide(one) for one in argument)
    return argument.astype(np.float64) if is_float(of_array(argument)) else argument


def _variables(function: Function) -> list[Var]:
    """Return the variables that are bound or used anywhere in a function, each once."""
    found: dict[Var, None] = {}
    for node in nodes(function):
        match node:
            case Function(params):
                found |= dict.fromkeys(params)
            case Let(var):
                found[var] = None
            case Var():
                found[node] = None
            case Match():
                raise _no_float64("it takes data types apart")
    return list(found)


class _Widening:
    """A function whose variables, constants and attributes become wide."""

    def __init__(self, variables: Sequence[Var]) -> None:
        self.variables: dict[Expr, Var] = {var: _variable(var) for var in variables}

    def of(self, function: Function) -> Expr:
        return rewrite(function, self._changed, dict(self.variables))

    def _changed(self, node: Expr) -> Expr:
        match node:
            case Constant(data) if is_float(of_array(data)):
                return replace(node, data=data.astype(np.float64))
            case Call(Op("reinterpret")):
                raise _no_float64("it looks at the bits of numbers")
            case Call(Op(), _, attrs):
                return replace(node, attrs=_attributes(attrs))
            case Let(var):
                return replace(node, var=self.variables[var])
            case Function(params):
                params = tuple(self.variables[one] for one in params)
                return replace(node, params=params, ret_type=floats_as(node.ret_type, _WIDE))
        return node


def _variable(var: Var) -> Var:
    wide = floats_as(var.type_annotation, _WIDE)
    return var if wide == var.type_annotation else replace(var, type_annotation=wide)


def _attributes(attrs: Any) -> Any:
    """Return attributes whose dtypes are float64 where they were a float's."""
    wide = {}
    for one in attr_fields(type(attrs)) if attrs is not None else ():
        value: Union[object, str] = getattr(attrs, one.name)
        if one.name.endswith("dtype") and isinstance(value, str) and value and is_float(value):
            wide[one.name] = _WIDE
    return replace(attrs, **wide) if wide else attrs
