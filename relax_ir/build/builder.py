"""Building Relax modules binding by binding, in A-normal form, with struct info inferred as one
goes.

    bb = BlockBuilder()
    n = tir.Var("n")
    x = Var("x", TensorStructInfo((n, 784), "float32"))
    w = Var("w", TensorStructInfo((784, 10), "float32"))
    with bb.function("main", [x, w], attrs={"num_input": 1}):
        with bb.dataflow():
            h = bb.emit(call_op("matmul", x, w))                       # lv
            y = bb.emit(CallTIR(bb.add_func(relu, "relu"), (h,), (h.struct_info,)))
            out = bb.emit_output(y)                                    # gv, seen after the block
        bb.emit_func_output(out)
    module = bb.get()

* ``emit(expr, name_hint="", info=None)`` binds and returns the variable; nested expressions are
  bound first, and Python's tuples and lists are tuples.
* ``emit_te(compute, x, y, axis=1)`` calls ``compute`` with ``te`` tensors in place of ``x`` and
  ``y``, makes a PrimFunc of what it returns, and binds its ``call_tir``.
* ``emit_output``, ``match_cast``, ``emit_func_output``, ``normalize``, ``emit_normalized``,
  ``lookup_binding`` as in TVM.
* ``add_func(func, name_hint)`` adds a function under a free name (``dense``, ``dense1``); a
  PrimFunc that is there already, structurally, or a private function that was added, is not added
  again. ``update_func`` puts another in the place of one.
* ``begin_sequence()``/``end_sequence(value)`` give a :class:`SeqExpr`: a branch of an If, the body
  of a local Function, or, outside of functions, bindings by themselves.
* ``begin_function``/``end_function``, ``begin_dataflow``/``end_dataflow`` do what the ``with``
  forms do, for callers that keep their own stack.

A variable takes the span of the call that it is bound to. Operator calls by record: see
``emitter.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.source import Span
from relay2relax.ops import relax_op
from relay2relax.relax_ir.analysis.hashing import structural_hash
from relay2relax.relax_ir.build.sequence_builder import BuilderError, SequenceBuilder, Value
from relay2relax.relax_ir.build.te_calls import te_call
from relay2relax.relax_ir.inference.infer import function_info
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Call,
    CallTIR,
    Expr,
    Function,
    GlobalVar,
    IRModule,
    Tuple,
    Var,
)
from relay2relax.relax_ir.ir.names import NameSupply, kernel_name
from relay2relax.relax_ir.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    StructInfo,
    TensorStructInfo,
)
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.structural_equal import structural_key
from relay2relax.tir.script.names import identifier


def call_op(name: str, *args: Expr, span: Span | None = None, **attrs: object) -> Call:
    """Return the call of the Relax operator ``R.<name>``; ``attrs`` are fields of its attribute
    class.

    Raises Relay2RelaxError where there is no record of that name, or an attribute is unknown or
    missing.
    """
    op = relax_op(name)
    if op is None:
        raise Relay2RelaxError(f"there is no operator record for R.{name}")
    try:
        return Call(op, args, op.attrs(**attrs), span)
    except TypeError as error:
        raise Relay2RelaxError(f"R.{name}: wrong attributes: {error}") from error


def call_tir(
    gvar: GlobalVar, args: Expr | Sequence[Expr], out_sinfo: TensorStructInfo | Sequence[TensorStructInfo]
) -> CallTIR:
    """Return the call of the PrimFunc ``gvar`` with one argument, several or a tuple of them, whose
    results are of these struct info.
    """
    given = args.fields if isinstance(args, Tuple) else args if isinstance(args, Sequence) else (args,)
    results = (out_sinfo,) if isinstance(out_sinfo, TensorStructInfo) else tuple(out_sinfo)
    return CallTIR(gvar, tuple(given), results)


@dataclass(slots=True)
class _Signature:
    """The function under construction."""

    var: GlobalVar
    params: tuple[Var, ...]
    attrs: Mapping[str, Any]
    private: bool
    pure: bool
    output: Expr | None = None
    ret: StructInfo | None = None

    def take_params(self, params: Sequence[Var], names: NameSupply) -> None:
        """Let the function have ``params``, whose names nobody else gets."""
        self.params = tuple(params)
        for param in params:
            names.reserve(param.name)


class BlockBuilder(SequenceBuilder):
    """Builds one IRModule; every step takes constant time, however long the function is.

    Given a ``module``, the new one begins with what is in it; its Relax functions may be built
    again.
    """

    def __init__(self, module: IRModule | None = None) -> None:
        super().__init__()
        self._given = module if module is not None else IRModule({})
        self._functions: dict[GlobalVar, Function | PrimFunc] = dict(self._given.functions)
        self._abandoned: set[GlobalVar] = set()
        self._globals: dict[str, GlobalVar] = {}
        self._global_names = NameSupply()
        self._alike: dict[Hashable, GlobalVar] = {}
        self._function: _Signature | None = None
        for var, func in self._functions.items():
            self._global_names.reserve(var.name)
            self._globals[var.name] = var
            self._inference.declare(var, function_info(func))
            if isinstance(func, PrimFunc):
                self._alike[structural_key(func)] = var

    # Functions of the module.

    def declare(self, name: str, params: Sequence[StructInfo], ret: StructInfo, pure: bool = True) -> GlobalVar:
        """Return the global variable of a function that is built later, so that it can be called
        before.
        """
        var = self._globals.get(name)
        if var is None:
            var = self._new_global(name)
        self._inference.declare(var, FuncStructInfo(tuple(params), ret, pure))
        return var

    def declare_new(self, name_hint: str, params: Sequence[StructInfo], ret: StructInfo) -> GlobalVar:
        """Return the global variable, under a free name made of ``name_hint``, of a function that
        is built later.
        """
        var = self._new_global(identifier(name_hint))
        self._inference.declare(var, FuncStructInfo(tuple(params), ret, True))
        return var

    def add_func(self, func: PrimFunc | Function, name_hint: str = "") -> GlobalVar:
        """Add ``func`` under a free name made of ``name_hint`` and return its global variable.

        A PrimFunc that is structurally equal to one of the module is not added again, nor is a
        private function that was added before. Callers that make the same PrimFunc over and over
        keep a table of their own, as ``OpEmitter`` does.
        """
        key: Hashable
        if isinstance(func, PrimFunc):
            name, key = kernel_name(name_hint or func.name), structural_key(func)
        else:
            name, key = identifier(name_hint or "func"), structural_hash(func) if func.private else func
        if key not in self._alike:
            self._alike[key] = self._new_global(name)
            self._put(self._alike[key], func)
        return self._alike[key]

    def update_func(self, var: GlobalVar, func: PrimFunc | Function) -> None:
        """Put ``func`` in the place of the function ``var`` of the module.

        Raises BuilderError where the module has no such function.
        """
        if self._globals.get(var.name) is not var:
            raise BuilderError(f"the module has no function {var.name!r} to be replaced")
        self._alike = {key: known for key, known in self._alike.items() if known is not var}
        if isinstance(func, PrimFunc):
            self._alike.setdefault(structural_key(func), var)
        self._put(var, func)

    def get_unique_name(self, name_hint: str) -> str:
        """Return a free name for a function of the module, made of ``name_hint``; nobody gets it
        again.
        """
        return self._global_names.fresh(identifier(name_hint))

    def _put(self, var: GlobalVar, func: PrimFunc | Function) -> None:
        if isinstance(func, PrimFunc) and func.name != var.name:
            func = replace(func, name=var.name)
        self._functions[var] = func
        self._inference.declare(var, function_info(func))

    def _new_global(self, hint: str) -> GlobalVar:
        var = GlobalVar(self._global_names.fresh(hint))
        self._globals[var.name] = var
        return var

    def get(self) -> IRModule:
        """Return the module; raises BuilderError where a declared function was not built."""
        built = self._functions.keys() | self._abandoned
        missing = [name for name, var in self._globals.items() if var not in built]
        if missing:
            raise BuilderError(f"declared, but never built: {', '.join(missing)}")
        return replace(self._given, functions=dict(self._functions))

    # Scopes.

    @contextmanager
    def function(
        self,
        name: str,
        params: Sequence[Var] = (),
        attrs: Mapping[str, object] | None = None,
        *,
        private: bool = False,
        pure: bool = True,
    ) -> Iterator[GlobalVar]:
        """Build the function ``name``; its result is what ``emit_func_output`` is given.

        Where that fails, the module is as if it had not been begun.
        """
        var = self.begin_function(name, params, attrs, private=private, pure=pure)
        try:
            yield var
            self.end_function()
        except BaseException:
            self._function = None
            self._drop_sequences()
            if var in self._given.functions:
                self._functions[var] = self._given.functions[var]
            self._abandoned.add(var)
            raise

    def begin_function(
        self,
        name: str,
        params: Sequence[Var] = (),
        attrs: Mapping[str, object] | None = None,
        *,
        private: bool = False,
        pure: bool = True,
    ) -> GlobalVar:
        """Begin the function ``name``; one function is built at a time.

        A private function whose name is taken gets another, made of ``name``.
        """
        if self._function is not None:
            raise BuilderError(f"{name} begins inside of {self._function.var.name}; local functions are sequences")
        if self._stack:
            raise BuilderError(f"{name} begins inside of a sequence")
        var = self._globals.get(name)
        infos = [param.info for param in params]
        if var is None:
            var = self.declare(name, infos, ObjectStructInfo(), pure)
        elif isinstance(self._given.functions.get(var), Function):
            self._functions.pop(var, None)
        elif var in self._functions:
            if not private:
                raise BuilderError(f"the module has a function {name!r} already")
            var = self.declare_new(name, infos, ObjectStructInfo())
        self._abandoned.discard(var)
        self._names = NameSupply()
        self._values = {}
        self._function = _Signature(var, (), attrs or {}, private, pure)
        self._function.take_params(params, self._names)
        self._begin_body()
        return var

    def emit_func_output(
        self, value: Value, params: Sequence[Var] | None = None, ret: StructInfo | None = None
    ) -> GlobalVar:
        """Let the function return ``value``; call it last, outside of dataflow blocks.

        ``params`` are the function's parameters where it was begun without any. ``ret`` says more
        of the result than inference can; the machine checks it.
        """
        building = self._function
        if building is None:
            raise BuilderError("emit_func_output outside of a function")
        if building.output is not None:
            raise BuilderError(f"emit_func_output is called twice in {building.var.name}")
        if self._current.dataflow:
            raise BuilderError("emit_func_output inside of a dataflow block; use emit_output there")
        if params is not None:
            if building.params:
                raise BuilderError(f"{building.var.name} was given its parameters when it began")
            building.take_params(params, self._names)
        building.output = self._as_result(value)
        building.ret = ret
        return building.var

    def end_function(self) -> GlobalVar:
        """Finish the function and add it to the module."""
        building = self._function
        if building is None:
            raise BuilderError("end_function without begin_function")
        if building.output is None:
            raise BuilderError(f"{building.var.name} has no result; call emit_func_output")
        if len(self._stack) != 1:
            raise BuilderError(f"{len(self._stack) - 1} sequences of {building.var.name} are not finished")
        info = building.ret or self.struct_info(building.output)
        ret = symbols.erase(info, symbols.defined(param.info for param in building.params))
        function = Function(
            building.params,
            self._close(building.output),
            ret,
            building.attrs,
            building.pure,
            building.private,
        )
        self._put(building.var, function)
        self._drop_sequences()
        self._function = None
        return building.var

    # Tensor programs made on the way.

    def call_te(
        self,
        func: Callable[..., Any],
        *args: object,
        primfunc_name_hint: str = "",
        primfunc_attrs: Mapping[str, object] | None = None,
        **kwargs: object,
    ) -> CallTIR:
        """Return the ``call_tir`` of what ``func`` makes of ``args`` and ``kwargs``, as
        ``te_calls.py`` tells.

        The PrimFunc is called ``primfunc_name_hint``, or as ``func`` is, and has the attributes
        ``primfunc_attrs``. Raises StructInfoError for arguments that no PrimFunc takes,
        BuilderError for results that are not tensors.
        """
        name = primfunc_name_hint or getattr(func, "__name__", "te_func")
        made, call = te_call(func, args, kwargs, name, self.struct_info)
        callee = self.add_func(replace(made, attrs=dict(primfunc_attrs)) if primfunc_attrs else made, name)
        return replace(call, func=callee)

    def emit_te(self, func: Callable[..., Any], *args: Any, name_hint: str = "", **kwargs: Any) -> Var:
        """Bind :meth:`call_te` of the same arguments and return the variable."""
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)
