"""Numeric tests of ops: many functions with symbolic shapes in one module, compiled once, run on many shapes.

Compiling costs far more than running, so a test collects its cases in one `Suite`, usually one per op family and
dtype:

>>> suite = Suite()
>>> suite.use("sum", "n 3", axis=1)
>>> suite.both(lambda R, x, y: R.exp(x + y), "n 3", "3")
>>> suite.run()

The expected results are those of `reference.OPS`. Shapes are drawn from `SIZES` unless the case brings its own inputs.
References get the inputs in float64 (floats) or unchanged (other dtypes); their results are converted to the dtype of
the result.
"""

from __future__ import annotations

import functools
import inspect
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import relax_mlir as rx
import sweep
import tvm_ffi
from reference import OPS
from reference_values import Inexact, plain
from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.runtime import to_numpy

Array = np.ndarray[Any, Any]
Draw = Callable[[np.random.Generator, Tensor, tuple[int, ...]], Array]

FLOATS = ("float32", "float64", "float16", "bfloat16")
SHORT_FLOATS = ("float16", "bfloat16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS
ALL = (*NUMBERS, "bool")

SIZES: tuple[Mapping[str, int], ...] = (
    {"n": 1, "m": 1, "k": 1},
    {"n": 0, "m": 3, "k": 2},
    {"n": 5, "m": 0, "k": 1},
    {"n": 3, "m": 17, "k": 5},
    {"n": 33, "m": 2, "k": 9},
)
"""Values of the symbols n, m and k: 1, 0, and odd remainders of any vector width."""

TOLERANCE = {"float64": 1e-12, "float32": 4e-6, "float16": 1.5e-3, "bfloat16": 1.2e-2}
"""Relative and absolute tolerance by the dtype of the result."""


def numbers(low: float = -4.0, high: float = 4.0) -> Draw:
    """Inputs in low..high: uniform floats, integers (clipped to the range of the dtype), coin flips for bool."""

    def draw(rng: np.random.Generator, info: Tensor, shape: tuple[int, ...]) -> Array:
        dtype = info.dtype
        assert dtype is not None
        if dtype.kind == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        if dtype.is_float:
            return np.asarray(rng.uniform(low, high, shape)).astype(dtype.numpy)
        limits = np.iinfo(dtype.numpy)
        least, greatest = max(int(low), int(limits.min)), min(int(high), int(limits.max))
        return np.asarray(rng.integers(least, greatest, shape, dtype=dtype.numpy, endpoint=True))

    return draw


def special_values(dtype: str) -> Array:
    """A vector of the error-prone values of a dtype: zeros, infinities, NaN, the ends of ranges."""
    found = dtypes.dtype(dtype)
    if found.kind == "bool":
        return np.array([False, True])
    if found.is_integer:
        limits = np.iinfo(found.numpy)
        values = [0, 1, 2, 3, 7, limits.max, limits.max - 1]
        if found.kind == "int":
            values += [-1, -2, -7, limits.min, limits.min + 1]
        return np.array(values, dtype=found.numpy)
    tiny = float(np.finfo(np.float16 if dtype != "float64" else np.float64).smallest_subnormal)
    values = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, 7.25, tiny, np.inf, -np.inf, np.nan]
    return np.array(values).astype(found.numpy)


def tensor(text: str, dtype: str = "float32") -> Tensor:
    """The tensor of a text like ``n 2*m 3``, or ``n 4 int8``; ``?``: an unknown size, ``*``: unknown dimensions."""
    words = text.split()
    dtype = words.pop() if words and words[-1] in ALL else dtype
    dims = [int(word) if word.isdecimal() else None if word == "?" else word for word in words]
    return Tensor(None if words == ["*"] else dims, dtype)


