"""``tvm.transform`` and ``tvm.relay.transform``: passes as TVM's functions take and give them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, cast

from relay2relax.compat.relay.inferring import InferType
from relay2relax.compat.running.targets import Target
from relay2relax.compat.vocabulary.teaching import Face, Lesson, face
from relay2relax.core import passes as core
from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.relay_ir import transform
from relay2relax.relay_ir.inference.infer import infer_type
from relay2relax.relay_ir.ir.expr import Expr, Function, GlobalVar
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.pipeline.options import OPTIONS, USED
from relay2relax.relay_ir.transform import infrastructure
from relay2relax.relay_ir.transform.layout.op_attrs import functions_of

if TYPE_CHECKING:
    from relay2relax.relay_ir.transform.partition.merge_composite import Row

# What TVM runs before a pass of a ``Sequential``; types are inferred where a pass asks for them.
_REQUIRED = {
    "AnnotateUsedMemory": ("ToANormalForm",),
    "Conv2dToSparse": ("DeadCodeElimination",),
    "Conv2dToSparse2": ("DeadCodeElimination",),
    "ConvertLayout": ("CanonicalizeOps",),
    "DenseToSparse": ("DeadCodeElimination",),
    "DivToMul": ("FoldConstant",),
    "FakeQuantizationToInteger": ("DivToMul",),
    "SimplifyFCTranspose": ("DeadCodeElimination",),
}
Decorator = Callable[[Callable[..., object]], object]
_call = core.Pass.__call__
_context_init = core.PassContext.__init__


@dataclass(frozen=True, slots=True)
class _Inferring(core.Pass[object]):
    """A pass, and inference of the types of what it made, as TVM's passes over functions do."""

    one: core.Pass[object]

    @property
    def info(self) -> core.PassInfo:
        """The name and level of the pass."""
        return self.one.info

    def transform(self, mod: object) -> object:
        """Return what the pass makes of ``mod``, with its types."""
        result = self.one.transform(mod)
        try:
            return InferType()(result) if isinstance(result, IRModule) else result
        except Relay2RelaxError:
            # Passes over modules may leave what has no type; whoever asks for one is told.
            return result


def run(self: core.Pass[object], mod: object) -> object:
    """Run a pass, and infer the types of what it made where TVM does."""
    alone = isinstance(self, (core.Sequential, core.ModulePass, transform.InferType, _Inferring))
    return _call(self if alone else _Inferring(self), mod)


_said: set[str] = set()


def pass_context(
    self: core.PassContext,
    opt_level: int = 2,
    required_pass: Sequence[str] | None = None,
    disabled_pass: Sequence[str] | None = None,
    instruments: Sequence[object] | None = None,
    config: Mapping[str, object] | None = None,
    **others: object,
) -> None:
    """Make a context; options of TVM's that change nothing here are said once.

    Raises Relay2RelaxError for one that TVM does not have.
    """
    given = dict(config or {})
    for name in given:
        if name in OPTIONS and name not in USED | core.CONFIGS.keys() and name not in _said:
            _said.add(name)
            warnings.warn(f"the option {name} changes nothing here", stacklevel=2)
        elif name not in OPTIONS and name not in core.CONFIGS:
            names = ", ".join(sorted(OPTIONS))
            raise Relay2RelaxError(mistake(translating.CHOICE, what="option of a pass", name=repr(name), known=names))
    known = {name: value for name, value in given.items() if name in core.CONFIGS}
    _context_init(
        self, opt_level, tuple(required_pass or ()), tuple(disabled_pass or ()),
        cast("Sequence[core.PassInstrument]", tuple(instruments or ())), known,
    )  # fmt: skip
    object.__setattr__(self, "config", {**given, **known})


