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
from functools import partial

from relay2relax.core.collection import collection_paused
from relay2relax.core.errors import Diagnostic, ParseError
from relay2relax.core.errors.table import script
from relay2relax.core.script_scope import Scopes
from relay2relax.core.script_source import ScriptProblem, ScriptSource, too_deep
from relay2relax.core.source import SourceRange
from relay2relax.relax_ir.analysis.check import WellFormedError, find_mistakes
from relay2relax.relax_ir.inference.infer import function_info
from relay2relax.relax_ir.ir.devices import DummyGlobalInfo, GlobalInfo
from relay2relax.relax_ir.ir.expr import CallTIR, ExternFunc, Function, GlobalVar, IRModule, Var
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.script.body import FunctionReader
from relay2relax.relax_ir.script.capture import fill_in
from relay2relax.relax_ir.script.context import ModuleContext
from relay2relax.relax_ir.script.metadata import metadata_of
from relay2relax.relax_ir.script.omitted import omitted_constants
from relay2relax.relax_ir.script.signature import Signature
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.visit import free_variables
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.dialect import dialect_of
from relay2relax.tir.script.parser import is_prim_func, read_prim_func


def parse(
    text: str,
    name: str = "<script>",
    constants: Mapping[str, object] | None = None,
    check_well_formed: bool = True,
    attrs: Mapping[str, Mapping[str, object]] | None = None,
) -> IRModule:
    """Return the module that ``text`` describes; a function alone makes a module of its own.

    ``name`` is what messages call the text. ``constants`` are arrays and plain values for free
    names of the text, and under ``"metadata"`` the lists of arrays that ``metadata[key][index]``
    refers to where the text does not hold them. Without those such a constant becomes a parameter,
    ``constant_0``, …, of the type that the operators around it decide, or that ``attrs`` says:
    ``{'metadata["relax.expr.Constant"][0]': {"shape": [2], "dtype": "int8"}}``.

    Raises ParseError with every mistake of the text, and for ``attrs`` that it does not leave out,
    and WellFormedError for a program that reads well but is none. With ``check_well_formed=False``
    what the text says of values is believed, even where it cannot be so.
    """
    return read_script(ScriptSource(text, name), constants or {}, check_well_formed, attrs=attrs)


@collection_paused()
def read_script(
    source: ScriptSource,
    outside: Mapping[str, object],
    check_well_formed: bool = True,
    live: bool = False,
    attrs: Mapping[str, Mapping[str, object]] | None = None,
) -> IRModule:
    """Return the module that ``source`` describes, ``outside`` being what its free names mean.

    Expressions of these names are evaluated where the script is ``live`` (``capture.py``). Raises
    as :func:`parse` does.
    """
    try:
        reader = source.attempt(lambda: _read(source, outside, check_well_formed, live, attrs or {}))
    except RecursionError as error:
        raise ParseError(too_deep(), source.text) from error
    source.finish()
    assert reader is not None
    mod = reader.context.omitted.as_parameters(reader.module())
    if not check_well_formed:
        return _unchecked(mod)
    if reader.context.checks:
        mistakes = find_mistakes(mod, reader.place)
        if mistakes:
            raise WellFormedError(mistakes, source.text)
    return mod


def _read(
    source: ScriptSource,
    outside: Mapping[str, object],
    check: bool,
    live: bool,
    attrs: Mapping[str, Mapping[str, object]],
) -> _ModuleReader:
    """Return the reader of the module of ``source``, which has read it."""
    captured = fill_in(source, outside, live)
    # Functions from outside, which the module may take in under names of its own.
    given = {name: value for name, value in captured.found.items() if isinstance(value, (PrimFunc, Function))}
    arrays = {name: value for name, value in captured.found.items() if name not in given}
    tables = {name: outside[name] for name in ("metadata",) if name in outside}
    constants = {**metadata_of(source), **tables, **arrays}
    beside = constants.get("metadata")
    text = ReadContext(
        source,
        dialect_of(source.text.text),
        Scopes(source, captured.scalars, {}),
        beside if isinstance(beside, Mapping) else {},
    )
    head, asked = _module_class(source)
    context = ModuleContext(
        text, constants, check and asked, is_alone=head is None, omitted=omitted_constants(source.tree, attrs)
    )
    reader = _ModuleReader(context, given)
    reader.read(source.tree.body if head is None else reader.definitions(head))
    return reader


