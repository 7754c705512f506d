"""Commands that show graphs of models, and take them apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from relay2relax.cli.options import (
    AllowMissing,
    AsJson,
    Backend,
    DimsOption,
    Force,
    GraphFormat,
    Inputs,
    Over,
    Params,
    Program,
    Seed,
    Via,
    ViaOption,
)
from relay2relax.cli.options.models import reads_a_model
from relay2relax.cli.options.values import Values, reads_values


@reads_a_model
def inspect(
    model: Program,
    params: Params = None,
    dims: DimsOption = None,
    form: Annotated[
        Optional[GraphFormat],
        typer.Option(
            "--format",
            "-f",
            help="A tree that fits the terminal, text, text as TVM's MSC spells it, JSON, DOT, or JSON of Google's "
            "Model Explorer [default: tree on a terminal, else text].",
        ),
    ] = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="Show operators, parameters, arithmetic and memory instead.")
    ] = False,
    weights: Annotated[
        bool, typer.Option("--weights", help="In DOT, draw weights as nodes, not in the boxes that use them.")
    ] = False,
    out: Annotated[
        Optional[Path], typer.Option("--out", "-o", help="Write to this file instead of the screen.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Show the graph of MODEL, operators and tensors, or a summary.

    `--format dot | dot -Tsvg` makes a picture with Graphviz.
    """
    from relay2relax.cli.commands import inspect as command

    view = command.View(form and form.value, summary, weights, as_json)
    command.run(model, params, dims or [], view, out, force)


@reads_a_model
def diff(
    model: Program,
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="What it is compared with.")],
    params: Params = None,
    other_params: Annotated[
        Optional[Path], typer.Option("--other-params", help="Values for the parameters of OTHER.")
    ] = None,
    dims: DimsOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what was added, removed and changed in the graph from MODEL to OTHER.

    Nodes are found again whatever they are called; the parts that are the same are told. Values of
    weights are compared where both models have them. The exit code is 1 where anything but names
    differs.
    """
    from relay2relax.cli.commands import diff as command

    command.run(model, other, params, other_params, dims or [], as_json)


@reads_a_model
@reads_values
def extract(
    values: Values,
    node: Annotated[Optional[str], typer.Option("--node", metavar="%N", help="Extract this node alone.")] = None,
    between: Annotated[
        Optional[tuple[str, str]],
        typer.Option("--between", metavar="%N %M", help="Extract all by way of which M is computed from N."),
    ] = None,
    out: Annotated[
        Optional[Path], typer.Option("--out", "-o", help="Folder for the results [default: NAME_extract].")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a part of MODEL as a model of its own, with the values that go in and come out.

    Nodes are named as in the text of the model; without --node and --between they are listed.
    """
    from relay2relax.cli.commands import extract as command

    command.run_extract(values, node, between, out, force, as_json)


@reads_a_model
@reads_values
def bisect(
    values: Values,
    over: Annotated[
        Over,
        typer.Option(
            "--over",
            help="Nodes of MODEL, passes over Relay (those of relay.build), passes over the translation, or fusion "
            "rules of C.",
        ),
    ] = Over.NODES,
    passes: Annotated[
        Optional[list[str]], typer.Option("--pass", help="The passes to search, in order (repeatable).")
    ] = None,
    backend: Annotated[Backend, typer.Option("--backend", "-b", help="What runs the translation.")] = Backend.C,
    via: ViaOption = Via.GRAPH,
    as_json: AsJson = False,
) -> None:
    """Find what makes the results of MODEL part from Relay's on numpy, by halving.

    The exit code is 1 where they part, also where none of what was searched is to blame.
    """
    from relay2relax.cli.commands import bisect as command

    command.run(values, over.value, tuple(passes or ()), backend.value, via.value, as_json)


@reads_a_model
@reads_values
def reduce(
    values: Values,
    check: Annotated[
        str,
        typer.Option(
            "--check",
            metavar="COMMAND",
            help="A command that fails; {model} and {inputs} in it become the files of a part [default: compare Relay "
            "with both translations].",
        ),
    ] = "",
    seconds: Annotated[float, typer.Option("--check-time", min=1, help="Seconds that the command has.")] = 600,
    backend: Annotated[
        Optional[list[Backend]],
        typer.Option("--backend", "-b", help="Backends to compare on (repeatable) [default: numpy, c]."),
    ] = None,
    out: Annotated[
        Optional[Path], typer.Option("--out", "-o", help="Folder for the results [default: NAME_reduced].")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Begin with the smallest part that an earlier run left in the folder.")
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Find the smallest part of MODEL that fails as the whole does.

    Writes the part, its inputs, and a script that compares it. What is taken away comes in as the
    value that it had. The smallest part so far is written every few seconds, and after Ctrl-C.
    """
    from relay2relax.cli.commands import reduce as command

    how = command.How(check, seconds, tuple(one.value for one in backend or ()) or ("numpy", "c"))
    command.run(values, how, out, resume, force, as_json)


@reads_a_model
@reads_values
def split(
    values: Values,
    at: Annotated[
        Optional[list[str]], typer.Option("--at", metavar="%N", help="End a part with this node; may be repeated.")
    ] = None,
    out: Annotated[
        Optional[Path], typer.Option("--out", "-o", help="Folder for the results [default: NAME_parts].")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write MODEL in parts, with the values that go from one to the other.

    Every node is in one part. The parts one after the other give the bits that MODEL gives.
    """
    from relay2relax.cli.commands import extract as command

    command.run_split(values, at or [], out, force, as_json)


@reads_a_model
def view(
    model: Program,
    other: Annotated[
        Optional[Path],
        typer.Argument(metavar="[OTHER]", help="Another one, to stand beside it.", show_default=False),
    ] = None,
    params: Params = None,
    inputs: Inputs = None,
    dims: DimsOption = None,
    run: Annotated[
        bool, typer.Option("--run", help="Run it: values, times and errors in Relax of every node.")
    ] = False,
    seed: Seed = 0,
    allow_missing: AllowMissing = False,
    find: Annotated[
        Optional[str],
        typer.Option(
            "--find",
            metavar="NAME",
            help="Say where a node, an operator, a layer or a binding stands in every text; a page only with --out.",
        ),
    ] = None,
    out: Annotated[Optional[Path], typer.Option("--out", "-o", help="The page [default: NAME.html].")] = None,
    force: Force = False,
    serve: Annotated[bool, typer.Option("--serve", help="Open the page in a browser instead of writing it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a page that shows the graph of MODEL, its Relay, Relax and C, and what is known of its
    nodes.

    The page is one file that needs no network.
    """
    from relay2relax.cli.commands import view as command

    shown = command.Shown(params, inputs, tuple(dims or ()), run, seed, allow_missing, find, as_json)
    command.page(model, other, shown, out, force, serve)
