"""Calls compiled programs on arrays between inaccessible pages.

``python test/python/support/guarded_programs.py GROUP TARGET SEED ROUNDS [EVERY]``: `EVERY` selects every n-th case.

Inputs, constants and given results end right before such a page, then begin right after one. The results are those of
the same call on ordinary arrays, bit by bit.
"""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import relax_mlir as rx
from guard_pages import GuardedMemory
from relax_mlir import op as R
from relax_mlir.error import RelaxError
from relax_mlir.runtime import to_numpy

Array = np.ndarray[Any, Any]
Dims = Sequence[Any]
Case = tuple[str, list[tuple[Dims, str]], Callable[..., Any]]
SMALL = (0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33)
LARGE = (48, 65, 100, 131)
FLOATS = ("float32", "float64", "float16", "bfloat16")
REFUSALS = RelaxError
MEMORY = GuardedMemory()
CONSTANTS = GuardedMemory()


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a Relax one."""
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def constant(shape: Sequence[int], dtype: str = "float32") -> Any:
    """A constant that ends right before a protected page."""
    values = np.random.default_rng(sum(shape)).normal(size=shape).astype(numpy_dtype(dtype))
    return R.const(CONSTANTS.place(values, at_end=True))


def products() -> Iterator[Case]:
    """All code paths of a GEMM: streamed rows, dot products, packed blocks, batches, rounded results."""
    for dtype in FLOATS:
        short = dtype[0] + dtype[-2:]
        yield f"mm_{short}", [(("n", "k"), dtype), (("k", "m"), dtype)], R.matmul
        yield (
            f"mm_t_{short}",
            [(("n", "k"), dtype), (("m", "k"), dtype)],
            lambda x, y: R.matmul(x, R.permute_dims(y, [1, 0])),
        )
        yield f"mm_row_{short}", [((1, "k"), dtype), (("k", "m"), dtype)], R.matmul
    yield "mm_batch", [(("b", "n", "k"), "float32"), (("b", "k", "m"), "float32")], R.matmul
    yield (
        "mm_left_t",
        [(("k", "n"), "float32"), (("k", "m"), "float32")],
        lambda x, y: R.matmul(R.permute_dims(x, [1, 0]), y),
    )


def epilogues() -> Iterator[Case]:
    """GEMM with packed constants, and epilogues of GEMM."""
    for dtype in ("float32", "float16", "bfloat16"):
        short = dtype[0] + dtype[-2:]
        for depth, width in ((37, 70), (16, 3), (5, 33)):
            yield (
                f"dense_{short}_{depth}_{width}",
                [(("n", depth), dtype)],
                lambda x, depth=depth, width=width, dtype=dtype: R.nn.relu(
                    R.matmul(x, constant((depth, width), dtype)) + constant((width,), dtype)
                ),
            )
        yield (
            f"residual_{short}",
            [(("n", "k"), dtype), (("k", "m"), dtype), (("m",), dtype), (("n", "m"), dtype)],
            lambda x, y, bias, residual: R.nn.gelu(R.matmul(x, y) + bias) + residual,
        )
        yield (
            f"converted_{short}",
            [(("n", "k"), dtype), (("k", "m"), dtype)],
            lambda x, y, dtype=dtype: R.astype(R.matmul(x, y), "float16" if dtype == "float32" else "float32"),
        )


def attentions() -> Iterator[Case]:
    """Attention with and without bias and mask, in f32 and 16 bits."""
    for dtype in ("float32", "float16", "bfloat16"):
        short = dtype[0] + dtype[-2:]
        for size in (8, 19):
            query, key = ("b", "n", 2, size), ("b", "m", 2, size)
            yield f"attention_{short}_{size}", [(query, dtype), (key, dtype), (key, dtype)], R.nn.attention
    bias = (("b", 1, "n", "m"), "float32")
    query, key = (("b", "n", 2, 16), "float32"), (("b", "m", 2, 16), "float32")
    yield "attention_bias", [query, key, key, bias], R.nn.attention
    yield (
        "attention_causal",
        [query, key, key],
        lambda q, k, v: R.nn.attention(q, k, v, causal_mask="BottomRight"),
    )


def rows() -> Iterator[Case]:
    """The kernels over rows, without and with prologues and epilogues."""
    for dtype in FLOATS:
        short, x, w = dtype[0] + dtype[-2:], (("n", "m"), dtype), (("m",), dtype)
        yield f"softmax_{short}", [x], R.nn.softmax
        yield f"log_softmax_{short}", [x], R.nn.log_softmax
        yield f"layer_norm_{short}", [x, w, w], R.nn.layer_norm
        yield f"rms_norm_{short}", [x, w], R.nn.rms_norm
    x, w, mask = (("n", "m"), "float32"), (("m",), "float32"), (("n", 1), "float32")
    yield "softmax_before", [x, w, mask], lambda a, b, c: R.nn.softmax(a * b + c)
    yield "layer_norm_before", [x, x, w], lambda a, b, c: R.nn.layer_norm(a + b, c, c)
    yield "softmax_behind", [x, w, mask], lambda a, b, c: R.nn.softmax(a) * b + c
    yield "layer_norm_around", [x, x, w], lambda a, b, c: R.nn.gelu(R.nn.layer_norm(a + b, c, c)) + a


def channels() -> Iterator[Case]:
    """Group norm with channels in the middle and in the last place."""
    for dtype in ("float32", "float16"):
        short, w = dtype[0] + dtype[-2:], ((6,), dtype)
        yield (
            f"group_norm_{short}",
            [(("b", 6, "n", "m"), dtype), w, w],
            lambda x, g, b: R.nn.group_norm(x, g, b, 3, 1, [2, 3]),
        )
        yield (
            f"group_norm_last_{short}",
            [(("b", "n", "m", 6), dtype), w, w],
            lambda x, g, b: R.nn.group_norm(x, g, b, 2, 3, [1, 2]),
        )
        yield (
            f"group_norm_flat_{short}",
            [(("n", 6), dtype), w, w],
            lambda x, g, b: R.nn.group_norm(x, g, b, 2, 1, []),
        )
    w = (("m",), "float32")
    yield (
        "instance_norm",
        [(("b", "m", "n"), "float32"), w, w],
        lambda x, g, b: R.nn.instance_norm(x, g, b, 1, [2]),
    )


def scans() -> Iterator[Case]:
    """Scans along each axis."""
    for dtype in ("float32", "float64", "float16", "int32", "int8"):
        for axis in range(3):
            yield (
                f"cumsum_{dtype}_{axis}",
                [(("b", "n", "m"), dtype)],
                lambda x, axis=axis: R.cumsum(x, axis, exclusive=axis == 1),
            )
    yield "cumprod", [(("n", "m"), "float32")], lambda x: R.cumprod(x, 1)


def reductions() -> Iterator[Case]:
    """Reductions over each axis and all of them, and positions of extrema."""
    for dtype in ("float32", "float16", "int32", "uint8"):
        for axis in ([0], [1], [2], [0, 2], [0, 1, 2]):
            name = f"{dtype}_{''.join(map(str, axis))}"
            yield f"sum_{name}", [(("b", "n", "m"), dtype)], lambda x, axis=axis: R.sum(x, axis=axis)
    x = (("b", "n", "m"), "float32")
    for name in ("mean", "variance", "std", "max", "min"):
        for axis in ([1], [2]):
            yield f"{name}_{axis[0]}", [x], lambda x, name=name, axis=axis: getattr(R, name)(x, axis=axis)
    for name in ("argmax", "argmin"):
        for axis in (0, 2):
            yield f"{name}_{axis}", [x], lambda x, name=name, axis=axis: getattr(R, name)(x, axis=axis)
    yield "sum_before", [(("n", "m"), "float32")], lambda x: R.sum(x * x + x, axis=[1])


def chains() -> Iterator[Case]:
    """Elementwise chains with broadcasts, slices, concatenations, gathers, transposes and conversions."""
    x, row, column = (("n", "m"), "float32"), (("m",), "float32"), (("n", 1), "float32")
    yield "broadcast", [x, row, column], lambda a, b, c: R.exp(a * b) + R.tanh(c)
    yield "transpose", [x, (("m", "n"), "float32")], lambda a, b: R.permute_dims(a, [1, 0]) * b
    yield "slices", [x], lambda a: R.abs(R.strided_slice(a, [1], [1], [1000])) * 2.0
    yield "backwards", [x], lambda a: R.abs(R.strided_slice(a, [1], [-1], [-1000], [-1])) + 1.0
    yield "steps", [x], lambda a: R.negative(R.strided_slice(a, [0, 1], [0, 1], [1000, 1000], [2, 3]))
    yield "concat", [x, x], lambda a, b: R.nn.relu(R.concat([a * 2.0, b], 1))
    yield "concat_rows", [x, x], lambda a, b: R.sigmoid(R.concat([a, b, a], 0))
    yield "gather", [x, (("k",), "int32")], lambda a, i: R.take(a, i, 0, "clip") * 3.0
    yield "gather_columns", [x, (("k",), "int64")], lambda a, i: R.take(a, i, 1, "wrap")
    yield "where", [x, x], lambda a, b: R.where(R.less(a, b), a, R.erf(b))
    yield "rotated", [(("n", 10), "float32"), (("n", 10), "float32")], _rotated
    yield "powers", [x, x], lambda a, b: R.power(R.abs(a), b) + R.sin(a) + R.atan2(a, b)
    yield "broadcast_out", [row], lambda a: R.broadcast_to(a, ("m", "m"))
    for source, target in (
        ("float16", "float32"), ("float32", "bfloat16"), ("bfloat16", "float16"), ("float32", "int8"),
        ("uint8", "float32"), ("bool", "float64"), ("int64", "int8"), ("float64", "float16"),
    ):  # fmt: skip
        yield (
            f"{source}_to_{target}",
            [(("n", "m"), source)],
            lambda a, target=target: R.astype(a, target),
        )
    for dtype in ("int8", "uint16", "int64", "bfloat16", "float64"):
        yield f"sums_{dtype}", [(("n", "m"), dtype), (("m",), dtype)], lambda a, b: R.maximum(a + b, a) * b


def turns() -> Iterator[Case]:
    """Work across rows: copies of each width, with axes in any order, of slices, and in chains."""
    for dtype in ("float32", "float64", "float16", "bfloat16", "int8", "bool"):
        yield f"turned_{dtype}", [(("n", "m"), dtype)], lambda x: R.permute_dims(x, [1, 0])
        yield f"turned_batch_{dtype}", [(("b", "n", "m"), dtype)], lambda x: R.permute_dims(x, [0, 2, 1])
    x = (("n", "m"), "float32")
    yield "turned_outer", [(("n", "b", "m"), "float32")], lambda x: R.permute_dims(x, [2, 1, 0])
    yield "channels_last", [(("b", 9, "n", 3), "float32")], lambda x: R.permute_dims(x, [0, 2, 3, 1])
    yield "channels_first", [(("b", "n", 2, 17), "float32")], lambda x: R.permute_dims(x, [0, 3, 1, 2])
    yield "turned_slice", [x], lambda x: R.permute_dims(R.strided_slice(x, [1], [1], [1000]), [1, 0])
    yield "turned_steps", [x], lambda x: R.permute_dims(R.strided_slice(x, [0], [0], [1000], [2]), [1, 0])
    yield (
        "turned_sum",
        [x, (("m", "n"), "float32"), (("n",), "float32")],
        lambda x, y, row: R.permute_dims(x, [1, 0]) * row + y,
    )
    yield (
        "turned_comparison",
        [(("n", "m"), "int16"), (("m", "n"), "int16")],
        lambda x, y: R.less(R.permute_dims(x, [1, 0]), y),
    )


def windows() -> Iterator[Case]:
    """Convolutions, also of groups and of each channel, and poolings: windows next to each other and apart."""
    sides = {1: [1, 1], 2: [2, 2], 3: [0, 1]}
    for dtype in ("float32", "float16"):
        short = dtype[0] + dtype[-2:]
        data = (("b", 4, "n", "m"), dtype)
        for step, padding in sides.items():
            options = {"strides": [step, step], "padding": padding}
            for name, weight, groups in (("dense", (18, 4, 3, 3), 1), ("depthwise", (4, 1, 3, 3), 4)):
                yield (
                    f"{name}_{step}_{short}",
                    [data, (weight, dtype)],
                    lambda x, w, groups=groups, options=options: R.nn.relu(R.nn.conv2d(x, w, groups=groups, **options)),
                )
            for kind in ("max", "avg"):
                yield (
                    f"{kind}_{step}_{short}",
                    [data],
                    lambda x, kind=kind, options=options: getattr(R.nn, f"{kind}_pool2d")(x, (3, 3), **options),
                )
    x = (("b", 4, "m"), "float32")
    yield "line", [x, ((5, 4, 3), "float32")], lambda x, w: R.nn.conv1d(x, w, padding=[4], dilation=3)
    yield "groups", [x, ((6, 2, 2), "float32")], lambda x, w: R.nn.conv1d(x, w, padding=[1], groups=2)
    operands = [x, ((4, 1, 3), "float32"), ((4, 1), "float32")]
    yield "biased", operands, lambda x, w, b: R.clip(R.nn.conv1d(x, w, padding=[1], groups=4) + b, 0.0, 6.0)


def _rotated(x: Any, y: Any) -> Any:
    first, second = R.strided_slice(x, [1], [0], [5]), R.strided_slice(x, [1], [5], [10])
    return x * y + R.concat([R.negative(second), first], 1) * y


GROUPS: dict[str, Callable[[], Iterator[Case]]] = {
    f.__name__: f for f in (products, epilogues, attentions, rows, channels, scans, reductions, chains, turns, windows)
}


def build(cases: Sequence[Case], target: str) -> Any:
    """The module of all cases."""
    bb = rx.BlockBuilder()
    for name, params, body in cases:
        variables = [rx.Var(f"x{i}", rx.Tensor(dims, dtype)) for i, (dims, dtype) in enumerate(params)]
        with bb.function(name, variables):
            bb.emit_func_output(body(*variables))
    return rx.build(bb.get(), target)


def draw(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Array:
    """Random elements, small."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        return rng.integers(0, 9, shape).astype(dtype)
    return np.asarray(rng.normal(size=shape)).astype(numpy_dtype(dtype))


