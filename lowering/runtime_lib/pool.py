"""The memory pool of a process: code that allocates blocks and caches freed ones.

All compiled modules of a process share one pool: results, workspaces and the memory of calls are its blocks. The pool
is a separate module (`pool_text`, level V) that is never unloaded, so that a result may outlive the code that computed
it. `runtime/memory.py` compiles it and passes its address to modules.

A block begins with a header of 16 bytes: a word for the owner (the list link while the block is free), and the index of
its size class. There are `PER_DOUBLING` classes between powers of two, so a block is less than 25 % larger than
requested. Blocks of `PAGED_BYTES` and more are page-aligned; those of `HUGE_BYTES` and more are aligned to huge pages
and advise the kernel to use them.

One lock guards lists and counters. It is held for about ten instructions and never during a system allocation. A thread
that cannot get it (after a fork its owner may not exist) allocates from the system.
"""

from __future__ import annotations

from relax_mlir.lowering.runtime_lib.mlir_templates import fill_template

PER_DOUBLING = 4
SMALLEST_LOG = 6
CLASSES = PER_DOUBLING * (48 - SMALLEST_LOG)
HUGE_BYTES = 2 << 20
ALIGNMENT = 64
PAGE_BYTES = 4096
PAGED_BYTES = 256 << 10
ATTEMPTS = 20_000

HEAD_BYTES = 16
"""Header bytes of a block. The owner may write the first 8 until it frees the block, but not those at offset 8."""

STATE = "__relax_pool_state"

OPT_LEVEL = 0
"""LLVM's level for this code: LLVM gains nothing in its hot code, and every first build waits for it."""

FIELDS = (
    "take",
    "give",
    "release",
    "lock",
    "limit",
    "advice",
    "poison",
    "kept_bytes",
    "kept_blocks",
    "used_bytes",
    "used_blocks",
    "peak_bytes",
    "taken",
    "allocated",
    "freed",
)
"""The 64-bit words of the state, in order; the heads of the free lists follow.

The first three are pointers to the functions take(bytes) -> block or null, give(block), release() -> bytes freed.
"""


def class_bytes(number: int) -> int:
    """The size of the blocks of a class."""
    power, quarter = divmod(number, PER_DOUBLING)
    return (quarter + PER_DOUBLING + 1) << (power + SMALLEST_LOG - 2)


def size_class(size: int) -> int:
    """The class of the smallest blocks that have `size` bytes."""
    last = max(size, 128) - 1
    power = last.bit_length() - 1
    return (power - SMALLEST_LOG) * PER_DOUBLING + (last >> (power - 2)) - PER_DOUBLING


_POINTERS = 3
_TYPE = f"!llvm.struct<(array<{_POINTERS} x ptr>, array<{len(FIELDS) - _POINTERS} x i64>, array<{CLASSES} x ptr>)>"
_HEADS = 8 * len(FIELDS)


def pool_text() -> str:
    """The module of the pool, as MLIR text of level V."""
    return fill_template(
        "pool",
        {field: 8 * number for number, field in enumerate(FIELDS)},
        STATE=STATE,
        ALIGNMENT=ALIGNMENT,
        ATTEMPTS=ATTEMPTS,
        CLASSES=CLASSES,
        HEAD_BYTES=HEAD_BYTES,
        HUGE_BYTES=HUGE_BYTES,
        PAGED_BYTES=PAGED_BYTES,
        PAGE_BYTES=PAGE_BYTES,
        PER_DOUBLING=PER_DOUBLING,
        PER_DOUBLING_AND_ONE=PER_DOUBLING + 1,
        first_class=PER_DOUBLING * SMALLEST_LOG + PER_DOUBLING,
        first_shift=SMALLEST_LOG - 2,
        free_lists=_HEADS,
        state_type=_TYPE,
    )
