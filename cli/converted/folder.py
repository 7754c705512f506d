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
from relay2relax.core.output import MANIFEST, file_digest, read_manifest
from relay2relax.core.schema import Form, parse_json, read_value
from relay2relax.core.tolerance import Tolerance

SUMMARY = ".summary.json"
_DOUBT = "nothing vouches for"


class _Parameter(Form):
    name: str
    script_name: str
    struct_info: str


class _Function(Form):
    parameters: tuple[_Parameter, ...] = ()
    result: str = ""


class _Quantised(Form):
    operator: str
    calls: int
    quanta: float | None
    why: str
    quantum: float


class Summary(Form):
    """What is read of a summary again."""

    model: str
    files: tuple[str, ...]
    entry: str = ""
    parameters: tuple[_Parameter, ...] = ()
    library: dict[str, _Function] | None = None
    transform_params: tuple[str, ...] = ()
    params: str | None = None
    params_sha256: str = ""
    params_bound: bool = False
    via: str = ""
    qnn: str = "integer"
    quantised: tuple[_Quantised, ...] = ()


@dataclass(frozen=True, slots=True)
class Converted:
    """A script in ``folder``, and what the ``summary`` beside it says, None where there is none."""

    folder: Path
    script: Path
    summary: Summary | None

    def load(self) -> translator.Script:
        """Return the script, its weights and its graph, read from their files.

        A function of a library that ``--entry`` names has no graph of its own.
        """
        # A script that was made of one function begins with that.
        begin = files.entry.get()
        made_so = self.summary is not None and self.summary.entry == begin
        module = files.load_script(self.script, "" if made_so else begin)
        if module is None:
            raise ParseError(f"{str(self.script)!r} is no TVMScript: there is no module or function in it")
        if self.summary is None:
            return translator.Script(self.script.name, module)
        one = (self.summary.library or {}).get(begin)
        graph = self._named(".graph.json") if one is None else None
        weights = self._named(".safetensors")
        return translator.Script(
            self.script.name,
            module,
            files.load_arrays(weights),
            {each.name: each.script_name for each in (one or self.summary).parameters},
            self.summary.transform_params,
            "" if graph is None else read_file(graph).decode("utf-8"),
            "" if graph is None else graph.name,
        )

    def model(self) -> Path:
        """Return the file the script was made of: where the folder's list says it was, else of its
        name in the folder or around it. It is taken only with the SHA-256 that the list says.

        Raises FileError where there is none.
        """
        listed = (read_manifest(self.folder) or {}).get(self.script.name)
        name = "" if self.summary is None else Path(self.summary.model).name
        found = None
        if listed is not None:
            places = [_at(self.folder, listed.origin.model)]
            places += [self.folder / name, self.folder.parent / name] if name else []
            found = next((place for place in places if _has(place, listed.origin.sha256)), None)
        if found is None:
            said = "nothing says of what model"
            if listed is not None:
                said = f"its model {name!r} is neither where it was nor beside it, as it was converted"
            elif self.summary is not None:
                said = f"{_DOUBT} the files of {self.folder}, so no model is taken from there"
            title = f"{self.script} is a script, but {said}"
            raise FileError(Diagnostic(title, help="name the model, with --model", file=str(self.script)))
        return found

    def changes(self, model: Path | None = None) -> tuple[str, ...]:
        """Return what changed since the script was written, as far as the folder's list tells; the
        ``model`` as well where that is given.
        """
        listed = read_manifest(self.folder)
        if not listed:
            why = "is no list of files" if listed is None else "is missing"
            told = self.summary is not None or listed is None
            return (f"{_DOUBT} the files of {self.folder}: {MANIFEST} {why}",) if told else ()
        own = listed.get(self.script.name)
        used = [self.script, *((self._summary, *self._delivered()) if self.summary is not None else ())]
        said = [f"{_DOUBT} {path.name}: it is not listed in {MANIFEST}" for path in used if path.name not in listed]
        for name, written in listed.items():
            if own is not None and not written.origin.is_model_of(own.origin):
                continue
            if not _stays(self.folder, name):
                said.append(f"{name} was written, and is no file of the folder now")
            elif file_digest(self.folder / name) != written.sha256:
                said.append(f"{name} was changed since it was written")
        converted = own.origin.sha256 if own is not None else ""
        if model is not None and converted and files.model_digest(model) not in ("", converted):
            said.append(f"{Path(files.shown(model)).name} is not the file that was converted")
        return tuple(said)

    def tolerance(self, script: translator.Script) -> Tolerance | None:
        """Return what ``script``, which is this one, may be off by where it is not the usual."""
        told = () if self.summary is None else self.summary.quantised
        known = [translator.QuantisedOperators(q.operator, q.calls, q.quanta, q.why, q.quantum) for q in told]
        return translator.quantised_tolerance(script.main.ret, known)

    @property
    def begin(self) -> str:
        """The function that the model begins with: the one it was converted with, or else the one
        that ``--entry`` names.
        """
        return (self.summary.entry if self.summary is not None else "") or files.entry.get()

    @property
    def in_floats(self) -> bool:
        """Whether quantised operators became floats."""
        return self.summary is not None and self.summary.qnn == "qdq"

    def params(self) -> Path | None:
        """Return the file of params that was converted with the model, None where it is gone, or is
        another one by its SHA-256.
        """
        if self.summary is None or self.summary.params is None:
            return None
        found = _at(self.folder, self.summary.params)
        return found if _has(found, self.summary.params_sha256) else None

    @property
    def _summary(self) -> Path:
        return self.script.with_name(f"{self.script.stem}{SUMMARY}")

    def _delivered(self) -> Iterable[Path]:
        """Return the weights and the graph, where there are such."""
        return [path for path in map(self._named, (".safetensors", ".graph.json")) if path is not None]

    def _named(self, end: str) -> Path | None:
        names = () if self.summary is None else self.summary.files
        return next((self.folder / name for name in names if name.endswith(end)), None)


