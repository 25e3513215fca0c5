"""Every op on arrays without elements and with a dimension of a million millions, in a child process.

``python empty_arrays.py MODE:GROUP ...`` forks for each group: it builds the uses of the group, calls each with a time
limit, which ends the process, and compares shape and elements with NumPy on arrays that are small in that dimension.
Each case is announced by a line before it runs; then a line has the number of cases per outcome, and
``ended MODE:GROUP STATUS`` the exit status of the group's process (negative: by a signal).
"""

from __future__ import annotations

import itertools
import os
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import relax_mlir as rx
import sweep
import tvm_ffi
from empty_programs import HUGE, SECONDS
from every_op import FEW, SCALAR, THOROUGH, Array, specs
from reference_values import plain
from relax_mlir.error import OutOfMemoryError, RelaxError
from relax_mlir.runtime import to_numpy

SMALL = (8, 16)
"""The values that replace `HUGE` in the reference: two lengths of results determine those of any length."""
MODES = ("native", "bytecode")
ADDRESS_SPACE = 2**36
SPECS = specs()
LEFT_OUT = {
    "nn.cross_entropy_with_logits": "the result depends on each of 2**40 rows, even if these have no elements",
}
"""Ops that are not tested, with reasons."""
ALIKE = [name for name in SPECS if name in SCALAR and name not in THOROUGH]
"""Ops that share all but a scalar rule with those of `THOROUGH`."""
SKIPPED = frozenset(ALIKE) - frozenset(sweep.every(ALIKE, 4))
"""Those that are tested in `make soak` only."""
PROGRAMS = Path(__file__).with_name("empty_programs.py")


def fits(shape: tuple[int, ...]) -> bool:
    """True if NumPy can create an array of this shape: the product of its nonzero lengths does not overflow."""
    return bool(np.prod([size for size in shape if size], dtype=float) < 2**59)


@dataclass(frozen=True)
class Case:
    """A use of an op: its shapes, in which `HUGE` denotes any length, with the sizes of symbols."""

    name: str
    number: int
    huge: int
    empty: tuple[int, ...]

    @property
    def inputs(self) -> Sequence[Array]:
        return SPECS[self.name][2][self.number]

    @property
    def label(self) -> str:
        shapes = ", ".join(f"{a.dtype}{self.shape(a, HUGE)}" for a in self.inputs)
        return f"{self.name}[{self.number}] of {shapes}"

    def shape(self, like: Array, length: int) -> tuple[int, ...]:
        """The shape of an input that is like one of the spec."""
        new = {self.huge: length, **dict.fromkeys(self.empty, 0)}
        return tuple(new.get(size, size) for size in like.shape)

    def possible(self) -> bool:
        """True if NumPy can create such inputs."""
        return all(fits(self.shape(array, HUGE)) for array in self.inputs)

    def symbolic(self, like: Array) -> rx.Tensor:
        """The compile-time shape of such an input."""
        names = {size: f"s{size}" for size in (self.huge, *self.empty)}
        return rx.Tensor([names.get(size, size) for size in like.shape], like.dtype)

    def arrays(self, length: int) -> list[Array]:
        """The inputs; those of the spec if none is empty."""
        shapes = [self.shape(array, length) for array in self.inputs]
        return [
            array if shape == array.shape else np.empty(shape, array.dtype)
            for array, shape in zip(self.inputs, shapes, strict=True)
        ]


def cases() -> list[Case]:
    """Each use of an op on some inputs; on more in `make soak`."""
    left_out = SKIPPED | LEFT_OUT.keys()
    return [case for name in SPECS if name not in left_out for case in itertools.islice(cases_of(name), FEW)]


def groups(mode: str) -> list[list[Case]]:
    """Bytecode calls the same kernels: it runs all cases in `make soak` only."""
    every = 1 if mode == "native" or sweep.ALL else 5
    count = 1 + len(cases()) // (100 * every)
    return [cases()[every * number :: every * count] for number in range(count)]


