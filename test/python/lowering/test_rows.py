"""select-kernels and the kernels over rows, against NumPy in f64."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np
import pytest
import sweep
from reference import OPS
from reference_values import plain
from relax_mlir.lowering.expand import ExpandFloats, ExpandMath
from relax_mlir.lowering.kernels.select_kernels import SelectKernels
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from rows_jit import Compiled

EPSILON = 1e-5
TARGETS = ("cpu -mcpu=haswell", str(Target("cpu -mcpu=skylake-avx512").runnable_here()))
LENGTHS = (0, 1, 2, 7, 8, 9, 31, 32, 33, 64, 100, 384, 1000)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def norm(name: str) -> Callable[..., np.ndarray]:
    """A norm over the dimensions of its weights."""
    return lambda x, *weights: OPS[name](x, *weights, tuple(range(-weights[0].ndim, 0)), EPSILON).value


REFERENCES: dict[str, tuple[int, Callable[..., np.ndarray]]] = {
    "softmax": (0, lambda x: plain(OPS["nn.softmax"](x))[0]),
    "log_softmax": (0, lambda x: plain(OPS["nn.log_softmax"](x))[0]),
    "layer_norm": (2, norm("nn.layer_norm")),
    "rms_norm": (1, norm("nn.rms_norm")),
}


def prim_func(kernel: str, shape: Sequence[int | str], dtype: str = "f32", inner: int = 1) -> str:
    """A marked prim func with an empty body; it is called like its kernel."""

    def memref(dims: Sequence[int | str]) -> str:
        return f"memref<{'x'.join([*map(str, dims), dtype])}>"

    weights = [memref(shape[len(shape) - inner :])] * REFERENCES[kernel][0]
    types = [memref(shape), *weights, memref(shape)]
    arguments = ", ".join(f"%{i}: {type_}" for i, type_ in enumerate(types))
    axes = ", ".join(f"{axis} : i64" for axis in range(len(shape) - inner, len(shape)))
    which = f"axes = [{axes}], epsilon = {EPSILON:e} : f64" if weights else f"axis = {axes}"
    return f"""