def _module_class(source: ScriptSource) -> tuple[ast.ClassDef | None, bool]:
    """Return the class that is the module, None where functions stand alone, and whether it asks to
    be checked.
    """
    classes = [node for node in source.tree.body if isinstance(node, ast.ClassDef)]
    found: list[ast.ClassDef] = []
    asked = True
    for node in classes:
        for decorator in node.decorator_list:
            asked = asked and _asks_for_check(source, decorator)
            if source.dotted(decorator.func if isinstance(decorator, ast.Call) else decorator) == "I.ir_module":
                found.append(node)
                break
    if classes and not found:
        problem = source.problem(classes[0], f"the class `{classes[0].name}` is no module",
                                 "expected `@I.ir_module` before it")  # fmt: skip
        raise ScriptProblem(replace(problem.diagnostic, where=source.head(classes[0])))
    if len(found) > 1:
        problem = source.problem(found[1], "the text has two modules", "a second one")
        raise ScriptProblem(replace(problem.diagnostic, where=source.head(found[1])))
    return (found[0] if found else None), asked


def _asks_for_check(source: ScriptSource, decorator: ast.expr) -> bool:
    given = decorator.keywords if isinstance(decorator, ast.Call) else []
    return all(source.literal(one.value) for one in given if one.arg == "check_well_formed")


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

    def __init__(self, context: ModuleContext, given: Mapping[str, PrimFunc | Function]) -> None:
        self.source = context.text.source
        self.context = context
        self.given = given
        self.nodes: dict[GlobalVar, ast.FunctionDef] = {}
        self.heads: dict[GlobalVar, Signature] = {}
        self.reading: set[GlobalVar] = set()
        self.functions: dict[GlobalVar, Function | PrimFunc | None] = {}
        self.attrs: dict[str, object] = {}

    def read(self, body: list[ast.stmt]) -> None:
        """Read the functions that the statements ``body`` define."""
        for node in body:
            if isinstance(node, ast.FunctionDef):
                self.declare(node)
        if not self.context.globals and not any(isinstance(node, ast.ClassDef) for node in self.source.tree.body):
            raise ScriptProblem(
                Diagnostic(
                    "the text has no module",
                    help="expected `@I.ir_module` before a class, or functions with `@R.function` or `@T.prim_func`",
                    kind=script.MALFORMED,
                )
            )
        for var, node in self.nodes.items():
            if is_prim_func(self.source, node):
                func = self.functions[var] = read_prim_func(self.context.text.with_names({}), node)
                if func is not None:
                    self.context.inference.declare(var, function_info(func))
        relax = [var for var in self.nodes if var not in self.functions]
        for var in relax:
            try:
                node = self.nodes[var]
                head = self.heads[var] = self.source.within_limits(node, partial(self.reader().head, node))
            except ScriptProblem as problem:
                self.source.put_down(problem)
                self.functions[var] = None
                continue
            self.context.inference.declare(var, head.info())
        for var in relax:
            self.function(var)

    def definitions(self, module: ast.ClassDef) -> list[ast.stmt]:
        """Return the statements of the module's class, those that define no functions being
        read.
        """
        for node in module.body:
            match node:
                case ast.FunctionDef() | ast.Pass() | ast.Expr(ast.Constant()):
                    pass
                case ast.Expr(ast.Call() as call):
                    self.module_call(call)
                case ast.Assign([ast.Name(name)], ast.Call(args=[ast.Constant(str() as symbol), *_]) as call) if (
                    self.source.called(call) == "R.ExternFunc"
                ):
                    self.context.externs[name] = ExternFunc(symbol)
                case ast.Assign([ast.Name(name)], ast.Name(given)) if given in self.given:
                    self.take_in(name, self.given[given])
                case _:
                    problem = self.source.problem(node, "a module consists of functions", "expected a function")
                    self.source.put_down(problem)
        return module.body

    def take_in(self, name: str, func: PrimFunc | Function) -> None:
        """Let a function from outside be the module's, under ``name``."""
        var = self.context.globals[name] = GlobalVar(name)
        self.functions[var] = replace(func, name=name) if isinstance(func, PrimFunc) else func
        self.context.inference.declare(var, function_info(func))

    def module_call(self, call: ast.Call) -> None:
        called = self.source.called(call)
        if called == "I.module_attrs" and len(call.args) == 1 and isinstance(call.args[0], ast.Dict):
            self.attrs = self.reader().attributes.dictionary(call.args[0])
        elif called == "I.module_global_infos":
            self.read_global_infos(call)
        else:
            problem = self.source.problem(call, "this has no place in a module", "expected I.module_attrs({…})")
            self.source.put_down(problem)

    def read_global_infos(self, call: ast.Call) -> None:
        """Read ``I.module_global_infos({"vdevice": [I.vdevice("llvm"), …]})``."""
        if len(call.args) != 1 or not isinstance(call.args[0], ast.Dict):
            self.source.put_down(
                self.source.problem(
                    call,
                    "I.module_global_infos takes a dictionary of lists",
                    'expected {"vdevice": [I.vdevice("llvm")]}',
                    kind=script.ARGUMENTS,
                )
            )
            return
        try:
            for key, value in zip(call.args[0].keys, call.args[0].values, strict=True):
                name = self.source.string(key or value, "a key")
                if not isinstance(value, (ast.List, ast.Tuple)):
                    raise self.source.problem(value, "global infos come in lists", "expected a list")
                self.context.global_infos[name] = tuple(map(self.global_info, value.elts))
        except ScriptProblem as problem:
            self.source.put_down(problem)

    def global_info(self, node: ast.expr) -> GlobalInfo:
        match self.source.called(node):
            case "I.dummy_global_info":
                return DummyGlobalInfo()
        if not isinstance(node, ast.Call):
            raise self.source.problem(
                node, script.MALFORMED.message(what="device"), 'expected I.vdevice("llvm", 0, "global")'
            )
        name = self.source.called(node) or ""
        devices = self.reader().devices
        return devices.written_mesh(node) if name.endswith(".device_mesh") else devices.vdevice(node)

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
        if node.name in self.context.globals:
            problem = self.source.problem(node, f"the module has two functions `{node.name}`", "defined before")
            self.source.put_down(problem, self.source.head(node))
            return
        var = self.context.globals[node.name] = GlobalVar(node.name)
        self.nodes[var] = node

    def reader(self) -> FunctionReader:
        return FunctionReader(self.context, self.require)

    def function(self, var: GlobalVar) -> None:
        """Read the body of ``var``, where that is not done."""
        if var in self.functions or var not in self.heads:
            return
        node = self.nodes[var]
        self.reading.add(var)
        reader = self.reader()
        for one in ast.walk(node):
            if isinstance(one, ast.Name):
                reader.bindings.supply.reserve(one.id)
        func = self.functions[var] = reader.body(node, self.heads[var])
        if func is not None:
            self.context.inference.declare(var, function_info(func))

    def require(self, var: GlobalVar, node: ast.AST) -> None:
        """Read ``var`` now if what it returns is not declared; refuse what is being read."""
        head = self.heads.get(var)
        if head is None or head.ret is not None:
            if self.functions.get(var, head) is None:
                raise self.source.follows(var.name)
            return
        if var in self.reading and var not in self.functions:
            raise self.source.problem(
                node,
                f"`{var.name}` is called before it is known what it returns",
                "expected a declared result: `-> R.Tensor(…)`",
                kind=script.STRUCT_INFO,
            )
        self.function(var)
        if self.functions[var] is None:
            raise self.source.follows(var.name)

    # The module.

    def module(self) -> IRModule:
        """Return what was read."""
        functions = {var: func for var, func in self.functions.items() if func is not None}
        ordered = {var: functions[var] for var in self.context.globals.values()}
        if self.context.is_alone and len(ordered) == 1:
            ((var, func),) = ordered.items()
            ordered = _as_it_is_called(var, func)
        return IRModule(_called_as(ordered, self.context.scalars_last), self.attrs, self.context.global_infos)

    def place(self, function: str, var: Var | None) -> SourceRange | None:
        """Return where ``var``, or the function, is defined."""
        if var is not None and var in self.context.places:
            return self.source.where(self.context.places[var])
        defined = self.context.globals.get(function)
        node = self.nodes.get(defined) if defined is not None else None
        return self.source.head(node) if node is not None else None


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
