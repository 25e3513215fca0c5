"""The function that an entry point calls."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.abi.signature import Signature
from relax_mlir.mlir import func, ir


@dataclass(frozen=True)
class Callee:
    """A function that an entry point calls: its symbol and the types of its arguments and results.

    `entry`: the name of the entry point without the common prefix. `is_flat`: each tensor is passed as the address of
    its elements followed by its sizes.
    """

    name: str
    entry: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    is_flat: bool = False

    @staticmethod
    def of(function: func.FuncOp, signature: Signature) -> Callee:
        """Describe a function of the module."""
        results = [str(type) for type in function.type.results if not isinstance(type, ir.MemRefType)]
        arguments = tuple(str(type) for type in function.type.inputs)
        return Callee(function.name.value, signature.name, arguments, tuple(results))


def flat_types(rank: int) -> list[str]:
    """The types of a tensor that is passed as the address of its elements and its sizes."""
    return ["!llvm.ptr", *["i64"] * rank]
