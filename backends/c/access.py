"""What rules, schedules and codegen ask about the index of an access."""

from __future__ import annotations

from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, Cast, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.visit import mentions

# The intrinsic that brings what it would load near, and does nothing else: it may lie beyond its
# tensor.
PREFETCH = "prefetch"
# What the compiler is not to move loads across: those of numbers that only the end of a tile needs
# would take registers from its sums through the whole loop.
FENCE = "fence"
# What a loop is annotated with of which the compiler is to write out so many steps.
STEPS = "steps"
# Four neighbouring bytes as an int32, and the sum of such a quad's products, added to a sum: of
# unsigned bytes, or of signed ones, with signed ones.
READ = "quad"
DOTS = {"uint8": "dot4_unsigned", "int8": "dot4_signed"}
# Conversions that there are for vectors: of what, into what, and what they are called.
CONVERSIONS = {
    ("uint8", "int32"): "wide",
    ("int8", "int32"): "wide",
    ("int32", "uint8"): "narrow_uint8_t",
    ("int32", "int8"): "narrow_int8_t",
    ("int32", "float32"): "converted",
    ("float32", "int32"): "truncated",
}
# A sum and the product of two numbers of 16 bits, of int32.
MULTIPLY_ADD = "dot1"


def coefficient(expr: PrimExpr, var: Var) -> int | None:
    """Return the constant factor of ``var`` in ``expr``, or None where ``expr`` is not affine in
    it.
    """
    match expr:
        case Var():
            return 1 if expr is var else 0
        case IntImm():
            return 0
        case Binary(("+" | "-") as op, a, b):
            left, right = coefficient(a, var), coefficient(b, var)
            if left is None or right is None:
                return None
            return left + right if op == "+" else left - right
        case Binary("*", a, b):
            left, right = coefficient(a, var), coefficient(b, var)
            if left == 0 and right == 0:
                return 0
            if isinstance(a, IntImm) and right is not None:
                return a.value * right
            return b.value * left if isinstance(b, IntImm) and left is not None else None
        case Cast("int64", value):
            return coefficient(value, var)
    return None if mentions(expr, var) else 0


def clamp_start(step: PrimExpr, size: int, extent: PrimExpr) -> PrimExpr:
    """Return where piece number ``step`` of ``size`` begins, the last one moved back so that it
    ends at ``extent``.
    """
    count = static(extent)
    start = binary("*", step, IntImm(size))
    if count is not None and count % size == 0:
        return start
    return binary("min", start, binary("-", extent, IntImm(size)))
