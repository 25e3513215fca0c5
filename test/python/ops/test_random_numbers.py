"""Random words against the published vectors of Philox 4x32-10, distributions by their moments, states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from philox import philox
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.random import Generator
from relax_mlir.runtime import to_numpy

STATE = rx.Tensor((3,), "uint64")


def built(draw: Callable[..., Any], *parameters: rx.Var) -> Any:
    state = rx.Var("state", STATE)
    bb = rx.BlockBuilder()
    with bb.function("main", [*parameters, state]):
        bb.emit_func_output(draw(*parameters, state))
    return rx.build(bb.get())["main"]


@pytest.fixture(scope="module")
def words() -> Any:
    return built(lambda x, state: R.random.bits(state, ("n",)), rx.Var("x", rx.Tensor(("n",))))


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        (0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (2**64 - 1, 2**128 - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            0x299F31D0A4093822,
            0x0370734413198A2E85A308D3243F6A88,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_published_vectors(words: Any, key: int, counter: int, expected: tuple[int, ...]) -> None:
    """Those of Random123, by its authors."""
    found = Generator(key, counter).draw(words, np.zeros(4, "float32"))
    assert tuple(map(int, found)) == expected == tuple(philox(key, counter))


@pytest.mark.parametrize("counter", [0, 5, 2**64 - 2, 2**128 - 2])
def test_words_of_all_lengths(words: Any, counter: int) -> None:
    """The last block is truncated; the counter carries into its high word, and wraps around at the end."""
    generator = Generator(12345678901234567890, counter)
    for count in (0, 1, 2, 3, 4, 5, 8, 67, 0, 4):
        before = generator.counter
        found = generator.draw(words, np.zeros(count, "float32"))
        blocks = [word for n in range(-(-count // 4)) for word in philox(12345678901234567890, before + n)]
        assert list(map(int, found)) == blocks[:count]
        assert generator.counter == (before + -(-count // 4)) % 2**128


def test_draws_are_not_merged() -> None:
    """Two draws of equal shape differ, those of one state are the same, and unused ones advance the state."""

    def draw(state: Any) -> Any:
        first, second = R.random.uniform(state, (5,)), R.random.uniform(state, (5,))
        later, after = R.random.uniform(first[1], (5,))
        _, unused = R.random.uniform(after, (8,))
        return first[0], second[0], later, unused

    first, second, later, state = map(to_numpy, built(draw)(Generator(3).state))
    assert first.tolist() == second.tolist() and not set(first.tolist()) & set(later.tolist())
    assert state.tolist() == [3, 6, 0]


COUNT = 40_000


@pytest.fixture(scope="module")
def samples() -> dict[str, Any]:
    """Many numbers of each distribution, from one program."""
    kinds = {
        **{f"uniform {t}": (R.random.uniform, {"dtype": t}) for t in ("float16", "bfloat16", "float32", "float64")},
        "uniform -2 3": (R.random.uniform, {"low": -2.0, "high": 3.0}),
        **{f"normal {t}": (R.random.normal, {"dtype": t}) for t in ("float16", "float32", "float64")},
        "normal 4 0.5": (R.random.normal, {"mean": 4.0, "scale": 0.5}),
        "randint int64": (R.random.randint, {"low": -3, "high": 4}),
        "randint uint8": (R.random.randint, {"low": 0, "high": 256, "dtype": "uint8"}),
        "randint one": (R.random.randint, {"low": 9, "high": 10, "dtype": "int32"}),
        "randint wide": (R.random.randint, {"low": -(2**62), "high": 2**62 - 1}),
    }

    def draw(x: Any, p: Any, state: Any) -> Any:
        found = []
        for function, options in kinds.values():
            value, state = function(state, ("n",), **options)
            found.append(R.astype(value, "float32") if "float16" in str(options) else value)
        value, state = R.random.bernoulli(state, p)
        return (*found, value, state)

    main = built(draw, rx.Var("x", rx.Tensor(("n",))), rx.Var("p", rx.Tensor(("n",))))
    probabilities = np.repeat(np.array([0.0, 0.25, 1.0, np.nan], "float32"), COUNT // 4)
    found = Generator(2026).draw(main, np.zeros(COUNT, "float32"), probabilities)
    return dict(zip([*kinds, "bernoulli"], map(to_numpy, found), strict=True))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform(samples: dict[str, Any], dtype: str) -> None:
    """Below 1, multiples of a power of two, mean and variance within five standard errors."""
    found = samples[f"uniform {dtype}"].astype("float64")
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[dtype]
    assert found.min() >= 0 and found.max() <= 1 - 2.0**-digits
    assert np.all(found * 2.0**digits % 1 == 0)
    offset = 2.0 ** -(digits + 1)
    assert abs(found.mean() + offset - 0.5) < 5 / np.sqrt(12 * COUNT) and abs(found.var() - 1 / 12) < 3e-3


def test_uniform_of_a_range(samples: dict[str, Any]) -> None:
    found = samples["uniform -2 3"]
    assert found.min() >= -2 and found.max() <= 3 and abs(found.mean() - 0.5) < 5 * 5 / np.sqrt(12 * COUNT)


@pytest.mark.parametrize(
    ("name", "mean", "scale"),
    [("normal float16", 0, 1), ("normal float32", 0, 1), ("normal float64", 0, 1), ("normal 4 0.5", 4, 0.5)],
)
def test_normal(samples: dict[str, Any], name: str, mean: float, scale: float) -> None:
    """Mean, variance, third and fourth moment, and finite."""
    found = (samples[name].astype("float64") - mean) / scale
    assert np.isfinite(found).all()
    for power, expected, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((found**power).mean() - expected) < 5 * np.sqrt(variance / COUNT)


def test_randint(samples: dict[str, Any]) -> None:
    counts = np.bincount(samples["randint int64"] + 3, minlength=7)
    assert len(counts) == 7 and np.all(abs(counts - COUNT / 7) < 5 * np.sqrt(COUNT / 7))
    assert set(samples["randint uint8"].tolist()) == set(range(256))
    assert set(samples["randint one"].tolist()) == {9}
    wide = samples["randint wide"]
    assert wide.min() < -(2**61) and wide.max() > 2**61


def test_bernoulli(samples: dict[str, Any]) -> None:
    never, rare, always, nan = np.split(samples["bernoulli"], 4)
    assert not never.any() and always.all() and not nan.any()
    assert abs(rare.mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / len(rare))


@pytest.mark.parametrize(
    ("error", "message", "draw"),
    [
        (
            DTypeError,
            "random.uniform: dtype is int32, expected floats",
            lambda s: R.random.uniform(s, (3,), dtype="int32"),
        ),
        (
            DTypeError,
            "random.randint: dtype is float32",
            lambda s: R.random.randint(s, (3,), 0, 2, "float32"),
        ),
        (ArgumentError, "there are no integers from 2 up to 2", lambda s: R.random.randint(s, (3,), 2, 2)),
        (ShapeError, "expected a state", lambda s: R.random.words(R.zeros((4,), "uint64"), 3)),
        (DTypeError, "uint64", lambda s: R.random.words(R.zeros((3,), "int64"), 3)),
        (
            ShapeError,
            "expected floats of known sizes",
            lambda s: R.random.bernoulli(s, R.zeros((3,), "int64")),
        ),
        (ShapeError, "count is -1", lambda s: R.random.words(s, -1)),
    ],
)
def test_wrong_arguments(error: type[Exception], message: str, draw: Callable[..., Any]) -> None:
    state = rx.Var("state", STATE)
    bb = rx.BlockBuilder()
    with bb.function("main", [state]):
        with pytest.raises(error, match=message):
            draw(state)
        bb.emit_func_output(state)


def test_generator(words: Any) -> None:
    generator = Generator(5)
    generator.draw(words, np.zeros(9, "float32"))
    kept = generator.state
    first = generator.draw(words, np.zeros(9, "float32"))
    generator.state = kept
    assert first.tolist() == generator.draw(words, np.zeros(9, "float32")).tolist()
    kept[0] = 0
    assert generator.state[0] == 5
    for wrong in (-1, 2**64):
        with pytest.raises(ArgumentError, match="expected 64 and 128 bits"):
            Generator(wrong)
    with pytest.raises(ArgumentError, match="a state is float64 of shape"):
        generator.state = np.zeros(3)
    with pytest.raises(ArgumentError, match="no tuple of results and the next state"):
        generator.draw(lambda x: x)
