"""``relay2relax view``: the page of a graph, or of two side by side."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from relay2relax import relay_ir, translator, viewer
from relay2relax.cli import files, outcome, screen, streams
from relay2relax.cli.converted import folder
from relay2relax.cli.programs import entry
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.errors.table import files as kinds
from relay2relax.core.output import marked


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown: values for parameters and inputs, extents, and whether the model is run for
    values, times and errors of nodes.
    """

    params: Path | None
    inputs: Path | None
    dims: tuple[str, ...]
    run: bool
    seed: int
    allow_missing: bool
    find: str | None = None
    as_json: bool = False


def page(model: Path, other: Path | None, shown: Shown, out: Path | None, force: bool, serve: bool) -> None:
    """Write the page of a model, or of two, or offer it to a browser on this machine; say what is
    found. Where a node is to be found, say where it stands; the page is written if it is named.
    """
    sides = [model] if other is None else [model, other]
    target = None
    asked = shown.find is not None and out is None
    if not serve and not asked:
        out = out or Path(f"{files.model_stem(model)}.html")
        target = files.output_file(out, reads=[*sides, shown.params, shown.inputs], force=force)
    elif serve and out is not None:
        raise Relay2RelaxError("--serve shows the page, --out writes it: not both", kind=kinds.OPTION)
    subjects = [_subject(one, shown) for one in sides]
    if shown.find is not None:
        _find(subjects, shown)
        if asked and not serve:
            return
    with screen.progress("making the page"):
        made = viewer.page_of(subjects)
    if target is None:
        _serve(made)
        return
    target.write(marked(made + b"<!-- ", b" -->\n"))
    nodes, findings = [len(one.drawing.boxes) for one in subjects], [viewer.findings_json(one) for one in subjects]
    outcome.deliver({"page": str(out), "bytes": len(made), "nodes": nodes, "findings": findings})
    if target.file is not None and not shown.as_json:
        screen.tell(f"wrote {out}")
        for subject in subjects:
            for line in viewer.findings_text(subject):
                screen.tell(line)


def _find(subjects: list[viewer.Subject], shown: Shown) -> None:
    """Say where nodes of a name stand."""
    assert shown.find is not None
    lines = [line for subject in subjects for line in viewer.found_text(subject, shown.find)]
    if not lines:
        raise Relay2RelaxError(f"no node, operator, layer or binding is called {shown.find!r}", kind=kinds.OPTION)
    outcome.deliver({"found": lines})
    for line in lines if not shown.as_json else ():
        screen.tell(line)


def _subject(model: Path, shown: Shown) -> viewer.Subject:
    """Return what there is to show of a model: Relay, a script, a folder of one, or a program that
    TVM compiled.
    """
    title = "standard input" if model in streams.INPUT else model.name
    if model.is_dir():
        model = folder.find(model).script
    with screen.progress(f"reading {model.name}"):
        script = files.load_script(model)
        compiled = files.load_compiled(model) if script is None else None
    if script is not None or compiled is not None:
        if shown.run or shown.dims:
            title = "--run and --dims are for Relay, and a script is translated already"
            raise Relay2RelaxError(Diagnostic(title, help="name the model", kind=kinds.OPTION))
        given: Mapping[str, Array] = files.load_arrays(shown.params)
        if script is not None:
            return viewer.relax_subject(script, title, entry(script), given)
        assert compiled is not None
        return viewer.relax_subject(compiled.module, title, entry(compiled.module), {**compiled.weights, **given})
    dims = files.parse_dims(list(shown.dims))
    with screen.progress(f"reading {model.name}"):
        module = files.load_model(model, dims)
        bound = files.load_params(shown.params, module, shown.allow_missing)
        inputs = files.load_inputs(shown.inputs, module, bound)
    with screen.progress("translating and laying out"):
        subject = viewer.relay_subject(module, title, bound.weights, dims)
    if shown.run:
        with screen.progress("running it node by node"):
            _run(subject, module, {**bound.weights, **inputs}, shown)
    return subject


def _run(subject: viewer.Subject, module: relay_ir.IRModule, given: dict[str, Array], shown: Shown) -> None:
    arguments, _ = files.arguments(module, given, shown.seed)
    viewer.add_values(subject, module, arguments)
    backend = "c" if "c" in translator.available_backends() else "numpy"
    if backend == "c":
        viewer.add_times(subject, module, arguments)
    try:
        viewer.add_errors(subject, module, arguments, backend)
    except Relay2RelaxError as error:
        outcome.warn(f"nodes are not compared with Relax: {error.diagnostics[0].title}")


def _serve(page: bytes) -> None:
    """Offer the page to browsers on this machine until Ctrl-C, and open one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/" else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(page if self.path == "/" else b"")

        def log_message(self, format: str, *args: object) -> None:
            screen.detail(format % args)

    # Browsers open connections ahead, and say nothing on them.
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        address = f"http://127.0.0.1:{server.server_port}/"
        print(f"{address} (Ctrl-C ends it)", flush=True)
        webbrowser.open(address)
        server.serve_forever()
