"""What an entry point calls."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.abi.signature import Signature
from relax_mlir.mlir import func, ir


@dataclass(frozen=True)
class Callee:
    """A function that an entry point calls: its symbol, and the types of what it takes and gives back.

    `entry`: the name of the entry point, without the prefix of all of them; `is_flat`: tensors are the addresses of
    their elements and their sizes.
    """

    name: str
    entry: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    is_flat: bool = False

    @staticmethod
    def of(function: func.FuncOp, signature: Signature) -> Callee:
        """A function of the module."""
        results = [str(type) for type in function.type.results if not isinstance(type, ir.MemRefType)]
        arguments = tuple(str(type) for type in function.type.inputs)
        return Callee(function.name.value, signature.name, arguments, tuple(results))


def flat_types(rank: int) -> list[str]:
    """The types of a tensor that is given as the address of its elements and its sizes."""
    return ["!llvm.ptr", *["i64"] * rank]
