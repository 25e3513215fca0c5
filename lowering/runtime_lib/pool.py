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


def _field(name: str, field: str) -> str:
    """Text: `%name` is the address of a field, given `%state`."""
    return f"%{name} = llvm.getelementptr %state[{8 * FIELDS.index(field)}] : (!llvm.ptr) -> !llvm.ptr, i8"


def _add(field: str, amount: str, op: str = "addi") -> str:
    """Text: add the i64 `amount` to a field (or subtract it), given `%state`, while the lock is held."""
    return f"""
    {_field(f"p_{field}", field)}
    %old_{field} = llvm.load %p_{field} : !llvm.ptr -> i64
    %new_{field} = arith.{op} %old_{field}, {amount} : i64
    llvm.store %new_{field}, %p_{field} : i64, !llvm.ptr"""


_USE = f"""
    {_add("taken", "%one")}
    {_add("used_bytes", "%size")}
    {_add("used_blocks", "%one")}
    {_field("p_peak", "peak_bytes")}
    %old_peak = llvm.load %p_peak : !llvm.ptr -> i64
    %new_peak = arith.maxui %old_peak, %new_used_bytes : i64
    llvm.store %new_peak, %p_peak : i64, !llvm.ptr"""

# LLVM's attributes of what runs often, and of what runs when the pool has no block, or no room.
_IN_LINE = ' attributes {passthrough = ["alwaysinline"]}'
_OUT_OF_LINE = ' attributes {passthrough = ["optnone", "noinline"]}'

_CONSTANTS = """
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %true = arith.constant true
  %false = arith.constant false"""


