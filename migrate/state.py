"""What of a migration is done already, on disk: what a later run need not do again."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from relay2relax.core.errors import FileError, ParseError, mistake
from relay2relax.core.errors.table.files import FILE
from relay2relax.core.output import file_digest
from relay2relax.core.schema import read_json, to_plain
from relay2relax.migrate.conversion import Job
from relay2relax.migrate.report.model import Entry

NAME = "migration.sqlite"


class State:
    """Entries of models that are done, by what they were made of."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    def done(self, job: Job, key: str) -> Entry | None:
        """Return the entry of a job that is done, None where it is not, or where a file that it
        wrote is gone.

        Raises FileError where the database is damaged.
        """
        try:
            row = self._connection.execute("SELECT entry FROM done WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise FileError.unread(self._path, error) from None
        if row is None:
            return None
        try:
            entry = read_json(row[0], Entry, NAME)
        except ParseError:
            return None
        return entry if all((job.folder / name).is_file() for name in entry.files) else None

    def keep(self, key: str, entry: Entry) -> None:
        """Keep the entry of a job that is done; raises FileError where the disk is full, say."""
        text = json.dumps(to_plain(entry))
        try:
            with self._connection:
                self._connection.execute("INSERT OR REPLACE INTO done VALUES (?, ?)", (key, text))
        except sqlite3.Error as error:
            raise FileError(mistake(FILE, action="write", file=repr(str(self._path)), problem=error)) from None


@contextmanager
def opened(folder: Path) -> Iterator[State]:
    """Open what is known of the migration into ``folder``.

    Raises FileError where there is no database of ours in its place.
    """
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path)
        with connection:
            connection.execute("CREATE TABLE IF NOT EXISTS done (key TEXT PRIMARY KEY, entry TEXT NOT NULL)")
    except (sqlite3.Error, OSError) as error:
        raise FileError.unread(path, error) from None
    try:
        yield State(path, connection)
    finally:
        connection.close()


def key_of(job: Job, version: str) -> str:
    """Return what stands for all that a job depends on: the contents of its files, its name and
    options, and the ``version`` of what converts.

    Raises FileError where a file cannot be read.
    """
    params = "" if job.params is None else f"{job.params.name} {file_digest(job.params)}"
    parts = [
        version,
        job.name,
        file_digest(job.model),
        params,
        *job.options,
        f"{job.seconds:g}",
        str((job.page, job.library)),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
