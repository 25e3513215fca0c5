"""Additions to a library's own code: pools, CPU check, start code, sections of weights and metadata."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from relax_mlir.export.compiled_code import PAGE_BYTES
from relax_mlir.export.metadata import SECTION
from relax_mlir.lowering.base import support
from relax_mlir.lowering.base.module_parts import FunctionCpu, Part, feature_text
from relax_mlir.lowering.base.signature import (
    CONSTANTS_ADDRESS,
    ENTRY_PREFIX,
    MEMORY_ADDRESS,
    PROFILE_ADDRESS,
    THREADS_ADDRESS,
)
from relax_mlir.lowering.llvm import cross_compile
from relax_mlir.lowering.llvm.cross_compile import llvm_ir
from relax_mlir.lowering.runtime_lib.library import (
    CPU_WORDS,
    PROFILE_FUNCTION,
    START,
    WEIGHTS,
    LibraryLevel,
    LibrarySettings,
    WeightsFile,
    code_name,
    level_suffix,
    library_text,
)
from relax_mlir.runtime import memory, threads
from relax_mlir.runtime.compile_units import lowered_part
from relax_mlir.runtime.process_codegen import object_of, part_of
from relax_mlir.target import Target, host_flags

# The check that the CPU has the features that a library's code uses.
#
# The features are bits of 32-bit words as ``cpuid`` returns them, or, on AArch64, as Linux does.


_LEAF1_ECX, _LEAF7_EBX, _LEAF7_ECX, _LEAF7_EDX, _LEAF7_1_EAX, _EXTENDED_ECX, _XCR0 = range(7)
COUNT = 7

_BITS: dict[str, tuple[int, int]] = {
    "ssse3": (_LEAF1_ECX, 9),
    "fma": (_LEAF1_ECX, 12),
    "cx16": (_LEAF1_ECX, 13),
    "sse4_1": (_LEAF1_ECX, 19),
    "sse4_2": (_LEAF1_ECX, 20),
    "movbe": (_LEAF1_ECX, 22),
    "popcnt": (_LEAF1_ECX, 23),
    "avx": (_LEAF1_ECX, 28),
    "f16c": (_LEAF1_ECX, 29),
    "bmi1": (_LEAF7_EBX, 3),
    "avx2": (_LEAF7_EBX, 5),
    "bmi2": (_LEAF7_EBX, 8),
    "avx512f": (_LEAF7_EBX, 16),
    "avx512dq": (_LEAF7_EBX, 17),
    "avx512ifma": (_LEAF7_EBX, 21),
    "avx512cd": (_LEAF7_EBX, 28),
    "avx512bw": (_LEAF7_EBX, 30),
    "avx512vl": (_LEAF7_EBX, 31),
    "avx512vbmi": (_LEAF7_ECX, 1),
    "avx512_vbmi2": (_LEAF7_ECX, 6),
    "gfni": (_LEAF7_ECX, 8),
    "vaes": (_LEAF7_ECX, 9),
    "vpclmulqdq": (_LEAF7_ECX, 10),
    "avx512_vnni": (_LEAF7_ECX, 11),
    "avx512_bitalg": (_LEAF7_ECX, 12),
    "avx512_vpopcntdq": (_LEAF7_ECX, 14),
    "amx_bf16": (_LEAF7_EDX, 22),
    "avx512_fp16": (_LEAF7_EDX, 23),
    "amx_tile": (_LEAF7_EDX, 24),
    "amx_int8": (_LEAF7_EDX, 25),
    "avx_vnni": (_LEAF7_1_EAX, 4),
    "avx512_bf16": (_LEAF7_1_EAX, 5),
    "avx_ifma": (_LEAF7_1_EAX, 23),
    "abm": (_EXTENDED_ECX, 5),
}
"""Features by Linux's names, each with its word and bit (Intel's manual, CPUID; AMD's for the extended leaf)."""

_HWCAP, _HWCAP2 = range(2)
_AT_HWCAP, _AT_HWCAP2 = 16, 26

_ARM_BITS: dict[str, tuple[int, int]] = {
    "asimd": (_HWCAP, 1),
    "asimdhp": (_HWCAP, 10),
    "asimddp": (_HWCAP, 20),
    "sve": (_HWCAP, 22),
    "bf16": (_HWCAP2, 14),
}
"""On AArch64: features by Linux's names, in the words that Linux passes to a process (``getauxval``)."""

