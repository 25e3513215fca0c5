"""Write ``docs/ops.md`` and ``docs/passes.md`` from the docstrings: ``python docs/generate.py``, or ``make docs``."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
NOTICE = "<!-- Written by docs/generate.py from the docstrings; edit those. -->"


def builders(namespace: types.ModuleType, prefix: str = "R") -> Iterator[tuple[str, Any]]:
    """Name as users write it, and function, of every builder; ``R.nn`` and its like included."""
    for name in sorted(vars(namespace)):
        value = getattr(namespace, name)
        if name.startswith("_"):
            continue
        if inspect.isfunction(value) and value.__module__.startswith("relax_mlir.dialects."):
            yield f"{prefix}.{name}", value
        elif isinstance(value, types.ModuleType) and value.__name__.startswith(f"{namespace.__name__}."):
            yield from builders(value, f"{prefix}.{name}")


def signature(function: Any) -> str:  # noqa: ANN401
    """Name, parameters and result as the source has them, which does not depend on Python's version."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(definition, ast.FunctionDef)
    arguments = ast.unparse(definition.args)
    result = f" -> {ast.unparse(definition.returns)}" if definition.returns is not None else ""
    return f"{definition.name}({arguments}){result}"


def markdown(docstring: str | None) -> str:
    """A docstring as Markdown: double backquotes become single ones."""
    return inspect.cleandoc(docstring or "").replace("``", "`")


def classes_meant(docstring: str, module: types.ModuleType) -> list[type]:
    """The op classes that ``(see `AddOp`)`` in a builder's docstring names."""
    names = re.findall(r"`(\w+Op)`", docstring)
    return [found for name in names if isinstance(found := getattr(module, name, None), type)]


def op_entry(function: Any, names: list[str]) -> str:  # noqa: ANN401
    docstring = inspect.getdoc(function) or ""
    module = inspect.getmodule(function)
    assert module is not None
    own = re.sub(r"\s*\(see [^)]*\)", "", docstring)
    texts = [markdown(own), *(markdown(cls.__doc__) for cls in classes_meant(docstring, module))]
    first, *others = sorted(names, key=lambda name: (name.split(".")[-1] != function.__name__, name))
    if others:
        texts.append("Also called " + ", ".join(f"`{name}`" for name in others) + ".")
    return "\n\n".join([f"### {first}", f"```python\n{signature(function)}\n```", *filter(None, texts)])


def ops_page() -> str:
    from relax_mlir import op

    names: dict[Any, list[str]] = {}
    for name, function in builders(op):
        names.setdefault(function, []).append(name)
    families: dict[str, list[Any]] = {}
    for function in names:
        families.setdefault(function.__module__, []).append(function)
    parts = [
        NOTICE,
        "# Ops",
        "`from relax_mlir import op as R`. Each builder emits its op where the `BlockBuilder` stands and returns "
        "its value. Operands may be values, numbers and NumPy arrays.",
    ]
    for family in sorted(families):
        heading = family.removeprefix("relax_mlir.dialects.").replace("_", " ").replace(".", " ")
        parts.append(f"## {heading[0].upper()}{heading[1:]}")
        parts.append(markdown(importlib.import_module(family).__doc__))
        parts += [op_entry(function, names[function]) for function in families[family]]
    return "\n\n".join(parts) + "\n"


def pass_entry(name: str) -> str:
    from relax_mlir.transform.options import describe_options
    from relax_mlir.transform.registry import pass_class

    cls = pass_class(name)
    lines = [f"## `{name}`", "", markdown(cls.__doc__)]
    options = describe_options(cls)
    if options:
        lines += ["", "| Option | Type | Default |", "|---|---|---|"]
        lines += [f"| `{option}` | {kind} | {default} |" for option, kind, default in options]
    return "\n".join(lines)


def passes_page() -> str:
    from relax_mlir.transform.registry import PASSES

    introduction = (
        "`relax-opt --NAME` runs one, `relax-opt --pass-pipeline='builtin.module(NAME{option=value})'` a sequence; "
        "in Python each is a class of the same options. All passes of MLIR can be used beside them."
    )
    parts = [NOTICE, "# Passes", introduction, *(pass_entry(name) for name in sorted(PASSES))]
    return "\n\n".join(parts) + "\n"


def pages() -> dict[Path, str]:
    """The generated pages by path."""
    return {DOCS / "ops.md": ops_page(), DOCS / "passes.md": passes_page()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path)
