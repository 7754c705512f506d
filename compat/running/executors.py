"""``relay.create_executor``: programs run as they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from relay2relax.backends.relay.executor import create_executor as our_executor
from relay2relax.compat.running.results import legacy, plain
from relay2relax.compat.running.targets import RUNNING, backend_of
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.analysis import free_vars
from relay2relax.relay_ir.io.params import bind_params
from relay2relax.relay_ir.ir.expr import Expr, Function, GlobalVar, Let, Var, as_expr
from relay2relax.relay_ir.ir.module import IRModule

Runner = Callable[..., object]


class Executor:
    """Runs functions of a module, or expressions beside it."""

    def __init__(self, kind: str, mod: IRModule, device: object, target: object) -> None:
        self.kind = kind
        self.mod = mod
        self.device = device
        self.target = target
        self._backend = backend_of(target, RUNNING)

    def evaluate(self, expr: object = None, binds: Mapping[Expr, object] | None = None) -> object:
        """Return a function that runs ``expr``: a function itself, the ``main`` of the module by
        default. Another expression is run at once, and its value returned.
        """
        for var, value in reversed(list((binds or {}).items())):
            expr = Let(cast(Var, var), as_expr(value), cast(Expr, expr))
        name, mod = "main", self.mod
        if isinstance(expr, (str, GlobalVar)):
            name = expr if isinstance(expr, str) else expr.name
        elif expr is not None:
            mod = self._beside(cast(Expr, expr))
        if expr is not None and not isinstance(expr, (str, Function, GlobalVar)) and free_vars(cast(Expr, expr)):
            raise ValueError("the expression has variables that nothing binds")
        run = _runner(self.kind, mod, name) if self._backend == "c" else _beside(mod, name, self.target)
        if expr is None or isinstance(expr, (str, Function, GlobalVar)):
            return run
        return run()

    def _beside(self, expr: Expr) -> IRModule:
        others = {var: one for var, one in self.mod.functions.items() if var.name != "main"}
        return IRModule.from_expr(expr, others, self.mod.type_definitions)  # type: ignore[arg-type]


def _runner(kind: str, mod: IRModule, name: str) -> Runner:
    """Return what runs a function; the program is prepared when it is first called."""
    evaluation = our_executor(kind, mod).evaluate(name)

    def run(*args: object, **params: object) -> object:
        given = [plain(one) for one in args], {key: plain(one) for key, one in params.items()}
        names = [name for name, _ in evaluation.parameters][len(args) :]
        if len(set(names)) < len(names) and set(names) <= set(params):
            # Parameters of one name are given the same value, as in TVM.
            given = [*given[0], *(given[1][name] for name in names)], {}
        return legacy(evaluation(*given[0], **given[1]), as_lists=kind == "vm")

    return run


def _beside(mod: IRModule, name: str, target: object) -> Runner:
    """Return what runs ``main`` in apache-tvm; arguments are given by place or by name."""
    from relay2relax.compat.running.factory import build

    if name != "main":
        raise UnsupportedError(f"apache-tvm is given the function main here, not {name}")
    library = build(mod, target).library()
    run = library.runner()
    names = [one for one, _ in library.inputs]

    def call(*args: object, **params: object) -> object:
        given = dict(zip(names, args, strict=False)) | params
        found = run(*(np.asarray(plain(given[one])) for one in names))
        return legacy(found[0] if len(library.outputs) == 1 else found)  # type: ignore[index]

    return call


def create_executor(
    kind: str = "debug",
    mod: IRModule | None = None,
    device: object = None,
    target: object = "llvm",
    params: Mapping[str, object] | None = None,
    ctx: object = None,
) -> Executor:
    """Return an executor of kind ``debug``, ``graph``, ``vm`` or ``aot``, on numpy, or for the
    target ``tvm`` in apache-tvm.

    ``params`` are bound to the parameters of ``main`` of those names. Raises UnsupportedError for a
    target that is not a processor. ``ctx`` was the name of ``device`` until TVM 0.7.
    """
    given = IRModule() if mod is None else mod
    if params:
        given = bind_params(given, params)  # type: ignore[arg-type]
    return Executor({"aot": "graph"}.get(kind, kind), given, device or ctx, target)
