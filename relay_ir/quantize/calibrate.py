"""Scales and bounds of simulated quantisation.

Source of the semantics: TVM 0.18 python/tvm/relay/quantize/_calibrate.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError, mistake
from relay2relax.core.errors.table import files
from relay2relax.core.passes import Pass
from relay2relax.ops.registry.evaluate import kernel_value
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem, Var, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, substitute
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.relay_ir.quantize.annotate import SIMULATED
from relay2relax.relay_ir.quantize.config import QAnnotateKind, current_qconfig
from relay2relax.relay_ir.quantize.kl_divergence import threshold_by_kl
from relay2relax.relay_ir.transform.infrastructure import declared
from relay2relax.relay_ir.transform.parts import scalar

# The inputs of one run, by the names of parameters.
Batch = Mapping[str, Any]
_PERCENTILE = 0.99999


@dataclass(frozen=True, slots=True)
class QuantizeCalibrate(Pass[IRModule]):
    """Give each ``simulated_quantize`` of ``@main`` its scale and bounds.

    ``dataset`` are inputs of ``@main`` by name, which the modes ``"kl_divergence"`` and
    ``"percentile"`` of the configuration need.
    """

    dataset: Iterable[Batch] = field(default=(), repr=False)
    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with constants in the place of the parameters that annotation added.

        Raises Relay2RelaxError for a mode that there is not and for a data set without inputs,
        UnsupportedError for a weight that is not constant.
        """
        scales = _input_scales(mod, tuple(self.dataset))
        weight_scale = _named("weight_scale", {"max": _largest, "power2": _power_of_two})
        config = current_qconfig()
        found: dict[Expr, Expr] = {}
        for call in _simulated(mod["main"]):
            kind = QAnnotateKind(call.attrs.kind)
            levels = 2 ** (config.get_nbit_by_kind(kind) - int(call.attrs.sign))
            scale = weight_scale(_weight(call)) if kind == QAnnotateKind.WEIGHT else scales(call)
            values = (scale / levels, -(levels - 1), levels - 1)
            found.update(zip(call.args[1:], (scalar(one, "float32") for one in values), strict=True))
        return mod.with_function(mod.get_global_var("main"), _bound(mod["main"], found))


def _bound(function: Function, values: Mapping[Expr, Expr]) -> Function:
    left = tuple(param for param in function.params if param not in values)
    return replace(function, params=left, body=substitute(function.body, values))


def _simulated(function: Function) -> list[Call]:
    return [one for one in nodes(function) if isinstance(one, Call) and one.op == SIMULATED]


def _weight(call: Call) -> Array:
    weight = call.args[0]
    if not isinstance(weight, Constant):
        raise UnsupportedError("a weight that is quantised has to be constant: give its value among the parameters")
    return weight.data


def _named(option: str, ways: Mapping[str, Any]) -> Any:
    """Return what the configuration chooses by an option."""
    name = getattr(current_qconfig(), option)
    if name not in ways:
        expected = " or ".join(repr(one) for one in ways)
        raise Relay2RelaxError(mistake(files.OPTION, name=option, value=repr(name), expected=expected))
    return ways[name]


def _largest(weight: Array) -> float:
    return float(np.amax(np.abs(weight)))


def _power_of_two(weight: Array) -> float:
    largest = _largest(weight)
    return float(2.0 ** math.ceil(math.log(largest, 2))) if largest > 0 else 1.0


def _percentile(samples: Array) -> float:
    sizes = np.abs(samples)
    place = int(sizes.size * _PERCENTILE)
    return float(np.partition(sizes, place)[place])


def _input_scales(mod: IRModule, dataset: Sequence[Batch]) -> Callable[[Call], float]:
    """Return the scale of each value that is not a weight."""
    ways = {"global_scale": None, "kl_divergence": threshold_by_kl, "percentile": _percentile}
    measure = _named("calibrate_mode", ways)
    if measure is None:
        return lambda call: current_qconfig().global_scale
    if not dataset:
        raise Relay2RelaxError("the scales of inputs come from a data set, and none is given", kind=files.OPTION)
    chunks = collect_stats(mod, dataset, current_qconfig().calibrate_chunk_by)
    scales = [measure(samples) for chunk in chunks for samples in chunk]
    found = dict(zip(_profiled(mod["main"]), scales, strict=True))
    return found.__getitem__


# --- what the values are that are quantised -------------------------------------------------------


def _profiled(function: Function) -> list[Call]:
    return [one for one in _simulated(function) if one.attrs.kind != QAnnotateKind.WEIGHT]


def collect_stats(mod: IRModule, dataset: Iterable[Batch], chunk_by: int = -1) -> Iterator[list[Array]]:
    """Yield the values that each ``simulated_quantize`` of ``@main`` is given, in order, weights
    left out: a flat array of all batches each. Nothing is rounded.

    Of ``chunk_by`` values the samples are held at a time, -1 for all. Raises UnsupportedError for
    anything but operators, tuples and their fields, Relay2RelaxError where an input is missing.
    """
    main = declared(mod)["main"]
    asked = _profiled(main)
    step = len(asked) if chunk_by == -1 else chunk_by
    batches = list(dataset)
    for first in range(0, len(asked), max(step, 1)):
        wanted = asked[first : first + step]
        runs = [_values(main, wanted, batch) for batch in batches]
        yield [np.concatenate([run[call].reshape(-1) for run in runs]) for call in wanted]


def _values(function: Function, wanted: Sequence[Call], batch: Batch) -> dict[Expr, Array]:
    """Return what ``wanted`` are given in one run."""
    order = list(nodes(*wanted))
    uses = Counter(child for node in order for child in children(node))
    uses.update(wanted)
    params = set(function.params)
    known: dict[Expr, Any] = {}
    for node in order:
        known[node] = _value(node, known, params, batch)
        for child in children(node):
            uses[child] -= 1
            if not uses[child]:
                known.pop(child, None)
    return {call: known[call] for call in wanted}


def _value(node: Expr, known: Mapping[Expr, Any], params: set[Var], batch: Batch) -> Any:
    match node:
        case Constant(data):
            return data
        case Var(name) if node in params:
            return _input(node, batch[name]) if name in batch else _missing(node)
        case Tuple(fields):
            return tuple(known[one] for one in fields)
        case TupleGetItem(whole, index):
            return known[whole][index]
        case Op():
            return None
        case Call(op, args) if op == SIMULATED:
            return known[args[0]]
        case Call(Op(name), args):
            record = relay_op(name)
            if record is not None:
                return kernel_value(record, node.attrs, [known[arg] for arg in args])
    raise UnsupportedError(f"values are not collected through a {type(node).__name__} of Relay")


def _input(param: Var, given: Any) -> Array:
    ty = param.type_annotation
    return np.asarray(given, numpy_dtype(ty.dtype) if isinstance(ty, TensorType) else None)


def _missing(param: Var) -> None:
    """Scales and bounds have no value yet; an input has to have one."""
    if param.name in ("dom_scale", "clip_min", "clip_max"):
        return
    raise Relay2RelaxError(f"the data set has no input {param.name!r}", kind=files.OPTION)
