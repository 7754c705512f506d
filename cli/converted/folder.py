"""Finding what ``convert`` wrote, and the model it was made of."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from relay2relax import translator
from relay2relax.cli import files
from relay2relax.core import FileError, ParseError
from relay2relax.core.errors import Diagnostic
from relay2relax.core.limits import read_file
from relay2relax.core.output import file_digest, read_manifest
from relay2relax.core.schema import Form, parse_json, read_value

SUMMARY = ".summary.json"


class _Parameter(Form):
    name: str
    script_name: str
    struct_info: str


class Summary(Form):
    """What is read of a summary again."""

    model: str
    files: tuple[str, ...]
    parameters: tuple[_Parameter, ...] = ()
    transform_params: tuple[str, ...] = ()
    params: str | None = None


@dataclass(frozen=True, slots=True)
class Converted:
    """A script in ``folder``, and what the ``summary`` beside it says, None where there is none."""

    folder: Path
    script: Path
    summary: Summary | None

    def load(self) -> translator.Script:
        """Return the script, its weights and its graph, read from their files."""
        module = files.load_script(self.script)
        if module is None:
            raise ParseError(f"{str(self.script)!r} is no TVMScript: there is no module or function in it")
        if self.summary is None:
            return translator.Script(self.script.name, module)
        graph = self._named(".graph.json")
        weights = self._named(".safetensors")
        return translator.Script(
            self.script.name,
            module,
            files.load_arrays(weights),
            {one.name: one.script_name for one in self.summary.parameters},
            self.summary.transform_params,
            "" if graph is None else read_file(graph).decode("utf-8"),
            "" if graph is None else graph.name,
        )

    def model(self) -> Path:
        """Return the file the script was made of: where the folder's list says it was, else of its
        name in the folder or around it.

        Raises FileError where there is none.
        """
        listed = (read_manifest(self.folder) or {}).get(self.script.name)
        recorded = None if listed is None else _at(self.folder, listed.origin.model)
        name = "" if self.summary is None else Path(self.summary.model).name
        places = [recorded, self.folder / name, self.folder.parent / name] if name else [recorded]
        found = next((place for place in places if place is not None and place.is_file()), None)
        if found is None:
            said = f"its model {name!r} is neither where it was nor beside it" if name else "nothing says of what model"
            raise FileError(Diagnostic(f"{self.script} is a script, but {said}", help="name the model, with --model"))
        return found

    def changes(self, model: Path) -> tuple[str, ...]:
        """Return what changed since the script was written, as far as the folder's list tells."""
        listed = read_manifest(self.folder) or {}
        said = []
        if self.summary is not None and self.script.name in listed:
            names = [name for name in self.summary.files if name in listed and (self.folder / name).is_file()]
            changed = [name for name in names if file_digest(self.folder / name) != listed[name].sha256]
            said += [f"{name} was changed since it was written" for name in changed]
            digest = listed[self.script.name].origin.sha256
            if digest and file_digest(model) != digest:
                said.append(f"{model.name} is not the file that was converted")
        return tuple(said)

    def params(self) -> Path | None:
        """Return the file of params that was converted with the model, None where it is gone."""
        if self.summary is None or self.summary.params is None:
            return None
        found = _at(self.folder, self.summary.params)
        return found if found.is_file() else None

    def _named(self, end: str) -> Path | None:
        names = () if self.summary is None else self.summary.files
        return next((self.folder / Path(name).name for name in names if name.endswith(end)), None)


def find(path: Path) -> Converted:
    """Return what ``path`` names: a folder that ``convert`` wrote, or a script, in such a folder or
    not.

    Raises FileError for a folder without a script that was converted, or with several.
    """
    if not path.is_dir():
        known = dict(_summaries(path.parent))
        return Converted(path.parent, path, known.get(path.name))
    known = dict(_summaries(path))
    if len(known) != 1:
        said = "no model was converted into it" if not known else f"several were: {', '.join(known)}"
        help = "name one of the scripts" if known else "name a model, a script, or a folder that convert wrote"
        raise FileError(Diagnostic(f"{path} cannot be compared: {said}", help=help))
    ((name, summary),) = known.items()
    return Converted(path, path / name, summary)


def _summaries(folder: Path) -> Iterable[tuple[str, Summary]]:
    """Yield the name of every script in ``folder`` that has a summary, and that."""
    for path in sorted(folder.glob(f"*{SUMMARY}")):
        try:
            document = parse_json(read_file(path), path.name)
        except OSError as error:
            raise FileError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
        if isinstance(document, dict):
            # Others may read more of it, and later versions say more.
            known = {key: value for key, value in document.items() if key in Summary.__struct_fields__}
            summary = read_value(known, Summary, path.name)
            yield from ((name, summary) for name in summary.files if name.endswith(".py"))


def _at(folder: Path, name: str) -> Path:
    """Return the file that ``name`` leads to from a folder."""
    return Path(os.path.normpath(os.path.realpath(folder) + "/" + name)) if not os.path.isabs(name) else Path(name)
