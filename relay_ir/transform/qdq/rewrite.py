"""The walk that puts operators of floats in the place of quantised ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relay2relax.core.passes import note_rewritten
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Op, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.ir.types import Type
from relay2relax.relay_ir.transform.graph_normal_form import ToGraphNormalForm
from relay2relax.relay_ir.transform.infrastructure import map_functions
from relay2relax.relay_ir.transform.qdq.model import Around, InFloats, Stays, Sum, constant, narrow
from relay2relax.relay_ir.transform.qdq.operators import FORMS, Made, carried
from relay2relax.relay_ir.transform.qdq.products import PRODUCTS, product

# What has an external compiler, or is one operator for TVM, stays as its pattern is.
_CLOSED = ("Compiler", "Composite", "Primitive")


@dataclass(frozen=True, slots=True, eq=False)
class Rewritten:
    """A module without quantised operators but those that stay, and what became of each, by its
    call in the module that was given (``let`` having given way to sharing).
    """

    module: IRModule
    found: Mapping[Expr, InFloats]


def in_floats(mod: IRModule) -> Rewritten:
    """Return ``mod`` with quantised operators between ``qnn.dequantize`` and ``qnn.quantize``.

    An operator stays in integers where a scale is not a constant, where its int32 sum is used by
    anything but ``qnn.requantize``, and where no bound is known. So do functions for external
    compilers. Raises TypeInferenceError where ``mod`` is ill-typed.
    """
    mod = typed_module(ToGraphNormalForm()(mod))
    found: dict[Expr, InFloats] = {}
    made = map_functions(mod, lambda function: _Walk(mod.types, found).function(function))
    return Rewritten(made, found)


def _is_closed(expr: Expr) -> bool:
    return isinstance(expr, Function) and any(key in expr.attrs for key in _CLOSED)


def _below(expr: Expr) -> Sequence[Expr]:
    return () if _is_closed(expr) else tuple(children(expr))


class _Walk:
    """One function: what its nodes became, and which of them are sums as floats too."""

    def __init__(self, types: Mapping[Expr, Type], found: dict[Expr, InFloats]) -> None:
        self.around = Around(types)
        self.found = found
        self.done: dict[Expr, Expr] = {}
        self.sums: dict[Expr, Sum] = {}
        # Parts of the result that it is known of what they were made.
        self.claimed: set[Expr] = set()

    def function(self, root: Function) -> Function:
        """Return ``root`` rewritten."""
        roots: tuple[Expr, ...] = (root,)
        for node in post_order(roots, _below):
            below = _below(node)
            self.done[node] = with_children(node, [self.done[child] for child in below]) if below else node
            self.claimed.add(self.done[node])
            match node:
                case Call(Op(name)):
                    self.call(node, name)
        result = self.done[root]
        assert isinstance(result, Function)
        left = set(nodes(result))
        for node, one in self.sums.items():
            self.sum(node, one, self.done[node] in left)
        note_rewritten(self.done)
        return result

    def sum(self, node: Expr, one: Sum, stays: bool) -> None:
        """Note what became of the sum ``node``; it ``stays`` where something takes its integers."""
        assert isinstance(node, Call)
        assert isinstance(node.op, Op)
        if not stays:
            self.done[node] = one.real
        if node.op.name in PRODUCTS:
            stayed = InFloats(node.op.name, None, "its int32 sum goes elsewhere than into qnn.requantize")
            self.found[node] = stayed if stays else InFloats(node.op.name, 0.0, "qnn.requantize quantises its sum")

    def call(self, node: Call, name: str) -> None:
        """Note what a call of the operator ``name`` becomes."""
        args = [self.done[arg] for arg in node.args]
        sums = [self.sums.get(arg) for arg in node.args]
        try:
            if name in PRODUCTS:
                self.summed(node, product(self.around, node, name, args))
            elif name in FORMS:
                self.made(node, name, FORMS[name](self.around, node, args, sums))
            elif any(sums):
                one = carried(self.around, node, name, args, sums)
                if one is not None:
                    self.summed(node, one)
            elif name == "qnn.quantize":
                # Both divide by the scale; they part at halves alone.
                narrow(node.attrs.out_dtype)
                self.found[node] = InFloats(name, 1.0, quantum=float(constant(args[1], "float32").max()))
            elif name.startswith("qnn.") and name != "qnn.dequantize":
                self.found[node] = InFloats(name, None, "no bound is known for it")
        except Stays as reason:
            if name.startswith("qnn."):
                self.found[node] = InFloats(name, None, str(reason))

    def summed(self, node: Call, one: Sum) -> None:
        """Note the sum that ``node`` is."""
        self.sums[node] = one
        self.claim(node, one.real)

    def made(self, node: Call, name: str, one: Made) -> None:
        """Note what takes the place of ``node``."""
        self.done[node] = one.expr
        self.found[node] = InFloats(name, one.quanta, quantum=one.quantum)
        self.claim(node, one.expr)

    def claim(self, node: Call, made: Expr) -> None:
        """Tell who traces the program that all which is new in ``made`` came of ``node``."""
        stack = [made]
        while stack:
            part = stack.pop()
            if part not in self.claimed:
                self.claimed.add(part)
                note_rewritten({node: part})
                stack += children(part)
