"""Writes `constructors.pyi`, the classes of passes in `relax_mlir.transform` for type checkers.

At run time there is no such module: `registry.constructor` imports a class by its name.
"""

from __future__ import annotations

from pathlib import Path

from relax_mlir.module_file import write_atomically
from relax_mlir.transform.registry import PASSES

MAX_LINE = 110
STUB = Path(__file__).with_name("constructors.pyi")


def stub() -> str:
    """The text of the stub."""
    lines = ["# Written by `python -m relax_mlir.transform.generate_constructors`.", ""]
    places = sorted(target.split(":") for target in PASSES.values())
    lines += [_import(module, name) for module, name in places]
    names = sorted(name for _, name in places)
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in names), "]", ""]
    return "\n".join(lines)


def _import(module: str, name: str) -> str:
    """An import for users of the stub, formatted as by ruff."""
    line = f"from {module} import {name} as {name}"
    return line if len(line) <= MAX_LINE else f"from {module} import (\n    {name} as {name},\n)"


if __name__ == "__main__":
    write_atomically(STUB, stub())
