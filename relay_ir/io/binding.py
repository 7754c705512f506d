"""The one step by which commands give values to the parameters of a model.

found = bind_values(mod, values)
found.weights     # what is bound, or delivered beside a script
found.inputs      # values of parameters that are inputs
found.warnings    # what a person should be told
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from relay2relax.core.amounts import listed
from relay2relax.core.dtype import Array, is_float, is_int, numpy_dtype, of_array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.errors.table import relax
from relay2relax.relay_ir.io.accounting import account, require_complete
from relay2relax.relay_ir.io.params import bind_params
from relay2relax.relay_ir.io.roles import fed_parameters
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Bound:
    """Values for parameters, in the order of the parameters.

    ``weights``  are known before the program runs. ``inputs``  are values of inputs, given in the
    same file. ``open``  are the parameters that have no value. ``missing``  are those among them
    that are weights.
    """

    weights: dict[str, Array] = field(default_factory=dict)
    inputs: dict[str, Array] = field(default_factory=dict)
    open: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def bind_values(mod: IRModule, values: Mapping[str, Array], allow_missing: bool = False, entry: str = "main") -> Bound:
    """Return what of ``values`` becomes of the parameters of ``entry``.

    A value of another dtype is converted where none of its elements changes, and that is said. What
    no parameter takes is said, too. Where every parameter has a value, those that are fed as data
    are inputs, or else the first is: a model without inputs would be computed once and for all.

    Raises Relay2RelaxError where there are no values, no name fits, a shape or dtype differs, and
    where a weight has no value unless that is allowed.
    """
    if not values and mod[entry].params:
        raise Relay2RelaxError("the params hold no arrays at all", kind=relax.BIND_PARAMS)
    found = account(mod, values, entry)
    converted, said = _converted(mod, {name: values[name] for name in found.bound}, entry)
    bind_params(mod, converted, entry)  # refuses what does not fit
    require_complete(found, allow_missing)
    fed: frozenset[str] = frozenset()
    if not found.inputs and found.bound:
        fed = frozenset(fed_parameters(mod[entry])) or frozenset(found.bound[:1])
        given = [name for name in found.bound if name in fed]
        said.append(f"every parameter has a value; taken for inputs, and not for weights: {listed(given)}")
    return Bound(
        {name: value for name, value in converted.items() if name not in fed},
        {name: value for name, value in converted.items() if name in fed},
        found.inputs,
        found.missing_weights,
        (*found.warnings, *said),
    )


def _converted(mod: IRModule, values: Mapping[str, Array], entry: str) -> tuple[dict[str, Array], list[str]]:
    """Return ``values`` in the dtypes of their parameters, and what is to be said of that."""
    made = dict(values)
    done: list[str] = []
    lossy: list[str] = []
    for param in mod[entry].params:
        wanted, value = param.type_annotation, values.get(param.name)
        if value is None or not isinstance(wanted, TensorType) or not _is_alike(of_array(value), wanted.dtype):
            continue
        change = f"{param.name} ({of_array(value)} to {wanted.dtype})"
        with np.errstate(all="ignore"):
            other = value.astype(numpy_dtype(wanted.dtype))
            same = np.array_equal(other.astype(value.dtype), value, equal_nan=is_float(wanted.dtype))
        (done if same else lossy).append(change)
        made[param.name] = other
    if lossy:
        title = f"these values of the params are of another dtype, and would change: {listed(lossy)}"
        help = "where that does not matter, save them as the model has them: value.astype(…)"
        raise Relay2RelaxError(Diagnostic(title, help=help), kind=relax.BIND_PARAMS)
    return made, [f"converted, without a change of any value: {listed(done)}"] if done else []


def _is_alike(given: str, wanted: str) -> bool:
    """Whether the dtypes differ, and are both of floats or both of integers."""
    return given != wanted and ((is_float(given) and is_float(wanted)) or (is_int(given) and is_int(wanted)))