def build_config(opt_level: int = 2, **options: object) -> core.PassContext:
    """Return a context, as TVM up to 0.6 called it."""
    return core.PassContext(opt_level=opt_level, **options)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class LeveledSequential(core.Sequential[IRModule]):
    """Passes one after the other, as a pass of a level of its own."""

    level: int = 0

    @property
    def info(self) -> core.PassInfo:
        """The name and level given."""
        return core.PassInfo(self.name, self.level)

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` after every enabled pass, and those that it requires before it."""
        for one in self.passes:
            if core.PassContext.current().enabled(one.info):
                for name in _REQUIRED.get(one.info.name, ()):
                    mod = getattr(transform, name)()(mod)
                mod = one(mod)
        return mod


def _sequential(passes: Sequence[core.Pass[IRModule]] = (), opt_level: int = 0, name: str = "sequential",
                required: object = None, traceable: bool = False) -> core.Sequential[IRModule]:  # fmt: skip
    return LeveledSequential(tuple(passes or ()), name, opt_level)


def _pass_info(opt_level: int, name: str, required: object = None, traceable: bool = False) -> core.PassInfo:
    return core.PassInfo(name, opt_level)


def _decorator(make: Callable[..., Decorator]) -> Callable[..., object]:
    def decorator(pass_func: Callable[..., object] | None = None, opt_level: int | None = None,
                  name: str | None = None, required: object = None, traceable: bool = False) -> object:  # fmt: skip
        if opt_level is None:
            raise ValueError("Please provide opt_level for the pass.")
        decorate = make(opt_level=opt_level, name=name or "")
        return decorate if pass_func is None else decorate(pass_func)

    return decorator


module_pass = _decorator(core.module_pass)
function_pass = _decorator(infrastructure.function_pass)
Sequential = face("Sequential", core.Sequential, _sequential)
PassInfo = face("PassInfo", core.PassInfo, _pass_info)
ModulePass: Face = face("ModulePass", core.Pass)


def as_values(name: str) -> Callable[..., object]:
    """Return what makes the pass ``name`` of arguments as TVM's function takes them."""
    cls = getattr(transform, name)
    if not isinstance(cls, type):
        return cast("Callable[..., object]", cls)

    def make(*args: object, **kwargs: object) -> object:
        given = dict(zip((one.name for one in fields(cls)), args, strict=False)) | kwargs
        return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in given.items()})

    make.__name__ = name
    make.__doc__ = cls.__doc__
    return make


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    return as_values(name)


def of_expression(made: core.Pass[IRModule], expr: Expr, mod: IRModule | None = None) -> Expr:
    """Return ``expr`` after a pass, beside the functions of ``mod``."""
    given = IRModule.from_expr(expr)
    if mod is not None:
        given.update(mod.without_functions(("main",)))  # type: ignore[attr-defined]
    main = made(given)["main"]
    return main if isinstance(expr, Function) else main.body


def Defunctionalization(func: Function, mod: IRModule) -> Function:
    """Return a function without functions as values; ``mod`` gets what calls them."""
    name = next((var.name for var, one in mod.functions.items() if one is func), "main")
    made = transform.Defunctionalization(name)(mod)
    mod.update(made)  # type: ignore[attr-defined]
    return made[name]


def AnnotateTarget(targets: object, include_non_call_ops: bool = True) -> core.Pass[IRModule]:
    """Return the pass for targets whose operators are registered under ``target.NAME``."""
    names = [targets] if isinstance(targets, str) else list(cast("Sequence[str]", targets))
    found = {name: {op: _asked(one) for op, one in functions_of(f"target.{name}").items()} for name in names}
    return transform.AnnotateTarget(found, include_non_call_ops)


def MergeComposite(pattern_table: Sequence[Sequence[object]]) -> core.Pass[IRModule]:
    """Return the pass; a check of a row is asked of the call alone."""
    rows = [(name, pattern, *(_asked(check) for check in checks)) for name, pattern, *checks in pattern_table]
    return transform.MergeComposite(cast("Sequence[Row]", rows))


def _asked(check: object) -> Callable[..., bool]:
    return lambda call, types: bool(cast("Callable[..., object]", check)(call))


def AnnotateSpans() -> core.Pass[IRModule]:
    """Return a pass that prints the module and reads it anew, so that its nodes have places."""
    from relay2relax.relay_ir.text.parser import parse

    return core.ModulePass(lambda mod, context: parse(mod.astext()), "AnnotateSpans", 0)


@dataclass(frozen=True, slots=True)
class FuseOps(transform.FuseOps):
    """The pass, with kernels of as many arguments as the current target takes."""

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its operators in groups."""
        target = Target.current()
        limit = 0 if target is None else target.max_function_args
        return transform.FuseOps(self.fuse_opt_level, limit).transform(mod)


@dataclass(frozen=True, slots=True)
class QnnLegalize(transform.QnnLegalize):
    """The pass, for the current target where none is given."""

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` in the forms that the target wants."""
        return transform.QnnLegalize(self.target or str(Target.current() or "")).transform(mod)


@dataclass(frozen=True, slots=True)
class PartitionGraph(transform.PartitionGraph):
    """The pass; functions registered as ``relay.ext.COMPILER.optimize`` change what it makes."""

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its regions as functions."""
        made = transform.PartitionGraph(self.mod_name, self.bind_constants).transform(mod)
        known = set(mod.functions)
        changed = {var: _optimised(one) for var, one in made.functions.items() if var not in known}
        return replace(made, functions={**made.functions, **changed}, types={})


def _optimised(function: Function) -> Function:
    from relay2relax.compat.running.functions import get_global_func

    optimise = get_global_func(f"relay.ext.{function.attrs.get('Compiler')}.optimize", allow_missing=True)
    if optimise is None:
        return function
    given = InferType()(IRModule.from_expr(replace(function, attrs={})))
    found = cast(IRModule, optimise(given))["main"]
    return replace(found, attrs={**found.attrs, **function.attrs})


def EliminateCommonSubexpr(fskip: Callable[[Expr], bool] | None = None) -> core.Pass[IRModule]:
    """Return the pass; ``fskip`` says which calls stay."""
    return transform.EliminateCommonSubexpr(fskip)


