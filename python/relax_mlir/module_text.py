"""Modules as text, and atomic writes of files."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from relax_mlir.dialects.constants import is_resource
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import ir

RESOURCE_LIMIT = 64
"""Size in bytes of a resource blob (a weight) above which it is elided from printed modules."""


@dataclass(frozen=True)
class PrintOptions:
    """Options of printing a module; the defaults show everything but large weights and locations."""

    debug_info: bool = False
    elements_limit: int | None = None
    generic: bool = False
    local_scope: bool = False
    value_names: bool = True
    """Name values after the names of their locations, not by numbers."""
    assume_verified: bool = False
    """Print ops in their custom syntax without verifying them."""
    without_body: Callable[[ir.Operation], bool] | None = None
    """True for the functions of which only name and type are printed."""


DEFAULT = PrintOptions()


def module_text(module: ir.Module | ir.Operation, options: PrintOptions = DEFAULT) -> str:
    """The module's assembly, ending in a newline.

    A module with weights is printed without aliases (``#map``): to collect them, MLIR would format every weight, even
    those that it elides.
    """
    if options.without_body is not None:
        module = _without_bodies(module.operation, options.without_body)
    limit = None if options.elements_limit is None else min(max(options.elements_limit, 0), 2**63 - 1)
    text: str = module.operation.get_asm(
        enable_debug_info=options.debug_info,
        large_elements_limit=limit,
        large_resource_limit=RESOURCE_LIMIT if limit is None else limit,
        print_generic_op_form=options.generic,
        assume_verified=options.assume_verified,
        use_name_loc_as_prefix=options.value_names,
        use_local_scope=options.local_scope or has_weights(module),
    )
    return text.rstrip("\n") + "\n"


def _without_bodies(op: ir.Operation, chosen: Callable[[ir.Operation], bool]) -> ir.Operation:
    """A copy of a module in which the chosen functions are declarations, each on one line.

    ``relax.elided`` is the number of ops in their bodies. A function that is printed by itself keeps its body.
    """
    if op.name != "builtin.module":
        return op
    copy: ir.Operation = op.clone(ip=False)
    with copy.context:
        for top in list(entry_block(copy).operations):
            function = top.operation
            is_function = function.name in ("func.func", "llvm.func") and len(function.regions[0].blocks)
            if is_function and chosen(function):
                _declare(function)
    return copy


def _declare(function: ir.Operation) -> None:
    """Replace a function by a declaration of its name and type."""
    count = sum(len(block.operations) for region in function.regions for block in region.blocks)
    attributes: dict[str, ir.Attribute] = {
        name: function.attributes[name] for name in ("sym_name", "function_type")
    }
    attributes["relax.elided"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), count)
    if function.name == "func.func":
        attributes["sym_visibility"] = ir.StringAttr.get("private")
    with ir.InsertionPoint(function), function.location:
        ir.Operation.create(function.name, attributes=attributes, regions=1)
    function.erase()


def has_weights(module: ir.Module | ir.Operation) -> bool:
    """True if a constant of the module's functions, or of its constant table, is a resource."""
    return any(
        is_resource(value) for top in entry_block(module.operation).operations for value in _constants(top)
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
    """Write to a temporary file in the same folder, then move it: readers see all of it or nothing.

    Paths other than regular files (``/dev/null``, a pipe) are written directly.
    """
    with writing_atomically(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def writing_atomically(path: Path) -> Iterator[IO[bytes]]:
    """`write_atomically` with a stream: the file appears when the context exits without an error."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "its name has a NUL character")
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
    """A pass name in a form that is valid in a file name."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in pass_name)
