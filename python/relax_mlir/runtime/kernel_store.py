"""The kernels of the library in the persistent cache, by name and target; their code is stored by unit.

A process that finds a kernel here neither emits nor lowers it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from relax_mlir.lowering.base.module_parts import FunctionCpu
from relax_mlir.lowering.kernels.library import Kernel
from relax_mlir.runtime import cache_store
from relax_mlir.runtime.cache_key import environment
from relax_mlir.runtime.compile_units import find_unit
from relax_mlir.target import Target

KERNEL_ENTRY = "kernel-"
"""The prefix of entry names."""


def load(target: Target, name: str) -> Kernel | None:
    """Return the kernel `name` for `target` with its machine code, or None if the cache has not all of it."""
    data = cache_store.load(_entry(target, name))
    if data is None:
        return None
    head = json.loads(data)
    objects = [find_unit(key, persistent=True) for key in head["units"]]
    if None in objects:
        return None
    failing, parallel = (frozenset(head[key]) for key in ("failing", "parallel"))
    code = tuple(filter(None, objects))
    return Kernel(target, b"", head["exported"], failing, parallel, tuple(head["needs"]), code)


def save(kernel: Kernel, keys: Sequence[str]) -> None:
    """Store a kernel with the keys of its units, unless it is stored."""
    entry = _entry(kernel.target, kernel.name)
    if cache_store.contains(entry):
        return
    head = {
        "exported": dict(kernel.exported),
        "failing": sorted(kernel.failing),
        "parallel": sorted(kernel.parallel),
        "needs": kernel.needs,
        "units": list(keys),
    }
    cache_store.store(entry, json.dumps(head).encode())


def _entry(target: Target, name: str) -> str:
    """Return the name of the cache entry; it depends on everything that determines the code."""
    facts = (*environment(), target.describe(), str(target), str(FunctionCpu.of(target)), name)
    return KERNEL_ENTRY + hashlib.sha256("\0".join(facts).encode()).hexdigest()
