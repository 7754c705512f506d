"""``relay2relax compare`` with more programs, more values, or a closer look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from relay2relax import parity, viewer
from relay2relax.cli import files, outcome, screen
from relay2relax.cli.commands.compare import How, Page, end, own_backends
from relay2relax.cli.converted import folder
from relay2relax.cli.converted.programs import with_scripts
from relay2relax.cli.options.comparisons import Comparisons
from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import files as kinds
from relay2relax.core.output import marked
from relay2relax.core.source import visible
from relay2relax.core.tolerance import Tolerance
from relay2relax.parity import Batch, BatchResult, Matrix
from relay2relax.relay_ir import IRModule
from relay2relax.relay_ir.io.binding import Bound
from relay2relax.translator.report import Row, Tolerances


def run(
    path: Path,
    params: Path | None,
    inputs: Path | None,
    how: How,
    more: Comparisons,
    as_json: bool,
    page: Page,
) -> None:
    """Print the table of programs and batches; exit as ``compare`` does of one.

    ``path`` is a model, or what ``convert`` wrote of one, which is a program then.
    """
    reads = [path, params, inputs, *more.batches, more.saved]
    target = more.save and files.output_file(more.save, reads=reads, force=page.force)
    shown = page.path and files.output_file(page.path, reads=reads, force=page.force)
    extents = files.parse_dims(list(how.dims))
    model, params, words = path, params, more.programs
    if folder.is_translated(path):
        found = folder.find(path)
        model, params, words = found.model(), params or found.params(), (str(path), *words)
    with screen.progress(f"reading {model.name}"):
        module = files.load_model(model, extents)
        bound = files.load_params(params, module, how.allow_missing)
        asked = with_scripts(words, module, bound.weights, how.backends or own_backends())
        batches = list(_batches(module, bound, inputs, how.seed, more))
    with screen.progress("comparing"):
        matrix = parity.compare(
            module, asked.weights, programs=(*parity.PROGRAMS, *asked.programs),
            backends=how.backends or own_backends(), batches=[asked.fitting(module, one) for one in batches],
            tolerance=_tolerances(how.tolerance, more.tolerances), per_node=how.per_node, float64=how.float64,
            repeats=more.repeats, told=screen.detail,
        )  # fmt: skip
    if target:
        target.write(parity.golden_bytes(matrix))
    if shown:
        shown.write(marked(viewer.matrix_page(matrix, path.name) + b"<!-- ", b" -->\n"))
    if as_json:
        outcome.deliver(matrix.to_json())
    else:
        _show(matrix)
        for written in filter(None, (more.save, page.path)):
            screen.tell(f"wrote {written}")
    end(matrix)


def _batches(module: IRModule, bound: Bound, inputs: Path | None, seed: int, more: Comparisons) -> Iterator[Batch]:
    """Yield what the options name; without them one batch as ``compare`` draws it."""
    given = files.load_inputs(inputs, module, bound)
    sources = (more.batches, more.loader, more.draws, more.sweep, more.saved)
    if not any(sources):
        yield Batch("", given, seed=seed)
    for path in more.batches:
        yield Batch(visible(path.name), {**given, **files.load_inputs(path, module, bound)}, seed=seed)
    if more.loader:
        yield from parity.loaded(more.loader)
    for kind in parity.KINDS:
        if kind in {one.value for one in more.draws}:
            yield Batch(kind, given, seed=seed, kind=kind)
    if more.sweep:
        yield from parity.swept(module, _sizes(more.sweep), seed)
    if more.saved is not None:
        yield from parity.golden_batches(files.load_arrays(more.saved))


def _sizes(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise Relay2RelaxError(
            mistake(kinds.OPTION, name="--sweep", value=repr(text), expected="numbers such as 0,1,7")
        )
    return [int(word) for word in words]


def _tolerances(every: Tolerance | None, single: Sequence[str]) -> Tolerances | None:
    """Return what all outputs are allowed, or single ones."""
    if not single:
        return every
    if every is not None:
        raise Relay2RelaxError(
            "--tolerance is of one output, --rtol and --atol of all: give one of them", kind=kinds.OPTION
        )
    found: dict[int, Tolerance] = {}
    for text in single:
        output, equals, values = text.partition("=")
        try:
            relative, _, absolute = values.partition(",")
            found[int(output)] = Tolerance(float(relative), float(absolute or 0))
        except ValueError:
            equals = ""
        if not equals:
            raise Relay2RelaxError(
                mistake(
                    kinds.OPTION, name="--tolerance", value=repr(text), expected="OUTPUT=RTOL[,ATOL] such as 0=1e-3"
                )
            )
    return found


def _show(matrix: Matrix) -> None:
    """Print the table, and behind it what it does not say, each line once, with its batches."""
    several = len(matrix.batches) > 1
    head = ("program", "backend", "output", "max abs", "of scale", "ULPs", "SNR dB", "verdict", "why")
    rows = [(*((batch.name,) if several else ()), *_cells(batch, row)) for batch, row in matrix.rows]
    if rows:
        names = ("batch", *head) if several else head
        print(screen.table(names, rows, painted={names.index("verdict"): screen.verdict}))
    said: dict[str, list[str]] = {}
    for batch in matrix.batches:
        for line in batch.notes():
            said.setdefault(line, []).append(batch.name)
    for line, names_of in said.items():
        everywhere = len(names_of) == len(matrix.batches)
        print(visible(line if everywhere else f"{', '.join(names_of)}: {line}"))
    print(visible(str(matrix)))


def _cells(batch: BatchResult, row: Row) -> Sequence[str]:
    found, measures = row.difference, batch.measures_of(row)
    numbers = ("", "", "") if row.failure else tuple(f"{x:.3g}" for x in (found.max_abs, found.of_scale, found.max_ulp))
    noise = f"{measures.noise:.4g}" if measures else ""
    return (row.program, row.backend, str(row.output), *numbers, noise, row.verdict, found.reason)