class ReferenceOps:
    """The reference as a namespace like `relax_mlir.op`: the same call computes on arrays.

    Attributes may be formulas of the sizes of the case.
    """

    def __init__(self, sizes: Mapping[str, int], builders: Any = R, prefix: str = "") -> None:
        self._sizes, self._builders, self._prefix = sizes, builders, prefix

    def __getattr__(self, name: str) -> Any:
        op, builder = self._prefix + name, getattr(self._builders, name)
        if inspect.ismodule(builder):
            return ReferenceOps(self._sizes, builder, f"{op}.")

        def call(*arguments: Any, **more: Any) -> Any:
            bound = inspect.signature(builder).bind(*arguments, **more)
            last = max(list(bound.signature.parameters).index(each) for each in bound.arguments) + 1
            bound.apply_defaults()
            found = OPS[op](*map(self._attribute, [*bound.arguments.values()][:last]))
            several = isinstance(found, list | tuple) and op != "shape_of"
            values = [item.value if isinstance(item, Inexact) else item for item in (found if several else [found])]
            return values if several else values[0]

        return call

    def _attribute(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(self._attribute, value))
        if not isinstance(value, str):
            return value
        try:
            formula = symbolic.parse(value)
        except Exception:  # a text of another kind
            return value
        known = set(symbolic.symbols(formula)) <= set(self._sizes)
        return symbolic.evaluate(formula, self._sizes) if known else value


def sizes_of(params: Sequence[Tensor], arrays: Sequence[Array]) -> dict[str, int]:
    """The sizes that the shapes of parameters name."""
    return {
        str(dim): size
        for param, array in zip(params, arrays, strict=True)
        for dim, size in zip(param.shape or (), array.shape, strict=True)
        if str(dim).isidentifier()
    }


def functions(
    builds: Mapping[Any, Any],
    *shapes: str | Tensor,
    target: str = "cpu",
    mode: str = "native",
    finish: bool = True,
) -> dict[Any, Callable[..., Any]]:
    """Functions ``build(*params)``, compiled as one module, from arrays to arrays.

    A value of `builds` may be a tuple of the function and of the shapes of its parameters.
    """
    bb = rx.BlockBuilder()
    for number, given in enumerate(builds.values()):
        build, *own = given if isinstance(given, tuple) else (given, *shapes)
        infos = [tensor(each) if isinstance(each, str) else each for each in own]
        params = [rx.Var(f"x{i}", info) for i, info in enumerate(infos)]
        with bb.function(f"f{number}", params):
            bb.emit_func_output(build(*params))
    executable = rx.build(bb.get(), target, exec_mode=mode)

    def arrays(function: Any) -> Callable[..., Any]:
        return lambda *given: as_arrays(function(*given))

    made = [executable[f"f{number}"] for number in range(len(builds))]
    return dict(zip(builds, map(arrays, made) if finish else made, strict=True))


def compiled(build: Callable[..., Any], *shapes: str | Tensor, **options: Any) -> Any:
    """The function ``build(*params)``, compiled, from arrays to arrays; `finish` False: as the executable has it."""
    return functions({"": build}, *shapes, **options)[""]


def as_arrays(found: Any) -> Any:
    """A result as an array, or a list of arrays."""
    several = isinstance(found, tuple | list | tvm_ffi.Array)
    return [to_numpy(item) for item in found] if several else to_numpy(found)


def close(found: Array, wanted: Any, tolerance: float | None = None, context: object = "") -> None:
    """Assert the shape and dtype of a result, and its values as precisely as the dtype allows."""
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape, f"{context}: {found.shape}, not {wanted.shape}"
    tolerance = TOLERANCE.get(str(found.dtype), 0) if tolerance is None else tolerance
    have, want = found.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_allclose(have, want, tolerance, tolerance, err_msg=str(context))


def pairs(values: Array) -> tuple[Array, Array]:
    """All pairs of `values`, as two vectors."""
    left, right = np.meshgrid(values, values, indexing="ij")
    return np.ascontiguousarray(left.reshape(-1)), np.ascontiguousarray(right.reshape(-1))


OPTIONS = ("inputs", "draw", "sizes", "tolerance", "precision")
"""Options of `Suite.add` that no op has as an attribute."""


@dataclass(frozen=True)
class Case:
    """One function of a suite."""

    name: str
    build: Callable[..., Any]
    reference: Callable[..., Any]
    params: Sequence[Tensor]
    inputs: Sequence[Sequence[Array]]
    tolerance: float | None
    precision: Any = np.float64
    """The dtype in which the reference gets floats."""


