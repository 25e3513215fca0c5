"""Ops that create, move, repeat, join and pad elements, on symbolic shapes with empty and single-element dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import ALL, FLOATS, INTEGERS, NUMBERS, Array, Suite, compiled, functions, numbers, tensor
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import BoundsError, CheckError, DTypeError, RelaxError, ShapeError
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.legalize import manipulate
from relax_mlir.runtime import to_numpy
from relax_mlir.script import ir as I
from relax_mlir.script import parse
from relax_mlir.script import relax as script
from relax_mlir.transform import create_pass

LENGTHS = (0, 1, 2, 3, 5, 8)


def sequence(*shape: int) -> Array:
    """0, 1, 2, … as float32: every element shows its origin."""
    return np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape)


def rows(*lengths: int) -> list[list[Array]]:
    """One input of shape (n, 2) for each length n."""
    return [[sequence(n, 2)] for n in lengths]


MATRICES = [[sequence(*shape)] for shape in ((3, 4), (0, 4), (1, 1), (7, 0), (17, 33))]


def test_permutations_and_views() -> None:
    suite = Suite()
    suite.use("permute_dims", "n m", inputs=MATRICES)
    suite.use("permute_dims", "")
    suite.use("permute_dims", "n 2 m", axes=[2, 0, -2])
    suite.use("reshape", "n m 6", shape=("n", "m", 2, 3))
    suite.use("reshape", "n m 6", shape=(2, "n*m", 3))
    suite.use("flatten", "n m 6")
    suite.add(
        "deduced",
        lambda x: R.reshape(x, ("n", -1)),
        lambda x: x.reshape(x.shape[0], x.shape[1] * 6),
        [tensor("n m 6")],
    )
    suite.both(lambda R, x: R.reshape(R.permute_dims(x), ("n", "m")), "n m", inputs=MATRICES)
    suite.both(lambda R, x: [R.reshape(x, (1, 1)), R.flatten(x), R.expand_dims(x, 0)], "")
    suite.both(lambda R, x: R.squeeze(R.expand_dims(x, [0, 1])), "")
    suite.use("expand_dims", "n m", axis=[0, 2, -1], inputs=MATRICES)
    suite.add(
        "squeezed",
        lambda x: [R.squeeze(x), R.squeeze(x, -1), R.squeeze(x, [1, 3])],
        lambda x: [x[:, 0, :, 0], x[..., 0], x[:, 0, :, 0]],
        [tensor("n 1 m 1")],
    )
    suite.use("broadcast_to", "n 1", shape=(2, "n", 5))
    suite.both(lambda R, x, y: R.broadcast_to(x, R.shape_of(y)), "", "n m")
    suite.run()


def test_sizes_that_the_call_determines() -> None:
    check, empty = functions(
        {
            0: (lambda x, y: R.reshape(x, ("k", "l")), "n 4", "k l"),
            1: (lambda x: (R.exp(R.flatten(R.exp(x))), R.reshape(R.exp(x), (0, "n", 2))), "n 0"),
        }
    ).values()
    assert check(sequence(3, 4), sequence(2, 6)).shape == (2, 6)
    with pytest.raises(ShapeError, match="12 elements are not 5"):
        check(sequence(3, 4), sequence(5, 1))
    for n in (0, 3):
        flat, turned = empty(np.zeros((n, 0), np.float32))
        assert (flat.shape, turned.shape) == ((0,), (0, n, 2))


def test_concat_and_split() -> None:
    suite = Suite()
    suite.use("concat", "n 4", "m 4", "2 4", axis=0, joined=True)
    suite.both(lambda R, x, y: R.concat([x, y, x], -1), "n m", "n k")
    suite.use("concat", "n m", joined=True, inputs=MATRICES)
    suite.use("concat", "n 0", "n 0", axis=0, joined=True)
    suite.use("concat", "n 3", "n 0", axis=1, joined=True)
    suite.use("split", "n m", indices_or_sections=3, inputs=rows(0, 1, 2, 3, 4, 5, 6, 7, 9))
    suite.use("split", "n 6", indices_or_sections=3, axis=-1)
    suite.use("split", "n m", indices_or_sections=[1, 4], inputs=rows(*LENGTHS))
    suite.use("split", "n 3", indices_or_sections=[3], axis=1)
    suite.use("split", "n 0", indices_or_sections=[1], axis=0)
    big = np.array([2**64 - 1, 2**63, 7], np.uint64)
    suite.both(lambda R, a: R.bitwise_or(a, R.const(big)), "n 3 uint64")
    suite.run()


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_take_with_any_index(mode: str) -> None:
    suite = Suite()
    for dtype in INTEGERS:
        limits = np.iinfo(dtype)
        indices = np.array([[0, 1, 2], [limits.max, limits.min, 5]], dtype=dtype)
        inputs = [[sequence(*shape), indices] for shape in ((3, 4), (2, 1), (2, 0))]
        suite.use("take", "n m", f"k 3 {dtype}", axis=1, mode=mode, inputs=inputs)
    suite.run()


def test_take_checks_indices() -> None:
    """Mode ``check``: negative indices count from the end, as NumPy's do, and what is out of range is an error."""
    kinds = {"int64": (3, 2), "int8": (), "uint8": (3,)}
    shapes = {"int64": "k 2 int64", "int8": "int8", "uint8": "k uint8"}
    run = functions(
        {
            (axis, dtype): (lambda x, i, axis=axis: R.take(x, i, axis, "check"), "n m", shapes[dtype])
            for axis in (0, 1)
            for dtype in kinds
        }
    )
    data = sequence(3, 4)
    for (axis, dtype), function in run.items():
        size = data.shape[axis]
        for index in (0, size - 1, -1, -size, size, -size - 1, 127):
            if dtype == "uint8" and index < 0:
                continue
            i = np.full(kinds[dtype], index, dtype)
            if -size <= index < size:
                np.testing.assert_array_equal(function(data, i), np.take(data, i, axis))
                continue
            with pytest.raises(CheckError, match=f"an index is out of range for dimension {axis}"):
                function(data, i)
    assert run[0, "int64"](data[:0], np.zeros((0, 2), "int64")).shape == (0, 2, 4)
    with pytest.raises(CheckError, match="an index is out of range"):
        run[0, "int64"](data[:0], np.zeros((1, 2), "int64"))


