"""Read the metadata of a library without loading it."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from relax_mlir.error import ParseError, expect
from relax_mlir.export.elf_sections import section
from relax_mlir.export.metadata import FORMAT, SECTION
from relax_mlir.files import mapped

_ARCHIVE = b"!<arch>\n"


@dataclass(frozen=True)
class LibraryInfo:
    """The metadata of a library; `relax_mlir.export.metadata` describes the keys of `facts`."""

    path: Path
    facts: Mapping[str, Any]

    def as_json(self) -> str:
        """The metadata as JSON."""
        return json.dumps(self.facts, indent=2, sort_keys=True)

    def __str__(self) -> str:
        facts = self.facts
        lines = [
            f"{self.path}: made by relax-mlir {facts['relax_mlir']} with tvm-ffi {facts['tvm_ffi']}",
            *(f"target:   {target}" for target in facts["targets"]),
            f"source:   sha256 {facts['source']}",
            f"weights:  {facts['weights']['bytes']:,} bytes{_file(facts['weights']['file'])}",
        ]
        for name, function in facts["functions"].items():
            lines += ["", f"{name}({_listed(function['params'])}) -> {_results(function['results'])}"]
            for symbol, (low, high) in function["bounds"].items():
                lines.append(f"    {symbol}: from {low}" + ("" if high is None else f" to {high}"))
            lines += _workspaces(function["workspace"], facts["targets"])
        if facts["packed"]:
            lines += ["", "functions that must be registered before a call:"]
            lines += [f"    {name}  (called at {place})" for name, place in facts["packed"].items()]
        return "\n".join(lines)


def _file(name: str | None) -> str:
    return "" if name is None else f" in {name}"


def _workspaces(formulas: list[str], targets: list[str]) -> list[str]:
    """One line if all are equal, none if no workspace is needed."""
    if len(set(formulas)) == 1:
        return [] if formulas[0] == "0" else [f"    workspace: {formulas[0]} bytes"]
    pairs = zip(formulas, targets, strict=True)
    return [f"    workspace: {formula} bytes on {target}" for formula, target in pairs]


def _listed(values: list[dict[str, Any]]) -> str:
    return ", ".join(f"{value.get('name', '_')}: {value.get('type', value['kind'])}" for value in values)


def _results(values: list[dict[str, Any]]) -> str:
    texts = [str(value.get("type", value["kind"])) for value in values]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def inspect_library(path: str | Path) -> LibraryInfo:
    """Read the metadata of a library, object file or archive written by `export_library`.

    Raises ParseError: the file cannot be read, is no such file, or was written by a newer version.
    """
    expect("inspect_library: 'path'", path, str | os.PathLike, "a path")
    path = Path(path)
    try:
        with mapped(path) as data:
            place = section(data, SECTION, _member(data))
            if place is None:
                raise ValueError(f"it has no section {SECTION}")
            facts = json.loads(data[place[0] : place[0] + place[1]])
        found = facts.get("format") if isinstance(facts, dict) else None
        is_whole = found == FORMAT and _is_metadata(facts)
    except OSError as error:
        raise ParseError(f"cannot open {path}: {error.strerror or error}") from None
    except (ValueError, IndexError, RecursionError) as error:
        raise ParseError(f"{path}: not a library of relax-mlir: {error}") from None
    if found != FORMAT:
        raise ParseError(f"{path}: metadata of format {found}, expected {FORMAT}: another version made it")
    if not is_whole:
        raise ParseError(f"{path}: its metadata is damaged: a key is missing, or has a value of another kind")
    return LibraryInfo(path, facts)


def _is_metadata(facts: dict[str, Any]) -> bool:
    """True if the metadata has the keys that `metadata` writes, with values of the right types."""
    texts = [facts.get(key) for key in ("relax_mlir", "tvm_ffi", "source")]
    weights, packed, functions = (facts.get(key) for key in ("weights", "packed", "functions"))
    return (
        all(isinstance(text, str) for text in texts)
        and _is_list(facts.get("targets"), _is_text)
        and isinstance(facts.get("bytecode"), str | None)
        and _is_list(facts.get("profile"), lambda site: isinstance(site, dict))
        and isinstance(weights, dict)
        and isinstance(weights.get("bytes"), int)
        and isinstance(weights.get("file"), str | None)
        and isinstance(packed, dict)
        and all(map(_is_text, packed.values()))
        and isinstance(functions, dict)
        and all(_is_function(function, len(facts["targets"])) for function in functions.values())
    )


def _is_function(function: object, targets: int) -> bool:
    if not isinstance(function, dict):
        return False
    bounds, workspace = function.get("bounds"), function.get("workspace")
    return (
        _is_list(function.get("params"), _is_value)
        and _is_list(function.get("results"), _is_value)
        and _is_list(function.get("written"), lambda number: isinstance(number, int))
        and isinstance(bounds, dict)
        and all(
            _is_list(pair, lambda bound: isinstance(bound, int | None)) and len(pair) == 2
            for pair in bounds.values()
        )
        and _is_list(workspace, _is_text)
        and len(workspace) == targets
    )


def _is_value(value: object) -> bool:
    return (
        isinstance(value, dict)
        and _is_text(value.get("kind"))
        and all(_is_text(value.get(key, "")) for key in ("name", "type"))
        and _is_list(value.get("fields", []), _is_value)
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: Any, is_item: Callable[[Any], bool]) -> TypeGuard[list[Any]]:  # noqa: ANN401 - any JSON value
    return isinstance(value, list) and all(map(is_item, value))


def _member(data: mmap.mmap) -> int:
    """The start of the object: in an archive, it comes after the tables of symbols and names."""
    if data[: len(_ARCHIVE)] != _ARCHIVE:
        return 0
    at = len(_ARCHIVE)
    while data[at : at + 1] == b"/":
        size = data[at + 48 : at + 58].rstrip(b" ")
        if not size.isdigit():
            raise ValueError(f"a member of the archive has the size {size!r}")
        at += 60 + int(size)
        at += at % 2
    return at + 60
