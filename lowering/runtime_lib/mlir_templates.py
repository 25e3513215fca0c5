"""Modules of the runtime library, as MLIR templates in files next to this one, with ``${NAME}`` for values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template


def fill_template(name: str, values: Mapping[str, object] | None = None, **more: object) -> str:
    """Return the text of ``<name>.mlir`` with its placeholders replaced; raise `KeyError` for one without a value."""
    text = Path(__file__).with_name(f"{name}.mlir").read_text(encoding="utf-8")
    return Template(text).substitute(values or {}, **more)
