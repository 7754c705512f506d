"""Compare graphs of models with what TVM 0.18's MSC says of them:
``python tools/msc_dictionaries.py TEST_GRAPH_BUILD``.

The file is ``tests/python/contrib/test_msc/test_graph_build.py`` of TVM 0.18: PyTorch modules, and
the dictionary that ``graph.inspect()`` gives for each. apache-tvm imports the modules as Relax,
whose layers are taken together (``graph.relax_patterns``). What differs in operators or tensors is
printed, a line for each dictionary, with a count at the end.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import tvm

from relay2relax import graph, relax_ir

# What MSC has no node for, or no place in the dictionary.
_QUIET = ("total", "constant")


def cases(path: Path) -> Iterator[tuple[str, torch.nn.Module, Any, Mapping[str, Any]]]:
    """Yield name, module, inputs and dictionary of each case of the file."""
    source = re.sub(r"^(import|from) tvm.*\n", "", path.read_text(), flags=re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "cases.py")
        copy.write_text(source)
        spec = importlib.util.spec_from_file_location("cases", copy)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    found: list[tuple[str, torch.nn.Module, Any, Mapping[str, Any]]] = []
    for name in [one for one in vars(module) if one.startswith("test_")]:
        test = getattr(module, name)
        module.verify_model = lambda *args, name=name: found.append((name, *args))  # type: ignore[attr-defined]
        for options in ({"dynamic": True}, {"dynamic": False}) if getattr(test, "pytestmark", ()) else ({},):
            test(**options)
    yield from found


def imported(model: torch.nn.Module, inputs: Any) -> graph.MSCGraph:
    """Return the graph of a module that apache-tvm imports; extents that are words are open."""
    from tvm.relax.frontend.torch import from_fx

    extents: dict[str, Any] = {}

    def extent(one: int | str) -> Any:
        return one if isinstance(one, int) else extents.setdefault(one, tvm.tirx.Var(one, "int64"))

    given = [(list(map(extent, shape)), dtype) for shape, dtype in inputs]
    with torch.no_grad():
        mod = from_fx(torch.fx.symbolic_trace(model), given)
    found, weights = graph.from_relax(relax_ir.parse(mod.script(show_meta=True)))
    return graph.fuse(found, weights, graph.relax_patterns())


def difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Return what of a dictionary is different, names and layouts apart; "" for nothing."""
    said = []
    for part in ("inputs", "outputs"):
        mine, theirs = ([(one["shape"], one["dtype"]) for one in of[part]] for of in (found, wanted))
        if mine != theirs:
            said.append(f"{part}: {theirs}, here {mine}")
    counts, known = (
        {name.removeprefix("relax."): count for name, count in of["nodes"].items() if name not in _QUIET}
        for of in (found, wanted)
    )
    if counts != known:
        said.append(f"nodes: {known}, here {counts}")
    return "; ".join(said)


def main(path: Path) -> None:
    """Print what differs, and how many do not."""
    warnings.simplefilter("ignore")
    count: Counter[bool] = Counter()
    for name, model, inputs, wanted in cases(path):
        said = difference(imported(model, inputs).inspect(), wanted)
        count[not said] += 1
        if said:
            print(f"{name}: {said}")
    print(f"{count[True]} of {count.total()} are the same")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
