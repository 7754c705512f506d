"""What a file is, told by its content."""

from relay2relax.core.file_kinds.describe import (
    ONNX,
    archive_names,
    describe_archive,
    describe_content,
    describe_document,
    is_onnx,
    torch_program,
)
from relay2relax.core.file_kinds.tar import is_tar, relay_texts, tar_files

__all__ = [
    "ONNX",
    "archive_names",
    "describe_archive",
    "describe_content",
    "describe_document",
    "is_onnx",
    "is_tar",
    "relay_texts",
    "tar_files",
    "torch_program",
]
