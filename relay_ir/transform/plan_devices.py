"""Planning of devices: where everything is computed, and which copies that needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.core.walk import post_order
from relay2relax.ops.target.annotation import DeviceCopyAttrs
from relay2relax.relay_ir.build.annotation import marked, on_device
from relay2relax.relay_ir.inference.infer import infer_type
from relay2relax.relay_ir.ir.device import VirtualDevice, cpu
from relay2relax.relay_ir.ir.equality import structural_equal
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    Let,
    Op,
    TupleGetItem,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.transform.device_domains import UNKNOWN, Domain, Domains, from_above
from relay2relax.relay_ir.transform.infrastructure import map_functions


@dataclass(frozen=True, slots=True)
class PlanDevices(Pass[IRModule]):
    """Give every expression a device, following ``on_device`` and what parameters and results
    state.

    What nothing determines is on ``default_device``; shapes and sizes of storage are on
    ``host_device``. Afterwards every function says where its parameters and its result are,
    ``device_copy`` stands where a value moves, and ``on_device`` with both constraints where the
    device changes within a function. Planning a planned module changes nothing. Raises
    DeviceConflict where one value would have to be on two devices, and UnsupportedError for a
    module with functions that are no Relay: in which memory they expect their arguments decides
    too.
    """

    default_device: VirtualDevice = cpu()
    host_device: VirtualDevice = cpu()
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its devices planned; types are inferred on the way."""
        mod.refuse_opaque("where it expects its arguments is not known")
        mod = infer_type(map_functions(mod, _settled))
        domains = Domains(mod, self.host_device, self._canonical)
        order = list(from_above(mod))
        calls = [domains.of_callee(expr) for expr in order if isinstance(expr, Call)]
        for domain in (*calls, *(domains.of(expr) for expr in order if isinstance(expr, Function))):
            self._default(domain)
        for expr in order:
            for leaf in domains.of(expr).leaves():
                leaf.device = self._filled(leaf.device, self.default_device)
        functions = {var: _Capture(domains, function).run() for var, function in mod.functions.items()}
        return replace(mod, functions=functions, types={})

    def _canonical(self, device: VirtualDevice) -> VirtualDevice:
        """Return ``device`` with the target that the default device or the host has, where it
        states none.
        """
        if device.target is None:
            for known in (self.default_device, self.host_device):
                if known.device_type == device.device_type and known.target is not None:
                    return replace(device, target=known.target)
        return device

    def _default(self, domain: Domain) -> None:
        """Fill in what is not known of a function: its result is on the default device, its
        arguments with it.
        """
        result = domain.final()
        result.device = self._filled(result.device, self.default_device)
        for arg in domain.root().args:
            for leaf in arg.leaves():
                leaf.device = self._filled(leaf.device, result.device)

    def _filled(self, device: VirtualDevice, default: VirtualDevice) -> VirtualDevice:
        if device is default or device is UNKNOWN:
            return default
        if device.device_type == -1:
            return replace(default, memory_scope=device.memory_scope or default.memory_scope)
        if device.device_id == -1:
            device = replace(device, device_id=max(default.device_id, 0))
        if not device.memory_scope and device.device_type == default.device_type:
            device = replace(device, memory_scope=default.memory_scope)
        return self._canonical(device)


def _settled(root: Function) -> Function:
    """Return ``root`` with annotations where they decide something.

    What a ``let`` binds and what a function returns is on the device where it is computed. A field
    of an annotated tuple is taken there, so that only the field is copied.
    """
    done: dict[Expr, Expr] = {}
    for node in nodes(root):
        made = with_children(node, [done[child] for child in children(node)])
        match made:
            case Let():
                made = replace(made, value=_fixed(made.value))
            case Function() if not made.attrs.get("Primitive"):
                made = replace(made, body=_fixed(made.body))
            case TupleGetItem(Call(Op("on_device"), (body,), attrs) as value) if _computed_there(value):
                made = on_device(replace(made, tuple_value=body), attrs.virtual_device, span=made.span)
        done[node] = made
    result = done[root]
    assert isinstance(result, Function)
    return result


def _computed_there(expr: Expr) -> bool:
    """Whether ``expr`` is an ``on_device`` that binds its body only."""
    if not isinstance(expr, Call) or expr.op != Op("on_device"):
        return False
    return bool(expr.attrs.constrain_body and not expr.attrs.constrain_result)


def _fixed(expr: Expr) -> Expr:
    if not _computed_there(expr):
        return expr
    assert isinstance(expr, Call)
    return replace(expr, attrs=replace(expr.attrs, constrain_result=True))


class _Capture:
    """Rebuilds a function with its devices written down."""

    def __init__(self, domains: Domains, root: Function) -> None:
        self.domains = domains
        self.root = root
        self.done: dict[Expr, Expr] = {}

    def run(self) -> Function:
        """Return the function."""
        for node in nodes(self.root):
            if isinstance(node, Function) and not node.attrs.get("Primitive"):
                for param in node.params:
                    self.done[param] = self._param(param)

        def below(node: Expr) -> tuple[Expr, ...]:
            primitive = isinstance(node, Function) and node.attrs.get("Primitive")
            return () if primitive else tuple(children(node))

        roots: tuple[Expr, ...] = (self.root,)
        for node in post_order(roots, below):
            if node not in self.done:
                self.done[node] = self._rebuilt(node) if below(node) else node
        result = self.done[self.root]
        assert isinstance(result, Function)
        return result

    def _param(self, param: Var) -> Var:
        device = self.domains.device(param)
        return param if _same(param.virtual_device, device) else replace(param, virtual_device=device)

    def _rebuilt(self, node: Expr) -> Expr:
        device = self.domains.device(node)
        match node:
            case Call(Op("on_device"), (body,)):
                # What it says is known by now; what it caused is a copy, or nothing.
                return self._child(body, device, device)
            case Call(op, args):
                callee = self.domains.of_callee(node).root()
                given = [
                    self._child(arg, device, formal.final().device)
                    for arg, formal in zip(args, callee.args, strict=True)
                ]
                return with_children(node, [self.done[op], *given])
            case Let(_, value, body):
                # Around a value it is always written down, so that nobody has to look for it.
                return with_children(node, [self._child(value, None, self.domains.device(value)), self.done[body]])
            case Function(params, body):
                result = self.domains.of(node).final().device
                made = with_children(node, [self._child(body, result, result)])
                assert isinstance(made, Function)
                fresh = tuple(param for param in map(self.done.__getitem__, params) if isinstance(param, Var))
                if fresh == params and _same(node.virtual_device, result):
                    return made
                return replace(made, params=fresh, virtual_device=result)
        return with_children(node, [self._child(child, device, device) for child in children(node)])

    def _child(self, child: Expr, around: VirtualDevice | None, expected: VirtualDevice) -> Expr:
        """Return ``child`` where ``expected`` is its device; what surrounds it says ``around``."""
        made, own = self.done[child], self.domains.device(child)
        if isinstance(child, (Op, Constructor)):
            return made
        if not _same(own, expected):
            if not _same(own, around):
                made = marked(made, own)
            made = Call(Op("device_copy"), (made,), DeviceCopyAttrs(own, expected), (), child.span)
        return made if _same(expected, around) else marked(made, expected)


def _same(a: VirtualDevice | None, b: VirtualDevice | None) -> bool:
    return a is b or a == b or structural_equal(a, b)
