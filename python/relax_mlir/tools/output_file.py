"""Files that the tools write: no folder is made for them."""

from __future__ import annotations

from pathlib import Path

from relax_mlir.error import ParseError


def require_folder(path: Path) -> None:
    """Raise `ParseError` unless a file of that path can be made where it is asked for."""
    if path.is_dir():
        raise ParseError(f"cannot open output file '{path}': it is a folder")
    if not path.parent.is_dir():
        raise ParseError(f"cannot open output file '{path}': there is no folder '{path.parent}'")
