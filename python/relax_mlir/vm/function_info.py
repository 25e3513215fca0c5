"""What the function table says of a function, and kernels that a bytecode executable carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FunctionKind = Literal["packed", "vm"]


@dataclass(frozen=True)
class FunctionInfo:
    """A function of the function table.

    A ``packed`` function is registered with the FFI, or one of the executable's kernels. A ``vm`` function is
    instructions `start` to `end` (without `end`) of the executable; it has `num_args` parameters, which are its first
    registers, and `num_registers` registers in all. `param_names` are those of all parameters, or empty.
    """

    name: str
    kind: FunctionKind = "packed"
    start: int = 0
    end: int = 0
    num_args: int = 0
    num_registers: int = 0
    param_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kernels:
    """Code of prim funcs that the machine compiles when it loads the executable.

    Attributes: the module as MLIR text, and the indices of the constants that it uses.
    """

    text: str
    constants: tuple[int, ...] = ()