def test_take() -> None:
    suite = Suite()
    indices = np.array([4, 0, 9, -3])
    tables = [[sequence(5, 3), indices], [sequence(5, 0), indices], [sequence(5, 3), indices[:0]]]
    suite.use("take", "5 m", "k int64", axis=0, mode="fast", inputs=tables)
    suite.use("take", "5 m", "k int64", axis=0, mode="nan", inputs=tables[:1])
    suite.both(
        lambda R, x, i: [R.take(x, i, 0), R.take(x, i)],
        "5 m",
        "int64",
        inputs=[[sequence(5, 3), np.array(2)]],
    )
    for dtype in ALL:
        values = (sequence(3, 4) % 2 if dtype == "bool" else sequence(3, 4)).astype(dtypes.dtype(dtype).numpy)
        suite.both(
            lambda R, x, i: R.concat([R.take(x, i, 0), R.permute_dims(R.permute_dims(x))]),
            f"n 4 {dtype}",
            "k int64",
            inputs=[[values, np.array([2, 0])]],
        )
    suite.run()


def test_slices() -> None:
    suite = Suite()
    far = -(2**63)
    for begin, end, stride in (
        (0, 3, None),
        (1, -1, 2),
        (-3, 2**31 - 1, 1),
        (5, -2, 1),
        (-2, -1, 3),
        (-1, 0, -2),
        (3, -7, -1),
        (9, far, -3),
        ("n - 3", "n - 1", None),
        ("m", "n - 1", 1),
        ("n - 2", "n - 5", -1),
    ):
        # A formula below zero does not count from the end.
        lengths = [n for n in LENGTHS if not isinstance(end, str) or n >= 5]
        strides = None if stride is None else [stride]
        suite.use("strided_slice", "n m", axes=[0], begin=[begin], end=[end], strides=strides, inputs=rows(*lengths))
    more = [([1, 0], [1, 0], [-1, 3], [2, 1]), ([0, 1], [-1, -1], [-(2**31), -(2**31)], [-1, -2])]
    for bounds in (*more, ([0, 1], [0, -1], [3, far], [2**63 - 1, far])):
        suite.both(lambda R, x, bounds=bounds: R.strided_slice(x, *bounds), "n m", inputs=MATRICES)
    suite.both(lambda R, x: R.strided_slice(x, *more[0]), "5 6")
    promise = {"axes": [0], "begin": [0], "end": ["n - 2"], "assume_inbound": True}
    suite.use("strided_slice", "n m", inputs=rows(2, 3, 8), **promise)
    suite.add(
        "a broken promise of bounds reads inside",
        lambda x: R.strided_slice(x, [0], [1], [4], assume_inbound=True),
        lambda x: x[np.minimum([1, 2, 3], len(x) - 1)] if len(x) else np.zeros((3, 2)),
        [tensor("n m")],
        sizes=(),
        inputs=rows(0, 1, 3, 5),
    )
    suite.run()


