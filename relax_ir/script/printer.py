"""Relax modules as TVMScript.

    text = print_module(mod)                        # what TVM 0.25, 0.26 and 0.27 all read
    text = print_module(mod, dialect="tvm-0.18")    # classic
    text = script_file(mod)                         # the same as a Python file, with its imports
    text, constants = print_apart(mod)              # parse takes both and gives the module

The layout is TVM's: PrimFuncs, then Relax functions, each by name. Names become Python identifiers,
unique where they are seen; :func:`script_names` says what became of the parameters' names. Nested
functions and branches are written with a stack of generators, so depth does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.core.progress import each
from relay2relax.core.words import Code, Identifier, code, comma, dotted, indented, joined, quoted, word
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir.inference.infer import Inference, StructInfoError
from relay2relax.relax_ir.inference.op_signatures import RESULT_KEYWORDS, Argument, ForeignAttrs, ForeignOp
from relay2relax.relax_ir.ir.devices import DummyGlobalInfo, GlobalInfo
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
    DataTypeImm,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    IRModule,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.mesh import DeviceMesh, device_mesh_text
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.struct_info import ObjectStructInfo, PrimStructInfo, StructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.text import (
    Meshes,
    attribute_text,
    constant_text,
    extent_text,
    info_text,
    is_weak,
    number_list,
    tuple_text,
)
from relay2relax.relax_ir.ir.visit import Steps, all_sequences, bindings, run
from relay2relax.relax_ir.script.dialect import implied, lacks
from relay2relax.relax_ir.transform.legalize_ops import LegalizeOps
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.expr import FloatImm, IntImm
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.script.dialect import Dialect, find_dialect
from relay2relax.tir.script.expr_printer import dtype_word
from relay2relax.tir.script.names import identifier
from relay2relax.tir.script.printer import print_prim_func

# Gives the name under which the reader finds a constant, or None where it is to be written out.
NameConstant = Callable[[Constant], "Code | None"]
_INDENT = indented(1)
# What a line of most programs is joined of.
_IS_OF, _IS, _EQUALS, _R, _OPEN, _CLOSE = code(": "), code(" = "), code("="), code("R."), code("("), code(")")
# The table of constants beside a script, and what TVM says where it is not printed.
_METADATA = "relax.expr.Constant"
_OMITTED = code("# Metadata omitted. Use show_meta=True in script() method to show it.")


@collection_paused()
def print_module(mod: IRModule, dialect: str = "tvm", name_constant: NameConstant | None = None) -> Code:
    """Return ``mod`` as TVMScript, without a newline at the end.

    ``name_constant`` may give constants names that the reader of the text knows; others are written
    as lists. A call of an operator that the dialect lacks is written as ``call_tir`` of its
    PrimFunc. Raises UnsupportedError for what the dialect has no words for.
    """
    chosen = find_dialect(dialect)
    mod = _in_words_of(chosen, mod)
    return comma(
        [*(code("# {}", line) for line in chosen.imports), code(""), *_class(mod, chosen, name_constant)], "\n"
    )


def print_apart(mod: IRModule, dialect: str = "tvm") -> tuple[Code, dict[str, Any]]:
    """Return ``mod`` as TVMScript and, apart from it, its arrays, as ``parse`` takes them for
    ``constants``.

    The text has ``metadata[…][0]`` where an array stands, and TVM's words below that tell so;
    scalars stay in the text. Nothing is copied: the arrays are those of the module, each once.
    """
    places: dict[int, int] = {}
    arrays: list[Array] = []

    def name(constant: Constant) -> Code | None:
        if constant.data.ndim == 0:
            return None
        if id(constant.data) not in places:
            places[id(constant.data)] = len(arrays)
            arrays.append(constant.data)
        return code("metadata[{}][{}]", quoted(_METADATA), places[id(constant.data)])

    text = print_module(mod, dialect, name)
    return code("{}\n\n{}", text, _OMITTED) if arrays else text, {"metadata": {_METADATA: arrays}}


def script_file(mod: IRModule, dialect: str = "tvm") -> Code:
    """Return ``mod`` as a Python file.

    Importing it where TVM is installed gives ``Module``, an IRModule.
    """
    chosen = find_dialect(dialect)
    lines = _class(_in_words_of(chosen, mod), chosen, None)
    # Scripts that TVM's reader is given know the package by its name.
    package = [code("import tvm")] if any(f"{chosen.empty}(" in line for line in lines) else []
    return comma([*package, *chosen.imports, code(""), code(""), *lines, code("")], "\n")


def print_function(func: Function, name: str = "main", dialect: str = "tvm") -> Code:
    """Return one function as TVMScript; functions that it calls are named ``Module.<name>``."""
    printer = _FunctionPrinter(find_dialect(dialect), lambda var: identifier(var.name), None, 0, Inference(), {})
    return comma(printer.lines_of(func, identifier(name)), "\n")


def parameter_names(func: Function) -> tuple[Identifier, ...]:
    """Return the names that the parameters of ``func`` have in its script, in order."""
    supply = NameSupply()
    return tuple(supply.identifier(param.name) for param in func.params)


def script_names(func: Function) -> dict[str, str]:
    """Return what each parameter's own name became in the script.

    Two of one name raise Relay2RelaxError.
    """
    names: dict[str, str] = dict(zip((param.name for param in func.params), parameter_names(func), strict=True))
    if len(names) != len(func.params):
        twice = sorted({p.name for p in func.params if sum(q.name == p.name for q in func.params) > 1})
        raise Relay2RelaxError(f"several parameters are called {', '.join(twice)}", kind=translating.NOT_SAID)
    return names


def global_names(mod: IRModule) -> dict[GlobalVar, Identifier]:
    """Return the names that the functions of ``mod`` have in its script."""
    supply = NameSupply()
    return {var: supply.identifier(var.name) for var in sorted(mod.functions, key=lambda v: v.name)}


def variable_names(mod: IRModule, dialect: str = "tvm") -> dict[Var, Identifier]:
    """Return the names that parameters and bound variables have in the script of ``mod``.

    Raises what printing raises.
    """
    chosen = find_dialect(dialect)
    mod = _in_words_of(chosen, mod)
    globals_, inference, meshes = global_names(mod), Inference(mod), _mesh_names(mod)
    found: dict[Var, Identifier] = {}
    for var, func in mod.functions.items():
        if isinstance(func, Function):
            printer = _FunctionPrinter(chosen, globals_.__getitem__, lambda _: _OMITTED, 0, inference, meshes)
            printer.lines_of(func, globals_[var])
            found |= printer.names
    return found


def _in_words_of(dialect: Dialect, mod: IRModule) -> IRModule:
    """Return ``mod`` with ``call_tir`` for the operators that ``dialect`` lacks."""

    def lacking(op: OpDef, attrs: object) -> bool:
        return not isinstance(op, ForeignOp) and bool(lacks(dialect, op, attrs))

    bodies = (func.body for func in mod.functions.values() if isinstance(func, Function))
    calls = (binding.value for seq in all_sequences(bodies) for binding in bindings(seq))
    if not any(isinstance(one, Call) and isinstance(one.op, OpDef) and lacking(one.op, one.attrs) for one in calls):
        return mod
    return LegalizeOps(lacking)(mod)


def _class(mod: IRModule, dialect: Dialect, name_constant: NameConstant | None) -> list[Code]:
    names = global_names(mod)
    parts: list[list[Code]] = []
    functions: list[list[Code]] = []
    inference = Inference(mod)
    meshes = _mesh_names(mod)
    scalars_last = _given_scalars(mod) if dialect.scalars_last else frozenset()
    for var, name in names.items():
        func = mod.functions[var]
        if isinstance(func, PrimFunc):
            if var in scalars_last:
                func = _with_scalars_last(func)
            parts.append(print_prim_func(func, name=name, dialect=dialect.name, indent=1))
        else:
            printer = _FunctionPrinter(dialect, names.__getitem__, name_constant, 1, inference, meshes)
            functions.append(printer.lines_of(func, name))
    lines = [code("@I.ir_module"), code("class Module:")]
    if mod.attrs:
        lines.append(code("{}I.module_attrs({})", _INDENT, attribute_text(mod.attrs, _no_symbols)))
    if mod.global_infos:
        infos = [code('{}: [{}]', quoted(name), comma(map(_global_info, row)))
                 for name, row in sorted(mod.global_infos.items())]  # fmt: skip
        lines.append(code("{}I.module_global_infos({{{}}})", _INDENT, comma(infos)))
    for part in parts + functions:
        lines += [*part, code("")]
    if not mod.functions:
        return [*lines, code("{}pass", _INDENT)]
    return lines[:-1]


def _mesh_names(mod: IRModule) -> dict[DeviceMesh, str]:
    """Return the names of the meshes of devices, such as ``mesh[0]``."""
    infos = [(f"{name}[{place}]", info) for name, row in mod.global_infos.items() for place, info in enumerate(row)]
    return {info: name for name, info in reversed(infos) if isinstance(info, DeviceMesh)}


def _given_scalars(mod: IRModule) -> frozenset[GlobalVar]:
    """Return the PrimFuncs to which ``call_tir`` passes scalars."""
    bodies = (func.body for func in mod.functions.values() if isinstance(func, Function))
    values = (binding.value for seq in all_sequences(bodies) for binding in bindings(seq))
    return frozenset(value.func for value in values if isinstance(value, CallTIR) and value.tir_args)


def _with_scalars_last(func: PrimFunc) -> PrimFunc:
    scalars = (param for param in func.params if param not in func.buffer_map)
    return replace(func, params=(*(param for param in func.params if param in func.buffer_map), *scalars))


def _global_info(info: GlobalInfo) -> Code:
    if isinstance(info, DummyGlobalInfo):
        return code("I.dummy_global_info()")
    if isinstance(info, DeviceMesh):
        return device_mesh_text(info)
    target = attribute_text(info.target, _no_symbols)
    return code("I.vdevice({}, {}, {})", target, info.index, quoted(info.memory_scope))


def _no_symbols(var: tir.Var) -> Code:
    raise UnsupportedError(f"a module attribute cannot use the dimension {var.name}", kind=translating.NOT_SAID)


class _FunctionPrinter:
    """The text of one function; ``lines`` grows as bindings are written."""

    def __init__(
        self,
        dialect: Dialect,
        global_name: Callable[[GlobalVar], Code],
        name_constant: NameConstant | None,
        depth: int,
        inference: Inference,
        meshes: Meshes,
    ) -> None:
        self.inference = inference
        self.meshes = meshes
        self.dialect = dialect
        self.global_name = global_name
        self.name_constant = name_constant
        self.depth = depth
        self.lines: list[Code] = []
        self.supply = NameSupply()
        self.names: dict[Var, Identifier] = {}
        self.symbols: dict[tir.Var, Code] = {}
        # Symbols and module that the function being written has to declare at its beginning.
        self.declared: list[tir.Var] = []
        self.calls_module = False
        self.infos: dict[StructInfo, Code] = {}

    def lines_of(self, func: Function, name: Identifier) -> list[Code]:
        """Return the lines of ``func``."""
        run(self.function(func, name))
        return self.lines

    def line(self, text: Code) -> None:
        self.lines.append(indented(self.depth, text))

    # Names.

    def define(self, var: Var) -> Identifier:
        """Return a new name for ``var``."""
        name = self.names[var] = self.supply.identifier(var.name)
        return name

    def symbol(self, var: tir.Var) -> Code:
        """Return the name of a symbolic dimension.

        One not met before is declared by the current function.
        """
        if var not in self.symbols:
            self.symbols[var] = self.supply.identifier(var.name)
            self.declared.append(var)
        return self.symbols[var]

    def info(self, info: StructInfo) -> Code:
        text = self.infos.get(info)
        if text is None:
            text = self.infos[info] = info_text(info, self.symbol, meshes=self.meshes)
        return text

    # Statements; what is nested is yielded, to be written before going on.

    def function(self, func: Function, name: Identifier) -> Steps:
        outer_declared, outer_calls = self.declared, self.calls_module
        self.declared, self.calls_module = [], False
        options = [code("private=True")] if func.private else []
        options += [] if func.pure else [code("pure=False")]
        self.line(code("@R.function({})", comma(options)) if options else code("@R.function"))
        # The parameters' names come first, so that no dimension takes one of them.
        names = [self.define(param) for param in func.params]
        for param, own in zip(func.params, names, strict=True):
            # A scalar that is a dimension of what follows has one name as both; TVM reads that
            # since 0.26.
            value = param.info.value if isinstance(param.info, PrimStructInfo) else None
            if isinstance(value, tir.Var) and not self.dialect.names_scalars:
                self.symbols.setdefault(value, own)
        known = set(self.symbols)
        infos = [self.parameter_info(param, known) for param in func.params]
        params = [joined(own, _IS_OF, info) for own, info in zip(names, infos, strict=True)]
        self.line(code("def {}({}) -> {}:", name, comma(params), info_text(func.ret, self.symbol, known, self.meshes)))
        self.depth += 1
        start = len(self.lines)
        yield self.sequence(func.body)
        self.line(code("return {}", self.expr(func.body.body)))
        head = [code("{} = T.{}()", self.symbols[var], dtype_word(var.dtype)) for var in self.declared]
        if func.attrs:
            head.append(code("R.func_attr({})", attribute_text(func.attrs, self.symbol)))
        if self.calls_module:
            head.append(code("cls = Module"))
        self.lines[start:start] = [indented(self.depth, line) for line in head]
        self.depth -= 1
        self.declared, self.calls_module = outer_declared, outer_calls

    def parameter_info(self, param: Var, known: set[tir.Var]) -> Code:
        if self.dialect.names_scalars and isinstance(param.info, PrimStructInfo) and param.info.value is not None:
            return code("R.Prim(value={})", quoted(extent_text(param.info.value, self.symbol)))
        return info_text(param.info, self.symbol, known, self.meshes)

    def sequence(self, seq: SeqExpr) -> Steps:
        for block in seq.blocks:
            if block.dataflow:
                self.line(code("with R.dataflow():"))
                self.depth += 1
                yield self.bindings(block)
                outputs = [self.names[b.var] for b in block.bindings if not b.var.dataflow]
                self.line(code("R.output({})", comma(outputs)))
                self.depth -= 1
            else:
                yield self.bindings(block)

    def bindings(self, block: BindingBlock) -> Steps:
        with each("bindings of the script", block.bindings) as rest:
            for binding in rest:
                yield from self.bound(binding)

    def bound(self, binding: Binding | MatchCast) -> Steps:
        match binding:
            case MatchCast(var, value, info):
                source, target = self.expr(value), self.info(info)
                self.line(code("{} = R.match_cast({}, {})", self.define(var), source, target))
            case Binding(var, value):
                match value:
                    case If(condition, then, otherwise):
                        self.line(code("if {}:", self.condition(condition)))
                        name = self.define(var)
                        yield self.branch(then, name, var.info)
                        self.line(code("else:"))
                        yield self.branch(otherwise, name, var.info)
                    case Function():
                        yield self.function(value, self.define(var))
                    case _ if var.name == "_" and self.is_plain_effect(var, value):
                        self.line(self.expr(value, TupleStructInfo()))  # As the reader names it.
                    case _:
                        text = self.expr(value, var.info)
                        annotation = self.annotation(var.info, value)
                        self.line(joined(self.define(var), annotation, _IS, text))

    def is_plain_effect(self, var: Var, value: Expr) -> bool:
        """Whether a call, or an empty tuple, may stand alone: a packed function's only where it
        says its result.
        """
        packed = isinstance(value, Call) and isinstance(value.op, ExternFunc)
        may_stand_alone = var.info == TupleStructInfo(()) and isinstance(value, (Call, Tuple))
        return may_stand_alone and (not packed or self.dialect.result is not None)

    def branch(self, seq: SeqExpr, name: Identifier, info: StructInfo) -> Steps:
        self.depth += 1
        yield self.sequence(seq)
        self.line(code("{}{} = {}", name, self.annotation(info, seq.body), self.expr(seq.body)))
        self.depth -= 1

    def condition(self, condition: Expr) -> Code:
        if isinstance(condition, PrimValue):
            return extent_text(condition.value, self.symbol)
        return self.expr(condition)

    def annotation(self, info: StructInfo, value: Expr) -> Code:
        """Return the annotation of a variable bound to ``value``.

        An annotation replaces what TVM infers, so where little is known of a value it is left out,
        unless it says less than we infer. Of a packed function, and of an operator without a
        record, nothing can be inferred here; where nothing is known of the operator's result, TVM
        may infer it.
        """
        if isinstance(value, Call) and isinstance(value.op, ForeignOp) and value.op.computes:
            return code("") if isinstance(info, ObjectStructInfo) else code(": {}", self.info(info))
        if isinstance(value, Call) and isinstance(value.op, (ExternFunc, ForeignOp)):
            return code(": {}", self.info(info))
        if isinstance(value, (CallTIR, CallDPSPacked)) or (is_weak(info) and self.follows(info, value)):
            return code("")
        return joined(_IS_OF, self.info(info))

    def follows(self, info: StructInfo, value: Expr) -> bool:
        """Whether ``info`` is what is inferred of ``value``, rather than what somebody wanted to be
        known of it.
        """
        try:
            return self.inference.of(value) == info
        except StructInfoError:
            return False

    # Expressions.

    def expr(self, expr: Expr, info: StructInfo | None = None) -> Code:
        """Return the text of ``expr``; ``info`` is what the variable that it is bound to is said to
        be.
        """
        match expr:
            case Var():
                return self.names.get(expr) or self.undefined(expr)
            case Call(OpDef() as op, args, attrs):
                return self.operator(op, args, attrs)
            case Constant(data):
                if expr.sharding is not None:
                    return code("R.dist.const({}, {})", number_list(data), self.info(expr.info))
                given = self.name_constant(expr) if self.name_constant is not None else None
                return given if given is not None else constant_text(data, self.dialect.empty)
            case ShapeExpr(values):
                return code("R.shape([{}])", comma(extent_text(value, self.symbol) for value in values))
            case PrimValue(value):
                return code("R.prim_value({})", extent_text(value, self.symbol))
            case DataTypeImm(value):
                return code("R.dtype({})", quoted(value))
            case StringImm(value):
                return code("R.str({})", quoted(value))
            case GlobalVar():
                self.calls_module = True
                return code("cls.{}", self.global_name(expr))
            case ExternFunc(name):
                return code("R.ExternFunc({})", quoted(name))
            case Tuple(fields):
                return self.tuple(fields)
            case TupleGetItem(value, index):
                return code("{}[{}]", self.expr(value), index)
            case Call(ExternFunc(name), args):
                return self.call_packed(name, args, info)
            case Call(GlobalVar() | Var() as callee, args):
                return code("{}({})", self.expr(callee), comma(map(self.expr, args)))
            case CallTIR(func, args, out, tir_args) if tir_args and self.dialect.scalars_last:
                scalars = self.expr(ShapeExpr(tir_args))
                return code("R.call_tir({}, {}, tir_vars={})", self.expr(func), self.destination(args, out), scalars)
            case CallTIR(func, args, out, tir_args):
                given_args = [*args, *(PrimValue(arg) for arg in tir_args)]
                name = "dist.call_tir" if any(info.sharding for info in out) else "call_tir"
                return code("R.{}({}, {})", dotted(name), self.expr(func), self.destination(given_args, out))
            case CallDPSPacked(name, args, out):
                return code("R.call_dps_packed({}, {})", quoted(name), self.destination(args, out))
        raise UnsupportedError(mistake(translating.NOT_SAID, what=f"{type(expr).__name__} as part of an expression"))

    def undefined(self, var: Var) -> Code:
        """Return an empty tuple for a variable without a value, which nothing has to define."""
        if var.info == TupleStructInfo(()):
            return self.tuple(())
        raise Relay2RelaxError(f"the variable {var.name} is used where it is not defined", kind=translating.NOT_SAID)

    def call_packed(self, name: str, args: Sequence[Expr], info: StructInfo | None) -> Code:
        """Return a call of a packed function, with what it returns where the dialect has one word
        for that.
        """
        texts = [quoted(name), *map(self.expr, args)]
        if self.dialect.result is not None and info is not None and not isinstance(info, ObjectStructInfo):
            texts.append(code("{}=[{}]", self.dialect.result, self.info(info)))
        return code("R.call_packed({})", comma(texts))

    def tuple(self, fields: Sequence[Expr]) -> Code:
        return tuple_text([self.expr(field) for field in fields]) if fields else code("R.tuple()")

    def destination(self, args: Sequence[Expr], out: Sequence[StructInfo]) -> Code:
        """Return the arguments and results of a call that is given the memory of its results."""
        infos = [self.info(info) for info in out]
        result = infos[0] if len(infos) == 1 else code("[{}]", comma(infos))
        return code("{}, {}{}", self.tuple(args), self.dialect.call_tir_out, result)

    def operator(self, op: OpDef, args: Sequence[Expr], attrs: object) -> Code:
        if reason := lacks(self.dialect, op, attrs):
            raise UnsupportedError(reason)
        script = op.script
        assert script is not None
        texts = [self.expr(arg) for arg in args]
        if isinstance(op, ForeignOp):
            assert isinstance(attrs, ForeignAttrs)
            return code("R.{}({})", dotted(script.name), comma(self.foreign(script.name, attrs, texts)))
        values = {field.name: getattr(attrs, field.name) for field in attr_fields(op.attrs)}
        texts += [self.scalar(values[name]) for name in script.positional]
        built_in = implied(self.dialect, script.name)
        for name, value in values.items():
            if name in script.omit or name in script.positional or value is None or value == "":
                continue
            keyword = script.rename.get(name, name)
            if keyword not in built_in:
                texts.append(joined(word(keyword), _EQUALS, attribute_text(value, self.symbol)))
        return joined(_R, dotted(script.name), _OPEN, comma(texts), _CLOSE)

    def scalar(self, value: object) -> Code:
        """Return a scalar argument of an operator.

        TVM 0.25 takes a typed literal as R.prim_value only.
        """
        text = attribute_text(value, self.symbol)
        return code("R.prim_value({})", text) if isinstance(value, (IntImm, FloatImm)) else text

    def foreign(self, name: str, attrs: ForeignAttrs, args: Sequence[Code]) -> Iterator[Code]:
        """Yield the arguments of the operator ``name``, which has no record, as they were written.

        Those that the virtual machine runs take numbers as values, which TVM 0.25 wants written as
        R.prim_value.
        """
        values = name.startswith(("vm.", "memory."))
        for keyword, value in attrs.layout:
            match value:
                case Argument(index):
                    text = args[index]
                case StructInfo():
                    text = self.info(value)
                case (StructInfo(), *_):
                    text = code("[{}]", comma(map(self.info, value)))
                case int() if values:
                    text = code("R.prim_value({})", value)
                case _:
                    text = attribute_text(value, self.symbol, self.meshes)
            if keyword in RESULT_KEYWORDS:
                if self.dialect.result is None:
                    said = f"`{keyword}=` in dialect {self.dialect.name}, for TVM's releases disagree"
                    help = "print for one of them: tvm-0.25, tvm-0.27"
                    raise UnsupportedError(replace(mistake(translating.NOT_SAID, what=said), help=help))
                keyword = self.dialect.result
            yield code("{}={}", word(keyword), text) if keyword else text
