"""Where the expressions of a planned program are."""

from __future__ import annotations

from relay2relax.relay_ir.build.annotation import marked_body
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.expr import Constructor, Expr, Function, Let, Op, Var, children


def virtual_devices(expr: Expr) -> dict[Expr, VirtualDevice]:
    """Return where everything of a function of a planned module is.

    Operators and constructors are anywhere, and not among it. Source of the semantics: TVM 0.18's
    ``RecoverVirtualDeviceMap``.
    """
    found: dict[Expr, VirtualDevice] = {}
    ahead: list[tuple[Expr, VirtualDevice]] = [(expr, VirtualDevice())]
    while ahead:
        node, around = ahead.pop()
        if isinstance(node, (Op, Constructor)) or (node in found and not isinstance(node, Var)):
            continue
        placed = marked_body(node)
        if placed is not None:
            found[node] = placed[1]
            ahead.append((placed[0], placed[1]))
        elif isinstance(node, Function):
            inside = node.virtual_device or around
            found[node] = inside
            ahead += [(one, one.virtual_device or inside) for one in node.params]
            ahead.append((node.body, inside))
        else:
            found.setdefault(node, around)
            inner = _copied(node) or around
            parts = (node.var, *children(node)) if isinstance(node, Let) else children(node)
            ahead += [(part, inner) for part in parts]
    return found


def _copied(node: Expr) -> VirtualDevice | None:
    """Return where what ``device_copy`` copies is, None for anything else."""
    attrs = getattr(node, "attrs", None)
    found = getattr(attrs, "src_virtual_device", None)
    return found if isinstance(found, VirtualDevice) else None