_ALSO = {
    "sse4_1": ("ssse3", "cx16", "sse4_2", "popcnt"),
    "avx2": ("bmi1", "bmi2", "abm", "movbe"),
    "avx512bw": ("avx512cd",),
}
"""Further features that LLVM uses, which all CPUs with a feature, or of the levels x86-64-v2 to v4, have."""

_SYSTEM = {"avx": 0x6, "avx512f": 0xE6, "amx_tile": 0x60000}
"""The registers that the system must save for a feature, as bits of XCR0."""


def needed_words(target: Target, host: Collection[str]) -> list[int]:
    """The bits that each word must contain for the code of a target; `host`: all features of the compiling machine.

    Code for the CPU of the host may use any of them.
    """
    if target.architecture == "aarch64":
        words = [0] * COUNT
        for name in target.features:
            word, bit = _ARM_BITS[name]
            words[word] |= 1 << bit
        return words
    names = set(target.features)
    if target.cpu == "native":
        gone = target.known_features - target.features
        names |= {name for name in _BITS if name in host} - gone
    names |= {more for name in target.features for more in _ALSO.get(name, ())}
    words = [0] * COUNT
    for name in names:
        word, bit = _BITS[name]
        words[word] |= 1 << bit
        words[_XCR0] |= _SYSTEM.get(name, 0)
    return [word - (1 << 32) if word >= 1 << 31 else word for word in words]


def cpu_words_assembly(architecture: str) -> str:
    """The function `CPU_WORDS`, ``(uint32_t *) -> void``."""
    return _AARCH64_CPU_WORDS if architecture == "aarch64" else _X86_CPU_WORDS


_AARCH64_CPU_WORDS = f"""
    .text
    .balign 4
    .globl {CPU_WORDS}
    .hidden {CPU_WORDS}
    .type {CPU_WORDS}, %function
{CPU_WORDS}:
    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x19, x0
    stp xzr, xzr, [x19]
    str xzr, [x19, #16]
    str wzr, [x19, #24]
    mov x0, #{_AT_HWCAP}
    bl getauxval
    str w0, [x19]
    mov x0, #{_AT_HWCAP2}
    bl getauxval
    str w0, [x19, #4]
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
    .size {CPU_WORDS}, .-{CPU_WORDS}
"""

_X86_CPU_WORDS = f"""
    .text
    .globl {CPU_WORDS}
    .hidden {CPU_WORDS}
    .type {CPU_WORDS}, %function
{CPU_WORDS}:
    pushq %rbx
    pxor %xmm0, %xmm0
    movups %xmm0, (%rdi)
    movups %xmm0, 12(%rdi)
    xorl %eax, %eax
    cpuid
    movl %eax, %r8d
    movl $1, %eax
    xorl %ecx, %ecx
    cpuid
    movl %ecx, (%rdi)
    btl $27, %ecx
    jnc 1f
    xorl %ecx, %ecx
    xgetbv
    movl %eax, 24(%rdi)
1:
    cmpl $7, %r8d
    jb 2f
    movl $7, %eax
    xorl %ecx, %ecx
    cpuid
    movl %ebx, 4(%rdi)
    movl %ecx, 8(%rdi)
    movl %edx, 12(%rdi)
    testl %eax, %eax
    jz 2f
    movl $7, %eax
    movl $1, %ecx
    cpuid
    movl %eax, 16(%rdi)
2:
    movl $0x80000000, %eax
    cpuid
    cmpl $0x80000001, %eax
    jb 3f
    movl $0x80000001, %eax
    cpuid
    movl %ecx, 20(%rdi)
3:
    popq %rbx
    ret
    .size {CPU_WORDS}, .-{CPU_WORDS}
"""


# The assembly part of a library: weights and metadata as sections, and the code that runs at load.


def library_assembly(weights: str, facts: str, architecture: str, more: Mapping[str, str]) -> str:
    """The assembly text, for GNU's and LLVM's assemblers.

    Args:
        architecture: LLVM's name of the architecture.
        weights: the file of weights: they are mapped on first read, and shared by processes.
        facts: the file of metadata, which is not loaded.
        more: further sections that are not loaded: names, each with the file of its contents.
    """
    return f"""{cpu_words_assembly(architecture)}
    .section .init_array, "aw", %init_array
    .balign 8
    .quad {START}

    .section .rodata.relax_weights, "a", %progbits
    .balign {PAGE_BYTES[architecture]}
    .globl {WEIGHTS}
    .hidden {WEIGHTS}
{WEIGHTS}:
    .incbin "{weights}"

    .section {SECTION}, "", %progbits
    .incbin "{facts}"

{"".join(_section(*pair, architecture) for pair in more.items())}
    .section .note.GNU-stack, "", %progbits
"""


