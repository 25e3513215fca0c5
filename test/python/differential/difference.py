"""Programs as graphs of NumPy closures, evaluated several times with rounding noise to estimate errors.

The reference of a program is evaluated once precisely (floats in float64, rounded to their dtype after every op) and a
few times with noise of some units in the last place on every inexact result. The spread of the noisy evaluations is the
tolerance of the compiled result; elements on which integers, NaNs or infinities disagree (for example after a
comparison of almost equal numbers) are not compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from reference import Array, Inexact, is_float, numpy_dtype

Dims = tuple[Any, ...]
ULPS = 6
LARGEST_VALUE = 200_000
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
TINY = {"float64": 2.0**-1074, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}


@dataclass(frozen=True)
class Noise:
    """The rounding errors of one noisy evaluation: random errors, and the sign of all zeros (None: either).

    Of two evaluations with equal generators one has `sign` -1, so that each error is made in both directions.
    """

    random: np.random.Generator
    sign: int
    zero: float | None

    def errors(self, shape: tuple[int, ...]) -> Array:
        """Errors of either sign, with absolute values from half of the maximum to the maximum."""
        return self.sign * self.random.choice([-1.0, 1.0], shape) * self.random.uniform(0.5, 1, shape)

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """Zeros with signs."""
        return self.random.choice([-0.0, 0.0] if self.zero is None else [self.zero], shape)


@dataclass(eq=False)
class Node:
    """A value of a program: its type in the builder, and its computation in the reference.

    ``compute(frame, *arguments)`` gets float64 for floats, other dtypes unchanged, and may return longdouble; `dtype`
    is None for tuples.
    """

    value: Any
    dtype: str | None
    dims: Dims
    compute: Callable[..., Any]
    arguments: tuple[Node, ...] = ()
    text: str = ""
    scope: object = None
    """The loop body or nested function to which it belongs; None: the program."""
    same_as: Node | None = None
    """The value of which this is an alias."""


class TooLargeError(Exception):
    """A value of a program that is too large to compute in reasonable time."""


@dataclass(eq=False)
class Program:
    """A function: parameters, results (nested tuples of nodes), and run-time values of its symbols."""

    name: str
    params: list[Node] = field(default_factory=list)
    results: Any = None
    symbols: dict[str, Callable[[Frame], int]] = field(default_factory=dict)
    loops: dict[str, set[object]] = field(default_factory=dict)
    """The bodies of loops, by the name of the variable."""
    constants: list[Array] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    """The results of its ops, used or not."""


@dataclass(frozen=True)
class Failed:
    """A value for which NumPy raised; the error is raised when another value needs it."""

    error: ValueError


@dataclass(frozen=True)
class Passing:
    """A `compute` that passes values on, all but the first `needed`: it accepts and returns `Failed` values."""

    compute: Callable[..., Any]
    needed: int = 0

    def __call__(self, frame: Frame, *values: Any) -> Any:
        return self.compute(frame, *values)


class _Symbols(dict[str, int]):
    def __init__(self, frame: Frame) -> None:
        super().__init__(min=min, max=max)
        self._frame = frame

    def __missing__(self, name: str) -> int:
        self[name] = self._frame.program.symbols[name](self._frame)
        return self[name]


class Frame:
    """One evaluation of a call, or of one iteration of a body in it; values are computed on demand."""

    def __init__(
        self,
        program: Program,
        arguments: Sequence[Array],
        noise: Noise | None,
        complete: bool = False,
    ) -> None:
        self.program, self.arguments, self.noise = program, arguments, noise
        self.complete = complete
        """True if iterations of bodies also compute unused values."""
        self.scope: object = None
        self.parent: Frame | None = None
        self.counter = 0
        """The loop variable, in an iteration."""
        self._symbols = _Symbols(self)
        self._memo: dict[int, Any] = dict(zip(map(id, program.params), arguments, strict=True))

    def inner(self, scope: object, nodes: Sequence[Node], values: Sequence[Any]) -> Frame:
        """One iteration of the body `scope`, whose parameters `nodes` have the values `values`."""
        frame = Frame(self.program, self.arguments, self.noise, self.complete)
        frame.scope, frame.parent = scope, self
        frame._memo = dict(zip(map(id, nodes), values, strict=True))
        if self.complete:
            frame.compute_all()
        return frame

    def at(self, scope: object) -> Frame:
        """This frame, or the enclosing one that belongs to `scope`."""
        return self.round_of({scope})

    def round_of(self, scopes: Collection[object]) -> Frame:
        """This frame, or the innermost enclosing one that belongs to one of `scopes`."""
        frame: Frame | None = self
        while frame is not None and frame.scope not in scopes:
            frame = frame.parent
        assert frame is not None, "a value is used outside of its body"
        return frame

    def dim(self, dim: Any) -> int:
        """The value of a symbolic dimension."""
        return dim if isinstance(dim, int) else int(eval(str(dim), {"__builtins__": {}}, self._symbols))

    def value(self, node: Node) -> Any:
        """The value of `node`; raises the errors of NumPy for it."""
        found = self.passed(node)
        if isinstance(found, Failed):
            raise found.error
        return found

    def passed(self, node: Node) -> Any:
        """The value of `node`, or `Failed`: a loop may carry a value for which NumPy raises, while it is unused."""
        frame = self.at(node.scope)
        if id(node) not in frame._memo:
            frame._memo[id(node)] = frame._computed(node)
        return frame._memo[id(node)]

    def _computed(self, node: Node) -> Any:
        needed = node.compute.needed if isinstance(node.compute, Passing) else len(node.arguments)
        try:
            arguments = map(self.value, node.arguments[:needed]), map(self.passed, node.arguments[needed:])
            found = node.compute(self, *arguments[0], *arguments[1])
        except ValueError as error:
            if self.complete:
                raise
            return Failed(error)
        return found if node.dtype is None or isinstance(found, Failed) else self.settle(found, node.dtype)

    def compute_all(self) -> None:
        """Compute unused values, too."""
        for node in self.program.nodes:
            if node.scope is self.scope:
                self.value(node)

    def results(self) -> list[Array]:
        """The flattened results."""
        return [self.value(node) for node in flatten(self.program.results)]

    def settle(self, found: Any, dtype: str) -> Array:
        """A result in its dtype, with noise."""
        magnitude = None
        if isinstance(found, Inexact):
            found, magnitude = found.value, found.magnitude
        if np.size(found) > LARGEST_VALUE:
            raise TooLargeError
        if not is_float(dtype):
            return np.asarray(found).astype(numpy_dtype(dtype))
        exact = np.asarray(found, np.float64)
        coarse = "float32" if dtype == "float64" else dtype
        if self.noise is None:
            return rounded(exact, dtype)
        size = np.abs(exact) if magnitude is None else np.asarray(magnitude, np.float64)
        most = ULPS * (EPSILON[dtype] * size + TINY[dtype])
        shift = self.noise.errors(exact.shape) * most
        # A sum is rounded internally even if its total is representable; a longdouble value may be such a sum.
        rounds = (rounded(exact, coarse) != exact) | (np.asarray(found) != exact) | (magnitude is not None)
        noisy = np.where(np.isfinite(shift) & rounds, exact + shift, exact)
        if self.noise.zero is not None:
            noisy = np.where((np.abs(exact) <= most) & rounds, 0, noisy)
        if magnitude is not None:  # partial sums may overflow even if the total does not
            noisy = np.where(np.isinf(rounded(size, dtype)) & np.isfinite(size), np.nan, noisy)
        return rounded(np.where(noisy == 0, self.noise.zeros(exact.shape), noisy), dtype)


def rounded(values: Array, dtype: str) -> Array:
    """float64 values rounded to `dtype`; bfloat16 and float16 through float32, as on hardware."""
    return np.asarray(values.astype(numpy_dtype(dtype)).astype(np.float64))


def flatten(nested: Any) -> list[Node]:
    """The leaves of nested tuples."""
    if isinstance(nested, Node):
        return [nested]
    return [leaf for item in nested for leaf in flatten(item)]


@dataclass(frozen=True)
class Expected:
    """A result of the reference: value, tolerance, and the elements that are certain enough to compare."""

    value: Array
    tolerance: Array
    certain: Array
    dtype: str


def evaluate(program: Program, inputs: Sequence[Array]) -> list[Expected]:
    """The expected results for `inputs` (arrays of the parameters' dtypes); raises the errors of NumPy."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments = _precise(program, inputs)
        # Errors of the opposite sign have the same effect if everything is linear: only some seeds get both.
        kinds = ((0, 1, 0.0), (0, -1, -0.0), (1, 1, None), (1, -1, None), (2, 1, None), (3, -1, None))
        sources = [None, *(Noise(np.random.default_rng(seed), sign, zero) for seed, sign, zero in kinds)]
        runs = [Frame(program, arguments, noise).results() for noise in sources]
        leaves = flatten(program.results)
        return [_expected([run[i] for run in runs], leaf.dtype or "") for i, leaf in enumerate(leaves)]


def fails_unused(program: Program, inputs: Sequence[Array]) -> bool:
    """True if NumPy raises for a value that no result needs, or that is computed in another branch."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            Frame(program, _precise(program, inputs), None, complete=True).compute_all()
        except ValueError:
            return True
    return False


def _precise(program: Program, inputs: Sequence[Array]) -> list[Array]:
    """Floats as float64."""
    return [
        array.astype(np.float64) if is_float(param.dtype or "") else array
        for array, param in zip(inputs, program.params, strict=True)
    ]


def _expected(runs: Sequence[Array], dtype: str) -> Expected:
    precise = runs[0]
    same_shape = [run for run in runs if run.shape == precise.shape]
    if not is_float(dtype):
        certain = np.logical_and.reduce([run == precise for run in same_shape])
        return Expected(precise, np.zeros(precise.shape), certain, dtype)
    certain = np.logical_and.reduce(
        [
            (np.isfinite(run) & np.isfinite(precise)) | (run == precise) | (np.isnan(run) & np.isnan(precise))
            for run in same_shape
        ]
    )
    spread = np.maximum.reduce([np.abs(run - precise) for run in same_shape])
    tolerance = 4 * spread + ULPS * (EPSILON[dtype] * np.abs(precise) + TINY[dtype])
    return Expected(precise, np.where(np.isfinite(tolerance), tolerance, 0), certain, dtype)


def difference(have: Array, want: Expected) -> str | None:
    """The difference from the expected result; None if there is none."""
    if have.dtype != numpy_dtype(want.dtype):
        return f"dtype {have.dtype}, expected {want.dtype}"
    if have.shape != want.value.shape:
        return f"shape {have.shape}, expected {want.value.shape}"
    with np.errstate(all="ignore"):
        if is_float(want.dtype):
            values = have.astype(np.float64)
            good = np.abs(values - want.value) <= want.tolerance
            good |= (values == want.value) | (np.isnan(values) & np.isnan(want.value))
            # Elements of either sign were divided by something that may be zero.
            good |= np.isinf(values) & (want.tolerance >= np.abs(want.value)) & (want.tolerance > 1)
        else:
            values = have
            good = have == want.value
    bad = np.argwhere(np.asarray(~good & want.certain))
    if not len(bad):
        return None
    first = tuple(int(i) for i in bad[0])
    return (
        f"{len(bad)} of {have.size} elements differ, first {first}: {values[first]!r}, "
        f"expected {want.value[first]!r} within {want.tolerance[first]:.3g}"
    )


def sizes_of(frame: Frame, dims: Sequence[Any]) -> tuple[int, ...]:
    """Concrete dimensions."""
    return tuple(frame.dim(d) for d in dims)


Environment = Mapping[str, int]
