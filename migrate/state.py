"""What of a migration is done already, on disk: what a later run need not do again."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from relay2relax.core.errors import FileError, ParseError
from relay2relax.core.output import file_digest
from relay2relax.core.schema import read_json, to_plain
from relay2relax.migrate.conversion import Job
from relay2relax.migrate.report.model import Entry

NAME = "migration.sqlite"


class State:
    """Entries of models that are done, by what they were made of."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def done(self, job: Job, key: str) -> Entry | None:
        """Return the entry of a job that is done, None where it is not, or where a file that it
        wrote is gone.
        """
        row = self._connection.execute("SELECT entry FROM done WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            entry = read_json(row[0], Entry, NAME)
        except ParseError:
            return None
        return entry if all((job.folder / name).is_file() for name in entry.files) else None

    def keep(self, key: str, entry: Entry) -> None:
        """Keep the entry of a job that is done."""
        text = json.dumps(to_plain(entry))
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO done VALUES (?, ?)", (key, text))


@contextmanager
def opened(folder: Path) -> Iterator[State]:
    """Open what is known of the migration into ``folder``.

    Raises FileError where there is no database of ours in its place.
    """
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path)
        try:
            with connection:
                connection.execute("CREATE TABLE IF NOT EXISTS done (key TEXT PRIMARY KEY, entry TEXT NOT NULL)")
            yield State(connection)
        finally:
            connection.close()
    except (sqlite3.Error, OSError) as error:
        raise FileError.unread(path, error) from None


def key_of(job: Job, version: str) -> str:
    """Return what stands for all that a job depends on: the contents of its files, its name and
    options, and the ``version`` of what converts.

    Raises OSError where a file cannot be read.
    """
    params = "" if job.params is None else f"{job.params.name} {file_digest(job.params)}"
    parts = [version, job.name, file_digest(job.model), params, *job.options, f"{job.seconds:g}", str(job.page)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
