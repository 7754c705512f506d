"""The walk over a Relax program that adds ONNX's nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.formats.onnx import protos
from relay2relax.graph.formats.onnx.builder import Builder, NoFormError, Scope, Site, Value, leaves
from relay2relax.graph.formats.onnx.forms import find_form
from relay2relax.graph.formats.onnx.infos import may_be, needed, reads, shaped, tensor_count, tensor_types, type_of_info
from relay2relax.graph.formats.onnx.loops import While, as_while, calls_itself, has_states, packed, states
from relay2relax.graph.model import GraphError
from relay2relax.ops.registry.lower import Origin
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.types import TensorType
from relay2relax.relax_ir.inference.infer import Inference, argument_type
from relay2relax.relax_ir.inference.op_signatures import ForeignAttrs
from relay2relax.relax_ir.ir.expr import (
    Binding,
    Call,
    CallTIR,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    IRModule,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo, TupleStructInfo, to_type
from relay2relax.relax_ir.ir.visit import Steps, bindings, run
from relay2relax.relax_ir.transform.copy_with_new_vars import copy_with_new_vars
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir.expr import FloatImm, IntImm
from relay2relax.tir.ir.expr import Var as PrimVar
from relay2relax.tir.ir.stmt import PrimFunc


class Export:
    """One export of a Relax program."""

    def __init__(self, module: IRModule, initializers: protos.Initializers) -> None:
        self.module = module
        self.inference = Inference(module)
        self.builder = Builder(initializers)
        self.values: dict[Expr, Value] = {}
        self.names: dict[Var, str] = {}
        self.weights: dict[Constant, str] = {}
        self.given: Mapping[str, Array] = {}
        self.reasons: dict[str, str] = {}
        # The functions that are being put in place.
        self.open: set[str] = set()

    def model(self, name: str, main: Function) -> protos.Message:
        """Return the model of the function ``main``."""
        builder, inputs = self.builder, []
        for param in main.params:
            if param.name in self.given:
                self.values[param] = self.weight(param)
            else:
                inputs += self.parameter(param)
        run(self.sequence(main.body))
        result = self.value(main.body.body)
        types = tensor_types(self.inference.of(main.body.body), self.builder.types, tuple(leaves(result)))
        given, outputs = {one.name for one in inputs}, []
        finals: list[str] = []
        for one, type_ in zip(leaves(result), types, strict=True):
            whole = one in given or one in builder.arrays or one in finals
            finals.append(builder.add("Identity", [one], 1)[0] if whole else one)
            outputs.append(protos.value_info(finals[-1], type_, {}))
        nodes = needed(builder.scopes[0].nodes, finals)
        used = {name for node in nodes for name in reads(node)}
        constants = [one for one in builder.initializers.protos if one.name in used]
        made = {name for node in nodes for name in node.output} - set(finals)
        infos = [protos.value_info(one, type_, {}) for one, type_ in builder.types.items() if one in made]
        return protos.model(name, nodes, inputs, outputs, constants, infos, builder.custom, self.reasons)

    def weight(self, param: Var) -> str:
        """Return the initialiser that a parameter is; raises GraphError where it does not fit."""
        array, info = self.given[param.name], param.info
        found = TensorStructInfo(array.shape, of_array(array))
        if not isinstance(info, TensorStructInfo) or not may_be(info, found):
            raise GraphError(f"weight {param.name!r}: expected {info}, given {array.shape} of {found.dtype}")
        made = self.builder.weight(param.name, array)
        self.builder.stands(made, TensorType(info.shape or array.shape, found.dtype))
        return made

    def parameter(self, param: Var) -> list[protos.Message]:
        """Return the inputs that a parameter is; one of a tuple is several."""
        found = []

        def made(info: StructInfo, hint: str) -> Value:
            match info:
                case TensorStructInfo():
                    name = self.builder.fresh(hint)
                    type_ = to_type(info)
                    assert isinstance(type_, TensorType)
                    self.builder.stands(name, type_)
                    found.append(protos.value_info(name, type_, {}))
                    return name
                case TupleStructInfo(fields):
                    return tuple(made(one, f"{hint}_{i}") for i, one in enumerate(fields))
                case ShapeStructInfo(values) if values is not None:
                    name = self.builder.fresh(hint)
                    self.shape(name, values)
                    found.append(protos.value_info(name, TensorType((len(values),), "int64"), {}))
                    return name
            problem = "is no tensor, which ONNX models take alone"
            raise UnsupportedError(
                mistake(translating.NO_ONNX_FORM, owner=f"the parameter {param.name}", problem=problem)
            )

        self.values[param] = made(param.info, param.name)
        return found

    def shape(self, vector: str, extents: Sequence[Extent]) -> None:
        """Note that the elements of ``vector`` are the extents of a shape."""
        for place, extent in enumerate(extents):
            if isinstance(extent, PrimVar):
                self.builder.sources.setdefault(extent, (vector, -1 - place))

    def sequence(self, body: SeqExpr) -> Steps:
        """Add the nodes of a function's or a branch's bindings."""
        yield from self.bound(list(bindings(body)))

    def bound(self, found: Sequence[Binding | MatchCast]) -> Steps:
        """Add the nodes of bindings."""
        for binding in found:
            self.builder.hint = self.names.get(binding.var, binding.var.name)
            match binding.value:
                case If() as value:
                    yield self.branch(binding.var, value)
                case Call(GlobalVar(name)) as value if name not in self.open and self.is_said(name):
                    yield self.function(binding.var, name, value)
                case value:
                    self.values[binding.var] = self.value(value)
            if isinstance(binding, MatchCast):
                self.stands(self.values[binding.var], binding.info)
            self.stands(self.values[binding.var], binding.var.info)

    def stands(self, value: Value, info: StructInfo) -> None:
        """Note what is known of a value."""
        match info:
            case TensorStructInfo(shape) if shape is not None and isinstance(value, str):
                self.builder.stands(value, TensorType(shape, info.dtype))
            case TensorStructInfo(None, _, ndim) if ndim >= 0 and isinstance(value, str):
                type_ = to_type(info)
                assert isinstance(type_, TensorType)
                self.builder.types.setdefault(value, type_)
            case TupleStructInfo(fields) if isinstance(value, tuple):
                for one, part in zip(value, fields, strict=False):
                    self.stands(one, part)
            case ShapeStructInfo(values) if values is not None and isinstance(value, str):
                self.shape(value, values)

    def branch(self, var: Var, value: If) -> Steps:
        """Add an ``If``; its branches read what is around them by name."""
        condition = self.value(value.condition)
        hint = self.builder.hint
        arms, result = [], None
        for name, body in (("then", value.true_branch), ("else", value.false_branch)):
            self.builder.scopes.append(Scope())
            yield self.sequence(body)
            result = self.value(body.body)
            # What a branch gives has to be made in it.
            finals = [self.builder.add("Identity", [one], 1)[0] for one in leaves(result)]
            types = tensor_types(self.inference.of(body.body), self.builder.types, finals)
            nodes = needed(self.builder.scopes.pop().nodes, finals)
            infos = [protos.value_info(*pair, {}) for pair in zip(finals, types, strict=True)]
            arms.append(protos.subgraph(f"{hint}_{name}", nodes, infos))
        assert isinstance(condition, str)
        assert result is not None
        self.builder.hint = hint
        made = iter(self.builder.add("If", [condition], len(finals), then_branch=arms[0], else_branch=arms[1]))

        def renamed(one: Value) -> Value:
            return next(made) if isinstance(one, str) else tuple(map(renamed, one))

        self.values[var] = renamed(result)

    def is_said(self, name: str) -> bool:
        """Whether ONNX says a function: it is put in place, or is a loop."""
        function = self.module[name]
        if not isinstance(function, Function):
            return False
        return not calls_itself(function, name) or (as_while(function, name) is not None and has_states(function))

    def function(self, var: Var, name: str, call: Call) -> Steps:
        """Add what a function of the module does in the place of a call."""
        hint, given = self.builder.hint, [self.value(arg) for arg in call.args]
        self.open.add(name)
        if calls_itself(self.function_of(name), name):
            yield self.loop(var, name, given, hint)
        else:
            function = self.copied(name)
            self.enter(function.params, given)
            yield self.sequence(function.body)
            self.values[var] = self.value(function.body.body)
        self.open.remove(name)
        self.builder.hint = hint

    def loop(self, var: Var, name: str, given: Sequence[Value], hint: str) -> Steps:
        """Add a ``Loop``: its condition is computed before it, and at the end of each round."""
        first, again, after, last = (self.round(name) for _ in range(4))
        self.enter(first.params, given)
        yield from self.bound(first.before)
        begins = self.goes_on(first)
        self.builder.scopes.append(Scope())
        types = [one for param in again.params for one in states(param.info)]
        taken = [self.state(hint, one) for one in types]
        self.enter(again.params, packed(again.params, taken))
        yield from self.bound(again.before)
        yield self.sequence(again.again)
        made = [self.value(one) for one in again.state]
        self.enter(after.params, made)
        yield from self.bound(after.before)
        finals = [self.goes_on(after), *(one for value in made for one in leaves(value))]
        finals = [self.builder.add("Identity", [one], 1)[0] for one in finals]
        nodes = needed(self.builder.scopes.pop().nodes, finals)
        holds = TensorType((), "bool")
        inputs = [(self.builder.fresh("round"), TensorType((), "int64")), (self.builder.fresh("goes_on"), holds)]
        inputs += zip(taken, types, strict=True)
        outputs = zip(finals, [holds, *types], strict=True)
        body = protos.subgraph(
            f"{hint}_body",
            nodes,
            [protos.value_info(*one, {}) for one in outputs],
            [protos.value_info(*one, {}) for one in inputs],
        )
        self.builder.hint = hint
        begin = [one for value in given for one in leaves(value)]
        ended = self.builder.add("Loop", ["", begins, *begin], len(types), body=body)
        self.enter(last.params, packed(last.params, ended))
        yield from self.bound(last.before)
        yield self.sequence(last.last)
        self.values[var] = self.value(last.last.body)

    def function_of(self, name: str) -> Function:
        """Return a function of the module."""
        found = self.module[name]
        assert isinstance(found, Function)
        return found

    def copied(self, name: str) -> Function:
        """Return a function with variables of its own: it may be put in several places."""
        return copy_with_new_vars(self.function_of(name), self.builder.fresh)

    def round(self, name: str) -> While:
        """Return a loop with variables of its own."""
        found = as_while(self.copied(name), name)
        assert found is not None
        return found

    def goes_on(self, loop: While) -> str:
        """Return whether another round follows."""
        found = self.value(loop.condition)
        assert isinstance(found, str)
        return found if loop.wanted else self.builder.add("Not", [found], 1)[0]

    def state(self, hint: str, type_: TensorType) -> str:
        """Return an input of the body of a loop."""
        name = self.builder.fresh(f"{hint}_state")
        self.builder.types[name] = type_
        return name

    def enter(self, params: Sequence[Var], given: Sequence[Value]) -> None:
        """Let parameters be values; their extents are where these have them."""
        for param, value in zip(params, given, strict=True):
            self.values[param] = value
            stack: list[tuple[Value, StructInfo]] = [(value, param.info)]
            while stack:
                match stack.pop():
                    case str() as name, TensorStructInfo(shape) if shape is not None:
                        for axis, extent in enumerate(shape):
                            if isinstance(extent, PrimVar):
                                self.builder.sources.setdefault(extent, (name, axis))
                    case str() as name, ShapeStructInfo(extents) if extents is not None:
                        self.shape(name, extents)
                    case tuple() as parts, TupleStructInfo(fields):
                        stack += zip(parts, fields, strict=True)

    def value(self, expr: Expr) -> Value:
        """Return what stands for an expression; a call adds its nodes."""
        match expr:
            case _ if expr in self.values:
                return self.values[expr]
            case Constant(data):
                made = self.builder.weight(self.weights.get(expr, ""), data)
                self.builder.types[made] = TensorType(data.shape, expr.info.dtype)
                self.values[expr] = made
                return made
            case Tuple(fields):
                return tuple(self.value(one) for one in fields)
            case TupleGetItem(whole, index):
                found = self.value(whole)
                assert isinstance(found, tuple)
                return found[index]
            case ShapeExpr(values):
                return self.builder.extents(values)
            case PrimValue(IntImm() | FloatImm() as number):
                return self.builder.constant(np.asarray(number.value, number.dtype))
            case Call(OpDef() as op, args, attrs):
                return self.call(op, attrs, args, self.inference.of(expr))
            case CallTIR(func, args, out) if isinstance(callee := self.module.functions[func], PrimFunc):
                result = out[0] if len(out) == 1 else TupleStructInfo(out)
                if isinstance(callee.origin, Origin):
                    return self.call(callee.origin.op, callee.origin.attrs, args, result)
                return self.custom(callee.name, {}, args, result, "a tensor program")
        name = type(expr).__name__ if not isinstance(expr, Call) else str(getattr(expr.op, "name", "a function"))
        args = expr.args if isinstance(expr, Call) else ()
        return self.custom(name, {}, args, self.inference.of(expr), "ONNX has no such expression")

    def call(self, op: OpDef, attrs: object, args: Sequence[Expr], info: StructInfo) -> Value:
        """Add the nodes of an operator's call."""
        form = find_form(op)
        given = [self.value(arg) for arg in args]
        if form is None:
            return self.custom(op.name, attrs, args, info, "ONNX has no operator for it")
        types = tuple(argument_type(self.inference.of(arg)) for arg in args)
        kept = len(self.builder.scopes[-1].nodes)
        try:
            return form(Site(self.builder, types, type_of_info(info)), attrs, *given)
        except NoFormError as error:
            del self.builder.scopes[-1].nodes[kept:]
            self.builder.scopes[-1].extents.clear()
            return self.custom(op.name, attrs, args, info, str(error))

    def custom(self, name: str, attrs: object, args: Sequence[Expr], info: StructInfo, why: str) -> Value:
        """Add a node of the custom domain."""
        inputs = [one for arg in args for one in leaves(self.value(arg))]
        shown = {} if isinstance(attrs, (Mapping, ForeignAttrs)) else attrs_text(attrs)
        type_ = type_of_info(info)
        outputs = iter(self.builder.add(name, inputs, tensor_count(type_), protos.DOMAIN, **shown))
        self.reasons[f"relay2relax.{name}"] = why
        made = shaped(type_, outputs)
        self.stands(made, info)
        return made