@dataclass
class Suite:
    """Cases that share one module.

    `turn`: a value, and those with which it alternates over the cases of a sweep (`sweep.turn`); `types`: the element
    types of the sweep, if it is one over these, and `prefix` the prefix of function names.
    """

    turn: tuple[str, Sequence[str]] | None = None
    types: tuple[str, ...] = ()
    prefix: str = ""
    dtype: str = "float32"
    cases: list[Case] = field(default_factory=list)

    @staticmethod
    def of(dtype: str, dtypes: Sequence[str]) -> Suite:
        """The suite of an element type in a sweep over several, which alternate over the cases (`sweep.partners`)."""
        types = tuple(dtypes) if dtype in dtypes else ()
        return Suite((dtype, sweep.partners(dtype, dtypes)), types, f"{dtype}_", dtype)

    @property
    def chosen(self) -> Sequence[Case]:
        """The cases that run."""
        return self.cases if self.turn is None else sweep.turn(*self.turn, self.cases)

    def add(
        self,
        name: str,
        build: Callable[..., Any],
        reference: Callable[..., Any],
        params: Sequence[Tensor],
        *,
        inputs: Sequence[Sequence[Array]] = (),
        draw: Draw | Sequence[Draw] | None = None,
        sizes: Sequence[Mapping[str, int]] = SIZES,
        tolerance: float | None = None,
        precision: Any = np.float64,
    ) -> None:
        """A function ``name(*params)`` whose body is ``build(*params)``.

        `reference` computes the same on arrays. It runs on the arrays drawn by `draw` (one for all params, or one per
        param) for each of `sizes`, and on the lists of arrays `inputs`. `tolerance`: that of the result's dtype unless
        given.
        """
        inputs = [*_drawn(params, draw or numbers(), sizes), *inputs]
        name = f"{self.prefix}{name}_{len(self.cases)}"
        self.cases.append(Case(name, build, reference, params, inputs, tolerance, precision))

    def both(self, build: Callable[..., Any], *shapes: str | Tensor, **options: Any) -> None:
        """A function whose body is ``build(R, *params)``; the expected result is that of `reference`.

        `shapes`: as of `tensor`, by default of the suite's dtype. `options`: those of `add`. Inputs without `sizes`
        stand alone.
        """
        params = [tensor(each, self.dtype) if isinstance(each, str) else each for each in shapes]
        name = options.pop("name", build.__name__ if build.__name__.isidentifier() else "case")
        if "inputs" in options:
            options.setdefault("sizes", ())

        def reference(*arrays: Array) -> Any:
            return build(ReferenceOps(sizes_of(params, arrays)), *arrays)

        self.add(name, functools.partial(build, R), reference, params, **options)

    def use(self, op: str, *shapes: str | Tensor, joined: bool = False, **attributes: Any) -> None:
        """An op with these attributes; `joined`: the params are the elements of one operand."""
        options = {key: attributes.pop(key) for key in OPTIONS if key in attributes}

        def build(ops: Any, *params: Any) -> Any:
            return operator.attrgetter(op)(ops)(*([[*params]] if joined else params), **attributes)

        self.both(build, *shapes, name=op.replace(".", "_"), **options)

    def run(self, test: Callable[[str], None] | None = None) -> None:
        """Compile all cases and compare each result with its reference.

        `test`: the test of an element type that calls this. The cases of all types of its sweep become one module.
        """
        if _collected is not None:
            _collected.append(self)
            return
        executable = rx.build(self.module()) if test is None or not self.types else _together(test, self.types)
        for case in self.chosen:
            function = executable[case.name]
            for arrays in case.inputs:
                compare(case, arrays, function(*arrays))

    def module(self) -> rx.IRModule:
        """The module of all cases."""
        bb = rx.BlockBuilder()
        self.add_to(bb)
        return bb.get()

    def add_to(self, bb: rx.BlockBuilder) -> None:
        """Add the functions of all cases to a module."""
        for case in self.chosen:
            params = [rx.Var(f"x{i}", info) for i, info in enumerate(case.params)]
            with bb.function(case.name, params):
                with bb.dataflow():
                    result = bb.emit_output(case.build(*params))
                bb.emit_func_output(result)


