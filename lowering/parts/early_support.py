"""The support functions that all modules need, as the first compilation unit; their source text is constant."""

from __future__ import annotations

import functools

from relax_mlir.lowering.parts.module_parts import BRANCH_OPS, Part
from relax_mlir.lowering.parts.shared_code import SUPPORT_GROUP
from relax_mlir.lowering.runtime_lib.support import CORE_NAMES, MEMORY_TABLE, SEPARATE_SUPPORT


@functools.cache
def early_support() -> Part:
    """The compilation unit; modules compiled without it declare its functions (see `EmitFFIWrappers`)."""
    return Part(
        source=SEPARATE_SUPPORT.encode(),
        exported=tuple(sorted(CORE_NAMES)),
        used_within=tuple(sorted(name for name in CORE_NAMES if SEPARATE_SUPPORT.count(f"@{name}(") > 1)),
        external=(MEMORY_TABLE,),
        group=SUPPORT_GROUP,
        ops=SEPARATE_SUPPORT.count("\n") + BRANCH_OPS * SEPARATE_SUPPORT.count("scf."),
        is_flat=False,
        all_vectors=False,
        optimised=False,
        has_checks=True,
    )
