"""Programs without functions as values: such a value becomes data, and its calls a match on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.analysis import free_vars
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    Match,
    Op,
    PatternConstructor,
    PatternVar,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule, TypeData
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.ir.type_mapping import map_type, substitute_types
from relay2relax.relay_ir.ir.types import (
    FuncType,
    GlobalTypeVar,
    RefType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay2relax.relay_ir.transform.inline import InlineLocalFunctions, fresh_copy, rebind

# More copies of functions, and parts of types, than any program of reasonable types needs.
_MOST_COPIES, _MOST_PARTS = 10_000, 1_000
Types: TypeAlias = Mapping[TypeVar, Type]


@dataclass(frozen=True, slots=True)
class Defunctionalization(Pass[IRModule]):
    """Turn the program that begins at ``entry`` into one of first order.

    A function as a value becomes a constructor of a type ``Defunc0``, ``Defunc1`` …, whose fields
    are the variables that the function has from around it; its call becomes the call of ``@apply0``
    …, which matches on it. Functions that take or give functions are copied for each of their
    types. Functions that are not reached stay as they are.
    """

    entry: str = "main"
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` of first order; infers types where it has none.

        Raises UnsupportedError where the entry is polymorphic or has functions as arguments or as
        its result, and where the types of a program have no end.
        """
        mod = typed_module(InlineLocalFunctions(marked=True)(mod))
        entry = mod.get_global_var(self.entry)
        if mod[entry].type_params or _has_functions(mod.types[mod[entry]], inside=True):
            raise UnsupportedError(f"@{self.entry} is polymorphic, or takes or gives functions")
        return _FirstOrder(mod).run(entry)


@dataclass(frozen=True, slots=True)
class _Case:
    """A function as data: what it holds, its parameters, its body, and the variable by which it
    calls itself, if it does.
    """

    fields: tuple[Var, ...]
    params: tuple[Var, ...]
    body: Expr
    itself: Var | None = None


@dataclass(eq=False, slots=True)
class _Encoding:
    """The data type that stands for the functions of one type, and the function that calls them."""

    type: FuncType
    header: GlobalTypeVar
    apply: GlobalVar
    constructors: list[Constructor] = field(default_factory=list)
    # What each constructor does with the arguments.
    cases: list[_Case] = field(default_factory=list)
    globals: dict[str, Constructor] = field(default_factory=dict)

    def case(self, case: _Case) -> Constructor:
        """Add a function; return its constructor."""
        types = tuple(one.type_annotation for one in case.fields)
        name = f"{self.header.name}_{len(self.constructors)}"
        made = Constructor(name, tuple(one for one in types if one is not None), self.header)
        self.constructors.append(made)
        self.cases.append(case)
        return made


