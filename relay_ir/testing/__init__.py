"""Workloads: networks built by hand, each with a seeded set of parameters.

mod, params = testing.mlp.get_workload(batch_size=relay_ir.Any())
"""

from relay2relax.relay_ir.testing import (
    dcgan,
    densenet,
    dqn,
    inception_v3,
    lstm,
    mlp,
    mobilenet,
    resnet,
    resnet_3d,
    squeezenet,
    synthetic,
    vgg,
)

__all__ = [
    "dcgan",
    "densenet",
    "dqn",
    "inception_v3",
    "lstm",
    "mlp",
    "mobilenet",
    "resnet",
    "resnet_3d",
    "squeezenet",
    "synthetic",
    "vgg",
]
