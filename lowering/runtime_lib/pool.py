"""The memory pool of a process: code that gives out blocks and keeps those that come back.

All compiled modules of a process share one pool: results, workspaces and the memory of calls are its blocks. The pool
is a module of its own (`pool_text`, level V), whose code and state stay for good, so that a result may come back after
the code that made it is gone. `runtime/memory.py` compiles it and tells modules where it is.

A block begins with a head of 16 bytes: a word that belongs to the owner (the link of the list while the block is
free), and the number of its size class. There are `PER_DOUBLING` classes between powers of two, so that a block is
less than 25 % larger than what was asked for. Blocks of `PAGED_BYTES` and more begin with a page, those of `HUGE_BYTES`
and more with a huge one, with the advice to the kernel to use such.

One lock guards lists and counters; it is held for some ten instructions and never while the system is asked for memory.
Whoever cannot get it (after a fork, its owner may be gone) goes to the system.
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
"""What the owner of a block must leave alone: 8 bytes at offset 8; the first 8 are its own until it gives it back."""

STATE = "__relax_pool_state"

OPT_LEVEL = 0
"""LLVM's for this code: what runs often is written such that it gains nothing, and every first build waits for it."""

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
"""The 64-bit words of the state, in order; the heads of the free lists follow. The first three are pointers to the
functions: take(bytes) -> block or null, give(block), release() -> bytes freed."""


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