class _FirstOrder:
    """Rewrites a module."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.encodings: dict[FuncType, _Encoding] = {}
        self.copies: dict[tuple[str, tuple[Type, ...]], GlobalVar] = {}
        self.made: dict[GlobalVar, Function] = {}
        # Functions of the module whose bodies are still to be rewritten, for given types.
        self.left: list[tuple[GlobalVar, Function, Types]] = []

    def run(self, entry: GlobalVar) -> IRModule:
        """Return the module of first order."""
        self.copy(entry, {})
        while self.left:
            var, function, types = self.left.pop()
            self.made[var] = self._function(function, types)
        for one in self.encodings.values():
            self.made[one.apply] = self._apply(one)
        definitions = {one.header: TypeData(one.header, (), tuple(one.constructors)) for one in self.encodings.values()}
        return replace(
            self.mod,
            functions={**self.mod.functions, **self.made},
            type_definitions={**self.mod.type_definitions, **definitions},
            types={},
        )

    # Types.

    def _type(self, ty: Type, types: Types) -> Type:
        """Return a type with its variables replaced, and functions as data."""
        return map_type(substitute_types(ty, types), self._data)

    def _data(self, ty: Type) -> Type:
        return TypeCall(self.encoding(ty).header) if isinstance(ty, FuncType) else ty

    def encoding(self, ty: FuncType) -> _Encoding:
        if ty.type_params:
            raise UnsupportedError("a polymorphic function is used as a value of no one type")
        if ty not in self.encodings:
            number = len(self.encodings)
            while f"apply{number}" in self.mod or any(
                one.name == f"Defunc{number}" for one in self.mod.type_definitions
            ):
                number += 1
            self.encodings[ty] = _Encoding(ty, GlobalTypeVar(f"Defunc{number}"), GlobalVar(f"apply{number}"))
        return self.encodings[ty]

    # Functions.

    def copy(self, var: GlobalVar, types: Types) -> GlobalVar:
        """Return the function of first order that stands for a function of the module."""
        function = self.mod[var]
        whole = substitute_types(_monomorphic(self.mod.types[function]), types)
        key = (var.name, tuple(types[one] for one in function.type_params))
        if key not in self.copies:
            if len(self.copies) > _MOST_COPIES or sum(map(_size, key[1])) > _MOST_PARTS:
                raise UnsupportedError("functions are called with more and more types")
            changes = bool(function.type_params) or _has_functions(whole, inside=True)
            name = f"{var.name}_{len(self.copies)}" if changes else var.name
            while changes and name in self.mod:
                name += "_"
            self.copies[key] = GlobalVar(name) if changes else self.mod.get_global_var(var.name)
            self.left.append((self.copies[key], function, types))
        return self.copies[key]

    def _function(self, function: Function, types: Types) -> Function:
        walk = _Body(self, types, self._renamed(function, types))
        params = tuple(walk.renamed[param] for param in function.params)
        result = self._type(self.mod.types[function.body], types)
        return replace(function, params=params, body=walk.expression(function.body), ret_type=result, type_params=())

    def _renamed(self, root: Expr, types: Types) -> dict[Var, Var]:
        """Return new variables of the new types for those that ``root`` binds or uses."""
        found: dict[Var, Var] = {}

        def fresh(var: Var) -> Var:
            found[var] = replace(var, type_annotation=self._type(self.mod.types[var], types))
            return found[var]

        fresh_copy(root, {}, fresh)
        return found

    def _apply(self, encoding: _Encoding) -> Function:
        """Return the function that calls the functions of one type."""
        x = Var("x", TypeCall(encoding.header))
        ys = tuple(Var("y", self._type(one, {})) for one in encoding.type.arg_types)
        clauses = []
        for constructor, case in zip(encoding.constructors, encoding.cases, strict=True):
            held = tuple(replace(one) for one in case.fields)
            given = {**dict(zip(case.params, ys, strict=True)), **dict(zip(case.fields, held, strict=True))}
            if case.itself is not None:
                given[case.itself] = x
            rhs = fresh_copy(case.body, given)
            clauses.append(Clause(PatternConstructor(constructor, tuple(map(PatternVar, held))), rhs))
        return Function((x, *ys), Match(x, tuple(clauses)), self._type(encoding.type.ret_type, {}))

    def encoded(self, value: Expr, ty: FuncType, around: _Body, name: Var | None = None) -> Expr:
        """Return the data that stands for a function, ``value``, of type ``ty``, that calls itself
        by ``name``.
        """
        encoding = self.encoding(ty)
        if isinstance(value, GlobalVar):
            if value.name not in encoding.globals:
                ys = tuple(Var("y", self._type(one, {})) for one in ty.arg_types)
                call = Call(self.copy(value, self.instantiation(value, ty)), ys)
                encoding.globals[value.name] = encoding.case(_Case((), ys, call))
            return Call(encoding.globals[value.name], ())
        assert isinstance(value, Function)
        outside = free_vars(value)
        types = {**around.types, **_matched(self.mod.types[value], ty)}
        inside = _Body(self, types, {**around.renamed, **self._renamed(value, types)})
        body = inside.expression(value.body)
        held = tuple(around.renamed[one] for one in outside if one is not name)
        params = tuple(inside.renamed[one] for one in value.params)
        itself = around.renamed[name] if name in outside else None
        return Call(encoding.case(_Case(held, params, body, itself)), held)

    def reaches_functions(self, var: GlobalVar, types: Types) -> bool:
        """Whether a function takes or gives functions where its type parameters are ``types``, or
        calls what does.
        """
        if _has_functions(substitute_types(_monomorphic(self.mod.types[self.mod[var]]), types), inside=True):
            return True
        stack, seen = [var.name], set[str]()
        while stack:
            name = stack.pop()
            if name in seen or name not in self.mod:
                continue
            seen.add(name)
            for node in nodes(self.mod[name].body):
                if isinstance(node, Function) or (isinstance(node, Var) and isinstance(self.mod.types[node], FuncType)):
                    return True
                if isinstance(node, GlobalVar):
                    stack.append(node.name)
        return False

    def instantiation(self, callee: GlobalVar, ty: Type) -> Types:
        """Return what the type parameters of a function are where it has type ``ty``."""
        whole = self.mod.types[self.mod[callee]]
        found = _matched(whole, ty)
        missing = [one.name for one in self.mod[callee].type_params if one not in found]
        if missing:
            raise UnsupportedError(f"@{callee.name} is called where nothing says its type {missing[0]}")
        return found


@dataclass(frozen=True, slots=True)
class _Body:
    """The body of one function: what its type variables are, and what its variables became."""

    program: _FirstOrder
    types: Types
    renamed: dict[Var, Var]

    def type_of(self, expr: Expr) -> Type:
        """Return the type of an expression, with type variables replaced."""
        return substitute_types(self.program.mod.types[expr], self.types)

    def expression(self, root: Expr) -> Expr:
        """Return an expression of first order."""
        done: dict[Expr, Expr] = {}

        def below(node: Expr) -> Sequence[Expr]:
            if isinstance(node, Call):
                callee = () if isinstance(node.op, (GlobalVar, Op, Constructor)) else (node.op,)
                return (*callee, *(arg for arg in node.args if not isinstance(arg, (Function, GlobalVar))))
            return () if isinstance(node, Function) else tuple(children(node))

        roots: tuple[Expr, ...] = (root,)
        order = list(post_order(roots, below))
        names: dict[Expr, Var] = {node.value: node.var for node in order if isinstance(node, Let)}
        for node in order:
            match node:
                case Var():
                    done[node] = self.renamed[node]
                case Function() | GlobalVar():
                    done[node] = self._value(node, self.type_of(node), names.get(node))
                case Call():
                    done[node] = self._call(node, done)
                case _:
                    made = with_children(node, [done[child] for child in children(node)])
                    done[node] = rebind(made, self.renamed)
        return done[root]

    def _value(self, node: Expr, ty: Type, name: Var | None = None) -> Expr:
        if not isinstance(ty, FuncType):
            raise UnsupportedError("a function is used as a value of no one type")
        return self.program.encoded(node, ty, self, name)

    def _call(self, call: Call, done: dict[Expr, Expr]) -> Expr:
        if isinstance(call.op, (Op, Constructor)):
            wanted: Sequence[Type] = [self.type_of(arg) for arg in call.args]
            args = self._args(call, wanted, done)
            return with_children(call, [call.op, *args]) if isinstance(call.op, Op) else Call(call.op, tuple(args))
        if isinstance(call.op, GlobalVar):
            whole = self.program.mod.types[self.program.mod[call.op]]
            assert isinstance(whole, FuncType)
            known = FuncType(tuple(map(self.type_of, call.args)), self.type_of(call))
            types = self.program.instantiation(call.op, known)
            wanted = [substitute_types(one, types) for one in whole.arg_types]
            if not types and not _has_functions(whole, inside=True):
                return replace(call, op=self.program.copy(call.op, types), args=tuple(self._args(call, wanted, done)))
            if types and not self.program.reaches_functions(call.op, types):
                return replace(call, args=tuple(self._args(call, wanted, done)), type_args=())
            return Call(self.program.copy(call.op, types), tuple(self._args(call, wanted, done)))
        ty = self.type_of(call.op)
        if not isinstance(ty, FuncType):
            raise UnsupportedError("a function of no one type is called")
        args = self._args(call, ty.arg_types, done)
        return Call(self.program.encoding(ty).apply, (done[call.op], *args))

    def _args(self, call: Call, wanted: Sequence[Type], done: dict[Expr, Expr]) -> list[Expr]:
        return [
            self._value(arg, ty) if isinstance(arg, (Function, GlobalVar)) else done[arg]
            for arg, ty in zip(call.args, wanted, strict=True)
        ]


def _matched(ty: Type, known: Type) -> dict[TypeVar, Type]:
    """Return what the type variables of ``ty`` are where it is ``known``."""
    found: dict[TypeVar, Type] = {}
    stack = [(ty, known)]
    while stack:
        match stack.pop():
            case TypeVar() as variable, one if not (isinstance(one, FuncType) and one.type_params):
                found.setdefault(variable, one)
            case TupleType(fields), TupleType(others):
                stack += zip(fields, others, strict=True)
            case TypeCall(_, args), TypeCall(_, others):
                stack += zip(args, others, strict=True)
            case RefType(one), RefType(other):
                stack.append((one, other))
            case FuncType(args, result), FuncType(others, other) if len(args) == len(others):
                # A polymorphic argument says nothing; what else is known comes first.
                if not (isinstance(known, FuncType) and known.type_params):
                    stack = [*zip(args, others, strict=True), *stack, (result, other)]
    return found


def _parts(ty: Type) -> list[Type]:
    """Return the types that ``ty`` consists of, itself the last."""
    found: list[Type] = []

    def seen(one: Type) -> Type:
        found.append(one)
        return one

    map_type(ty, seen)
    return found


def _size(ty: Type) -> int:
    return len(_parts(ty))


def _has_functions(ty: Type, inside: bool = False) -> bool:
    """Whether there is a function type in ``ty``; with ``inside`` not counting ``ty`` itself."""
    parts = _parts(ty)
    return any(isinstance(one, FuncType) for one in (parts[:-1] if inside else parts))


def _monomorphic(ty: Type) -> Type:
    return replace(ty, type_params=()) if isinstance(ty, FuncType) else ty
