"""Non-temporal stores for results larger than the caches; an ordinary store first reads each cache line from memory.

The next reader of such a result would not find it in a cache either way. On x86 these stores are weakly ordered until
an atomic read-modify-write: the thread pool executes one when it counts finished parts.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.kernels.core import emit
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.lowering.kernels.nest.loop_nest import Access
from relax_mlir.mlir import arith, memref, vector
from relax_mlir.target import Target


def is_past_caches(target: Target, output: Access, inputs: Sequence[Access], size: Index) -> Value | None:
    """True if `size` consecutive elements are to be written by non-temporal stores; None if there are too few of them.

    The output must begin at a multiple of the vector size and must not be one of the inputs: an input is in the caches,
    from which a non-temporal store evicts it.
    """
    most = target.l3_bytes or target.l2_bytes
    bytes_ = emit.mul(size, output.bits // 8)
    if isinstance(bytes_, int) and bytes_ <= most:
        return None
    start = _address(output)
    aligned = emit.compare("eq", arith.andi(start, emit.index(target.vector_bytes - 1)), 0)
    apart = [emit.compare("ne", start, _address(x)) for x in inputs if x.is_buffer]
    return emit.all_of(aligned, emit.compare("gt", bytes_, most), *apart)


def stream(value: Value, buffer: Value, position: Sequence[Index], multiple: int) -> None:
    """Write a vector by a non-temporal store; the address is a multiple of `multiple` bytes."""
    vector.store(value, buffer, [emit.index(p) for p in position], nontemporal=True, alignment=multiple)


def _address(access: Access) -> Value:
    """The address of the first element of an operand."""
    parts = emit.metadata(access.value)
    start = memref.extract_aligned_pointer_as_index(parts.base)
    return arith.addi(start, emit.index(emit.mul(parts.offset, access.bits // 8)))