_collected: list[Suite] | None = None
"""The suites that tests would run, while they are only collected."""


@functools.lru_cache(maxsize=2)
def _together(test: Callable[[str], None], types: tuple[str, ...]) -> rx.Executable:
    """The cases of a test for all these element types, as one module."""
    global _collected
    _collected = []
    try:
        for dtype in types:
            test(dtype)
        suites = _collected
    finally:
        _collected = None
    bb = rx.BlockBuilder()
    for suite in suites:
        suite.add_to(bb)
    return rx.build(bb.get())


def check(
    build: Callable[..., Any],
    reference: Callable[..., Any],
    *arrays: Array,
    dims: Sequence[Sequence[int | str | None]] | None = None,
    tolerance: float | None = None,
) -> None:
    """Compile ``build(*params)`` and compare it with ``reference(*arrays)``.

    `dims`: the symbolic shape of each param; by default, the shapes of the arrays. With symbolic shapes the function is
    also run on the other sizes of `SIZES`, if it has no symbols but n, m and k.
    """
    shapes = [array.shape for array in arrays] if dims is None else dims
    params = [Tensor(shape, array.dtype) for shape, array in zip(shapes, arrays, strict=True)]
    names = {name for param in params for name in param.symbols()}
    sizes = SIZES if names and names <= set(SIZES[0]) else ()
    suite = Suite()
    suite.add("main", build, reference, params, inputs=[arrays], sizes=sizes, tolerance=tolerance)
    suite.run()


def _drawn(
    params: Sequence[Tensor], draw: Draw | Sequence[Draw], sizes: Sequence[Mapping[str, int]]
) -> list[list[Array]]:
    rng = np.random.default_rng(0)
    draws = [draw] * len(params) if callable(draw) else draw
    seen: dict[tuple[tuple[int, ...], ...], list[Array]] = {}
    for values in sizes:
        shapes = tuple(tuple(symbolic.evaluate(d, values) for d in p.known_shape or ()) for p in params)
        if shapes not in seen:
            seen[shapes] = [d(rng, p, s) for d, p, s in zip(draws, params, shapes, strict=True)]
    return list(seen.values())


def compare(case: Case, arrays: Sequence[Array], result: Any) -> None:
    """Assert that `result` equals the result of the reference, in shape, dtype and value."""
    found = list(result) if isinstance(result, tuple | list | tvm_ffi.Array) else [result]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's mean of nothing
        expected = plain(case.reference(*(_precise(array, case.precision) for array in arrays)))
    assert len(found) == len(expected), f"{case.name}: {len(found)} results, expected {len(expected)}"
    for have, want in zip(map(to_numpy, found), expected, strict=True):
        _compare_one(case, arrays, have, want)


def _precise(array: Array, precision: Any = np.float64) -> Array:
    is_float = dtypes.dtype(array.dtype).is_float
    return array.astype(precision) if is_float else array


def _compare_one(case: Case, arrays: Sequence[Array], have: Array, want: Array) -> None:
    shapes = [array.shape for array in arrays]
    context = f"{case.name} on {', '.join(map(str, shapes))}"
    assert have.shape == want.shape, f"{context}: shape {have.shape}, expected {want.shape}"
    dtype = dtypes.dtype(have.dtype)
    if not dtype.is_float:
        assert want.dtype == have.dtype, f"{context}: dtype {have.dtype}, the reference has {want.dtype}"
        np.testing.assert_array_equal(have, want, err_msg=context)
        return
    tolerance = TOLERANCE[dtype.name] if case.tolerance is None else case.tolerance
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # overflow to infinity
        rounded = want.astype(have.dtype).astype(np.float64)
    np.testing.assert_allclose(
        have.astype(np.float64), rounded, rtol=tolerance, atol=tolerance, equal_nan=True, err_msg=context
    )
