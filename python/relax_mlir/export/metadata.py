"""The metadata of a library: JSON in a separate section, read without loading the library."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeGuard

import tvm_ffi

from relax_mlir._version import version
from relax_mlir.error import ParseError, expect
from relax_mlir.export.compiled_code import CompiledCode, WeightsLayout
from relax_mlir.files import mapped
from relax_mlir.runtime.elf import elf_tables
from relax_mlir.runtime.memory import MemoryPlan

# The positions of the sections of a 64-bit ELF file.


def sections(data: bytes | mmap.mmap, start: int = 0) -> Iterator[tuple[str, int, int]]:
    """The name, offset and size of each section of a file that begins at `start`.

    Raises ElfError, a ValueError, for anything else.
    """
    tables = elf_tables(data, start)
    names = tables.sections[tables.names]
    first = start + int(names["offset"])
    text = data[first : first + int(names["size"])]
    for header in tables.sections:
        name = int(header["name"])
        yield (
            text[name : text.index(b"\0", name)].decode(),
            start + int(header["offset"]),
            int(header["size"]),
        )


def section(data: bytes | mmap.mmap, name: str, start: int = 0) -> tuple[int, int] | None:
    """The offset and size of the section of this name; None: there is none."""
    return next(((offset, size) for found, offset, size in sections(data, start) if found == name), None)


# The metadata of a library, as JSON in a separate section that is not loaded.


SECTION = ".mlir_relax"
FORMAT = 1


def metadata(
    levels: Sequence[CompiledCode], weights: WeightsLayout, file: str | None, bytecode: str | None
) -> dict[str, Any]:
    """The metadata of code, for one target or several, and of its constants.

    `file`: the name of the file of constants, if there is one; `bytecode`: the location of the bytecode
    that calls the functions.

    Keys: ``format``, ``relax_mlir`` and ``tvm_ffi`` (versions), ``targets``, ``source`` (the SHA-256 of the module),
    ``weights`` (``bytes``, ``sha256``, and ``file``, which may be null), ``packed`` (functions that must be registered,
    each with the location of a call) and ``functions``: parameters and results, each with ``name``, ``kind`` and
    ``type``, the indices of the parameters that are ``written`` (by a prim func, or for results in their memory), the
    ``bounds`` of symbols (lowest and highest value, which may be null), and the ``workspace`` of a call in bytes: for
    each target, a formula of the symbols.
    """
    interface = levels[0].interface
    functions = {name: function_facts(levels, name) for name in interface.functions}
    return {
        "format": FORMAT,
        "relax_mlir": version(),
        "tvm_ffi": tvm_ffi.__version__,
        "targets": [level.interface.target for level in levels],
        "source": interface.source,
        "weights": {"bytes": weights.size, "sha256": weights.digest, "file": file},
        "bytecode": bytecode,
        "packed": dict(interface.packed),
        "functions": functions,
        "profile": [asdict(site) for site in levels[0].sites],
    }


def to_bytes(facts: dict[str, Any]) -> bytes:
    """The contents of the section."""
    return json.dumps(facts, indent=1, sort_keys=True).encode()


def function_facts(levels: Sequence[CompiledCode], name: str) -> dict[str, Any]:
    """The metadata of one function; see `metadata`."""
    interface = levels[0].interface
    facts = interface.signatures.get(name, {})
    return {
        "params": [_value(value) for value in facts.get("params", ())],
        "results": [_value(value) for value in facts.get("results", ())],
        "written": sorted({place.path[0] for place in interface.written_by(name)}),
        "bounds": {symbol: list(pair) for symbol, pair in interface.bounds.get(name, {}).items()},
        "workspace": [_workspace(level, name) for level in levels],
    }


def _workspace(level: CompiledCode, name: str) -> str:
    plan = level.memory_plans.get(name)
    return "0" if plan is None else str(MemoryPlan.from_json(plan).formula)


def _value(facts: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {key: facts[key] for key in ("name", "type") if key in facts}
    kept["kind"] = facts.get("kind", "tensor")
    if "fields" in facts:
        kept["fields"] = [_value(field) for field in facts["fields"]]
    return kept


# Read the metadata of a library without loading it.


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
            _is_list(pair, lambda bound: isinstance(bound, int | None)) and len(pair) == 2 for pair in bounds.values()
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
