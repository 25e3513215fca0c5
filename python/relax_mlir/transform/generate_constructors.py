"""Writes `constructors.pyi`, which declares the classes of passes for type checkers."""

from __future__ import annotations

from pathlib import Path

from relax_mlir.module_file import write_atomically
from relax_mlir.transform.registry import PASSES

PIPELINES = PASSES["relax-to-calls"].partition(":")[0]
"""The module of the named pipelines."""
MAX_LINE = 110
STUB = Path(__file__).with_name("constructors.pyi")


def stub() -> str:
    """The text of the stub."""
    lines = ["# Written by `python -m relax_mlir.transform.generate_constructors`.", ""]
    places = sorted(target.split(":") for target in PASSES.values())
    written = [(module, name) for module, name in places if module != PIPELINES]
    imports = [*((module, _import(module, name)) for module, name in written)]
    imports.append((PIPELINES, f"from {PIPELINES} import NamedPipeline"))
    lines += [*(text for _, text in sorted(imports)), ""]
    # These classes are built from the table of phases, so type checkers do not see them.
    lines += [f"class {name}(NamedPipeline): ..." for module, name in places if module == PIPELINES]
    names = sorted(name for _, name in places)
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in names), "]", ""]
    lines += ["def class_names() -> dict[str, str]: ...", "def constructor(name: str) -> type: ...", ""]
    return "\n".join(lines)


def _import(module: str, name: str) -> str:
    """An import for users of the stub, formatted as by ruff."""
    line = f"from {module} import {name} as {name}"
    return line if len(line) <= MAX_LINE else f"from {module} import (\n    {name} as {name},\n)"


if __name__ == "__main__":
    write_atomically(STUB, stub())
