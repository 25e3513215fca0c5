"""Provenance hashes (seals), which distinguish prim funcs of the lowering from those of users in parsed modules.

`relax.kernel` and `relax.arg_reduce` state the semantics of a body, which a kernel may then replace;
`relax.scheduled_from` states that a body reads and writes the same elements as another one. These claims are trusted
only for bodies created by this project, which carry a seal: a digest of the function. A pass that changes the body
invalidates it.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from relax_mlir.dialects.attributes import (
    ARG_REDUCE,
    EPILOGUE,
    KERNEL,
    KERNEL_ATTRS,
    KERNEL_INPUTS,
    KERNEL_SEAL,
    PROLOGUE,
    SCHEDULED_FROM,
)
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir

CLAIMS = (KERNEL, KERNEL_ATTRS, KERNEL_INPUTS, KERNEL_SEAL, SCHEDULED_FROM)
"""Attributes of prim funcs that make claims about the body."""
OP_CLAIMS = (ARG_REDUCE, PROLOGUE, EPILOGUE)
"""Attributes of ops in prim funcs that make such claims."""
_NAME = re.compile(r"sym_name = \"[^\"]*\"")


def claims(function: Any) -> list[str]:  # noqa: ANN401 - a view of a function of any dialect
    """The attributes of a prim func and its ops that make claims about its body, without the seal."""
    own = [name for name in CLAIMS if name != KERNEL_SEAL and name in function.attributes]
    inner = [name for op in ops_of(function.operation) for name in OP_CLAIMS if name in op.attributes]
    return [*own, *dict.fromkeys(inner)]


def seal(function: Any) -> None:  # noqa: ANN401 - see `claims`
    """Seal a prim func of the lowering, if it makes claims."""
    if claims(function):
        function.attributes[KERNEL_SEAL] = ir.StringAttr.get(_digest(function))


def is_sealed(function: Any) -> bool:  # noqa: ANN401 - see `claims`
    """True if a prim func is unchanged since the lowering created it."""
    if KERNEL_SEAL not in function.attributes:
        return False
    given = function.attributes[KERNEL_SEAL]
    return isinstance(given, ir.StringAttr) and given.value == _digest(function)


def inherit_seal(function: Any, other: Any) -> None:  # noqa: ANN401 - see `claims`
    """Seal a function derived from the prim func `other`, if that is sealed; an invalid seal is copied unchanged."""
    if is_sealed(other):
        seal(function)
    elif KERNEL_SEAL in other.attributes:
        function.attributes[KERNEL_SEAL] = other.attributes[KERNEL_SEAL]


def remove_claims(function: Any) -> None:  # noqa: ANN401 - see `claims`
    """Remove all claims of a prim func, so that only its body defines its semantics."""
    for name in CLAIMS:
        if name in function.attributes:
            del function.attributes[name]
    for op in ops_of(function.operation):
        for name in OP_CLAIMS:
            if name in op.attributes:
                del op.attributes[name]


def _digest(function: Any) -> str:  # noqa: ANN401 - see `claims`
    """The digest of everything except the name and the locations."""
    given = function.attributes.get(KERNEL_SEAL)
    if given is not None:
        del function.attributes[KERNEL_SEAL]
    text = function.operation.get_asm(print_generic_op_form=True, use_local_scope=True)
    if given is not None:
        function.attributes[KERNEL_SEAL] = given
    return hashlib.sha256(_NAME.sub("", text).encode()).hexdigest()[:16]
