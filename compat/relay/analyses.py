"""``tvm.relay.analysis``: questions asked of programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import cast

import numpy as np

from relay2relax.relay_ir import analysis as ours
from relay2relax.relay_ir.ir.expr import Expr, Function, Match
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import Type
from relay2relax.relay_ir.testing.type_solver import TypeSolver


def analysis(name: str) -> object:
    """Return the analysis ``name``; raises AttributeError where there is none."""
    found: Callable[..., object] = getattr(ours, name)
    if not callable(found) or isinstance(found, type):
        return found

    def ask(*args: object, **kwargs: object) -> object:
        result = found(*args, **kwargs)
        return list(result) if isinstance(result, tuple) else result

    return ask


def check_kind(t: Type, mod: IRModule | None = None) -> object:
    """Return the kind of a type."""
    return ours.check_kind(t, mod) if mod is not None else ours.check_kind(t)


def well_formed(expr: object) -> bool:
    """Whether every variable is bound once, where it is in reach."""
    return bool(ours.well_formed(cast(Expr, expr)))


def unmatched_cases(match: Match, mod: IRModule | None = None) -> object:
    """Return the patterns of cases that a match does not have."""
    return ours.unmatched_cases(match, mod)


def detect_feature(a: object, b: object = None) -> object:
    """Return which constructs of the language a program has."""
    if isinstance(a, IRModule) and b is not None:
        a, b = b, a
    return ours.detect_feature(a, b) if b is not None else ours.detect_feature(a)  # type: ignore[arg-type]


def simplify_fc_transpose(function: Function, params: Mapping[str, object]) -> object:
    """Return a function whose products take transposed weights, and those weights."""
    from relay2relax.compat.running.ndarray import array
    from relay2relax.relay_ir.transform import SimplifyFCTranspose

    names = tuple(ours.search_fc_transpose(function))
    after = SimplifyFCTranspose(names)(IRModule.from_expr(function))["main"]
    changed = dict(params)
    for name in names:
        changed[f"{name}.T"] = array(np.ascontiguousarray(np.asarray(params[name]).T))
        del changed[name]
    return after, changed


def extract_fused_functions(mod: IRModule) -> object:
    """Return the functions that FuseOps makes of a module, by name."""
    from relay2relax.relay_ir.transform import extract_fused_functions as extract

    return extract(mod)


def get_calibration_data(mod: IRModule, data: Mapping[str, object]) -> object:
    """Return what the functions of external compilers are given, and give."""
    from relay2relax.backends import get_calibration_data as calibrate
    from relay2relax.compat.running.ndarray import array

    given = {name: np.asarray(value) for name, value in data.items()}
    return {
        var: {part: [array(one) for one in arrays] for part, arrays in found.items()}
        for var, found in calibrate(mod, given).items()
    }


class SolverFunctions:
    """A solver of types as TVM's tests ask for it: its functions by name."""

    def __init__(self) -> None:
        solver = TypeSolver()
        self._functions: dict[str, Callable[..., object]] = {
            "Solve": solver.solve, "Unify": solver.unify, "Resolve": solver.resolve,
            "AddConstraint": lambda one: solver.relate(_SOLVED[one.name], one.args[:-1], one.args[-1]),
        }  # fmt: skip

    def __call__(self, name: str) -> Callable[..., object]:
        return self._functions[name]


_SOLVED = {"tvm.relay.type_relation.Identity": None, "tvm.relay.type_relation.Broadcast": "add"}
InternalFunctions = SimpleNamespace(_test_type_solver=SolverFunctions)
