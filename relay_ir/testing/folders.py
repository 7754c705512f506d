"""``tvm.contrib.utils``: folders for a while."""

from __future__ import annotations

import tempfile
from pathlib import Path


class TempDirectory:
    """A folder that is gone with the object."""

    def __init__(self, custom_path: str | None = None, keep_for_debug: bool = False) -> None:
        self._held = tempfile.TemporaryDirectory()
        self.temp_dir = self._held.name
        self.path = Path(self.temp_dir)

    def relpath(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return str(self.path / name)

    def listdir(self) -> list[str]:
        """Return the names of its files."""
        return [one.name for one in self.path.iterdir()]

    def remove(self) -> None:
        """Delete the folder."""
        self._held.cleanup()

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *problem: object) -> None:
        self.remove()


def tempdir(custom_path: str | None = None, keep_for_debug: bool = False) -> TempDirectory:
    """Return a new folder that is gone with the object."""
    return TempDirectory(custom_path, keep_for_debug)
