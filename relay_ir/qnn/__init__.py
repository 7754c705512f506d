"""Quantised operators under the names of ``tvm.relay.qnn``: their passes, and what users register.

    mod = qnn.transform.CanonicalizeOps()(qnn.transform.Legalize()(mod))

The operators are ``relay_ir.op.qnn``.
"""

from relay2relax.relay_ir.qnn import transform
from relay2relax.relay_ir.qnn.transform import register_qnn_canonicalize, register_qnn_legalize

__all__ = ["register_qnn_canonicalize", "register_qnn_legalize", "transform"]