def FoldConstantExpr(expr: Expr, mod: IRModule | None = None, fold_qnn: bool = False) -> Expr:
    """Return an expression with what depends on constants alone computed."""
    return of_expression(transform.FoldConstant(fold_qnn), expr, mod)


def ToANormalFormExpr(expr: Expr) -> Expr:
    """Return an expression in A-normal form."""
    return of_expression(transform.ToANormalForm(), expr)


def InferTypeLocal(expr: Expr) -> object:
    """Return the type of an expression."""
    main = infer_type(IRModule.from_expr(expr))["main"]
    return (main if isinstance(expr, Function) else main.body).checked_type  # type: ignore[union-attr]


def gradient(expr: object, mod: IRModule | None = None, mode: str = "higher_order") -> Expr:
    """Return the function that also gives the gradients of a function's parameters.

    ``mod`` gets the functions that gradients of ``higher_order`` call.
    """
    function = cast(Function, mod[expr] if mod is not None and isinstance(expr, GlobalVar) else expr)
    if mode == "first_order":
        return of_expression(transform.FirstOrderGradient(), function, mod)
    own = GlobalVar("gradient")
    known = {} if mod is None else dict(mod.functions)
    beside = IRModule(known) if mod is None else replace(mod, functions={**known, own: function}, types={})
    made = transform.HigherOrderGradient((own.name,))(beside if mod is not None else IRModule({own: function}))
    if mod is not None:
        for var, one in made.functions.items():
            if var not in known and var.name != own.name:
                mod[var] = one
    return made[own.name]


def recast(expr: Expr, dtype: str, out_dtype: str, ops: Sequence[str] | None = None,
           skip_layers: Sequence[int] | None = None) -> Expr:  # fmt: skip
    """Return an expression whose operators compute in ``dtype``; it declares what it declared."""
    options = {"ops": ops, "skip_layers": skip_layers}
    given = {name: tuple(value) for name, value in options.items() if value is not None}
    found = cast(Expr, cast("Callable[..., object]", transform.recast)(expr, dtype, out_dtype, **given))
    if isinstance(found, Function) and isinstance(expr, Function) and expr.ret_type is None:
        return replace(found, ret_type=None)
    return found


def print_ir(header: str = "", show_meta_data: bool = False) -> object:
    """Return a pass that prints the module."""

    def show(mod: IRModule, context: object) -> IRModule:
        print(f"PrintIR({header}):\n{mod.astext(show_meta_data=show_meta_data)}", file=sys.stderr)
        return mod

    return core.ModulePass(show, "PrintIR", 0)


def override_instruments(self: core.PassContext, instruments: Sequence[core.PassInstrument]) -> None:
    """Let others look on from here on."""
    leave(self)
    object.__setattr__(self, "instruments", tuple(instruments or ()))
    enter(self)


def enter(context: core.PassContext) -> None:
    """Tell the instruments that their context is entered; where one fails, none looks on."""
    entered: list[core.PassInstrument] = []
    try:
        for one in context.instruments:
            one.enter_pass_ctx()
            entered.append(one)
    except BaseException:
        object.__setattr__(context, "instruments", ())
        for one in entered:
            one.exit_pass_ctx()
        raise


def leave(context: core.PassContext) -> None:
    """Tell the instruments that their context is left; where one fails, none looks on."""
    try:
        for one in context.instruments:
            one.exit_pass_ctx()
    except BaseException:
        object.__setattr__(context, "instruments", ())
        raise


def __enter__(self: core.PassContext) -> core.PassContext:
    core._contexts.set((*core._contexts.get(), self))
    try:
        enter(self)
    except BaseException:
        core._contexts.set(core._contexts.get()[:-1])
        raise
    return self


def __exit__(self: core.PassContext, *problem: object) -> None:
    core._contexts.set(core._contexts.get()[:-1])
    leave(self)


def _current() -> core.PassContext:
    """Return the innermost context, outside of any always the same one."""
    stack = core._contexts.get()
    if stack:
        return stack[-1]
    if not _default:
        _default.append(core.PassContext())
    return _default[0]


_default: list[core.PassContext] = []


def _list_configs() -> dict[str, dict[str, str]]:
    return {name: {"type": "IntImm"} for name in sorted({*core.CONFIGS, *OPTIONS})}


def lessons() -> Iterator[Lesson]:
    """Yield what passes and contexts are taught."""
    yield Lesson(core.Pass, "__call__", run)
    yield Lesson(core.PassContext, "__init__", pass_context)
    yield Lesson(core.PassContext, "__enter__", __enter__)
    yield Lesson(core.PassContext, "__exit__", __exit__)
    yield Lesson(core.PassContext, "current", staticmethod(_current))
    yield Lesson(core.PassContext, "override_instruments", override_instruments)
    yield Lesson(core.PassContext, "list_configs", staticmethod(_list_configs))
    yield Lesson(core.PassInfo, "required_passes", property(lambda self: ()))
