"""Entries of the function table, and the kernels of a bytecode executable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FunctionKind = Literal["packed", "vm"]

MAX_LISTED = 500
"""The maximum length in characters of a parameter list in error messages."""


@dataclass(frozen=True)
class FunctionInfo:
    """A function of the function table.

    A ``packed`` function is registered with the FFI or is a kernel of the executable. A ``vm`` function consists of the
    instructions from `start` up to, not including, `end`. Its first `num_args` registers are the parameters; it has
    `num_registers` registers in all. `param_names` are the names of all parameters, or empty.
    """

    name: str
    kind: FunctionKind = "packed"
    start: int = 0
    end: int = 0
    num_args: int = 0
    num_registers: int = 0
    param_names: tuple[str, ...] = ()

    def takes(self) -> str:
        """Describe the number of parameters for errors; a long list of names is omitted."""
        names = ", ".join(self.param_names)
        listed = f" ({names})" if 0 < len(names) <= MAX_LISTED else ""
        return f"{self.name}: takes {self.num_args} argument{'' if self.num_args == 1 else 's'}{listed}"


@dataclass(frozen=True)
class Kernels:
    """Code of prim funcs that the machine compiles when it loads the executable.

    Attributes: the module as MLIR text, and the indices of the constants that it uses.
    """

    text: str
    constants: tuple[int, ...] = ()
