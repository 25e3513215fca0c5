"""The core of the virtual machine: a loop over instructions, in generated code.

A *machine* is one block of memory, which the core frees with the last reference to it: a header (`HEAD`), tables, code.
The runtime (`relax_mlir.vm.machine`) fills it in. Functions of the machine have descriptors (`DESCRIPTOR`); the FFI
function of a descriptor holds a reference to the machine.

Registers, arguments and constants are FFI values (TVMFFIAny, 16 bytes). Arguments of calls are borrowed; parameters and
results are reference-counted. Frames are in heap chunks of the machine, so calls between its functions take no C stack.
Calls that come back from packed functions and closures do, and are counted per thread.

Instructions are those of `relax_mlir.bytecode.instructions`, with offsets in words instead of instructions. The core
checks nothing that `relax_mlir.bytecode.verify` can check earlier.
"""

from __future__ import annotations

from relax_mlir.lowering.base.support import fill_template, set_error_text
from relax_mlir.lowering.base.unpack import OBJECT_BYTES

STATE = "__relax_vm_core"

TABLE = ("create", "release", "make_function", "store_any", "retain", "observe", "enter")
"""The functions of the core, as addresses in the table that `STATE` returns."""

HEAD = (
    *("code", "functions", "constants", "descriptors", "stack", "max_depth", "max_args", "observer"),
    *("vm_state", "vm_state_payload", "values", "value_count", "references", "numbers", "names"),
    *("instrument", "instrument_payload", "profile", "max_frame_bytes"),
)
"""Fields of a machine's header, one word each.

`functions`, `constants` and `names` are tables of values, all within the `value_count` values at `values`. The machine
owns these, `vm_state` and `instrument`. `descriptors`: by function, null for packed ones. `numbers`: maps a word of
code to its instruction's index. `observer`: null, or `observe`, through which calls then go.
"""

DESCRIPTOR = ("machine", "start", "registers", "parameters", "name", "first", "takes")
"""Fields of a function's descriptor, one word each.

`start`: the word of its first instruction. `registers`, `parameters`: their numbers. `first`: the index of its first
instruction. `takes`: a string with the number of arguments that it takes.
"""

FRAME_HEAD = 48
CHUNK_BYTES = 1 << 16
CHUNK_HEAD = 32

COUNT_BITS = 16
"""Bits of a thread's word that count its entries into machines; the bits above are the bytes of their stacks."""

SIGNAL_INSTRUCTIONS = 32
"""Number of instructions between two reads of the clock, which decides when to check for signals (Ctrl-C)."""

SIGNAL_MILLISECONDS = 20

MAX_TRACEBACK = 16
"""Maximum number of functions of a machine, the innermost ones, in the traceback of an error."""

PLACE_BYTES = 512
"""Bytes for a line of a traceback."""

NAME_CHARS = 4000
"""Maximum number of characters of a function's name in errors, whose text is formatted on the stack."""

MAX_NESTING = 1000
"""Maximum nesting depth of machines on a thread, through packed functions and closures."""

STACK_RESERVE = 256 * 1024
"""Bytes of the C stack that calls into machines leave for their callees."""

ENTER_BYTES = 4096
"""Maximum bytes of the C stack that a call into a machine takes."""

CALL, RET, GOTO, IF = 1, 2, 3, 4
VOID = 1 << 54
VM = VOID + 1


def stack_text() -> str:
    """The functions that determine how much of the C stack is left, as MLIR text of level V."""
    return fill_template("vm_stack", STACK_RESERVE=STACK_RESERVE)


def vm_core_text() -> str:
    """The module of the core, as MLIR text of level V."""
    values = {
        **{name: 8 * number for number, name in enumerate(HEAD)},
        **{name: 8 * number for number, name in enumerate(DESCRIPTOR)},
        "STATE": STATE,
        "CALL": CALL,
        "CHUNK_BYTES": CHUNK_BYTES,
        "CHUNK_HEAD": CHUNK_HEAD,
        "COUNT_BITS": COUNT_BITS,
        "COUNT_MASK": (1 << COUNT_BITS) - 1,
        "ENTER_BYTES": ENTER_BYTES,
        "FRAME_HEAD": FRAME_HEAD,
        "NAME_CHARS": NAME_CHARS,
        "GOTO": GOTO,
        "IF": IF,
        "MAX_NESTING": MAX_NESTING,
        "MAX_TRACEBACK": MAX_TRACEBACK,
        "PLACE_BYTES": PLACE_BYTES,
        "PLACE_LENGTH": PLACE_BYTES - 1,
        "RET": RET,
        "SIGNAL_INSTRUCTIONS": SIGNAL_INSTRUCTIONS,
        "SIGNAL_MILLISECONDS": SIGNAL_MILLISECONDS,
        "UPDATE_BACKTRACE": OBJECT_BYTES + 48,
        "VM": VM,
        "VOID": VOID,
        "set_error": set_error_text("llvm.func internal @set_error", "llvm.return"),
    }
    return stack_text() + "".join(
        fill_template(part, values) for part in ("vm_core", "vm_machines", "vm_observed", "vm_places")
    )
