"""Reproducers: a module, the passes to run on it and the options of the context, in one file.

The format is MLIR's: the module's text, then ``{-# external_resources: { mlir_reproducer: { pipeline: … } } #-}``.
``relax-opt --run-reproducer`` replays it, and so does ``mlir-opt`` if the passes are MLIR's. Settings that ``mlir-opt``
does not know are stored in the entry ``relax_reproducer``, which it skips.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from relax_mlir.error import ParseError, RelaxError
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import quoted
from relax_mlir.module_text import PrintOptions, file_name, module_text, write_atomically
from relax_mlir.transform import registry
from relax_mlir.transform.config import DUMP_DIR
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.pipeline_parser import Element, parse_elements
from relax_mlir.transform.resource_section import EXTERNAL, take_external_resources

_COMMAND = "relax-opt --run-reproducer"
OF_MLIR, OWN = "mlir_reproducer", "relax_reproducer"


@dataclass(frozen=True)
class Recipe:
    """The contents of a reproducer except its module."""

    pipeline: str
    unregistered: bool = False
    opt_level: int = 2
    disabled: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, pipeline: str, ctx: PassContext, unregistered: bool) -> Recipe:
        """The recipe for passes that run in a context; names of passes that are not registered are omitted."""
        config = {key: value for key, value in ctx.config.items() if key != DUMP_DIR}
        disabled, required = (
            tuple(sorted(filter(_is_known, names))) for names in (ctx.disabled_pass, ctx.required_pass)
        )
        return cls(f"builtin.module({pipeline})", unregistered, ctx.opt_level, disabled, required, config)

    def text(self) -> str:
        """The section at the end of a reproducer."""
        of_mlir = {
            "pipeline": quoted(self.pipeline),
            "disable_threading": "true",
            "verify_each": "true" if self.config.get("pass.verify_each", True) else "false",
        }
        own = {
            "allow_unregistered_dialect": "true" if self.unregistered else "false",
            "opt_level": quoted(str(self.opt_level)),
            "disabled_pass": quoted(",".join(self.disabled)),
            "required_pass": quoted(",".join(self.required)),
            "config": quoted(json.dumps(self.config)),
        }
        groups = ",\n".join(
            f"    {name}: {{\n"
            + ",\n".join(f"      {key}: {value}" for key, value in group.items())
            + "\n    }"
            for name, group in ((OF_MLIR, of_mlir), (OWN, own))
        )
        return f"{{-#\n  {EXTERNAL}: {{\n{groups}\n  }}\n#-}}\n"


def read_recipe(text: str, source: str) -> tuple[Recipe, str]:
    """The recipe in a reproducer's text, and the module's text with unchanged line numbers.

    Raises:
        ParseError: there is none.
    """
    try:
        resources, rest = take_external_resources(text)
    except ParseError as error:
        raise ParseError(f"'{source}': {error}") from None
    entries = {**_group(resources, OWN), **_group(resources, OF_MLIR)}
    if "pipeline" not in entries:
        raise ParseError(
            f"'{source}' is no reproducer: it does not end in "
            '{-# external_resources: { mlir_reproducer: { pipeline: "..." } } #-}'
        )

    def names(key: str) -> tuple[str, ...]:
        return tuple(filter(None, entries.get(key, "").split(",")))

    try:
        config, level = json.loads(entries.get("config", "{}")), int(entries.get("opt_level", "2"))
    except ValueError as error:
        raise ParseError(f"'{source}': the reproducer's options cannot be read: {error}") from None
    if not isinstance(config, dict):
        raise ParseError(f"'{source}': the reproducer's options cannot be read: config is no object")
    if entries.get("verify_each") == "false":
        config["pass.verify_each"] = False
    recipe = Recipe(
        entries["pipeline"],
        entries.get("allow_unregistered_dialect") == "true",
        level,
        names("disabled_pass"),
        names("required_pass"),
        config,
    )
    return recipe, rest


def _group(resources: dict[str, Any], name: str) -> dict[str, str]:
    """The entries of a group that are strings or words."""
    group = resources.get(name)
    return (
        {key: value for key, value in group.items() if isinstance(value, str)}
        if isinstance(group, dict)
        else {}
    )


def write_reproducer(module: ir.Module | ir.Operation, recipe: Recipe, name: str, folder: str) -> Path:
    """Write a reproducer for the failure of pass `name` into `folder`, or into the user's folder for temporary files.

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
    plugins = "".join(f" --load-pass-plugin={shlex.quote(plugin)}" for plugin in registry.PLUGINS)
    return f"{_COMMAND}{plugins} {shlex.quote(str(path))}" if known else None


def _are_known(elements: Iterable[Element]) -> bool:
    return all(
        _are_known(element.children) if element.children is not None else _is_known(element.name)
        for element in elements
    )


def _is_known(name: str) -> bool:
    """True if a pass of that name is available when the reproducer is replayed."""
    return registry.is_known(name) or registry.is_upstream(name)


def _numbered(folder: Path, name: str) -> Path:
    for number in count():
        path = folder / f"failed-{file_name(name)}-{number}.mlir"
        if not path.exists():
            break
    return path


def _hashed(text: str, name: str) -> Path:
    """A path named after a hash of the contents: a repeated failure leaves one file."""
    folder = Path(tempfile.gettempdir()) / f"relax-mlir-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        folder = Path(tempfile.mkdtemp(prefix="relax-mlir-"))
    return folder / f"failed-{file_name(name)}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.mlir"
