"""Reproducers: a module, the passes to run on it and the options of the context, in one file.

The form is MLIR's own: the module's text, then ``{-# external_resources: { mlir_reproducer: { pipeline: … } } #-}``.
``relax-opt --run-reproducer`` replays it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from relax_mlir.error import ParseError, RelaxError
from relax_mlir.mlir import ir
from relax_mlir.module_text import PrintOptions, file_name, module_text, write_atomically
from relax_mlir.transform import registry
from relax_mlir.transform.config import DUMP_DIR
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.pipeline_parser import Element, parse_elements

_SECTION = re.compile(
    r"\{-#\s*external_resources:\s*\{\s*mlir_reproducer:\s*\{(?P<body>.*?)\}\s*\}\s*#-\}", re.DOTALL
)
_ENTRY = re.compile(r'(?P<key>[\w.$-]+):\s*(?:(?P<word>true|false)|"(?P<text>(?:[^"\\]|\\.)*)")')
_COMMAND = "relax-opt --run-reproducer"


@dataclass(frozen=True)
class Recipe:
    """What a reproducer says beside its module."""

    pipeline: str
    unregistered: bool = False
    opt_level: int = 2
    disabled: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, pipeline: str, ctx: PassContext, unregistered: bool) -> Recipe:
        """The recipe for passes that run in a context; of its names of passes, those that others know."""
        config = {key: value for key, value in ctx.config.items() if key != DUMP_DIR}
        disabled, required = (
            tuple(sorted(filter(_is_known, names))) for names in (ctx.disabled_pass, ctx.required_pass)
        )
        return cls(f"builtin.module({pipeline})", unregistered, ctx.opt_level, disabled, required, config)

    def text(self) -> str:
        """The section that ends a reproducer."""
        entries = {
            "pipeline": _quoted(self.pipeline),
            "disable_threading": "true",
            "verify_each": "true" if self.config.get("pass.verify_each", True) else "false",
            "allow_unregistered_dialect": "true" if self.unregistered else "false",
            "opt_level": _quoted(str(self.opt_level)),
            "disabled_pass": _quoted(",".join(self.disabled)),
            "required_pass": _quoted(",".join(self.required)),
            "config": _quoted(json.dumps(self.config)),
        }
        lines = ",\n".join(f"      {key}: {value}" for key, value in entries.items())
        return f"{{-#\n  external_resources: {{\n    mlir_reproducer: {{\n{lines}\n    }}\n  }}\n#-}}\n"


def read_recipe(text: str, source: str) -> tuple[Recipe, str]:
    """The recipe in a reproducer's text, and the module's text, in which lines keep their numbers.

    Raises:
        ParseError: there is none.
    """
    found = _SECTION.search(text)
    entries = {} if found is None else {e["key"]: e for e in _ENTRY.finditer(found["body"])}
    if found is None or "pipeline" not in entries:
        raise ParseError(
            f"'{source}' is no reproducer: it does not end in "
            '{-# external_resources: { mlir_reproducer: { pipeline: "..." } } #-}'
        )

    def value(key: str, default: str) -> str:
        entry = entries.get(key)
        return default if entry is None or entry["text"] is None else _unquoted(entry["text"])

    def names(key: str) -> tuple[str, ...]:
        return tuple(filter(None, value(key, "").split(",")))

    try:
        config, level = json.loads(value("config", "{}")), int(value("opt_level", "2"))
    except ValueError as error:
        raise ParseError(f"'{source}': the reproducer's options cannot be read: {error}") from None
    allows = entries.get("allow_unregistered_dialect")
    recipe = Recipe(
        value("pipeline", ""),
        allows is not None and allows["word"] == "true",
        level,
        names("disabled_pass"),
        names("required_pass"),
        config,
    )
    blank = "\n" * text.count("\n", found.start(), found.end())
    return recipe, text[: found.start()] + blank + text[found.end() :]


def write_reproducer(module: ir.Module | ir.Operation, recipe: Recipe, name: str, folder: str) -> Path:
    """Write a reproducer for the failure of pass `name`, into `folder` or a folder of one's own for temporary files.

    Raises:
        OSError: it cannot be written.
    """
    text = module_text(module, PrintOptions(debug_info=True)) + "\n" + recipe.text()
    path = _numbered(Path(folder), name) if folder else _hashed(text, name)
    write_atomically(path, text)
    return path


def command(path: Path, recipe: Recipe) -> str | None:
    """The command that replays a reproducer; None if its passes are not registered by name."""
    try:
        known = _are_known(parse_elements(recipe.pipeline))
    except RelaxError:
        return None
    return f"{_COMMAND} {path}" if known else None


def _are_known(elements: Iterable[Element]) -> bool:
    return all(
        _are_known(element.children) if element.children is not None else _is_known(element.name)
        for element in elements
    )


def _is_known(name: str) -> bool:
    """Whether whoever replays knows a pass of that name."""
    return registry.is_known(name) or registry.is_upstream(name)


def _numbered(folder: Path, name: str) -> Path:
    for number in count():
        path = folder / f"failed-{file_name(name)}-{number}.mlir"
        if not path.exists():
            break
    return path


def _hashed(text: str, name: str) -> Path:
    """A name by the contents: a failure that repeats leaves one file."""
    folder = Path(tempfile.gettempdir()) / f"relax-mlir-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        folder = Path(tempfile.mkdtemp(prefix="relax-mlir-"))
    return folder / f"failed-{file_name(name)}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.mlir"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)
