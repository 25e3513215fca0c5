"""The check that the CPU has the features that a library's code uses.

The features are bits of 32-bit words as ``cpuid`` returns them, or, on AArch64, as Linux does."""

from __future__ import annotations

from collections.abc import Collection

from relax_mlir.lowering.runtime_lib.library import CPU_WORDS
from relax_mlir.target import Target

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
    if architecture == "aarch64":
        return f"""
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
    return f"""
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
