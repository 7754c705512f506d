"""From a network's body to a module with parameters."""

from __future__ import annotations

import math
import zlib
from dataclasses import replace

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import translating
from relay2relax.relay_ir.inference.infer import infer_type
from relay2relax.relay_ir.ir.expr import Expr, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars, substitute
from relay2relax.relay_ir.ir.types import TensorType


def create_workload(body: Expr, inputs: tuple[str, ...] = ("data",)) -> tuple[IRModule, dict[str, Array]]:
    """Return the typed module whose ``@main`` computes ``body``, and parameters for all its inputs
    but ``inputs``.

    Parameters take the types that inference finds; they have to be static. Their values are drawn
    from generators of our own that are seeded with the parameter's name, so that every call gives
    the same values (TVM draws from numpy's global generator). Weights are uniform within Xavier's
    bound ``sqrt(3 / mean of fan-in and fan-out)``; of the others, names that end in ``bias``,
    ``beta`` or ``mean`` are zero, ``gamma`` and ``var`` one. Raises Relay2RelaxError for a vector
    of another name.
    """
    types = infer_type(IRModule.from_expr(body)).types
    declared: dict[Expr, Expr] = {var: replace(var, type_annotation=types[var]) for var in free_vars(body)}
    mod = infer_type(IRModule.from_expr(substitute(body, declared)))
    params = {param.name: _initial(param) for param in mod["main"].params if param.name not in inputs}
    return mod, params


def _initial(param: Var) -> Array:
    assert isinstance(param.type_annotation, TensorType)
    shape = tuple(extent for extent in param.type_annotation.shape if isinstance(extent, int))
    dtype = numpy_dtype(param.type_annotation.dtype)
    if param.name.endswith(("bias", "beta", "mean")):
        return np.zeros(shape, dtype)
    if param.name.endswith(("gamma", "var")):
        return np.ones(shape, dtype)
    if len(shape) < 2:
        raise Relay2RelaxError(
            f"the values of the parameter `{param.name}` are not known: names end in weight, bias, gamma, beta, "
            "mean or var",
            kind=translating.CHOICE,
        )
    rng = np.random.Generator(np.random.PCG64(zlib.crc32(param.name.encode())))
    window = math.prod(shape[2:])
    scale = math.sqrt(3.0 / ((shape[0] + shape[1]) * window / 2))
    return rng.uniform(-scale, scale, shape).astype(dtype)