def is_translated(path: Path) -> bool:
    """Whether ``path`` is what ``find`` takes: a folder, or the file of a script."""
    return path.is_dir() or path.suffix == ".py" or files.holds_script(path)


def find(path: Path) -> Converted:
    """Return what ``path`` names: a folder that ``convert`` wrote, or a script, in such a folder or
    not.

    Raises FileError for a folder without a script that was converted, or with several, and for one
    whose summary names files outside of it.
    """
    if not path.is_dir():
        beside = path.with_name(f"{path.stem}{SUMMARY}")
        return Converted(path.parent, path, _read(beside) if os.path.lexists(beside) else None)
    known = {each: found for each in sorted(path.glob(f"*{SUMMARY}")) if (found := _read(each)) is not None}
    scripts = [f"{each.name.removesuffix(SUMMARY)}.py" for each in known]
    if len(scripts) != 1:
        said = "no model was converted into it" if not known else f"several were: {', '.join(scripts)}"
        help = "name one of the scripts" if known else "name a model, a script, or a folder that convert wrote"
        raise FileError(Diagnostic(f"{path} names no script: {said}", help=help, file=str(path)))
    return Converted(path, path / scripts[0], *known.values())


def _read(path: Path) -> Summary | None:
    """Return the summary in a file, None where it is something else."""
    if not _stays(path.parent, path.name):
        raise FileError(Diagnostic(f"{path} is no file of its folder", file=str(path)))
    try:
        document = parse_json(read_file(path), path.name)
    except OSError as error:
        raise FileError.unread(path, error) from None
    if not isinstance(document, dict):
        return None
    # Others may read more of it, and later versions say more.
    known = {key: value for key, value in document.items() if key in Summary.__struct_fields__}
    summary = read_value(known, Summary, path.name)
    for name in (*summary.files, f"{path.name.removesuffix(SUMMARY)}.py"):
        # One that is gone is missed where it is needed.
        if not _is_plain(name) or (os.path.lexists(path.parent / name) and not _stays(path.parent, name)):
            title = f"{path} names {name!r}, which is no file of its folder"
            raise FileError(Diagnostic(title, help="convert the model anew", file=str(path)))
    return summary


def _is_plain(name: str) -> bool:
    """Whether ``name`` leads to no other folder."""
    return name not in ("", ".", "..") and name.isprintable() and not set(name) & set("/\\:")


def _stays(folder: Path, name: str) -> bool:
    """Whether ``name`` is a file in ``folder``, and no link to one elsewhere."""
    path = folder / name if _is_plain(name) else folder
    return path.is_file() and not path.is_symlink()


def _has(path: Path, sha256: str) -> bool:
    """Whether a file is there and has the SHA-256: what it holds is then known to who stated it."""
    return path.is_file() and file_digest(path) == sha256


def _at(folder: Path, name: str) -> Path:
    """Return the file that ``name`` leads to from a folder."""
    return Path(os.path.normpath(os.path.realpath(folder) + "/" + name))