@pytest.mark.parametrize(("begin", "end"), [("n - 3", "n - 1"), ("m", "n - 1"), ("n - 2", "n - 5")])
def test_formulas_below_zero_in_slices(begin: str, end: str) -> None:
    function = compiled(lambda x: R.strided_slice(x, [0], [begin], [end], [-1 if end == "n - 5" else 1]), "n m")
    for n in LENGTHS:
        x = sequence(n, 2)
        first, last = (eval(text, {"n": n, "m": 2}) for text in (begin, end))
        np.testing.assert_array_equal(function(x), x[first : last : -1 if end == "n - 5" else 1])


REPEATED = ("float32", "bfloat16", "uint8", "int64", "bool")


@pytest.mark.parametrize("dtype", REPEATED)
def test_repetition(dtype: str) -> None:
    suite = Suite.of(dtype, REPEATED)
    for axis in (0, 1, -1):
        suite.use("flip", "n m", axis=axis)
        suite.use("repeat", "n m", repeats=3, axis=axis)
    suite.use("repeat", "n m", repeats=2)
    suite.use("repeat", "n m", repeats=0, axis=0)
    suite.use("repeat", "", repeats=2, sizes=({},))
    for repeats in (2, (1, 3), (2, 1, 2), (0, 2), ()):
        suite.use("tile", "n m", repeats=repeats)
    suite.use("tile", "n", repeats=(3, 2))
    suite.use("tile", "", repeats=(3, 2), sizes=({},))
    suite.run(test_repetition)


