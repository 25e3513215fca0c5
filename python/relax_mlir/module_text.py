"""Modules as text, and text into files that are never seen half-written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import ir

RESOURCE_LIMIT = 64
"""Bytes of a resource blob (a weight) above which it is elided from printed modules."""


@dataclass(frozen=True)
class PrintOptions:
    """How a module is printed; the defaults show everything but large weights and locations."""

    debug_info: bool = False
    elements_limit: int | None = None
    generic: bool = False
    local_scope: bool = False


DEFAULT = PrintOptions()


def module_text(module: ir.Module | ir.Operation, options: PrintOptions = DEFAULT) -> str:
    """The module's assembly, ending in a newline.

    A module with weights prints without aliases (``#map``): to collect them MLIR would format every weight, even
    those that it then elides.
    """
    limit = None if options.elements_limit is None else max(options.elements_limit, 0)
    text: str = module.operation.get_asm(
        enable_debug_info=options.debug_info,
        large_elements_limit=limit,
        large_resource_limit=RESOURCE_LIMIT if limit is None else limit,
        print_generic_op_form=options.generic,
        use_name_loc_as_prefix=True,
        use_local_scope=options.local_scope or has_weights(module),
    )
    return text.rstrip("\n") + "\n"


def has_weights(module: ir.Module | ir.Operation) -> bool:
    """Whether constants of the module's functions, or of its constant table, are resources."""
    return any(
        str(value).startswith("dense_resource<")
        for top in entry_block(module.operation).operations
        for value in _constants(top)
    )


def _constants(top: ir.OpView) -> Iterator[ir.Attribute]:
    if "relax.constant_value" in top.attributes:
        yield top.attributes["relax.constant_value"]
    for region in top.operation.regions:
        for block in region.blocks:
            for op in block.operations:
                if op.operation.name == "relax.constant":
                    yield op.attributes["value"]
                elif op.operation.name == "relax.dataflow":
                    yield from _constants(op)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write to a temporary name in the same folder, then move: readers see all of it or nothing.

    What is no regular file (``/dev/null``, a pipe) is written to directly.
    """
    with writing_atomically(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def writing_atomically(path: Path) -> Iterator[IO[bytes]]:
    """`write_atomically` with a stream: the file is there when the context is left without an error."""
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def file_name(pass_name: str) -> str:
    """A pass name as part of a file name."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in pass_name)
