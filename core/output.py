"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Union

from relay2relax.core.errors import FileError

# A file's bytes, or its parts one behind the other; views of memory are not copied.
Content = Union[bytes, Sequence[Union[bytes, memoryview]]]


def write_all(files: Mapping[Path, Content]) -> None:
    """Write every file or none: contents go to temporary files beside their targets, which are then
    renamed.

    Raises FileError where that fails.
    """
    written: list[tuple[str, Path]] = []
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            written.append((temporary, path))
            with os.fdopen(handle, "wb") as stream:
                for part in (content,) if isinstance(content, bytes) else content:
                    stream.write(part)
            os.chmod(temporary, 0o666 & ~_umask())
        for path in files:
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        for temporary, path in written:
            os.replace(temporary, path)
        written.clear()
    except OSError as error:
        raise FileError(f"cannot write {error.filename or 'the results'}: {error.strerror}") from error
    finally:
        for temporary, _ in written:
            if os.path.exists(temporary):
                os.unlink(temporary)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
