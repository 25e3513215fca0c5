"""memory.view against NumPy's views of the same memory."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from harness import Suite
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import ir as I
from relax_mlir.script import relax as script

SIZES = tuple({"n": n} for n in (0, 1, 2, 5, 17))


def _bytes(*shape: int, dtype: str = "uint8", seed: int = 0) -> np.ndarray:
    """Elements with random bits, so that floats include NaNs and denormals; bools are 0 and 1."""
    kind = dtypes.dtype(dtype)
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape)) * kind.itemsize
    raw = rng.integers(0, 2 if kind.kind == "bool" else 256, count, dtype=np.uint8)
    return raw.view(kind.numpy).reshape(shape)


def _same(found: np.ndarray, expected: np.ndarray) -> None:
    """The same bits, NaNs included."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == np.ascontiguousarray(expected).tobytes()


SOURCES = ("bool", "int8", "float16", "bfloat16", "uint32", "float32", "float64")
TARGETS = ("bool", "uint8", "int16", "bfloat16", "float32", "int64", "float64")


def test_dtypes_are_seen_as_others() -> None:
    """48 bytes, at an aligned and at an odd offset; all bits are preserved."""
    bb = rx.BlockBuilder()
    for number, source in enumerate(SOURCES):
        x = rx.Var("x", Tensor((64 // dtypes.dtype(source).itemsize,), source))
        with bb.function(source, [x]):
            views = [
                R.memory.view(x, (48 // dtypes.dtype(target).itemsize,), target, _offset(number + other))
                for other, target in enumerate(TARGETS)
            ]
            bb.emit_func_output(R.make_tuple(*views))
    executable = rx.build(bb.get())
    for number, source in enumerate(SOURCES):
        given = _bytes(64 // dtypes.dtype(source).itemsize, dtype=source, seed=number)
        found = executable[source](given)
        for other, target in enumerate(TARGETS):
            offset = _offset(number + other)
            raw = given.view(np.uint8)[offset : offset + 48]
            expected = (raw != 0) if target == "bool" else raw.copy().view(dtypes.dtype(target).numpy)
            _same(to_numpy(found[other]), expected)


def _offset(number: int) -> int:
    return (3, 8, 0)[number % 3]


def test_dynamic_sizes() -> None:
    suite = Suite()
    words = [Tensor(("n", 4), "float32")]
    suite.add("same", R.memory.view, lambda x: x, words, sizes=SIZES)
    suite.add("flat", lambda x: R.memory.view(x, ("n * 4",)), lambda x: x.reshape(-1), words, sizes=SIZES)
    suite.add(
        "part",
        lambda x: R.memory.view(x, ("n // 2", 8)),
        lambda x: x[: len(x) // 2 * 2].reshape(-1, 8),
        words,
        sizes=SIZES,
    )
    suite.add(
        "rest",
        lambda x: R.memory.view(x, ("n", 2), None, "8 * n"),
        lambda x: x.reshape(-1)[2 * len(x) :].reshape(-1, 2),
        words,
        sizes=SIZES,
    )
    suite.add(
        "scalar",
        lambda x: R.memory.view(x, (), None, 8),
        lambda x: x[0, 2],
        [Tensor((3, 4), "float32")],
        sizes=(),
        inputs=[[np.arange(12, dtype="float32").reshape(3, 4)]],
    )
    suite.add(
        "of_scalar",
        lambda x: R.memory.view(x, (1, 1)),
        lambda x: x.reshape(1, 1),
        [Tensor((), "float32")],
        sizes=(),
        inputs=[[np.array(3.5, "float32")]],
    )
    suite.add(
        "bytes",
        lambda x: R.memory.view(x, ("n", 16), "uint8"),
        lambda x: x.astype("float32").view(np.uint8).reshape(-1, 16),
        words,
        sizes=SIZES,
    )
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
    executable = rx.build(Dynamic)
    x = _bytes(24)
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
    _same(
        to_numpy(executable["unknown_shape"](_bytes(3, 2, dtype="int8"))),
        _bytes(3, 2, dtype="int8").view(np.uint8),
    )
    with pytest.raises(RelaxError, match="ends at byte"):
        executable["wide"](x)


def _view_of(info: Tensor, shape: object = None, dtype: object = None, offset: object = 0) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", info)
    with bb.function("main", [x]):
        bb.emit_func_output(R.memory.view(x, shape, dtype, offset))  # type: ignore[arg-type]  # wrong ones, too
    bb.get()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Tensor((16,), "float32"), (17,)), r"ends at byte 68, but .* has 64 bytes"),
        ((Tensor((16,), "float32"), (4,), None, 52), "ends at byte 68"),
        ((Tensor((16,), "float32"), None, "float64"), "ends at byte 128"),
        ((Tensor((16,), "float32"), None, None, 1), "ends at byte 65"),
        ((Tensor(("n",), "float32"), ("n + 1",)), "ends at byte"),
        ((Tensor(("n",), None), ("2 * n + 1",)), "one byte each, at least"),
        ((Tensor(("n",), "float32"), ("n",), None, -4), "before the tensor"),
        ((Tensor(None, "float32"), None, "float64"), "elements of 4 bytes"),
        ((Tensor(None, None), None, None, 8), "ends beyond it"),
    ],
)
def test_views_beyond_the_end_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        _view_of(*arguments)  # type: ignore[arg-type]  # as the parameters say


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match="'dtype'"):
        _view_of(Tensor((4,), "float32"), (4,), 3)
    with pytest.raises(ArgumentError, match="relative_byte_offset"):
        _view_of(Tensor((4,), "float32"), (4,), None, 1.5)
    with pytest.raises(ArgumentError, match="'shape'"):
        _view_of(Tensor((4,), "float32"), 4)


def test_a_script_prints_what_it_reads() -> None:
    again = rx.script.parse(Dynamic.script())
    assert again.script() == Dynamic.script()
    assert 'dtype="float32", relative_byte_offset="_s0")' in Dynamic.script()
