"""Which functions are the same in every module: those of kernels that depend on the target alone, and the support
functions."""

from __future__ import annotations

import re

from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import symbol_name

MODULE_SPECIFIC = ".epilogue_"
"""In the name of a function that begins like a kernel's, but belongs to a module."""

SUPPORT_GROUP = "relax.rt"
_SUPPORT = re.compile(r"relax\.rt\.(?!raise\.)")
"""Support functions, but for those that raise the errors of a module."""

_KERNEL = re.compile(r"relax\.(gemm|attention)\.(bf16|f16|f32|f64)(\.f32)?")
_GROUPS = {
    "gemm": (
        ("tile", re.compile(r"\.(tile_|block\b)")),
        ("plain_b", re.compile(r"\.(rows_|dots\b|pack_b\b)")),
        ("pack", re.compile(r"\.pack_")),
        ("unpacked", re.compile(r"\.(unpacked_|outer\b)")),
        ("panels", re.compile(r"\.panels\b")),
        ("product", re.compile("")),
    ),
    "attention": (("", re.compile("")),),
}
"""For each kernel the groups of its functions, each with what follows the kernel's name in theirs; the first counts.

`plain_b` is what products read a B by that is not packed beforehand. It takes no memory, so it leaves its modules
early (see `CutKernels`), and what calls it is compiled beside it.
"""


def shared_group(name: str) -> str | None:
    """The group of functions to which a function of this name belongs; None if it depends on its module.

    What a module needs of a group is, but for few variants, the same in all modules.
    """
    if _SUPPORT.match(name):
        return SUPPORT_GROUP
    kernel = _KERNEL.match(name)
    if kernel is None or MODULE_SPECIFIC in name:
        return None
    rest = name[kernel.end() :]
    group = next(group for group, pattern in _GROUPS[kernel[1]] if pattern.match(rest))
    return f"{kernel[0]} {group}".rstrip()


def own_ops(module: ir.Module, *names: str) -> list[ir.Operation]:
    """The ops called so, in order, but for those in functions that are the same in every module.

    For passes that have nothing to do in those: they hold most ops of a small module.
    """
    tops = [top.operation for top in module.body.operations if shared_group(symbol_name(top)) is None]
    return [op for top in tops for op in ops_of(top, *names)]
