"""Which expressions of a module are on one device: domains, found by unification."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import types
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.equality import structural_equal
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import pattern_vars
from relay2relax.relay_ir.ir.types import FuncType, Type

UNKNOWN = VirtualDevice()
T = TypeVar("T", int, str)


def from_above(mod: IRModule) -> Iterator[Expr]:
    """Yield every expression once, a user before its parts, from left to right: the order in which
    devices decide.
    """
    seen: set[Expr] = set()
    stack: list[Expr] = []
    stack += reversed(list(mod.functions.values()))
    while stack:
        expr = stack.pop()
        if expr not in seen:
            seen.add(expr)
            yield expr
            stack += reversed(children(expr))


class DeviceConflict(Relay2RelaxError):
    """One value would have to be on two devices."""

    kind = types.DEVICE_CONFLICT


@dataclass(slots=True, eq=False)
class Domain:
    """The device of a value; of a function, the domains of its arguments and its result."""

    device: VirtualDevice = UNKNOWN
    args: tuple[Domain, ...] = ()
    result: Domain | None = None
    parent: Domain | None = None

    def root(self) -> Domain:
        """Return the domain that stands for this one and all that were unified with it."""
        found = self
        while found.parent is not None:
            if found.parent.parent is not None:
                found.parent = found.parent.parent
            found = found.parent
        return found

    def final(self) -> Domain:
        """Return the domain of the value: of a function, that of what it returns in the end."""
        found = self.root()
        while found.result is not None:
            found = found.result.root()
        return found

    def leaves(self) -> Iterator[Domain]:
        """Yield the domains of all values: itself, or those of a function's arguments and
        result.
        """
        root = self.root()
        if root.result is None:
            yield root
            return
        for part in (*root.args, root.result):
            yield from part.leaves()


class Domains:
    """The domains of all expressions of a module whose types are inferred."""

    def __init__(self, mod: IRModule, host: VirtualDevice, canonical: Callable[[VirtualDevice], VirtualDevice]) -> None:
        self._mod = mod
        self._host = host
        self._canonical = canonical
        self._of: dict[Expr, Domain] = {}
        self._callees: dict[Call, Domain] = {}
        for var, function in mod.functions.items():
            self.unify(self.of(var), self.of(function), function)
        for expr in from_above(mod):
            self._constrain(expr)

    def of(self, expr: Expr) -> Domain:
        """Return the domain of ``expr``."""
        if isinstance(expr, GlobalVar):
            expr = self._mod.get_global_var(expr.name)
        if expr not in self._of:
            self._of[expr] = _of_type(self._mod.types.get(expr))
        return self._of[expr]

    def of_callee(self, call: Call) -> Domain:
        """Return the domain of what ``call`` calls."""
        if call not in self._callees:
            self._callees[call] = self._callee(call)
        return self._callees[call]

    def device(self, expr: Expr) -> VirtualDevice:
        """Return the device that ``expr`` is on."""
        return self.of(expr).final().device

    def unify(self, a: Domain, b: Domain, expr: Expr) -> None:
        """Make two domains one.

        Raises DeviceConflict, naming ``expr``, where their devices differ.
        """
        a, b = a.root(), b.root()
        if a is b:
            return
        if (a.result is None) != (b.result is None):
            self.collapse((a, b), expr)
        elif a.result is not None and b.result is not None:
            for one, other in zip((*a.args, a.result), (*b.args, b.result), strict=False):
                self.unify(one, other, expr)
        else:
            a.device = self._joined(a.device, b.device, expr)
            b.parent = a

    def collapse(self, domains: tuple[Domain, ...], expr: Expr) -> None:
        """Let all values of all ``domains`` be on one device."""
        first, *rest = [leaf for domain in domains for leaf in domain.leaves()]
        for leaf in rest:
            self.unify(first, leaf, expr)

    def constrain(self, domain: Domain, device: VirtualDevice | None, expr: Expr) -> None:
        """State the device of a value."""
        if device is not None:
            leaf = domain.final()
            leaf.device = self._joined(leaf.device, self._canonical(device), expr)

    def _joined(self, a: VirtualDevice, b: VirtualDevice, expr: Expr) -> VirtualDevice:
        """Return the device of which both are true."""
        # Mostly nothing is known of one, or they are the same object.
        if b is a or b is UNKNOWN:
            return a
        if a is UNKNOWN:
            return b
        kind = _known(a.device_type, b.device_type, -1)
        index = _known(a.device_id, b.device_id, -1)
        scope = _known(a.memory_scope, b.memory_scope, "")
        targets = [one.target for one in (a, b) if one.target is not None]
        if kind is None or index is None or scope is None or not structural_equal(targets[:1], targets[-1:]):
            span = "" if isinstance(expr, Op) or expr.span is None else f" at {expr.span}"
            raise DeviceConflict(
                f"a {type(expr).__name__}{span} would have to be on two devices: {_shown(a)} and {_shown(b)}"
            )
        return VirtualDevice(kind, index, targets[0] if targets else None, scope)

    def _constrain(self, expr: Expr) -> None:
        of, unify = self.of, self.unify
        match expr:
            case Call(_, args):
                callee = self.of_callee(expr).root()
                if callee.result is not None:
                    unify(of(expr), callee.result, expr)
                for arg, formal in zip(args, callee.args, strict=False):
                    # An argument that is on another device stays there: it is copied for this call.
                    with suppress(DeviceConflict):
                        unify(of(arg), formal, arg)
            case Let(var, value, body):
                unify(of(var), of(value), expr)
                unify(of(expr), of(body), expr)
            case Function():
                self._function(expr)
            case If(condition, then, otherwise):
                unify(of(expr), of(then), expr)
                unify(of(expr), of(otherwise), expr)
                self.collapse((of(expr), of(condition)), expr)
            case Match(data, clauses):
                for clause in clauses:
                    unify(of(expr), of(clause.rhs), expr)
                    self.collapse((of(data), *map(of, pattern_vars(clause.lhs))), expr)
                self.collapse((of(expr), of(data)), expr)
            case Tuple() | TupleGetItem() | RefCreate() | RefRead() | RefWrite():
                self.collapse((of(expr), *map(of, children(expr))), expr)

    def _function(self, function: Function) -> None:
        domain = self.of(function).root()
        assert domain.result is not None
        if function.attrs.get("Primitive"):
            self.collapse((domain,), function)
            return
        for param, formal in zip(function.params, domain.args, strict=True):
            self.unify(self.of(param), formal, function)
            self.constrain(formal, param.virtual_device, param)
        self.unify(domain.result, self.of(function.body), function)
        self.constrain(domain.result, function.virtual_device, function)

    def _callee(self, call: Call) -> Domain:
        if isinstance(call.op, Constructor):
            shared = Domain()
            self.collapse((shared, self.of(call), *map(self.of, call.args)), call)
            return Domain(args=tuple(self.of(arg) for arg in call.args), result=self.of(call))
        if not isinstance(call.op, Op):
            return self.of(call.op)
        attrs, value, host = call.attrs, Domain(), Domain(self._host)
        match call.op.name:
            case "on_device":
                body, result = self.of(call.args[0]), self.of(call)
                if attrs.constrain_body:
                    self.constrain(body, attrs.virtual_device, call)
                if attrs.constrain_result:
                    self.constrain(result, attrs.virtual_device, call)
                return Domain(args=(body,), result=result)
            case "device_copy":
                self.constrain(self.of(call.args[0]), attrs.src_virtual_device, call)
                self.constrain(self.of(call), attrs.dst_virtual_device, call)
                return Domain(args=(self.of(call.args[0]),), result=self.of(call))
            case "memory.alloc_storage":
                self.constrain(value, attrs.virtual_device, call)
                return Domain(args=(host, host, host), result=value)
            case "memory.alloc_tensor":
                return Domain(args=(value, host, host), result=value)
            case "vm.shape_of":
                return Domain(args=(value,), result=host)
            case "vm.reshape_tensor":
                return Domain(args=(value, host), result=value)
            case "vm.invoke_tvm_op":
                return Domain(args=(Domain(), value, value), result=value)
        return Domain(args=(value,) * len(call.args), result=value)


def _of_type(ty: Type | None) -> Domain:
    if isinstance(ty, FuncType):
        return Domain(args=tuple(map(_of_type, ty.arg_types)), result=_of_type(ty.ret_type))
    return Domain()


def _known(a: T, b: T, unknown: T) -> T | None:
    """Return what is known of one thing, None where two different things are."""
    if a == unknown:
        return b
    return a if b in (a, unknown) else None


def _shown(device: VirtualDevice) -> str:
    kind = f"type {device.device_type}, number {device.device_id}"
    return (
        kind
        + (f", {device.target.kind}" if device.target else "")
        + (f", scope {device.memory_scope}" if device.memory_scope else "")
    )
