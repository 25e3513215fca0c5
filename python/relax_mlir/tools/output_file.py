"""Output files of the tools, which do not create folders."""

from __future__ import annotations

from pathlib import Path

from relax_mlir.error import ParseError


def require_folder(path: Path) -> None:
    """Raise `ParseError` if the path is a folder, or its folder does not exist."""
    if path.is_dir():
        raise ParseError(f"cannot open output file '{path}': it is a folder")
    if not path.parent.is_dir():
        raise ParseError(f"cannot open output file '{path}': there is no folder '{path.parent}'")
