"""The lower-to-TIR translator: every operator call becomes ``R.call_tir`` of a PrimFunc of its own.

Operator name and attributes are kept on the PrimFunc (``op_name``, ``op_attrs``), spans on the calls, parameter names
on the parameters. Equal calls share a PrimFunc. The program is the caller's: nothing is optimised on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from relay2relax import relax_ir, relay_ir
from relay2relax.core import Diagnostic, UnsupportedError, post_order
from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import Array
from relay2relax.ops import relay_op
from relay2relax.ops.symbolic import Dims
from relay2relax.relax_ir.emitter import OpEmitter
from relay2relax.relax_ir.struct_info import from_type
from relay2relax.relay_ir.expr import children
from relay2relax.translator.prepare import Prepared, prepare


@dataclass(frozen=True, slots=True)
class Translation:
    """A Relax module and, for each Relay node of the prepared ``main``, the Relax value that it became."""

    module: relax_ir.IRModule
    source: Prepared
    values: Mapping[relay_ir.Expr, relax_ir.Expr]


def lower_to_tir(
    mod: relay_ir.IRModule | relay_ir.Function, params: Mapping[str, Array] | None = None, dims: Dims | None = None
) -> relax_ir.IRModule:
    """Translate ``main`` of ``mod``, or a function alone, operator by operator to ``call_tir``.

    ``params`` are bound as constants by name. Every ``?`` of a parameter becomes a symbolic dimension; ``dims`` names
    or unifies them: ``{"data": ("batch", None, None, None)}``. Raises UnsupportedError for what Relax cannot express
    yet, and TypeInferenceError where ``mod`` is ill-typed.
    """
    return translate(mod, params, dims).module


@collection_paused()
def translate(
    mod: relay_ir.IRModule | relay_ir.Function, params: Mapping[str, Array] | None = None, dims: Dims | None = None
) -> Translation:
    """Translate as :func:`lower_to_tir` does, and say what became of each node."""
    prepared = prepare(mod, params, dims)
    builder = relax_ir.BlockBuilder()
    emitter = OpEmitter(builder, prepared.symbols)
    values: dict[relay_ir.Expr, relax_ir.Expr] = {}
    relax_params = [
        relax_ir.Var(param.name, from_type(type_), span=param.span)
        for param, type_ in zip(prepared.main.params, prepared.param_types, strict=True)
    ]
    values.update(zip(prepared.main.params, relax_params, strict=True))
    with builder.function("main", relax_params):
        with builder.dataflow():
            for node in post_order([prepared.main.body], children):
                if node not in values and not isinstance(node, relay_ir.Op):
                    values[node] = _emit(emitter, node, values, prepared.module)
            result = builder.emit_output(values[prepared.main.body])
        builder.emit_func_output(result)
    return Translation(builder.get(), prepared, values)


def _emit(
    emitter: OpEmitter,
    node: relay_ir.Expr,
    values: Mapping[relay_ir.Expr, relax_ir.Expr],
    mod: relay_ir.IRModule,
) -> relax_ir.Expr:
    match node:
        case relay_ir.Constant(data, span):
            return relax_ir.Constant(data, span)
        case relay_ir.Tuple(fields):
            return relax_ir.Tuple(tuple(values[field] for field in fields))
        case relay_ir.TupleGetItem(value, index):
            return emitter.item(values[value], index)
        case relay_ir.Call(relay_ir.Op(name), args, attrs, _, span):
            op = relay_op(name)
            if op is None:
                unsupported(mod, node, f"operator {name} has no record")
            return emitter.as_tir(op, attrs, tuple(values[arg] for arg in args), span=span)
        case relay_ir.Var(name):
            unsupported(mod, node, f"variable %{name} is free")
    unsupported(mod, node, f"{type(node).__name__} in main")


def unsupported(mod: relay_ir.IRModule, node: relay_ir.Expr, what: str) -> NoReturn:
    """Raise UnsupportedError for ``node``, with its place where it is known."""
    diagnostic = Diagnostic(
        f"cannot translate {what}",
        where=mod.locations.get(node),
        help="dataflow of operators, tuples, lets and calls of local functions is translated",
    )
    raise UnsupportedError(diagnostic, mod.source)
