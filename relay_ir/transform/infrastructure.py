"""The pass manager: the form of a pass, the context passes run in, and running several.

with PassContext(opt_level=3, disabled_pass=["FoldConstant"], instruments=[PassTimingInstrument()]):
    mod = Sequential([InferType(), FoldConstant(), EliminateCommonSubexpr()])(mod)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import TracebackType
from typing import ClassVar

from relay2relax.core.collection import collection_paused
from relay2relax.relay_ir.expr import Expr, Function, Var
from relay2relax.relay_ir.infer import infer_type
from relay2relax.relay_ir.module import IRModule
from relay2relax.relay_ir.rewrite import substitute
from relay2relax.relay_ir.types import Type


@dataclass(frozen=True, slots=True)
class PassInfo:
    """What instruments learn of a pass: its name and the optimisation level from which it runs."""

    name: str
    opt_level: int


class PassInstrument:
    """Looks on while passes run. Subclasses override what they are interested in."""

    def enter_pass_ctx(self) -> None:
        """The context that the instrument belongs to is entered."""

    def exit_pass_ctx(self) -> None:
        """The context is left, also by an exception."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether the pass may run on ``mod``; one instrument that says no is enough."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """``mod`` is about to be given to the pass."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """The pass returned ``mod``."""


_contexts: ContextVar[tuple[PassContext, ...]] = ContextVar("_contexts", default=())


@dataclass(frozen=True, slots=True, eq=False)
class PassContext:
    """What holds for passes that run within ``with PassContext(…):``.

    ``opt_level``      a ``Sequential`` leaves out passes of a higher level (those in ``required_pass`` run anyway).
    ``required_pass``  names of passes that a ``Sequential`` always runs.
    ``disabled_pass``  names of passes that a ``Sequential`` leaves out.
    ``instruments``    look on at every pass.
    """

    opt_level: int = 2
    required_pass: Sequence[str] = ()
    disabled_pass: Sequence[str] = ()
    instruments: Sequence[PassInstrument] = ()

    @staticmethod
    def current() -> PassContext:
        """Return the innermost context, the default one outside of any."""
        stack = _contexts.get()
        return stack[-1] if stack else PassContext()

    def enabled(self, info: PassInfo) -> bool:
        """Whether a ``Sequential`` runs the pass in this context."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    def __enter__(self) -> PassContext:
        _contexts.set((*_contexts.get(), self))
        for instrument in self.instruments:
            instrument.enter_pass_ctx()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _contexts.set(_contexts.get()[:-1])
        for instrument in self.instruments:
            instrument.exit_pass_ctx()


class Pass:
    """A pass: a module in, a module out; its argument is never changed.

    A pass is a frozen dataclass whose fields are its options. It overrides :meth:`transform`; ``opt_level`` is the
    level from which a ``Sequential`` runs it (as in TVM).
    """

    __slots__ = ()
    opt_level: ClassVar[int] = 0

    @property
    def info(self) -> PassInfo:
        """The pass's name and level."""
        return PassInfo(type(self).__name__, self.opt_level)

    def transform(self, mod: IRModule) -> IRModule:
        """Return the changed module; ``mod`` itself where there is nothing to change."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it does")

    def __call__(self, mod: IRModule) -> IRModule:
        """Run the pass under the eyes of the current context's instruments."""
        instruments, info = PassContext.current().instruments, self.info
        if not all(instrument.should_run(mod, info) for instrument in instruments):
            return mod
        for instrument in instruments:
            instrument.run_before_pass(mod, info)
        with collection_paused():
            result = self.transform(mod)
        for instrument in instruments:
            instrument.run_after_pass(result, info)
        return result


@dataclass(frozen=True, slots=True)
class Sequential(Pass):
    """Passes one after the other, as far as the current context enables them."""

    passes: Sequence[Pass]
    name: str = "sequential"

    @property
    def info(self) -> PassInfo:
        """The name given, and level 0: what it contains has levels of its own."""
        return PassInfo(self.name, 0)

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` after every enabled pass."""
        context = PassContext.current()
        for one in self.passes:
            if context.enabled(one.info):
                mod = one(mod)
        return mod


@dataclass(frozen=True, slots=True)
class FunctionPass(Pass):
    """A pass of the user's own: ``change`` is applied to every function of the module.

    ``change(function, mod)`` returns the new function; ``mod.types`` is filled where the module was inferred.
    """

    change: Callable[[Function, IRModule], Function]
    name: str = "function_pass"
    level: int = 0

    @property
    def info(self) -> PassInfo:
        """The name and level given."""
        return PassInfo(self.name, self.level)

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with every function changed."""
        return map_functions(mod, lambda function: self.change(function, mod))


def map_functions(mod: IRModule, change: Callable[[Function], Function]) -> IRModule:
    """Return ``mod`` with every function replaced by ``change(function)``; itself where none differs."""
    functions = {var: change(function) for var, function in mod.functions.items()}
    if all(functions[var] is function for var, function in mod.functions.items()):
        return mod
    return replace(mod, functions=functions, types={})


def typed(mod: IRModule) -> IRModule:
    """Return ``mod`` with its types; raises TypeInferenceError where it has none."""
    return mod if mod.types else infer_type(mod)


def declared(mod: IRModule) -> IRModule:
    """Return ``mod`` with the types of its functions' parameters declared, itself where they are.

    A pass that removes code calls this first: what it removes may be what determined the type of a parameter.
    """
    functions = mod.functions.values()
    if all(param.type_annotation is not None for function in functions for param in function.params):
        return mod
    types = typed(mod).types
    return map_functions(mod, lambda function: with_types(function, types))


def with_types(function: Function, types: Mapping[Expr, Type]) -> Function:
    """Return ``function`` with the types found for its parameters and its result, where it declares none."""
    params: dict[Expr, Var] = {
        param: replace(param, type_annotation=types[param])
        for param in function.params
        if param.type_annotation is None and param in types
    }
    if params:
        body = substitute(function.body, dict(params))
        function = replace(function, params=tuple(params.get(one, one) for one in function.params), body=body)
    if function.ret_type is None and function.body in types:
        function = replace(function, ret_type=types[function.body])
    return function
