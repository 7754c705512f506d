"""A summary of a model as text."""

from __future__ import annotations

from collections.abc import Iterator

from relay2relax.cli import screen
from relay2relax.tir.extent import Extent
from relay2relax.translator.summary import Summary


def summary_text(summary: Summary) -> str:
    """Return the summary for a person: a line for each fact, then a table of operators."""
    rows = [
        (name, *map(_number, (cost.calls, cost.multiply_adds, cost.operations, cost.bytes)))
        for name, cost in summary.operators.items()
    ]
    head = ("operator", "calls", "multiply-adds", "operations", "bytes")
    return "\n".join([*_facts(summary), "", screen.table(head, rows, numbers=range(1, len(head)))])


def _facts(summary: Summary) -> Iterator[str]:
    yield from (_fact("input", f"{name}: {type_}") for name, type_ in summary.inputs)
    yield from (_fact("output", type_) for type_ in summary.outputs)
    for dtype, held in summary.parameters.items():
        size = f"{held.elements:,} {dtype} in {held.tensors} tensors, {held.bytes:,} bytes"
        yield _fact("parameters", size)
    if summary.not_counted:
        yield _fact("not counted", summary.not_counted)
    else:
        total = summary.total
        yield _fact("multiply-adds", _number(total.multiply_adds))
        yield _fact("operations", f"{_number(total.operations)} on floats; a multiply-add is two")
        yield _fact("bytes moved", f"{_number(total.bytes)}, unfused")
    if summary.peak_bytes is not None:
        yield _fact("peak memory", f"{_number(summary.peak_bytes)} bytes, unfused")
    if summary.symbols:
        yield _fact("dynamic", ", ".join(summary.symbols))
    if summary.control:
        yield _fact("control flow", ", ".join(f"{kind}: {count}" for kind, count in summary.control.items()))
    if summary.functions:
        yield _fact("functions", ", ".join(summary.functions))
    yield from (_fact("partition", f"{name} is for {compiler}") for name, compiler in summary.partitions.items())
    yield from (_fact("as TensorIR", str(one)) for one in summary.as_tensorir)
    others = summary.calls_of_tensorir - sum(one.calls for one in summary.as_tensorir)
    if others > 0:
        yield _fact("as TensorIR", f"{others:,} {'call' if others == 1 else 'calls'} that no reason is given for")
    elif not summary.as_tensorir and not summary.not_counted:
        yield _fact("as TensorIR", "nothing: Relax has all operators")


def _fact(name: str, value: str) -> str:
    return screen.fact(name, value, 15)


def _number(value: Extent) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
