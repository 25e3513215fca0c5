"""Convert ONNX names, which may be any string, to identifiers and symbols."""

from __future__ import annotations

import keyword
import re

from relax_mlir import symbolic
from relax_mlir.error import RelaxError
from relax_mlir.symbolic import Dim


def identifier(name: str) -> str:
    """Return `name` with an underscore for each character that is not allowed in identifiers."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    if text[0].isdigit():
        text = "_" + text
    return text + "_" if keyword.iskeyword(text) else text


def distinct(name: str, taken: set[str]) -> str:
    """Return `name` as an identifier that is not in `taken`, and add it to `taken`."""
    text = base = identifier(name)
    number = 1
    while text in taken:
        text, number = f"{base}_{number}", number + 1
    taken.add(text)
    return text


def parsed_dim(text: str) -> Dim | None:
    """Parse a `dim_param` as an expression (``"n"``, ``"past + n"``); return None if it is not one."""
    try:
        return symbolic.parse(text.strip())
    except RelaxError:
        return None
