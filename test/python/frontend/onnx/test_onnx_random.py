"""Random numbers of ONNX models: distributions, seeds, generators of sessions, branches and loops, dropout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from onnx_models import model
from relax_mlir.error import ArgumentError, ParseError, ShapeError, UnsupportedError
from relax_mlir.frontend.onnx import InferenceSession, from_onnx
from relax_mlir.random import Generator

DRAWS = model("""g (float[n, m] x, float[b, k] logs, float[n, m] p, double r, bool train)
    => (float[n, m] uniform, float16[n, m] half, double[n, m] normal, float[3, 1000] fixed, int64[b, 4000] chosen,
        bool[n, m] bernoulli, float[n, m] dropped, bool[n, m] mask, float[n, m] seeded, float[n, m] twin,
        float[] scalar) {
    uniform = RandomUniformLike<low = -1.0>(x)
    half = RandomUniformLike<dtype = 10, high = 4.0>(x)
    normal = RandomNormalLike<dtype = 11, seed = 3.0>(x)
    fixed = RandomNormal<shape = [3, 1000], mean = 2.0, scale = 0.5>()
    chosen = Multinomial<dtype = 7, sample_size = 4000>(logs)
    bernoulli = Bernoulli<dtype = 9>(p)
    dropped, mask = Dropout(x, r, train)
    seeded = RandomUniformLike<seed = 5.0>(x)
    twin = RandomUniformLike<seed = 5.0>(x)
    scalar = RandomUniform<shape: ints = []>()
}""")
"""One draw of each op; two with equal seeds."""
MOMENTS = {
    "uniform": (0, 1 / 3, -1, 1),
    "half": (2, 4 / 3, 0, 4),
    "normal": (0, 1, -8, 8),
    "fixed": (2, 0.25, -2, 6),
    "bernoulli": (0.25, 0.1875, 0, 1),
    "dropped": (1, 1 / 3, 0, 1.33334),
    "seeded": (0.5, 1 / 12, 0, 1),
}
"""Mean, variance, minimum and maximum."""
CHANCES = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]])
NAMES = [output.name for output in DRAWS.graph.output]


def feeds(rows: int = 200, train: bool = True) -> dict[str, Any]:
    with np.errstate(divide="ignore"):
        logs = np.log(CHANCES * 3).astype("f4")
    ones = np.ones((rows, 50), "f4")
    return {"x": ones, "logs": logs, "p": ones / 4, "r": np.float64(0.25), "train": np.array(train)}


@pytest.fixture(scope="module")
def session() -> InferenceSession:
    return InferenceSession(DRAWS, generator=Generator(2))


@pytest.mark.slow
def test_distributions(session: InferenceSession) -> None:
    """Mean and variance within five standard errors; of the chosen classes, how often each occurs."""
    found = dict(zip(NAMES, session.run(None, feeds()), strict=True))
    for name, (mean, variance, least, most) in MOMENTS.items():
        numbers = found[name].astype("float64")
        assert numbers.min() >= least and numbers.max() <= most, name
        assert abs(numbers.mean() - mean) < 5 * np.sqrt(variance / numbers.size), name
        assert abs(numbers.var() / variance - 1) < 0.1, name
    assert [str(found[name].dtype) for name in ("half", "normal", "bernoulli")] == [
        "float16",
        "float64",
        "bool",
    ]
    for row, chances in zip(found["chosen"], CHANCES, strict=True):
        counts = np.bincount(row, minlength=3)
        assert np.all(abs(counts - 4000 * chances) <= 5 * np.sqrt(4000 * chances * (1 - chances)))
    np.testing.assert_array_equal(found["mask"], found["dropped"] != 0)
    np.testing.assert_array_equal(found["seeded"], found["twin"])
    assert found["scalar"].shape == () and 0 <= found["scalar"] < 1


def test_dropout_outside_of_training(session: InferenceSession) -> None:
    found = dict(zip(NAMES, session.run(None, feeds(3, train=False)), strict=True))
    assert np.all(found["dropped"] == 1) and found["mask"].all()


def test_no_rows(session: InferenceSession) -> None:
    found = dict(zip(NAMES, session.run(None, feeds(0)), strict=True))
    assert found["uniform"].shape == (0, 50) and found["fixed"].shape == (3, 1000)


def test_seeds_and_sessions(session: InferenceSession) -> None:
    """A new session repeats the draws of seeded nodes and of its generator; each run continues the sequence."""
    runs = []
    for number in (2, 9):
        session.generator.state = Generator(number).state
        runs.append([dict(zip(NAMES, session.run(None, feeds(4)), strict=True)) for _ in range(2)])
    for name in ("normal", "seeded"):
        assert all(np.array_equal(one[name], other[name]) for one, other in zip(*runs, strict=True))
    for name in ("uniform", "half", "fixed"):
        assert not any(np.array_equal(one[name], other[name]) for one, other in zip(*runs, strict=True))
    for name in ("uniform", "normal", "seeded"):
        assert not np.intersect1d(*(found[name] for found in runs[0])).size
    seeds = {InferenceSession(model("g () => (float[2] y) { y = RandomUniform<shape = [2]>() }")) for _ in "ab"}
    assert len({str(one.run(None, {})) for one in seeds}) == 2


def test_as_a_module() -> None:
    """The state is the last parameter and the last result; the counter carries into its high word."""
    module = from_onnx(model("g (float[n] generator) => (float[n] y) { y = RandomNormalLike<seed = 1.0>(generator) }"))
    main = rx.build(module)["main"]
    generator = Generator(7, 2**64 - 1)
    generator.draw(main, np.zeros(5, "f4"))
    assert generator.state.tolist() == [7, 2, 1]
    with pytest.raises(ArgumentError, match="takes 2 arguments"):
        main(np.zeros(5, "f4"))
    with pytest.raises(ArgumentError, match="InferenceSession: 'generator' is 3"):
        InferenceSession(DRAWS, generator=3)  # type: ignore[arg-type]  # what is refused


NESTED = model("""g (float[n] x, bool c, int64 rounds, float[k, n] rows)
    => (float[n] chosen, float[r, n] collected, float[q, n] whiled, float[k, n] scanned, float[n] last) {
    chosen = If(c) <
        then_branch = t () => (float[n] a) { a = RandomUniformLike(x) },
        else_branch = e () => (float[n] b) { b = Identity(x) }
    >
    yes = Constant<value = bool {1}>()
    zero = Constant<value = float {0.0}>()
    total, collected = Loop(rounds, yes, zero) <
        body = l (int64 i, bool go, float t) => (bool gone, float u, float[n] drawn) {
            gone = Identity(go)
            drawn = RandomUniformLike<seed = 1.0>(x)
            u = ReduceSum<keepdims = 0>(drawn)
        }
    >
    whiled = Loop(rounds, yes) <
        body = w (int64 i, bool go) => (bool gone, float[n] drawn) {
            drawn = RandomUniformLike(x)
            two = Constant<value = int64 {2}>()
            gone = Less(i, two)
        }
    >
    scanned = Scan<num_scan_inputs = 1, body = s (float[n] row) => (float[n] out) {
        noise = RandomUniformLike(row)
        out = Add(row, noise)
    }>(rows)
    last = RandomUniformLike(x)
}""")


def test_branches_and_loops() -> None:
    """Each iteration draws new numbers; a branch that draws advances the state only if it is taken."""
    session = InferenceSession(NESTED, generator=Generator(1))
    x, rows = np.full(8, 2, "f4"), np.zeros((3, 8), "f4")

    def run(condition: bool, rounds: int) -> tuple[list[Any], int]:
        session.generator.state = Generator(1).state
        feed = {"x": x, "c": np.array(condition), "rounds": np.array(rounds), "rows": rows}
        return session.run(None, feed), session.generator.counter

    for condition in (True, False):
        for rounds in (0, 1, 6):
            (chosen, *parts, last), counter = run(condition, rounds)
            assert [len(part) for part in parts] == [rounds, min(rounds, 3), 3]
            drawn = np.concatenate([part.reshape(-1) for part in (*parts, last, chosen[: 8 * condition])])
            assert len(np.unique(drawn)) == len(drawn) and np.all((drawn >= 0) & (drawn < 1))
            assert counter == 2 * (len(drawn) // 8)
            assert condition or np.array_equal(chosen, x)


@pytest.mark.parametrize(
    ("error", "message", "node"),
    [
        (UnsupportedError, "a distribution of floats as int32", "y = RandomUniformLike<dtype = 6>(x)"),
        (
            ParseError,
            "the ratio is 1.0, expected",
            "r = Constant<value = float {1.0}>() y = Dropout(x, r, t)",
        ),
        (ShapeError, "rank 1, expected 2", "y = Multinomial(x)"),
        (ShapeError, r"the shape is \[-2, -1\]", "y = RandomNormal<shape = [-2, -1]>()"),
    ],
)
def test_wrong_nodes(error: type[Exception], message: str, node: str) -> None:
    text = "g (float[n] x) => (float[n] y) { t = Constant<value = bool {1}>() " + node + " }"
    with pytest.raises(error, match=message):
        from_onnx(model(text))
