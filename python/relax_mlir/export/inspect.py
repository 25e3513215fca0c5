"""Read what a library says of itself, without loading it."""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relax_mlir.error import ParseError
from relax_mlir.export.elf_sections import mapped, section
from relax_mlir.export.metadata import FORMAT, SECTION

_ARCHIVE = b"!<arch>\n"


@dataclass(frozen=True)
class LibraryInfo:
    """What a library says of itself; `relax_mlir.export.metadata` describes the keys of `facts`."""

    path: Path
    facts: Mapping[str, Any]

    def as_json(self) -> str:
        """The facts as JSON."""
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
    """One line if they are equal, none if nothing is needed."""
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
    """Read the metadata of a library, object file or archive that `export_library` has written.

    Raises ParseError: it is no such file, or a newer version has made it. OSError: it cannot be read.
    """
    path = Path(path)
    try:
        with mapped(path) as data:
            place = section(data, SECTION, _member(data))
            if place is None:
                raise ParseError(f"{path}: not a library of relax-mlir: it has no section {SECTION}")
            facts = json.loads(data[place[0] : place[0] + place[1]])
    except (ValueError, IndexError) as error:
        if isinstance(error, ParseError):
            raise
        raise ParseError(f"{path}: not a library of relax-mlir: {error}") from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        found = facts.get("format") if isinstance(facts, dict) else None
        raise ParseError(f"{path}: metadata of format {found}, expected {FORMAT}: another version made it")
    return LibraryInfo(path, facts)


def _member(data: mmap.mmap) -> int:
    """Where the object begins: an archive has one behind its tables of symbols and names."""
    if data[: len(_ARCHIVE)] != _ARCHIVE:
        return 0
    at = len(_ARCHIVE)
    while data[at : at + 1] == b"/":
        at += 60 + int(data[at + 48 : at + 58])
        at += at % 2
    return at + 60
