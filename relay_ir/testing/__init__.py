"""Workloads: small networks built by hand, each with a seeded set of parameters.

mod, params = testing.mlp.get_workload(batch_size=relay_ir.Any())
"""

from relay2relax.relay_ir.testing import mlp

__all__ = ["mlp"]