def check(function: Any, case: Case, rng: np.random.Generator, sizes: dict[str, int]) -> None:
    """One call on ordinary arrays, and two on guarded ones."""
    name, params, _ = case
    inputs = [draw(rng, [d if isinstance(d, int) else sizes[d] for d in dims], t) for dims, t in params]
    print(name, [f"{a.dtype}{list(a.shape)}" for a in inputs], flush=True)
    try:
        expected = to_numpy(function(*inputs))
    except REFUSALS as error:  # for example, a maximum of no elements
        expected, message = None, str(error)
    for at_end in (True, False):
        placed = [MEMORY.place(array, at_end) for array in inputs]
        if expected is None:
            try:
                function(*placed)
            except REFUSALS as error:
                assert str(error) == message, error
                continue
            raise AssertionError(f"{name}: returned, but raised on other memory: {message}")
        out = MEMORY.place(np.full(expected.shape, 7).astype(expected.dtype), at_end)
        function(*placed, out)
        assert out.tobytes() == expected.tobytes(), f"{name}: other results at {'the end' if at_end else 'the start'}"
        for array, kept in zip(placed, inputs, strict=True):
            assert array.tobytes() == kept.tobytes(), f"{name}: an input has changed"
        MEMORY.release()


def main(group: str, target: str, seed: int, rounds: int, every: int = 1) -> None:
    """Check cases of a group at `rounds` random sizes each."""
    cases = list(GROUPS[group]())[seed % every :: every]
    print(f"compiling {group} for {target}", flush=True)
    compiled = build(cases, target)
    rng = np.random.default_rng(seed)
    for case in cases:
        for turn in range(rounds):
            usual = SMALL if turn % 3 else SMALL + LARGE * 3
            sizes = {name: int(rng.choice(SMALL[:4] if name == "b" else usual)) for name in "nmkb"}
            check(compiled[case[0]], case, rng, sizes)


if __name__ == "__main__":
    faulthandler.enable()
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
