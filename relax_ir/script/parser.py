"""Modules out of TVMScript: whatever TVM 0.16 to 0.27 print, and the first TVMScript's spellings.

    mod = parse(text)  # ParseError lists every mistake, with line and caret
    mod = parse(text, constants={"metadata": {"relax.expr.Constant": [array, …]}})

The text is read by Python's ``ast`` and never executed. What it holds must be well formed:
:func:`parse` runs :func:`check_well_formed` unless the script, or the caller, says otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from relay2relax.core.collection import collection_paused
from relay2relax.core.errors import Diagnostic, ParseError
from relay2relax.core.script_source import FollowsError, ScriptProblem, ScriptSource
from relay2relax.core.source import SourceRange
from relay2relax.relax_ir.analysis.check import WellFormedError, find_mistakes
from relay2relax.relax_ir.inference.infer import Inference, function_info
from relay2relax.relax_ir.ir.devices import DummyGlobalInfo, GlobalInfo
from relay2relax.relax_ir.ir.expr import CallTIR, ExternFunc, Function, GlobalVar, IRModule, Var
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.script.body import FunctionReader
from relay2relax.relax_ir.script.calls import ModuleName
from relay2relax.relax_ir.script.capture import fill_in
from relay2relax.relax_ir.script.metadata import metadata_of
from relay2relax.relax_ir.script.signature import Signature
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.visit import free_variables
from relay2relax.tir.script.parser import is_prim_func, read_prim_func


def parse(
    text: str, name: str = "<script>", constants: Mapping[str, Any] | None = None, check_well_formed: bool = True
) -> IRModule:
    """Return the module that ``text`` describes; a function alone makes a module of its own.

    ``name`` is what messages call the text. ``constants`` are arrays and plain values for free
    names of the text, and under ``"metadata"`` the lists of arrays that ``metadata[key][index]``
    refers to where the text does not hold them. Raises ParseError with every mistake of the text,
    and WellFormedError for a program that reads well but is none. With ``check_well_formed=False``
    what the text says of values is believed, even where it cannot be so.
    """
    return read_script(ScriptSource(text, name), constants or {}, check_well_formed)


@collection_paused()
def read_script(
    source: ScriptSource, outside: Mapping[str, Any], check_well_formed: bool = True, live: bool = False
) -> IRModule:
    """Return the module that ``source`` describes, ``outside`` being what its free names mean.

    Expressions of these names are evaluated where the script is ``live`` (``script_capture.py``).
    Raises as :func:`parse` does.
    """
    reader = _ModuleReader(source, check_well_formed)
    try:
        found = fill_in(source, outside, live)
        reader.given = {name: value for name, value in found.items() if isinstance(value, (PrimFunc, Function))}
        arrays = {name: value for name, value in found.items() if name not in reader.given}
        tables = {name: outside[name] for name in ("metadata",) if name in outside}
        reader.constants = {**metadata_of(source), **tables, **arrays}
        source.metadata = reader.constants.get("metadata", {})
        reader.read()
    except ScriptProblem as problem:
        source.put_down(problem)
    except RecursionError as error:
        raise ParseError(Diagnostic("the script is nested too deep"), source.text) from error
    source.finish()
    mod = reader.module()
    if not check_well_formed:
        return _unchecked(mod)
    if reader.check:
        mistakes = find_mistakes(mod, reader.place)
        if mistakes:
            raise WellFormedError(mistakes, source.text)
    return mod


def _unchecked(mod: IRModule) -> IRModule:
    """Return ``mod``, in which tensor programs that speak of undefined variables ask not to be
    checked.
    """
    changed = {
        var: replace(func, checked=False)
        for var, func in mod.functions.items()
        if isinstance(func, PrimFunc) and func.checked and free_variables(func)
    }
    return replace(mod, functions={**mod.functions, **changed}) if changed else mod


class _ModuleReader:
    """Reads the functions of one module.

    A function without declared result is read before those that call it.
    """

    def __init__(self, source: ScriptSource, check: bool) -> None:
        self.source = source
        self.check = check
        self.constants: Mapping[str, Any] = {}
        # Functions from outside, which the module may take in under names of its own.
        self.given: Mapping[str, PrimFunc | Function] = {}
        self.globals: dict[str, GlobalVar] = {}
        self.nodes: dict[GlobalVar, ast.FunctionDef] = {}
        self.heads: dict[GlobalVar, Signature] = {}
        self.reading: set[GlobalVar] = set()
        self.functions: dict[GlobalVar, Function | PrimFunc | None] = {}
        self.attrs: dict[str, Any] = {}
        self.global_infos: dict[str, tuple[GlobalInfo, ...]] = {}
        self.is_alone = True
        # Functions that the module knows by a name of its own; calls name them as they are
        # registered.
        self.externs: dict[str, ExternFunc] = {}
        self.inference = Inference()
        self.places: dict[Var, ast.AST] = {}
        self.scalars_last: set[GlobalVar] = set()
        self.names: dict[str, Any] = dict.fromkeys(source.modules - {"cls"}, ModuleName())

    def read(self) -> None:
        body = self.definitions()
        for node in body:
            if isinstance(node, ast.FunctionDef):
                self.declare(node)
        if not self.globals and not any(isinstance(node, ast.ClassDef) for node in self.source.tree.body):
            raise ScriptProblem(Diagnostic("the text has no module", help="expected `@I.ir_module` before a class, "
                                           "or functions with `@R.function` or `@T.prim_func`"))  # fmt: skip
        for var, node in self.nodes.items():
            if is_prim_func(self.source, node):
                func = self.functions[var] = read_prim_func(self.source, node)
                if func is not None:
                    self.inference.declare(var, function_info(func))
        relax = [var for var in self.nodes if var not in self.functions]
        for var in relax:
            try:
                head = self.heads[var] = self.reader().head(self.nodes[var])
            except ScriptProblem as problem:
                self.source.put_down(problem)
                self.functions[var] = None
                continue
            self.inference.declare(var, head.info())
        for var in relax:
            self.function(var)

    def definitions(self) -> list[ast.stmt]:
        """Return the statements that define functions: those of the module's class, or of the
        text.
        """
        classes = [node for node in self.source.tree.body if isinstance(node, ast.ClassDef)]
        modules = [node for node in classes if any(self.is_module(one) for one in node.decorator_list)]
        if classes and not modules:
            problem = self.source.problem(classes[0], f"the class `{classes[0].name}` is no module",
                                          "expected `@I.ir_module` before it")  # fmt: skip
            raise ScriptProblem(replace(problem.diagnostic, where=self.source.head(classes[0])))
        if not modules:
            return self.source.tree.body
        module = modules[0]
        if len(modules) > 1:
            problem = self.source.problem(modules[1], "the text has two modules", "a second one")
            raise ScriptProblem(replace(problem.diagnostic, where=self.source.head(modules[1])))
        self.is_alone = False
        for node in module.body:
            match node:
                case ast.FunctionDef() | ast.Pass() | ast.Expr(ast.Constant()):
                    pass
                case ast.Expr(ast.Call() as call):
                    self.module_call(call)
                case ast.Assign([ast.Name(name)], ast.Call(args=[ast.Constant(str() as symbol), *_]) as call) if (
                    self.source.called(call) == "R.ExternFunc"
                ):
                    self.externs[name] = ExternFunc(symbol)
                case ast.Assign([ast.Name(name)], ast.Name(given)) if given in self.given:
                    self.take_in(name, self.given[given])
                case _:
                    problem = self.source.problem(node, "a module consists of functions", "expected a function")
                    self.source.put_down(problem)
        return module.body

    def take_in(self, name: str, func: PrimFunc | Function) -> None:
        """Let a function from outside be the module's, under ``name``."""
        var = self.globals[name] = GlobalVar(name)
        self.functions[var] = replace(func, name=name) if isinstance(func, PrimFunc) else func
        self.inference.declare(var, function_info(func))

    def is_module(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == "check_well_formed":
                    self.check = self.check and bool(self.source.literal(keyword.value))
            node = node.func
        return self.source.dotted(node) == "I.ir_module"

    def module_call(self, call: ast.Call) -> None:
        called = self.source.called(call)
        if called == "I.module_attrs" and len(call.args) == 1 and isinstance(call.args[0], ast.Dict):
            self.attrs = self.reader().attribute(call.args[0])
        elif called == "I.module_global_infos":
            self.read_global_infos(call)
        else:
            problem = self.source.problem(call, "this has no place in a module", "expected I.module_attrs({…})")
            self.source.put_down(problem)

    def read_global_infos(self, call: ast.Call) -> None:
        """Read ``I.module_global_infos({"vdevice": [I.vdevice("llvm"), …]})``."""
        if len(call.args) != 1 or not isinstance(call.args[0], ast.Dict):
            self.source.put_down(self.source.problem(call, "I.module_global_infos takes a dictionary of lists",
                                                     'expected {"vdevice": [I.vdevice("llvm")]}'))  # fmt: skip
            return
        try:
            for key, value in zip(call.args[0].keys, call.args[0].values, strict=True):
                name = self.source.string(key or value, "a key")
                if not isinstance(value, (ast.List, ast.Tuple)):
                    raise self.source.problem(value, "global infos come in lists", "expected a list")
                self.global_infos[name] = tuple(map(self.global_info, value.elts))
        except ScriptProblem as problem:
            self.source.put_down(problem)

    def global_info(self, node: ast.expr) -> GlobalInfo:
        match self.source.called(node):
            case "I.dummy_global_info":
                return DummyGlobalInfo()
        if not isinstance(node, ast.Call):
            raise self.source.problem(node, "this is no device", 'expected I.vdevice("llvm", 0, "global")')
        name = self.source.called(node) or ""
        return self.reader().written_mesh(node) if name.endswith(".device_mesh") else self.reader().vdevice(node)

    def declare(self, node: ast.FunctionDef) -> None:
        decorators = [self.source.dotted(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list]
        if not {"R.function", "T.prim_func"} & set(decorators):
            if any(isinstance(one, ast.ClassDef) for one in self.source.tree.body):
                problem = self.source.problem(node, f"the function `{node.name}` is of no kind",
                                              "expected `@R.function` or `@T.prim_func` before it")  # fmt: skip
                self.source.put_down(problem, self.source.head(node))
            return
        if len({"R.function", "T.prim_func"} & set(decorators)) > 1:
            problem = self.source.problem(node, f"the function `{node.name}` is of two kinds", "expected one decorator")
            self.source.put_down(problem, self.source.head(node))
        if node.name in self.globals:
            problem = self.source.problem(node, f"the module has two functions `{node.name}`", "defined before")
            self.source.put_down(problem, self.source.head(node))
            return
        var = self.globals[node.name] = GlobalVar(node.name)
        self.nodes[var] = node

    def reader(self) -> FunctionReader:
        reader = _Reader(self.source, self.globals, self.inference, self.constants)
        reader.owner = self
        reader.scopes = [self.names]
        reader.places = self.places
        reader.module_externs = self.externs
        reader.devices = None if self.is_alone else self.global_infos.get("vdevice", ())
        reader.global_infos = self.global_infos
        reader.checks = self.check
        reader.scalars_last = self.scalars_last
        return reader

    def function(self, var: GlobalVar) -> None:
        """Read the body of ``var``, where that is not done."""
        if var in self.functions or var not in self.heads:
            return
        node = self.nodes[var]
        self.reading.add(var)
        reader = self.reader()
        for one in ast.walk(node):
            if isinstance(one, ast.Name):
                reader.supply.reserve(one.id)
        func = self.functions[var] = reader.body(node, self.heads[var])
        if func is not None:
            self.inference.declare(var, function_info(func))

    def require(self, var: GlobalVar, node: ast.AST) -> None:
        """Read ``var`` now if what it returns is not declared; refuse what is being read."""
        head = self.heads.get(var)
        if head is None or head.ret is not None:
            if self.functions.get(var, head) is None:
                raise FollowsError(Diagnostic(f"`{var.name}` is mistaken"))
            return
        if var in self.reading and var not in self.functions:
            raise self.source.problem(node, f"`{var.name}` is called before it is known what it returns",
                                      "expected a declared result: `-> R.Tensor(…)`")  # fmt: skip
        self.function(var)
        if self.functions[var] is None:
            raise FollowsError(Diagnostic(f"`{var.name}` is mistaken"))

    # The module.

    def module(self) -> IRModule:
        functions = {var: func for var, func in self.functions.items() if func is not None}
        ordered = {var: functions[var] for var in self.globals.values()}
        if self.is_alone and len(ordered) == 1:
            ((var, func),) = ordered.items()
            ordered = _as_it_is_called(var, func)
        return IRModule(_called_as(ordered, self.scalars_last), self.attrs, self.global_infos)

    def place(self, function: str, var: Var | None) -> SourceRange | None:
        """Return where ``var``, or the function, is defined."""
        if var is not None and var in self.places:
            return self.source.where(self.places[var])
        node = self.nodes.get(self.globals[function]) if function in self.globals else None
        return self.source.head(node) if node is not None else None


class _Reader(FunctionReader):
    """Reads one function, and asks its module for others."""

    owner: _ModuleReader

    def require_function(self, var: GlobalVar, node: ast.AST) -> None:
        self.owner.require(var, node)


def _as_it_is_called(var: GlobalVar, func: Function | PrimFunc) -> dict[GlobalVar, Function | PrimFunc]:
    """Return the module of a function that stands alone: its symbol is its name, as TVM prints it
    then.
    """
    symbol = func.attrs.get("global_symbol") if isinstance(func, Function) else None
    if not isinstance(func, Function) or not isinstance(symbol, str):
        return {var: func}
    attrs = {key: value for key, value in func.attrs.items() if key != "global_symbol"}
    return {GlobalVar(symbol): replace(func, attrs=attrs)}


def _called_as(
    functions: Mapping[GlobalVar, Function | PrimFunc], scalars_last: set[GlobalVar]
) -> dict[GlobalVar, Function | PrimFunc]:
    """Return ``functions`` with the PrimFuncs' outputs as their callers take them.

    How many of a PrimFunc's last buffers are results is known from ``call_tir``; scalars that it
    takes after them, as ``tir_vars`` passes them, come before them here.
    """
    results: dict[GlobalVar, set[int]] = {}
    for seq in all_sequences(func.body for func in functions.values() if isinstance(func, Function)):
        for binding in bindings(seq):
            if isinstance(binding.value, CallTIR):
                results.setdefault(binding.value.func, set()).add(len(binding.value.out))
    changed = dict(functions)
    for var, counts in results.items():
        func = functions.get(var)
        if not isinstance(func, PrimFunc) or len(counts) != 1:
            continue
        (count,) = counts
        if var in scalars_last:
            scalars = [param for param in func.params if param not in func.buffer_map]
            buffers = [param for param in func.params if param in func.buffer_map]
            func = replace(func, params=(*buffers[:-count], *scalars, *buffers[-count:]))
        if count != func.num_outputs:
            func = replace(func, num_outputs=count)
        changed[var] = func
    return changed
