"""The names of values in IR text, which MLIR's parser drops: kept as names of locations."""

from __future__ import annotations

import re
from typing import Any

from relax_mlir.dialects.attributes import PARAM_NAME
from relax_mlir.dialects.location import renamed
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import ir

_DEFINED = re.compile(rb"(%[\w$.-]+)(:\d+)?(\s*,\s*%[\w$.-]+(:\d+)?)*\s*=\s*$")
"""The text of a line before the name of an op with results."""
_NAME = re.compile(rb"%([A-Za-z_$.-][\w$.-]*)")
_NUMBERED = re.compile(rb"arg\d+")
"""MLIR's own names for arguments without a name."""


def keep_names(module: ir.Module, text: bytes, *sources: str) -> None:
    """Give each value of `module` the name that it has in `text`, from which `module` was parsed.

    MLIR prints these names; scripts, bindings and messages use them. Values that already have a name, such as those of
    text with locations, keep it, and numbers (``%0``, ``%arg0``) are not names. A parameter gets its name from its
    attribute ``relax.name``.

    Args:
        sources: the file names of the text in locations.
    """
    lines = text.split(b"\n")

    def line_of(location: ir.Location) -> tuple[bytes, int] | None:
        exact: Any = ir.Location.from_attr(location.attr, location.context)
        if not isinstance(exact, ir.FileLineColLoc) or exact.filename not in sources:
            return None
        if not 0 < exact.start_line <= len(lines):
            return None
        return lines[exact.start_line - 1], exact.start_col - 1

    def visit(op: ir.Operation) -> ir.WalkResult:
        if len(op.results) and (place := line_of(op.location)) is not None:
            line, column = place
            name = _name(found[1]) if (found := _DEFINED.search(line, 0, column)) else None
            if name is not None:
                op.location = ir.Location.name(name, op.location, op.context)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    if (place := line_of(argument.location)) is not None:
                        _name_argument(argument, _name(place[0][place[1] :]))
        if op.name == "func.func" and "arg_attrs" in op.attributes:
            _name_parameters(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)


def _name(text: bytes) -> str | None:
    found = _NAME.match(text)
    return None if found is None or _NUMBERED.fullmatch(found[1]) else found[1].decode()


def _name_argument(argument: ir.BlockArgument, name: str | None) -> None:
    if name is not None:
        argument.set_location(ir.Location.name(name, argument.location, argument.context))


def _name_parameters(function: ir.Operation) -> None:
    """Name parameters after their attributes, where they have one."""
    given = ir.ArrayAttr(function.attributes["arg_attrs"])
    arguments = entry_block(function).arguments if len(function.regions[0].blocks) else ()
    for argument, attribute in zip(arguments, given, strict=False):
        attributes = ir.DictAttr(attribute)
        if PARAM_NAME in attributes and isinstance(attributes[PARAM_NAME], ir.StringAttr):
            argument.set_location(renamed(attributes[PARAM_NAME].value, argument.location))
