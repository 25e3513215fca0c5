"""What the function table says of a function, and kernels that a bytecode executable carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FunctionKind = Literal["packed", "vm"]

MAX_LISTED = 500
"""Characters of the names of parameters, so that errors list them."""


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

    def takes(self) -> str:
        """How many arguments the function takes, as errors say it; a long list of names is left out."""
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