def cases_of(name: str) -> Iterator[Case]:
    """Inputs with one size `HUGE` and some 0, such that all arrays with a huge size are empty."""
    _, _, inputs = SPECS[name]
    for number, arrays in enumerate(inputs):
        sizes = sorted({size for array in arrays for size in array.shape})
        for huge in sizes:
            others = [size for size in sizes if size != huge]
            for count in range(1, len(others) + 1):
                for empty in itertools.combinations(others, count):
                    case = Case(name, number, huge, empty)
                    if all(set(empty) & set(a.shape) for a in arrays if huge in a.shape) and case.possible():
                        yield case


def build(chosen: Sequence[Case], mode: str) -> tuple[rx.Executable, list[Case]]:
    """An executable with a function per case, and the cases whose sizes the op's shape rule accepts."""
    bb = rx.BlockBuilder()
    taken = []
    for case in chosen:
        params = [rx.Var(f"x{i}", case.symbolic(array)) for i, array in enumerate(case.inputs)]
        try:
            with bb.function(case.label, params):
                bb.emit_func_output(SPECS[case.name][0](*params))
        except RelaxError:
            continue
        taken.append(case)
    return rx.build(bb.get(), exec_mode=mode), taken


def reference(case: Case) -> list[tuple[Array, tuple[int, ...]]] | None:
    """The results for a small length, each with its shape for `HUGE`; None if NumPy has none."""
    found = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for length in SMALL:
            try:
                found.append(plain(SPECS[case.name][1](*case.arrays(length))))
            except (ValueError, IndexError, RuntimeError):  # of NumPy, and of torch
                return None
    first, second = SMALL
    return [
        (
            a,
            tuple(m + (n - m) * (HUGE - first) // (second - first) for m, n in zip(a.shape, b.shape, strict=True)),
        )
        for a, b in zip(*found, strict=True)
    ]


def check(case: Case, executable: rx.Executable) -> str:
    """Call the function of a case; return the outcome. Raises `AssertionError` if it is wrong."""
    expected = reference(case)
    signal.alarm(SECONDS)
    try:
        result: Any = executable[case.label](*case.arrays(HUGE))
    except RelaxError as error:
        result = error
    except ValueError as error:  # raised by NumPy, which cannot create such an array for the result
        assert "array is too big" in str(error), error
        signal.alarm(0)
        return "more than NumPy"
    signal.alarm(0)
    if isinstance(result, OutOfMemoryError):
        assert expected is None or any(np.prod(shape, dtype=float) > 2**32 for _, shape in expected), result
        return "too large"
    is_representable = expected is not None and all(fits(shape) for _, shape in expected)
    if isinstance(result, RelaxError):
        assert not is_representable, f"{type(result).__name__}: {result}"
        return "refused"
    if expected is None or not is_representable:
        return "more than NumPy"
    fields = list(result) if isinstance(result, tuple | tvm_ffi.Array) else [result]
    for have, (small, shape) in zip(map(to_numpy, fields), expected, strict=True):
        assert have.shape == shape, f"{have.shape} is not {shape}"
        if small.shape == shape:
            small = np.where(small == SMALL[0], HUGE, small) if case.name == "shape_to_tensor" else small
            np.testing.assert_allclose(have.astype("f8"), small.astype("f8"), rtol=1e-2)
    return "equal"


def main(mode: str, group: int) -> Mapping[str, int]:
    """Run the cases of a group; return the number of cases per outcome."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    executable, taken = build(groups(mode)[group], mode)
    counts: dict[str, int] = {}
    for case in taken:
        print(f"case {case.label}", flush=True)
        did = check(case, executable)
        counts[did] = counts.get(did, 0) + 1
    return counts


def run(mode: str, group: int) -> int:
    """Run the cases of a group in a forked child process; return its exit status."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        print("counts", main(mode, group), flush=True)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    for word in sys.argv[1:]:
        mode, _, group = word.partition(":")
        print(f"ended {word} {run(mode, int(group))}", flush=True)