def pool_text() -> str:
    """The module of the pool, as MLIR text of level V."""
    return f"""
llvm.func @posix_memalign(!llvm.ptr, i64, i64) -> i32
llvm.func @madvise(!llvm.ptr, i64, i32) -> i32
llvm.func @free(!llvm.ptr)
llvm.func @sched_yield() -> i32

llvm.mlir.global internal @state() : {_TYPE} {{
  %0 = llvm.mlir.zero : {_TYPE}
  %take = llvm.mlir.addressof @take : !llvm.ptr
  %give = llvm.mlir.addressof @give : !llvm.ptr
  %release = llvm.mlir.addressof @release : !llvm.ptr
  %1 = llvm.insertvalue %take, %0[0, 0] : {_TYPE}
  %2 = llvm.insertvalue %give, %1[0, 1] : {_TYPE}
  %3 = llvm.insertvalue %release, %2[0, 2] : {_TYPE}
  llvm.return %3 : {_TYPE}
}}

llvm.func @{STATE}() -> !llvm.ptr {{
  %state = llvm.mlir.addressof @state : !llvm.ptr
  llvm.return %state : !llvm.ptr
}}

// Whether the lock is held now; it is not where its owner keeps it for ever.
llvm.func internal @lock() -> i1{_IN_LINE} {{{_CONSTANTS}
  {_field("word", "lock")}
  %first = llvm.atomicrmw xchg %word, %one acquire : !llvm.ptr, i64
  %free = arith.cmpi eq, %first, %zero : i64
  %held = scf.if %free -> i1 {{
    scf.yield %true : i1
  }} else {{
    %mine = llvm.call @wait() : () -> i1
    scf.yield %mine : i1
  }}
  llvm.return %held : i1
}}

// The lock is somebody else's: try again, but not for ever.
llvm.func internal @wait() -> i1{_OUT_OF_LINE} {{{_CONSTANTS}
  %attempts = arith.constant {ATTEMPTS} : i64
  {_field("word", "lock")}
  %last, %left = scf.while (%old = %one, %n = %attempts) : (i64, i64) -> (i64, i64) {{
    %taken = arith.cmpi ne, %old, %zero : i64
    %some = arith.cmpi ne, %n, %zero : i64
    %again = arith.andi %taken, %some : i1
    scf.condition(%again) %old, %n : i64, i64
  }} do {{
  ^bb0(%old: i64, %n: i64):
    %rc = llvm.call @sched_yield() : () -> i32
    %next = llvm.atomicrmw xchg %word, %one acquire : !llvm.ptr, i64
    %rest = arith.subi %n, %one : i64
    scf.yield %next, %rest : i64, i64
  }}
  %mine = arith.cmpi eq, %last, %zero : i64
  llvm.return %mine : i1
}}

llvm.func internal @unlock(){_IN_LINE} {{{_CONSTANTS}
  {_field("word", "lock")}
  llvm.store %zero, %word atomic release {{alignment = 8 : i64}} : i64, !llvm.ptr
  llvm.return
}}

// The class of {PER_DOUBLING} per doubling that holds `bytes`, and the size of its blocks.
llvm.func internal @class_of(%bytes: i64) -> i64{_IN_LINE} {{
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %least = arith.constant 128 : i64
  %top = arith.constant 63 : i64
  %per = arith.constant {PER_DOUBLING} : i64
  %base = arith.constant {PER_DOUBLING * SMALLEST_LOG + PER_DOUBLING} : i64
  %enough = arith.maxui %bytes, %least : i64
  %last = arith.subi %enough, %one : i64
  %zeros = math.ctlz %last : i64
  %power = arith.subi %top, %zeros : i64
  %shift = arith.subi %power, %two : i64
  %quarter = arith.shrui %last, %shift : i64
  %scaled = arith.muli %power, %per : i64
  %sum = arith.addi %scaled, %quarter : i64
  %class = arith.subi %sum, %base : i64
  llvm.return %class : i64
}}

llvm.func internal @bytes_of(%class: i64) -> i64{_IN_LINE} {{
  %per = arith.constant {PER_DOUBLING} : i64
  %more = arith.constant {PER_DOUBLING + 1} : i64
  %least = arith.constant {SMALLEST_LOG - 2} : i64
  %power = arith.divui %class, %per : i64
  %quarter = arith.remui %class, %per : i64
  %factor = arith.addi %quarter, %more : i64
  %shift = arith.addi %power, %least : i64
  %bytes = arith.shli %factor, %shift : i64
  llvm.return %bytes : i64
}}

// A block of the system, or null.
llvm.func internal @system(%size: i64) -> !llvm.ptr{_OUT_OF_LINE} {{{_CONSTANTS}
  %huge = arith.constant {HUGE_BYTES} : i64
  %paged = arith.constant {PAGED_BYTES} : i64
  %small = arith.constant {ALIGNMENT} : i64
  %page = arith.constant {PAGE_BYTES} : i64
  %pages = arith.constant -{HUGE_BYTES} : i64
  %none = arith.constant 0 : i32
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  %large = arith.cmpi uge, %size, %huge : i64
  %some_pages = arith.cmpi uge, %size, %paged : i64
  %moderate = arith.select %some_pages, %page, %small : i64
  %alignment = arith.select %large, %huge, %moderate : i64
  %rc = llvm.call @posix_memalign(%out, %alignment, %size) : (!llvm.ptr, i64, i64) -> i32
  %fine = arith.cmpi eq, %rc, %none : i32
  %block = llvm.load %out : !llvm.ptr -> !llvm.ptr
  {_field("p_advice", "advice")}
  %advice = llvm.load %p_advice : !llvm.ptr -> i64
  %advised = arith.cmpi ne, %advice, %zero : i64
  %both = arith.andi %large, %advised : i1
  %do = arith.andi %both, %fine : i1
  scf.if %do {{
    %whole = arith.andi %size, %pages : i64
    %word = arith.trunci %advice : i64 to i32
    %ignored = llvm.call @madvise(%block, %whole, %word) : (!llvm.ptr, i64, i32) -> i32
  }}
  %result = llvm.select %fine, %block, %null : i1, !llvm.ptr
  llvm.return %result : !llvm.ptr
}}

// With `poison`, everything behind the head becomes NaN (and -1).
llvm.func internal @spoil(%block: !llvm.ptr, %size: i64){_IN_LINE} {{{_CONSTANTS}
  {_field("p_poison", "poison")}
  %poison = llvm.load %p_poison : !llvm.ptr -> i64
  %on = arith.cmpi ne, %poison, %zero : i64
  scf.if %on {{
    %head = arith.constant {HEAD_BYTES} : i64
    %ones = arith.constant -1 : i8
    %rest = arith.subi %size, %head : i64
    %start = llvm.getelementptr %block[{HEAD_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
    "llvm.intr.memset"(%start, %ones, %rest) <{{isVolatile = false}}> : (!llvm.ptr, i8, i64) -> ()
  }}
  llvm.return
}}

// A block for `bytes` (which must include its head, and be at most 2^47), or null if there is no memory.
llvm.func internal @take(%bytes: i64) -> !llvm.ptr {{{_CONSTANTS}
  %class = llvm.call @class_of(%bytes) : (i64) -> i64
  %size = llvm.call @bytes_of(%class) : (i64) -> i64
  %heads = llvm.getelementptr %state[{_HEADS}] : (!llvm.ptr) -> !llvm.ptr, i8
  %list = llvm.getelementptr %heads[%class] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %locked = llvm.call @lock() : () -> i1
  %kept = scf.if %locked -> !llvm.ptr {{
    %head = llvm.load %list : !llvm.ptr -> !llvm.ptr
    %some = llvm.icmp "ne" %head, %null : !llvm.ptr
    scf.if %some {{
      %next = llvm.load %head : !llvm.ptr -> !llvm.ptr
      llvm.store %next, %list : !llvm.ptr, !llvm.ptr
      {_add("kept_bytes", "%size", "subi")}
      {_add("kept_blocks", "%one", "subi")}
      {_USE}
    }}
    llvm.call @unlock() : () -> ()
    scf.yield %head : !llvm.ptr
  }} else {{
    scf.yield %null : !llvm.ptr
  }}
  %found = llvm.icmp "ne" %kept, %null : !llvm.ptr
  %block = scf.if %found -> !llvm.ptr {{
    scf.yield %kept : !llvm.ptr
  }} else {{
    %fresh = llvm.call @fresh(%class, %size) : (i64, i64) -> !llvm.ptr
    scf.yield %fresh : !llvm.ptr
  }}
  %usable = llvm.icmp "ne" %block, %null : !llvm.ptr
  scf.if %usable {{
    llvm.call @spoil(%block, %size) : (!llvm.ptr, i64) -> ()
  }}
  llvm.return %block : !llvm.ptr
}}

// A new block; where the system has none left, what is kept goes first.
llvm.func internal @fresh(%class: i64, %size: i64) -> !llvm.ptr{_OUT_OF_LINE} {{{_CONSTANTS}
  %first = llvm.call @system(%size) : (i64) -> !llvm.ptr
  %got = llvm.icmp "ne" %first, %null : !llvm.ptr
  %block = scf.if %got -> !llvm.ptr {{
    scf.yield %first : !llvm.ptr
  }} else {{
    %freed = llvm.call @release() : () -> i64
    %second = llvm.call @system(%size) : (i64) -> !llvm.ptr
    scf.yield %second : !llvm.ptr
  }}
  %some = llvm.icmp "ne" %block, %null : !llvm.ptr
  scf.if %some {{
    %at = llvm.getelementptr %block[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %class, %at : i64, !llvm.ptr
    %locked = llvm.call @lock() : () -> i1
    scf.if %locked {{
      {_USE}
      {_add("allocated", "%one")}
      llvm.call @unlock() : () -> ()
    }}
  }}
  llvm.return %block : !llvm.ptr
}}

// Keep a block, as long as the limit allows: what is kept makes room for it. Also the deleter of results.
llvm.func internal @give(%block: !llvm.ptr) {{{_CONSTANTS}
  %at = llvm.getelementptr %block[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %class = llvm.load %at : !llvm.ptr -> i64
  %size = llvm.call @bytes_of(%class) : (i64) -> i64
  llvm.call @spoil(%block, %size) : (!llvm.ptr, i64) -> ()
  %done = llvm.call @keep(%block, %class, %size, %one) : (!llvm.ptr, i64, i64, i64) -> i1
  scf.if %done {{
  }} else {{
    llvm.call @surplus(%block, %class, %size) : (!llvm.ptr, i64, i64) -> ()
  }}
  llvm.return
}}

// Put a block on its list, if it fits into the limit; `used` is 1 if it counts as used so far.
llvm.func internal @keep(%block: !llvm.ptr, %class: i64, %size: i64, %used: i64) -> i1{_IN_LINE} {{{_CONSTANTS}
  %heads = llvm.getelementptr %state[{_HEADS}] : (!llvm.ptr) -> !llvm.ptr, i8
  %list = llvm.getelementptr %heads[%class] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %locked = llvm.call @lock() : () -> i1
  %done = scf.if %locked -> i1 {{
    %bytes = arith.muli %size, %used : i64
    {_add("used_bytes", "%bytes", "subi")}
    {_add("used_blocks", "%used", "subi")}
    {_field("p_limit", "limit")}
    %limit = llvm.load %p_limit : !llvm.ptr -> i64
    {_field("p_sum", "kept_bytes")}
    %kept = llvm.load %p_sum : !llvm.ptr -> i64
    %sum = arith.addi %kept, %size : i64
    %fits = arith.cmpi ule, %sum, %limit : i64
    scf.if %fits {{
      {_add("kept_bytes", "%size")}
      {_add("kept_blocks", "%one")}
      %next = llvm.load %list : !llvm.ptr -> !llvm.ptr
      llvm.store %next, %block : !llvm.ptr, !llvm.ptr
      llvm.store %block, %list : !llvm.ptr, !llvm.ptr
    }}
    llvm.call @unlock() : () -> ()
    scf.yield %fits : i1
  }} else {{
    scf.yield %false : i1
  }}
  llvm.return %done : i1
}}

// A block for which there is no room: keep it instead of all others, or free it if it is larger than the limit.
llvm.func internal @surplus(%block: !llvm.ptr, %class: i64, %size: i64){_OUT_OF_LINE} {{
  {_CONSTANTS}
  {_field("p_limit", "limit")}
  %limit = llvm.load %p_limit : !llvm.ptr -> i64
  %fits = arith.cmpi ule, %size, %limit : i64
  %done = scf.if %fits -> i1 {{
    %freed = llvm.call @release() : () -> i64
    %kept = llvm.call @keep(%block, %class, %size, %zero) : (!llvm.ptr, i64, i64, i64) -> i1
    scf.yield %kept : i1
  }} else {{
    scf.yield %false : i1
  }}
  scf.if %done {{
  }} else {{
    llvm.call @free(%block) : (!llvm.ptr) -> ()
    %locked = llvm.call @lock() : () -> i1
    scf.if %locked {{
      {_add("freed", "%one")}
      llvm.call @unlock() : () -> ()
    }}
  }}
  llvm.return
}}

// Free all that is kept; the bytes of it.
llvm.func internal @release() -> i64{_OUT_OF_LINE} {{{_CONSTANTS}
  %classes = arith.constant {CLASSES} : i64
  %heads = llvm.getelementptr %state[{_HEADS}] : (!llvm.ptr) -> !llvm.ptr, i8
  %total = scf.for %class = %zero to %classes step %one iter_args(%sum = %zero) -> (i64) : i64 {{
    %list = llvm.getelementptr %heads[%class] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    %size = llvm.call @bytes_of(%class) : (i64) -> i64
    %locked = llvm.call @lock() : () -> i1
    %chain = scf.if %locked -> !llvm.ptr {{
      %head = llvm.load %list : !llvm.ptr -> !llvm.ptr
      llvm.store %null, %list : !llvm.ptr, !llvm.ptr
      llvm.call @unlock() : () -> ()
      scf.yield %head : !llvm.ptr
    }} else {{
      scf.yield %null : !llvm.ptr
    }}
    %end, %n = scf.while (%block = %chain, %count = %zero) : (!llvm.ptr, i64) -> (!llvm.ptr, i64) {{
      %more = llvm.icmp "ne" %block, %null : !llvm.ptr
      scf.condition(%more) %block, %count : !llvm.ptr, i64
    }} do {{
    ^bb0(%block: !llvm.ptr, %count: i64):
      %next = llvm.load %block : !llvm.ptr -> !llvm.ptr
      llvm.call @free(%block) : (!llvm.ptr) -> ()
      %up = arith.addi %count, %one : i64
      scf.yield %next, %up : !llvm.ptr, i64
    }}
    %bytes = arith.muli %n, %size : i64
    %some = arith.cmpi ne, %n, %zero : i64
    scf.if %some {{
      %again = llvm.call @lock() : () -> i1
      scf.if %again {{
        {_add("kept_bytes", "%bytes", "subi")}
        {_add("kept_blocks", "%n", "subi")}
        {_add("freed", "%n")}
        llvm.call @unlock() : () -> ()
      }}
    }}
    %more = arith.addi %sum, %bytes : i64
    scf.yield %more : i64
  }}
  llvm.return %total : i64
}}
"""
