"""Instruments around the calls of a machine, and profiles of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.arrays import to_ffi
from relax_mlir.error import expect
from relax_mlir.runtime.live_errors import keep_errors
from relax_mlir.vm.bytecode import Call
from relax_mlir.vm.code_table import Words
from relax_mlir.vm.executable import Executable

SKIP = 1
"""An instrument's result for skipping the call, which then returns None."""

GO_ON = 0
"""An instrument's result for continuing."""


@dataclass(frozen=True)
class Replace:
    """An instrument's result for replacing the value of a call."""

    value: Any


Instrument = Callable[..., Any]
"""``(function, name, before, result, *args) -> SKIP, Replace(value), or anything else to continue``."""


class Watcher:
    """Holds the current instrument. The core always calls the same function, since other threads may be in it."""

    def __init__(self) -> None:
        self.instrument: Instrument | None = None


def function_of(watcher: Watcher) -> tvm_ffi.Function:
    """Wrap the watcher for the core; a list of one value denotes `Replace`."""

    def call(*args: Any) -> Any:  # noqa: ANN401 - values of the FFI
        instrument = watcher.instrument
        answer = None if instrument is None else instrument(*args)
        if isinstance(answer, Replace):
            return [to_ffi(answer.value)]
        return SKIP if type(answer) is int and answer == SKIP else None

    return tvm_ffi.convert(keep_errors(call))


class VMProfile:
    """Call counts and times of a program while the profile was open; see `VirtualMachine.profile`.

    Times are inclusive, in seconds.
    """

    def __init__(self, executable: Executable, start: Callable[[VMProfile | None], Words]) -> None:
        from relax_mlir.vm.executable import Executable  # which imports this module

        expect("VMProfile: 'executable'", executable, Executable, "an executable of bytecode")
        self._executable, self._start = executable, start
        self._numbers = np.zeros((executable.offsets.size, 2), np.int64)

    def __enter__(self) -> VMProfile:
        self._numbers = self._start(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._numbers = self._start(None)

    @property
    def rows(self) -> list[tuple[str, int, str, int, float]]:
        """Rows of function, instruction number, callee, calls and seconds; the slowest first."""
        functions = self._executable.functions
        found = []
        for info in functions:
            for number in range(info.start, info.end):
                count, nanoseconds = (int(n) for n in self._numbers[number])
                if count:
                    call = self._executable.instruction(number)
                    assert isinstance(call, Call)
                    row = (
                        info.name,
                        number - info.start,
                        functions[call.func].name,
                        count,
                        nanoseconds * 1e-9,
                    )
                    found.append(row)
        return sorted(found, key=lambda row: -row[4])

    def __str__(self) -> str:
        lines = [f"{'function':16} {'instr':>5} {'calls':>8} {'total us':>10} {'each us':>8}  callee"]
        for function, number, callee, count, seconds in self.rows:
            total = seconds * 1e6
            lines.append(
                f"{function[:16]:16} {number:5} {count:8} {total:10.1f} {total / count:8.2f}  {callee[:26]}"
            )
        return "\n".join(lines)
