"""The Relax of MSC's 83 recorded graphs: the operators of ours, and why some differ."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.graph import msc

# By the test of TVM's that a case is of, what our Relax has instead of MSC's operators, and why.
BEFOREHAND = "TVM ran passes over the Relay before it made the graph"
FLAT = "a bias is added along the last axis, and an embedding takes places of any rank, without a reshape"
KEPT = "MSC's Relax computes something else than the Relay: padding counted otherwise, int64, halves to even"
ALONE = "a constant that is the result is bound to a variable"
DIFFERENT = {
    "binary": ("multiply subtract", BEFOREHAND),
    "arange": ("arange", BEFOREHAND),
    "baddbmm": ("multiply matmul multiply add", BEFOREHAND),
    "cross_entropy": ("nn.log_softmax full nn.nll_loss", BEFOREHAND),
    "linear": ("permute_dims matmul add", FLAT),
    "embedding": ("astype take", FLAT),
    "avgpool2d": ("nn.pad nn.avg_pool2d", KEPT),
    "argmax": ("argmax astype", KEPT),
    "unary": ("abs floor subtract equal sign ceil multiply round where", KEPT),
    "tensor": ("const", ALONE),
}


def operators(script: str) -> str:
    """Return the operators that a script binds, in order."""
    return " ".join(re.findall(r" = R\.([\w.]+)\(", script))


@pytest.mark.golden
def test_operators_are_msc_s_or_the_difference_has_a_reason(recorded: Any) -> None:
    same, other = 0, set()
    for case in recorded("msc"):
        mod = relay_ir.load_json(case["json"])
        params = {}
        for one in mod["main"].params:
            if one.name.startswith("aten::"):
                assert isinstance(one.type_annotation, relay_ir.TensorType)
                params[one.name] = np.zeros([int(str(n)) for n in one.type_annotation.shape], "float32")
        made = operators(msc.to_relax(*msc.from_relay(mod, params)).script(show_meta=False))
        if made == operators(case["relax"]):
            same += 1
            continue
        name = case["origin"].partition("::test_")[2]
        assert made == DIFFERENT[name][0]
        assert DIFFERENT[name][1] != BEFOREHAND or case["opt_level"] == 3
        other.add(name)
    assert same == 70
    assert other == set(DIFFERENT)