def _section(name: str, file: str, architecture: str) -> str:
    return f"""
    .section {name}, "", %progbits
    .balign {PAGE_BYTES[architecture]}
    .incbin "{file}"
"""


# The objects that every library has in addition to its own code: memory pool, thread pool, start code.


PLAIN = {"x86_64": "x86-64", "aarch64": "cortex-a72"}
"""For each architecture, a baseline CPU: all CPUs of the architecture have its features."""

_LINKED = (CPU_WORDS, support.POOL_STATE, support.TEAM_STATE, WEIGHTS, "pthread_atfork", "__register_atfork")
"""The symbols that the start code of a library needs at link time, in addition to those of its levels."""

_TABLES = (CONSTANTS_ADDRESS, MEMORY_ADDRESS, THREADS_ADDRESS)

_SETTINGS = LibrarySettings(
    limit_variable=memory.LIMIT_VARIABLE,
    default_limit=memory.DEFAULT_LIMIT,
    blocktime_variable=threads.BLOCKTIME_VARIABLE,
    default_blocktime=threads.DEFAULT_BLOCKTIME,
    longest_blocktime=threads.LONGEST_BLOCKTIME,
)


def start_text(
    functions: Sequence[str],
    targets: Sequence[Target],
    places: Sequence[Sequence[int]],
    weights: WeightsFile | None,
    is_profiled: bool = False,
) -> str:
    """The start module of a library as MLIR text; the arguments are those of `start_objects`."""
    levels = [
        LibraryLevel(
            tuple(own),
            tuple(needed_words(target, host_flags())),
            any(name.startswith("amx_") for name in target.features),
        )
        for target, own in zip(targets, places, strict=True)
    ]
    missing = f"this CPU lacks what the library is compiled for: {' or '.join(map(str, targets))}"
    machine = targets[0].architecture
    return library_text(
        functions,
        levels,
        machine=machine,
        missing=missing,
        weights=weights,
        settings=_SETTINGS,
        is_profiled=is_profiled,
    )


def start_objects(
    functions: Sequence[str],
    targets: Sequence[Target],
    places: Sequence[Sequence[int]],
    weights: WeightsFile | None,
    is_profiled: bool,
) -> list[bytes]:
    """Compile the start code to object files.

    Args:
        functions: names of the entry points.
        targets: the machines that the functions are compiled for, in order of preference.
        places: for each of them, the byte offsets of the constants in the weights.
        weights: their separate file; None: they are linked into the library.
        is_profiled: true: the code writes profiling records.
    """
    machine = targets[0].architecture
    entries = [*functions, *([PROFILE_FUNCTION] if is_profiled else [])]
    exported = (START, *(f"{ENTRY_PREFIX}{name}" for name in entries))
    levels = range(len(targets))
    linked = (
        *_LINKED,
        *(f"{name}{level_suffix(number)}" for number in levels for name in (*_TABLES, PROFILE_ADDRESS)),
        *(code_name(name, number) for number in levels for name in functions),
    )
    start = replace(part_of(start_text(functions, targets, places, weights, is_profiled), exported), external=linked)
    team = part_of(support.team_text(machine), (support.TEAM_STATE,))
    return [
        _object(part_of(support.pool_text(), (support.POOL_STATE,)), machine, support.OPT_LEVEL),
        _object(team, machine),
        _object(start, machine),
    ]


def _object(part: Part, machine: str, opt_level: int = 2) -> bytes:
    """An object for any CPU of an architecture: the code that checks for missing CPU features must run on all."""
    plain = Target(f"cpu -mcpu={PLAIN[machine]}")
    if machine == Target.host().architecture:
        return object_of(part, opt_level, FunctionCpu(plain.cpu, feature_text(plain)))
    module = lowered_part(part, low_precision=False)
    return cross_compile.object_file(llvm_ir(module), plain, opt_level)
