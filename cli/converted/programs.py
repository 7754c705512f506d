"""Scripts as programs of a comparison of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from relay2relax import parity, translator
from relay2relax.cli.converted import folder
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.errors.table import files as kinds
from relay2relax.parity import Batch, Program
from relay2relax.relay_ir import IRModule


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command line names: ``programs``, scripts among them, and ``weights`` of the model,
    those that lie beside the scripts among them.
    """

    programs: tuple[str | Program, ...]
    weights: Mapping[str, Array]
    scripts: tuple[translator.Script, ...] = ()

    def fitting(self, mod: IRModule, batch: Batch) -> Batch:
        """Return ``batch`` with the extents that the scripts have where the model leaves them
        open.
        """
        if batch.extents or not self.scripts:
            return batch
        given = {**self.weights, **batch.values}
        found = [one.extents(mod, given) for one in self.scripts]
        return replace(batch, extents={name: sizes for one in found for name, sizes in one.items()})


def with_scripts(words: Sequence[str], mod: IRModule, weights: Mapping[str, Array], backends: Sequence[str]) -> Asked:
    """Return what ``words`` of a command line name, with a program for each script and backend.

    Raises Relay2RelaxError for a script that does not go with the typed ``mod``, or of another
    form of it.
    """
    programs: list[str | Program] = []
    scripts: list[translator.Script] = []
    for word in words:
        path = Path(word)
        other = path.suffix in (".onnx", ".pt2") or (path / "Makefile").is_file() or not path.exists()
        if other or not folder.is_translated(path):
            programs.append(word)
            continue
        found = folder.find(path)
        if found.in_floats:
            title = f"{word} computes quantised operators in floats, and is compared by itself: compare MODEL {word}"
            raise Relay2RelaxError(Diagnostic(title, kind=kinds.OPTION))
        script = found.load()
        # Where no params are given, those beside the script are the model's.
        weights = translator.values_for_relay(script, mod, weights)
        scripts.append(script)
        programs += [parity.script_program(script, one) for one in backends]
    return Asked(tuple(programs), weights, tuple(scripts))