func.func private @{kernel}({arguments}) attributes {{
    relax.prim_func, relax.kernel = "{kernel}", relax.kernel_attrs = {{{which}}}}} {{
  return
}}"""


def compiled(source: str, target: str = TARGETS[0]) -> Compiled:
    with ir.Context() as context:
        context.enable_multithreading(False)
        module = ir.Module.parse(source)
        SelectKernels(target).apply_(module)
        ExpandMath(target).apply_(module)
        ExpandFloats(target).apply_(module)
        assert module.operation.verify()
        return Compiled(module)


def check(functions: Compiled, kernel: str, x: np.ndarray, inner: int = 1, tolerance: float = 2e-6) -> None:
    """Call a kernel, out of place and in place, and compare."""
    rng = np.random.default_rng(11)
    count, reference = REFERENCES[kernel]
    weights = [rng.normal(size=x.shape[x.ndim - inner :]).astype(x.dtype) for _ in range(count)]
    want = reference(x.astype(np.float64), *(w.astype(np.float64) for w in weights))
    guarded = np.full(x.size + 64, 7, dtype=x.dtype)
    out = guarded[: x.size].reshape(x.shape)
    functions(kernel, x, *weights, out)
    assert (guarded[x.size :] == 7).all()
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=tolerance, atol=tolerance)
    again = x.copy()
    functions(kernel, again, *weights, again)
    np.testing.assert_array_equal(again.astype(np.float64), out.astype(np.float64))


@pytest.fixture(scope="module", params=TARGETS)
def dynamic(request: pytest.FixtureRequest) -> Compiled:
    return compiled("".join(prim_func(kernel, ["?", "?"]) for kernel in REFERENCES), request.param)


@pytest.mark.parametrize("kernel", REFERENCES)
def test_every_row_length(kernel: str, dynamic: Compiled) -> None:
    rng = np.random.default_rng(1)
    for length in LENGTHS:
        for count in (0, 1, 3):
            check(dynamic, kernel, rng.normal(size=(count, length), scale=3).astype(np.float32))


@pytest.mark.parametrize("kernel", REFERENCES)
@pytest.mark.parametrize("shape", [(5,), (2, 3, 40), (2, 1, 3, 17)])
def test_every_rank(kernel: str, shape: tuple[int, ...]) -> None:
    functions = compiled(prim_func(kernel, ["?"] * len(shape)))
    check(functions, kernel, np.random.default_rng(2).normal(size=shape).astype(np.float32))


@pytest.mark.parametrize("kernel", REFERENCES)
@pytest.mark.parametrize("length", [1, 13, 64, 100])
def test_static_row_length(kernel: str, length: int) -> None:
    functions = compiled(prim_func(kernel, ["?", length]))
    check(functions, kernel, np.random.default_rng(3).normal(size=(4, length)).astype(np.float32))


@pytest.mark.parametrize("kernel", REFERENCES)
def test_double_precision(kernel: str) -> None:
    functions = compiled(prim_func(kernel, ["?", "?"], "f64"))
    check(functions, kernel, np.random.default_rng(4).normal(size=(3, 29)), tolerance=1e-13)


@pytest.mark.parametrize("kernel", REFERENCES)
@pytest.mark.parametrize(("name", "dtype"), [("f16", np.dtype(np.float16)), ("bf16", np.dtype(ml_dtypes.bfloat16))])
def test_half_precision_rounds_once(kernel: str, name: str, dtype: np.dtype) -> None:
    """Computed in f32: the result is the exact one rounded, except for ties that f32 cannot distinguish."""
    functions = compiled(prim_func(kernel, ["?", "?"], name))
    rng = np.random.default_rng(9)
    last_place = float(ml_dtypes.finfo(dtype).eps)
    for length in (1, 7, 8, 33, 100):
        check(functions, kernel, rng.normal(size=(3, length), scale=2).astype(dtype), tolerance=0.6 * last_place)
    x = rng.normal(size=(5, 20)).astype(dtype)
    x[0], x[1, 19], x[2, 0], x[3, 1:] = -np.inf, np.nan, np.inf, ml_dtypes.finfo(dtype).min
    if kernel in ("softmax", "log_softmax"):
        check(functions, kernel, x, tolerance=0.6 * last_place)


@pytest.mark.parametrize("kernel", ["layer_norm", "rms_norm"])
def test_rows_of_several_axes(kernel: str) -> None:
    functions = compiled(prim_func(kernel, ["?", "?", 7], inner=2))
    check(functions, kernel, np.random.default_rng(5).normal(size=(3, 5, 7)).astype(np.float32), inner=2)


@pytest.mark.parametrize("kernel", ["softmax", "log_softmax"])
@pytest.mark.parametrize("length", [3, 8, 45])
def test_special_values(kernel: str, length: int, dynamic: Compiled) -> None:
    x = np.random.default_rng(6).normal(size=(9, length)).astype(np.float32)
    x[0] = -np.inf
    x[1, -1] = np.nan
    x[2, 0] = np.inf
    x[3, 1:] = -np.inf
    x[4] = 3e38
    x[5] = -3e38
    x[6, -1] = 3e38
    x[7, 0] = -104.5
    check(dynamic, kernel, x)


OPTIONS = ("-num-threads=1", "-num-threads=2", "-num-threads=1 -l2=4096 -l3=0")


@pytest.mark.parametrize("kernel", REFERENCES)
@pytest.mark.parametrize("options", OPTIONS)
def test_rows_have_nothing_to_do_with_each_other(kernel: str, options: str) -> None:
    """Statistics of another row would overflow, or vanish; in a partial sweep, the targets alternate.

    With threads there are several first rows; with small caches, each row is processed by itself.
    """
    rng = np.random.default_rng(12)
    turn = [*REFERENCES].index(kernel) + OPTIONS.index(options)
    for target in TARGETS if sweep.ALL else (TARGETS[turn % 2],):
        functions = compiled(prim_func(kernel, ["?", "?"]), f"{target} {options}")
        for count, length in ((2, 5), (9, 33), (40, 64), (350, 1030)):
            scale = 10.0 ** rng.integers(-3, 4, (count, 1))
            rows = rng.normal(size=(count, length)) + rng.choice([-1, 1], (count, 1))
            check(functions, kernel, (rows * scale).astype(np.float32), tolerance=1e-5)


def test_layer_norm_far_from_zero(dynamic: Compiled) -> None:
    """A mean that dwarfs the spread: one-pass variances fail here."""
    x = (1000 + np.random.default_rng(7).normal(size=(3, 768))).astype(np.float32)
    check(dynamic, "layer_norm", x, tolerance=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layer_norm_wherever_the_mean_is(dtype: type[np.floating]) -> None:
    """Rows with means near 0 and far from it, among each other: the error grows with the mean alone."""
    functions = compiled(prim_func("layer_norm", ["?", "?"], "f32" if dtype == np.float32 else "f64"))
    means = np.array([0, 100, 0.5, 0.9, 1, 1.1, -1000, 1.7, -0.9, 3, 30, -1, 0])[:, None]
    for length in (7, 64, 1000):
        x = (means + np.random.default_rng(13).normal(size=(len(means), length))).astype(dtype)
        want = norm("nn.layer_norm")(x.astype(np.longdouble), *np.array([[1], [0]], dtype) + np.zeros(length, dtype))
        out = np.empty_like(x)
        functions("layer_norm", x, np.ones(length, dtype), np.zeros(length, dtype), out)
        assert (np.abs(out - want).max(-1, keepdims=True) <= 12 * np.finfo(dtype).eps * (1 + np.abs(means))).all()


def test_layer_norm_of_squares_that_overflow(dynamic: Compiled) -> None:
    """Far from 0, and close to each other."""
    x = np.float32(1e20) + np.random.default_rng(14).normal(size=(2, 40), scale=1e15).astype(np.float32)
    x[1] = 1e20
    out = np.empty_like(x)
    dynamic("layer_norm", x, np.ones(40, np.float32), np.zeros(40, np.float32), out)
    centred = x.astype(np.float64) - x.astype(np.float64).mean(-1, keepdims=True)
    np.testing.assert_allclose(out[0], centred[0] / centred[0].std(), atol=0.05)
    np.testing.assert_array_equal(np.isfinite(out), True)


def test_layer_norm_and_rms_norm_of_nan_and_inf(dynamic: Compiled) -> None:
    x = np.random.default_rng(8).normal(size=(3, 40)).astype(np.float32)
    x[0, 39], x[1, 3] = np.nan, np.inf
    check(dynamic, "layer_norm", x)
    check(dynamic, "rms_norm", x)


def test_large_rows_are_summed_well() -> None:
    functions = compiled(prim_func("softmax", ["?", "?"]))
    x = np.zeros((1, 1_000_000), np.float32)
    out = np.empty_like(x)
    functions("softmax", x, out)
    np.testing.assert_allclose(out, 1e-6, rtol=1e-6)


@pytest.mark.parametrize(
    "source",
    [
        prim_func("softmax", ["?", "?"], "i32"),
        prim_func("softmax", ["?", "?"]).replace("axis = 1", "axis = 0"),
        prim_func("softmax", ["?", "?"]).replace("memref<?x?xf32>", "memref<?x?xf32, strided<[?, 1], offset: ?>>"),
        prim_func("softmax", ["?", "?"]).replace('"softmax"', '"unheard_of"'),
    ],
    ids=["dtype", "axis", "layout", "name"],
)
def test_declined_functions_keep_their_bodies(source: str) -> None:
    with ir.Context():
        module = ir.Module.parse(source)
        before = str(module)
        SelectKernels(TARGETS[0]).apply_(module)
        assert str(module) == before


def test_the_target_sets_the_vector_width() -> None:
    for target, lanes in zip(TARGETS, (8, 16), strict=True):
        with ir.Context():
            module = ir.Module.parse(prim_func("softmax", ["?", "?"]))
            SelectKernels(target).apply_(module)
            assert f"vector<{lanes}xf32>" in str(module)
