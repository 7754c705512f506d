"""Where every command and every save function writes.

:class:`OutputFile` is one file, :class:`OutputFolder` several files that belong together. Both
appear whole or not at all, and neither writes over a file that was read to make it, or over one
that was not written here (``marks.py``, ``manifest.py``).
"""

from relay2relax.core.output.content import Content, digest, file_digest, reported
from relay2relax.core.output.file import OutputFile
from relay2relax.core.output.folder import OutputFolder
from relay2relax.core.output.manifest import MANIFEST, Origin, read_manifest
from relay2relax.core.output.marks import is_marked, marked

__all__ = [
    "MANIFEST",
    "Content",
    "Origin",
    "OutputFile",
    "OutputFolder",
    "digest",
    "file_digest",
    "is_marked",
    "marked",
    "read_manifest",
    "reported",
]