@pytest.mark.parametrize("dtype", ALL)
def test_side_by_side(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    for axis in (0, 1, -1):
        suite.both(lambda R, x, y, axis=axis: R.stack([x, y, x], axis), "n m", "n m")
    suite.use("stack", "", joined=True)
    for how in ("ij", "xy"):
        suite.use("meshgrid", "n", "m", "k", indexing=how, joined=True)
    suite.use("meshgrid", "n", "", joined=True)
    if dtype != "bool":
        suite.use("outer", "n", "m")
    suite.run(test_side_by_side)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
@pytest.mark.parametrize("count", [manipulate.JOINED + 1, 2 * manipulate.JOINED + 2])
def test_many_tensors_are_joined_in_groups(count: int, mode: str) -> None:
    """No prim func gets more than `JOINED` of them; one tensor is given twice, some are empty."""
    sizes: list[int | str] = [0 if i == 3 else "n" if i % 7 == 0 else 2 for i in range(count)]
    bb, xs = rx.BlockBuilder(), [rx.Var(f"x{i}", Tensor((2, size), "int8")) for i, size in enumerate(sizes)]
    equal = [i for i, size in enumerate(sizes) if size == 2]
    stacked = [equal[i % len(equal)] for i in range(count)]
    with bb.function("main", xs):
        bb.emit_func_output((R.concat([*xs, xs[0]], axis=1), R.stack([xs[i] for i in stacked], axis=1)))
    module = bb.get()
    legal = create_pass("legalize-ops")(module)
    calls = [op for f in legal.mlir.body.operations for op in ops_of(f.operation, "relax.call_tir")]
    assert max(len(op.operands) for op in calls) <= manipulate.JOINED + 2  # sizes follow the tensors
    arrays = [np.full((2, 3 if size == "n" else int(size)), i % 100, "i1") for i, size in enumerate(sizes)]
    results = [to_numpy(result) for result in rx.build(module, exec_mode=mode)["main"](*arrays)]
    np.testing.assert_array_equal(results[0], np.concatenate([*arrays, arrays[0]], axis=1), strict=True)
    np.testing.assert_array_equal(results[1], np.stack([arrays[i] for i in stacked], axis=1), strict=True)


@pytest.mark.parametrize("dtype", ALL)
def test_roll_and_eye_like(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    for shift, axis in (
        (1, 0),
        (-1, 1),
        ((7, -100), (0, 1)),
        ((1, 2), (0, 0)),
        (0, 0),
        (5, None),
        (3, (0, 1)),
    ):
        suite.use("roll", "n m", shift=shift, axis=axis)
    for k in (0, 2, -1):
        suite.use("eye_like", "n m", k=k)
    suite.use("size", "n m")
    suite.run(test_roll_and_eye_like)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_one_hot(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    for axis in (0, 1, -1):
        suite.use("one_hot", "n m", on_value=1, off_value=0, depth=4, axis=axis, draw=numbers(-5, 6))
    suite.use("one_hot", "n m", on_value=1.5, off_value=-2.0, depth="n + 1", draw=numbers(-5, 6))
    suite.run(test_one_hot)


@pytest.mark.parametrize("dtype", ALL)
def test_values_of_one_hot(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    suite.use("one_hot", "n int32", "", "", depth=3)
    suite.run(test_values_of_one_hot)


TRIANGLES = ("float32", "bfloat16", "uint8", "bool")


@pytest.mark.parametrize("dtype", ALL)
def test_created(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    suite.both(lambda R, x: R.zeros(("n", 2), dtype), "n m float32")
    suite.both(lambda R, x: R.ones(("m + 1",), dtype), "n m float32")
    suite.both(lambda R, x: R.full(("n*m",), 1, dtype), "n m float32")
    suite.use("zeros_like", "n m float32", dtype=dtype)
    suite.use("ones_like", "n")
    suite.use("full_like", "n", fill_value=1)
    suite.run(test_created)


@pytest.mark.parametrize("dtype", TRIANGLES)
def test_triangles(dtype: str) -> None:
    suite = Suite.of(dtype, TRIANGLES)
    for name, shape, k in (
        ("tril", "n m 4", 0),
        ("triu", "n m", 0),
        ("tril", "n m", 1),
        ("triu", "n m 4", -2),
    ):
        suite.use(name, shape, k=k)
    suite.both(lambda R, x: R.eye("n", dtype=dtype), "n m")
    suite.both(lambda R, x: R.eye("n", "m", 1, dtype), "n m")
    suite.run(test_triangles)


def test_full_like() -> None:
    suite = Suite()
    for dtype in ("float16", "int8", "bool", "float64"):
        suite.use("full_like", f"n 3 {dtype}", "")
        suite.use("full_like", f"n 3 {dtype}", "", dtype="int32")
    suite.both(lambda R, x, v: R.full(R.shape_of(x), v), "n 3", "")
    suite.both(lambda R, x, v: R.full((), v), "n 3", "")
    suite.run()
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", Tensor(ndim=1, dtype=None)), rx.Var("y", Tensor((), "float32"))
    with bb.function("main", [x, y]):
        with pytest.raises(DTypeError, match="full_like: the dtype of 'x' is not known; give dtype"):
            R.full_like(x, y)
        bb.emit_func_output(R.full_like(x, y, "float32"))
    value = rx.build(bb.get())["main"](np.arange(3), np.array(1.5, "f4"))
    np.testing.assert_array_equal(np.from_dlpack(value), np.full(3, 1.5, "f4"))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_dtypes_of_arange(dtype: str) -> None:
    suite = Suite.of(dtype, NUMBERS)
    suite.both(lambda R, x: R.arange("n", dtype=dtype), "n m float32")
    suite.both(lambda R, x: R.arange(0.5, 7.25, 0.5, dtype), "n m float32")
    suite.run(test_dtypes_of_arange)


def test_bounds_of_arange() -> None:
    suite = Suite()
    symbols = [(2, "n"), ("n", "n + m"), (0, "n", 2), ("n", -3, -2), (0, "2*n", "m + 1")]
    for bounds in ((5,), *symbols, (10, 0), (0.0, 1.0, 0.1), (5, -5, -0.5)):
        suite.both(lambda R, x, bounds=bounds: R.arange(*bounds), "n m")
    suite.run()


MODES = ("reflect", "symmetric", "replicate", "circular")
PADDED = ("float32", "float64", "float16", "bfloat16", "int8", "int64", "uint16", "bool")
NOT_EMPTY = ({"n": 1, "m": 1}, {"n": 3, "m": 17}, {"n": 2, "m": 5})


@pytest.mark.parametrize("dtype", PADDED)
def test_padding(dtype: str) -> None:
    suite = Suite.of(dtype, PADDED)
    wide = ((2, 1), (0, 3))
    suite.use("nn.pad", "n m", pad_width=wide, pad_value=1 if dtype == "bool" else 7)
    suite.use("nn.pad", "n m", pad_width=[0] * 4)
    for mode in MODES:
        for widths in (wide, ((0, 40), (7, 0))):
            suite.use("nn.pad", "n m", pad_width=widths, pad_mode=mode, sizes=NOT_EMPTY)
    suite.run(test_padding)


def test_widths_of_padding() -> None:
    """Sizes of the data or of another parameter; rank 0; one dimension alone; negative widths cut."""
    suite = Suite()
    sizes, cut = ({"n": 1, "k": 0}, {"n": 2, "k": 4}), ({"n": 3}, {"n": 8})
    suite.use("nn.pad", "n 3", pad_width=["n", 1, 0, "2*n"])
    suite.both(lambda R, x, y: R.nn.pad(x, [["k", 0], [0, "k"]], "edge"), "n 3", "k", sizes=sizes)
    suite.use("nn.pad", "", pad_width=[])
    suite.use("nn.pad", "n 2 m 3", pad_width=[0, 0, 1, 0, 0, 0, 2, 2], pad_mode="reflect", sizes=NOT_EMPTY)
    suite.use("nn.pad", "n 4 int32", pad_width=[-1, -2, 0, -1], sizes=cut)
    suite.use("nn.pad", "n 4 int32", pad_width=[-1, 2, 1, -1], pad_value=5, sizes=cut)
    suite.use("nn.pad", "n 4 int32", pad_width=[-1, 2, 0, 0], pad_mode="replicate", sizes=cut)
    suite.use("nn.pad", "n", pad_width=[1, 1], pad_value=float("-inf"))
    suite.use("nn.pad", "n", pad_width=[1, 0], pad_value=float("nan"))
    suite.use("nn.pad", "n int64", pad_width=[1, 1], pad_value=2**62 + 1)
    suite.both(lambda R, x, v: R.nn.pad(x, [1, 2], pad_value=v), "n", "")
    suite.run()
    with pytest.raises(ShapeError, match="the dimension 'n - 3' is -1"):
        compiled(lambda x: R.nn.pad(x, [-1, -2, 0, -1]), "n 4 int32")(np.zeros((2, 4), np.int32))
    for function in functions({mode: lambda x, m=mode: R.nn.pad(x, [1, 1], m) for mode in MODES}, "n").values():
        with pytest.raises(BoundsError, match=r"nn_pad.*dimension 0 of size 0"):
            function(np.zeros(0, np.float32))


PIXELS = ("float32", "float16", "bfloat16", "int8", "int64", "bool")


@pytest.mark.parametrize("dtype", PIXELS)
def test_pixels(dtype: str) -> None:
    suite = Suite.of(dtype, PIXELS)
    for side in (1, 2, 3):
        suite.use("nn.pixel_shuffle", f"n {side * side * 2} m k", upscale_factor=side)
        suite.use("nn.pixel_unshuffle", f"n 2 {side}*m {side}*k", downscale_factor=side)
    suite.use("nn.pixel_shuffle", "4*k n 3", upscale_factor=2)
    suite.use("nn.pixel_shuffle", "2 n 4 m 3", upscale_factor=2)
    suite.run(test_pixels)


def test_batch_flatten_and_dropout() -> None:
    suite = Suite()
    for dtype in ALL:
        suite.use("nn.batch_flatten", f"n m 3 {dtype}")
    suite.use("nn.batch_flatten", "n")
    special = np.array([[np.nan, np.inf]], np.float32)
    for dtype in FLOATS:
        inputs = [[special.astype(dtypes.dtype(dtype).numpy)]]
        suite.use("nn.dropout", f"n m {dtype}", rate=0.3, inputs=inputs, sizes=({"n": 3, "m": 2}, {"n": 0, "m": 1}))
    suite.both(lambda R, x: R.add(R.nn.dropout(x)[0], x), "n")
    suite.run()


Map = Callable[..., Any]
MAPS: list[tuple[Map, str, Callable[..., tuple[int, ...]]]] = [
    (lambda i, j: (j, i), "n m", lambda n, m: (m, n)),
    (lambda i, j: (i // 4, j, i % 4), "n m", lambda n, m: (up(n, 4), m, 4)),
    (lambda i, j: (j // 3, i // 2, i % 2, j % 3), "n m", lambda n, m: (up(m, 3), up(n, 2), 2, 3)),
    (lambda i: (i // 8, i % 8 // 2, i % 2), "n", lambda n: (up(n, 8), 4, 2)),
    (lambda i, j: (i * 8 + j,), "n 8", lambda n, m: (8 * n,)),
    (lambda i, j: (i * 8 + j,), "n 6", lambda n, m: (8 * n,)),
    (lambda i, j: (i // 2 * 8 + j * 2 + i % 2, 0), "n 4", lambda n, m: (8 * up(n, 2), 1)),
    (lambda i: i, "n", lambda n: (n,)),
]
"""Index maps, shapes of data, and shapes of results."""


def up(size: int, number: int) -> int:
    """The quotient, rounded up."""
    return -(-size // number)


def moved(x: Array, index_map: Map, shape: tuple[int, ...], padding: Any) -> Array:
    """Element by element."""
    found = np.full(shape, padding, x.dtype)
    for at in np.ndindex(*x.shape):
        found[index_map(*at)] = x[at]
    return found


@pytest.mark.parametrize("dtype", ALL)
def test_layout_transform(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    padding: Any = True if dtype == "bool" else 7
    for index_map, dims, shape in MAPS if dtype in ("float32", "bool") else MAPS[1:6:2]:
        suite.add(
            "transform",
            lambda x, m=index_map: R.layout_transform(x, m, int(padding)),
            lambda x, m=index_map, s=shape: moved(x, m, s(*x.shape), padding),
            [tensor(dims, dtype)],
            sizes=[{"n": n, "m": m} for n, m in ((1, 1), (0, 3), (5, 8), (16, 7), (9, 0))],
        )
    suite.run(test_layout_transform)


def test_layouts_without_padding() -> None:
    """Sizes that are multiples need no pad value; text and functions are equivalent."""
    suite = Suite()
    blocks = "lambda a, b: (a // 4, b, a % 4)"
    cases: list[tuple[Any, Any, str]] = [
        (
            lambda x: R.layout_transform(x, blocks),
            lambda x: x.reshape(len(x) // 4, 4, x.shape[1]).swapaxes(1, 2),
            "4*n m",
        ),
        (
            lambda x: R.layout_transform(R.layout_transform(x, blocks), lambda a, b, c: (a * 4 + c, b)),
            lambda x: x,
            "4*n m",
        ),
        (
            lambda x: R.layout_transform(x, lambda i: (i // 2, i % 2), float("nan")),
            lambda x: np.append(x, [np.nan] * (len(x) % 2)).reshape(-1, 2),
            "n",
        ),
    ]
    for build, expected, shape in cases:
        suite.add("layout", build, expected, [tensor(shape)])
    suite.run()
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.layout_transform(x, lambda i, j: (i // 4, j, i % 4), 0.0))
    text = bb.finalize().script()
    assert 'R.layout_transform(x, index_map="lambda i, j: (i // 4, j, i % 4)", pad_value=0.0)' in text
    assert parse(text).script() == text


def _bytes(*shape: int, dtype: str = "uint8", seed: int = 0) -> Array:
    """Elements with random bits, so that floats include NaNs and denormals; bools are 0 and 1."""
    kind = dtypes.dtype(dtype)
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape)) * kind.itemsize
    raw = rng.integers(0, 2 if kind.kind == "bool" else 256, count, dtype=np.uint8)
    return raw.view(kind.numpy).reshape(shape)


def _same(found: Array, expected: Array) -> None:
    """The same bits, NaNs included."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == np.ascontiguousarray(expected).tobytes()


SOURCES = ("bool", "int8", "float16", "bfloat16", "uint32", "float32", "float64")
TARGETS = ("bool", "uint8", "int16", "bfloat16", "float32", "int64", "float64")


def _offset(number: int) -> int:
    return (3, 8, 0)[number % 3]


def test_views_of_other_dtypes() -> None:
    """48 bytes, at an aligned and at an odd offset; all bits are preserved."""
    sizes = {dtype: dtypes.dtype(dtype).itemsize for dtype in SOURCES + TARGETS}

    def views(x: Any, number: int) -> Any:
        targets = enumerate(TARGETS)
        return [R.memory.view(x, (48 // sizes[t],), t, _offset(number + other)) for other, t in targets]

    made = functions(
        {
            source: (lambda x, n=number: views(x, n), f"{64 // sizes[source]} {source}")
            for number, source in enumerate(SOURCES)
        }
    )
    for number, source in enumerate(SOURCES):
        given = _bytes(64 // sizes[source], dtype=source, seed=number)
        for other, (target, found) in enumerate(zip(TARGETS, made[source](given), strict=True)):
            offset = _offset(number + other)
            raw = given.view(np.uint8)[offset : offset + 48]
            _same(found, (raw != 0) if target == "bool" else raw.copy().view(dtypes.dtype(target).numpy))


def test_views_of_dynamic_sizes() -> None:
    suite = Suite()
    twelve, scalar = np.arange(12, dtype="float32").reshape(3, 4), np.array(3.5, "float32")
    cases: list[tuple[Any, Any]] = [
        (R.memory.view, lambda x: x),
        (lambda x: R.memory.view(x, ("n * 4",)), lambda x: x.reshape(-1)),
        (lambda x: R.memory.view(x, ("n // 2", 8)), lambda x: x[: len(x) // 2 * 2].reshape(-1, 8)),
        (
            lambda x: R.memory.view(x, ("n", 2), None, "8 * n"),
            lambda x: x.reshape(-1)[2 * len(x) :].reshape(-1, 2),
        ),
        (
            lambda x: R.memory.view(x, ("n", 16), "uint8"),
            lambda x: x.astype("float32").view(np.uint8).reshape(-1, 16),
        ),
    ]
    for build, expected in cases:
        suite.add("view", build, expected, [tensor("n 4")], sizes=[{"n": n} for n in (0, 1, 2, 5, 17)])
    first, whole = lambda x: R.memory.view(x, (), None, 8), lambda x: R.memory.view(x, (1, 1))
    suite.add("scalar", first, lambda x: x[0, 2], [tensor("3 4")], sizes=(), inputs=[[twelve]])
    suite.add("of scalar", whole, lambda x: x.reshape(1, 1), [tensor("")], sizes=(), inputs=[[scalar]])
    suite.run()


@I.ir_module
class Dynamic:
    @script.function
    def at(x: script.Tensor(("n",), "uint8"), offset: script.Prim("int64")) -> script.Tensor((2,), "float32"):
        return script.memory.view(x, script.shape([2]), "float32", offset)

    @script.function
    def unknown(x: script.Tensor(dtype="uint8"), offset: script.Prim("int64")):
        return script.memory.view(x, (2,), "int16", relative_byte_offset=offset)

    @script.function
    def unknown_shape(x: script.Tensor):
        return script.memory.view(x, dtype="uint8")

    @script.function
    def wide(x: script.Tensor):
        return script.memory.view(x, dtype="uint16")


def test_offsets_that_run_time_knows_are_checked() -> None:
    again = rx.script.parse(Dynamic.script())
    assert again.script() == Dynamic.script()
    assert 'dtype="float32", relative_byte_offset="_s0")' in Dynamic.script()
    executable = rx.build(Dynamic)
    x, eight = _bytes(24), _bytes(3, 2, dtype="int8")
    for offset in (0, 1, 7, 16):
        _same(to_numpy(executable["at"](x, offset)), x[offset : offset + 8].copy().view(np.float32))
        _same(to_numpy(executable["unknown"](x, offset)), x[offset : offset + 4].copy().view(np.int16))
    for offset in (17, 1000, 2**62, 2**63 - 1):
        with pytest.raises(RelaxError, match=r"memory_view: .* does not lie in the tensor"):
            executable["at"](x, offset)
    with pytest.raises(RelaxError, match="stands for zero or more"):
        executable["at"](x, -1)
    with pytest.raises(RelaxError, match=r"memory_view: .* does not lie in the tensor"):
        executable["unknown"](x, 21)
    _same(to_numpy(executable["unknown_shape"](eight)), eight.view(np.uint8))
    with pytest.raises(RelaxError, match="ends at byte"):
        executable["wide"](x)
