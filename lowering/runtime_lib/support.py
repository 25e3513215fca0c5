"""Support functions of compiled code: memory of one call, result tensors, contiguous copies.

They are part of every module (unused ones are dropped), so that compiled code needs only libc and libtvm_ffi. Like all
code of this level they fail through the declarations `relax.check` and `relax.propagate`.

All memory comes in blocks from the pool of the process (see `pool`): `@__relax_memory` holds its two functions, which
the runtime fills in; the defaults are those of the C library.

The *frame* of a call is the address of a list head on its stack: a chain of blocks {next, class of the block, object
or null, padding to 64 bytes, memory}, released together when the function returns, with or without an error. A block
is memory of the call, or holds a reference to an FFI object.

The functions that every module needs can be compiled separately (`SEPARATE_SUPPORT`); modules then declare them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from relax_mlir.dialects.attributes import MAY_FAIL, SAYS_PLACE, SEPARATE, SHARED_GROUP
from relax_mlir.lowering.parts.shared_code import SUPPORT_GROUP
from relax_mlir.lowering.runtime_lib.argument_tables import LAYOUT
from relax_mlir.lowering.runtime_lib.mlir_templates import fill_template
from relax_mlir.lowering.runtime_lib.pool import PAGE_BYTES, PAGED_BYTES
from relax_mlir.lowering.runtime_lib.raising import COLD, RAISER_PREFIX, shared_raisers
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import Fragment, attribute, functions, is_declaration, quoted, symbol_name

CACHED_OBJECT = "relax.cached_object"

MEMORY_TABLE = "__relax_memory"

_HEAD = re.compile(
    r"^(?P<kind>func\.func private|llvm\.func internal) (?P<name>@relax\.rt\.[\w.]+)\((?P<inputs>[^)]*)\)"
    r"(?P<results>[^{]*?)( attributes \{.*\})? \{$",
    re.MULTILINE,
)


def _declarations(text: str) -> dict[str, str]:
    """Declarations of the functions that a text defines, by name."""
    found = {}
    for match in _HEAD.finditer(text):
        kind = match["kind"].removesuffix(" internal")
        inputs = re.sub(r"%\w+: ", "", match["inputs"])
        found[match["name"][1:]] = f"{kind} {match['name']}({inputs}){match['results']}"
    return found


_MEMORY_CHECK = attribute(
    {
        "kind": "OutOfMemoryError",
        "message": "cannot allocate {0} bytes (0 stands for a size that is negative or beyond all memory)",
    }
)

_NULL_CHECK = attribute(
    {
        "kind": "ArgumentError",
        "message": "a tensor of {0} bytes has no memory: its data pointer is null (fake and meta tensors are such)",
    }
)

_DTYPE_CODES = ("int", "uint", "float", "handle", "bfloat", "complex", "bool", "code7+")
"""Names of DLPack's type codes 0 to 6; the last name represents all other codes."""

DECLARED = fill_template("support_declarations", memory_check=_MEMORY_CHECK)
"""Declarations for support functions: the C library, the FFI, and the failing functions."""
_TABLE = fill_template("support_memory_table", MEMORY_TABLE=MEMORY_TABLE)
CONSTRUCT = fill_template("support_construct")
"""Functions that create FFI objects; they call those in `DECLARED`."""
_OBJECTS = f"{CONSTRUCT}\n{fill_template('support_objects')}"

_CORE = "\n".join(
    [
        fill_template("support_memory", MEMORY_TABLE=MEMORY_TABLE),
        fill_template("support_tensors", PAGE_BYTES=PAGE_BYTES, PAGED_BYTES=PAGED_BYTES),
        fill_template(
            "support_names", dtype_table=quoted("".join(code.ljust(8, "\0") for code in _DTYPE_CODES))
        ),
        fill_template("support_flaws"),
        fill_template("support_arguments", LAYOUT),
        shared_raisers(f'{SHARED_GROUP} = "{SUPPORT_GROUP}"'),
    ]
)
"""Support functions of entry points with tensors."""

_CORE_HEADS = {match["name"][1:]: match[0] for match in _HEAD.finditer(_CORE)}

CORE_MAY_FAIL = frozenset(name for name, head in _CORE_HEADS.items() if MAY_FAIL in head)
"""Those that may fail."""

SEPARATE_SUPPORT = "\n".join(
    [DECLARED, f"llvm.mlir.global external @{MEMORY_TABLE}() : !llvm.array<2 x ptr>", _CORE]
)
"""A module of level V with checks: the functions that `define_support` omits if `is_separate` is set."""

CORE_NAMES = frozenset(_CORE_HEADS)
"""The names of all of its functions."""


def _marks(name: str) -> str:
    """The attributes of the declaration that replaces a function."""
    return ", ".join(
        [SEPARATE, *(mark for mark in (MAY_FAIL, SAYS_PLACE, COLD) if mark in _CORE_HEADS[name])]
    )


SEPARATE_DECLARATIONS = {
    name: f"{declared} attributes {{{_marks(name)}}}" for name, declared in _declarations(_CORE).items()
}
"""The declarations that replace the functions, by name."""

ENTRY_CALLS = frozenset(name for name in CORE_NAMES if not name.startswith(RAISER_PREFIX))
"""The names of those that entry points call; the raisers that a module needs are known later (see `Raisers`)."""

CORE_SEPARATE = "\n".join(text for name, text in SEPARATE_DECLARATIONS.items() if name in ENTRY_CALLS)
"""The declarations of these, as text."""

_NULL_DECLARED = f"func.func private @relax.check.null(i1, index) attributes {{relax.check = {_NULL_CHECK}}}"


def support_text() -> str:
    """All support functions, as a module of level V with checks that needs no entry points."""
    return "\n".join([DECLARED, _NULL_DECLARED, _TABLE, _CORE, _OBJECTS])


_OBJECT_NAMES = frozenset(_declarations(_OBJECTS))


def has_separate_support(functions: Mapping[str, func.FuncOp]) -> bool:
    """True if a module declares the common support functions instead of defining them."""
    return any(SEPARATE in function.attributes for name, function in functions.items() if name in CORE_NAMES)


def define_support(module: ir.Module, is_separate: bool) -> None:
    """Define the support functions of entry points with tensors in a module; with `is_separate`, declare them."""
    fragment = Fragment()
    fragment.define(DECLARED)
    fragment.define(_TABLE)
    if is_separate:
        for name, function in functions(module).items():
            if name in CORE_NAMES:  # a declaration without the attributes
                function.operation.erase()
        fragment.define(CORE_SEPARATE)
    else:
        fragment.define(_CORE)
    fragment.splice(module)


def define_object_support(module: ir.Module) -> None:
    """Define the support functions that a module declares and `define_support` does not define."""
    if any(symbol_name(op) in _OBJECT_NAMES and is_declaration(op) for op in module.body.operations):
        fragment = Fragment()
        fragment.define(DECLARED)
        declared = _declarations(_CORE)
        fragment.define("\n".join(declared[name] for name in declared if name in ENTRY_CALLS))
        fragment.define(_NULL_DECLARED)
        fragment.define(_OBJECTS)
        fragment.splice(module)
