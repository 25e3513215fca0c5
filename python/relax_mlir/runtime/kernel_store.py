"""The machine code of kernels of the library in the persistent cache, by name and target.

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
from relax_mlir.runtime.elf import LoadedObject, ObjectFileError
from relax_mlir.target import Target

KERNEL_ENTRY = "kernel-"
"""The prefix of entry names."""

_HEAD = 8
"""The bytes of the size of the description, which comes first."""


def load(target: Target, name: str) -> Kernel | None:
    """Return the kernel `name` for `target` with its machine code, or None if the cache has none."""
    entry = _entry(target, name)
    data = cache_store.load(entry)
    if data is None:
        return None
    start = _HEAD + int.from_bytes(data[:_HEAD], "little")
    head = json.loads(data[_HEAD:start])
    objects = []
    for size in head["sizes"]:
        objects.append(data[start : start + size])
        start += size
    try:
        for code in objects:
            LoadedObject(code)
    except ObjectFileError as error:
        cache_store.drop(entry, f"it cannot be loaded ({error})")
        return None
    failing, parallel = (frozenset(head[key]) for key in ("failing", "parallel"))
    return Kernel(target, b"", head["exported"], failing, parallel, tuple(head["needs"]), tuple(objects))


def save(kernel: Kernel, objects: Sequence[bytes]) -> None:
    """Store a kernel with the object files of its units, unless it is stored."""
    entry = _entry(kernel.target, kernel.name)
    if cache_store.contains(entry):
        return
    head = {
        "exported": dict(kernel.exported),
        "failing": sorted(kernel.failing),
        "parallel": sorted(kernel.parallel),
        "needs": kernel.needs,
        "sizes": [len(code) for code in objects],
    }
    text = json.dumps(head).encode()
    cache_store.store(entry, b"".join([len(text).to_bytes(_HEAD, "little"), text, *objects]))


def _entry(target: Target, name: str) -> str:
    """Return the name of the cache entry; it depends on everything that determines the code."""
    facts = (*environment(), target.describe(), str(target), str(FunctionCpu.of(target)), name)
    return KERNEL_ENTRY + hashlib.sha256("\0".join(facts).encode()).hexdigest()
