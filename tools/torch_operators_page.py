"""Import PyTorch's own samples of its operators, compare results, and write
docs/reference/frontends/torch-operators.md.

``python tools/torch_operators_page.py STATE [NAME…]`` runs the operators of ``op_db`` that STATE
has no line of JSON for; ``--page STATE`` writes the page. Each operator is exported for its first
samples in float32 and int64, imported, and run on numpy beside PyTorch.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import warnings
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from relay2relax import backends
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import frontends
from relay2relax.core.torch_tensors import array_of
from relay2relax.relay_ir.frontend import from_pytorch

PAGE = Path(__file__).parents[1] / "docs/reference/frontends/torch-operators.md"
SAMPLES = 2
DTYPES = {"float32": torch.float32, "int64": torch.int64}
# What PyTorch draws, or leaves as it was in memory, is not compared.
RANDOM = re.compile(
    r"rand|bernoulli|multinomial|^normal|\.normal|dropout|cauchy|exponential|geometric|log_normal|^uniform|empty"
    r"|lowrank|rrelu"
)
HEAD = """# Operators of PyTorch

What becomes of each operator that PyTorch {version} tests with samples of its own (`op_db`). The
first {samples} samples of it in float32 and int64 are exported by `torch.export`, imported, run on
numpy, and compared with PyTorch. An operator agrees where all samples do that are made of tensors;
it lacks operators where PyTorch takes it apart into some that have no record, which are named.
Where `topk` and `kthvalue` differ they name another of elements that are equal, which PyTorch
leaves open. `make torch-operators STATE=FILE` runs what FILE does not have, and writes this page.

Of {all} operators {said} are made of what Relay can say, {agree} of these agree ({share:.1%}).

| operator | float32 | int64 |
|---|---|---|
"""


def wrapped(operator: Any, sample: Any) -> tuple[Any, list[Any]]:
    """Return a module that is given the tensors of a sample alone, and these."""
    leaves, form = torch.utils._pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [place for place, one in enumerate(leaves) if isinstance(one, torch.Tensor)]

    class Held(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *tensors: Any) -> Any:
            every = list(leaves)
            for place, one in zip(places, tensors, strict=True):
                every[place] = one
            first, args, kwargs = torch.utils._pytree.tree_unflatten(every, form)
            return operator(first, *args, **kwargs)

    return Held(), [leaves[place].detach() for place in places]


def outcome(operator: Any, sample: Any) -> str:
    """Return what becomes of a sample: agrees, differs, or what stands in its way."""
    module, tensors = wrapped(operator, sample)
    try:
        with torch.no_grad():
            found = module(*(one.clone() for one in tensors))
            leaves = torch.utils._pytree.tree_leaves(found)
            wanted = [one for one in leaves if isinstance(one, torch.Tensor)]
            program = torch.export.export(module, tuple(one.clone() for one in tensors))
    except Exception as error:  # noqa: BLE001 - PyTorch raises what it likes
        return f"not exported: {type(error).__name__}"
    if not wanted or any(one.is_complex() or one.layout != torch.strided for one in [*wanted, *tensors]):
        return "complex, sparse or no tensors"
    try:
        mod, params = from_pytorch(program)
        free = [one.name for one in mod["main"].params if one.name not in params]
        given = dict(zip(free, (array_of(one.contiguous(), torch.int16) for one in tensors), strict=False))
        ours = backends.create_executor("graph", mod).evaluate()(**given, **params)
    except Relay2RelaxError as error:
        title = error.diagnostics[0].title
        return f"lacks {title.rpartition(': ')[2]}" if error.code == frontends.OPERATORS.code else f"refused: {title}"
    every = list(ours) if isinstance(ours, (tuple, list)) else [ours]
    return "agrees" if all(map(close, every, wanted)) and len(every) >= len(wanted) else "differs"


def close(ours: Any, wanted: Any) -> bool:
    """Whether a result is PyTorch's."""
    one, other = np.asarray(ours), array_of(wanted.detach(), torch.int16)
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind not in "biuf":
        one, other = one.astype(np.float32), other.astype(np.float32)
    return bool(np.allclose(one, other, rtol=1e-3, atol=1e-4, equal_nan=True))


def worst(found: Sequence[str]) -> str:
    """Return what is said of an operator: of what stands in the way the first."""
    return next((one for one in found if one != "agrees"), "agrees" if found else "no samples")


def run(state: Path, names: Sequence[str]) -> None:
    """Run the operators that are not known."""
    from torch.testing._internal.common_methods_invocations import op_db

    known = {json.loads(line)["operator"] for line in state.read_text().splitlines()} if state.exists() else set()
    for one in op_db:
        name = f"{one.name}.{one.variant_test_name}" if one.variant_test_name else one.name
        if name in known or (names and name not in names):
            continue
        row: dict[str, str] = {"operator": name}
        for dtype, native in DTYPES.items():
            if RANDOM.search(name):
                row[dtype] = "random, or not initialised"
            elif native in one.dtypes:
                torch.manual_seed(0)
                samples = islice(one.sample_inputs("cpu", native, requires_grad=False), SAMPLES)
                row[dtype] = worst([outcome(one, sample) for sample in samples])
        with state.open("a") as file:
            file.write(f"{json.dumps(row)}\n")
        print(row, flush=True)


def sayable(row: dict[str, str]) -> bool:
    """Whether an operator is made of what Relay can say."""
    others = ("lacks", "not exported", "complex", "random", "no samples")
    said = [row[dtype] for dtype in DTYPES if dtype in row]
    return any(not one.startswith(others) for one in said)


def page(state: Path) -> str:
    """Return the page of what is known."""
    rows = [json.loads(line) for line in state.read_text().splitlines()]
    said = [row for row in rows if sayable(row)]
    agree = sum(all(row.get(dtype, "agrees") == "agrees" for dtype in DTYPES) for row in said)
    version = torch.__version__.partition("+")[0]
    head = HEAD.format(
        version=version, samples=SAMPLES, all=len(rows), said=len(said), agree=agree, share=agree / max(len(said), 1)
    )
    cells = [[row["operator"], *(row.get(dtype, "") for dtype in DTYPES)] for row in rows]
    return head + "".join(f"| {' | '.join(one.replace('|', '/') for one in line)} |\n" for line in cells)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    if sys.argv[1] == "--page":
        PAGE.write_text(page(Path(sys.argv[2])))
    else:
        run(Path(sys.argv[1]), sys.argv[2:])
