"""The kernels of cumsum, cumprod and group norm for several targets, around the vector width and in place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op as R
from relax_mlir.lowering.kernels.select_kernels import SelectKernels
from relax_mlir.mlir import ir
from rows_jit import Compiled

TARGETS = (
    "cpu -mcpu=x86-64",
    "cpu -mcpu=haswell",
    "cpu -mcpu=skylake-avx512",
    "cpu -mcpu=haswell -num-threads=2",
)
SIZES = (0, 1, 3, 4, 5, 8, 9, 16, 17, 31, 70)


def scan(name: str, axis: int, exclusive: bool) -> str:
    buffer = "memref<?x?x?xf32>"
    return f"""
func.func private @{name}_{axis}_{int(exclusive)}(%x: {buffer}, %out: {buffer}) attributes {{relax.prim_func,
    relax.kernel = "{name}", relax.kernel_attrs = {{axis = {axis} : i64, exclusive = {str(exclusive).lower()}}}}} {{
  return
}}"""


@pytest.mark.parametrize(
    ("dtype", "name"), sweep.product(("int8", "uint8", "int16", "int32", "int64"), ("cumsum", "cumprod"))
)
def test_rows_of_whole_vectors(name: str, dtype: str) -> None:
    """Rows of a known multiple of the vector width, of small integers, on the host with all of LLVM's optimisations."""
    cases = (((384,), 0), (("n", 128), 1), ((3, 64), 1), ((5, 64), 0))
    bb = rx.BlockBuilder()
    for number, (shape, axis) in enumerate(cases):
        x = rx.Var("x", rx.Tensor(shape, dtype))
        with bb.function(f"f{number}", [x]):
            bb.emit_func_output(bb.emit(getattr(R, name)(x, axis)))
    built, rng = rx.build(bb.get()), np.random.default_rng(2)
    for number, (shape, axis) in enumerate(cases):
        array = rng.integers(0, 4, [3 if size == "n" else size for size in shape]).astype(dtype)
        result = np.from_dlpack(built[f"f{number}"](array))
        np.testing.assert_array_equal(result, getattr(np, name)(array, axis=axis, dtype=dtype))


def norm(name: str, shape: str, axes: str, channel: int, groups: int) -> str:
    buffer, parameter = f"memref<{shape}xf32>", "memref<?xf32>"
    return f"""
func.func private @{name}(%x: {buffer}, %g: {parameter}, %b: {parameter}, %out: {buffer}) attributes {{
    relax.prim_func, relax.kernel = "group_norm", relax.kernel_attrs = {{axes = [{axes}], center = true,
    channel_axis = {channel} : i64, epsilon = 1.0e-05 : f64, num_groups = {groups} : i64, scale = true}}}} {{
  return
}}"""


def compiled(source: str, target: str) -> Compiled:
    with ir.Context() as context:
        context.enable_multithreading(False)
        module = ir.Module.parse(source)
        SelectKernels(target).apply_(module)
        assert module.operation.verify()
        return Compiled(module)


def call(functions: Compiled, name: str, x: np.ndarray, parameters: Sequence[np.ndarray] = ()) -> np.ndarray:
    """The result, after checks of the memory after it, and of the result in place."""
    guarded = np.full(x.size + 64, 7, dtype=x.dtype)
    out = guarded[: x.size].reshape(x.shape)
    functions(name, x, *parameters, out)
    assert (guarded[x.size :] == 7).all()
    again = x.copy()
    functions(name, again, *parameters, again)
    np.testing.assert_array_equal(again, out)
    return out


@pytest.mark.parametrize("target", TARGETS)
def test_scans(target: str) -> None:
    kinds = [(name, axis, ex) for name in ("cumsum", "cumprod") for axis in (1, 2) for ex in (False, True)]
    functions = compiled("".join(scan(*kind) for kind in kinds), target)
    rng = np.random.default_rng(1)
    for size in SIZES:
        x = rng.uniform(0.5, 1.5, (2, 3, size)).astype(np.float32)
        for name, axis, exclusive in kinds:
            compute = np.cumsum if name == "cumsum" else np.cumprod
            want = compute(x.astype(np.float64), axis=axis)
            if exclusive:
                first = np.full_like(want, float(name == "cumprod")).take(range(min(1, want.shape[axis])), axis)
                want = np.concatenate([first, want], axis).take(range(want.shape[axis]), axis)
            have = call(functions, f"{name}_{axis}_{int(exclusive)}", x)
            np.testing.assert_allclose(have, want, rtol=1e-7)


@pytest.mark.parametrize("target", TARGETS)
def test_group_norms(target: str) -> None:
    source = norm("first", "?x?x?", "2", 1, 2) + norm("last", "?x?x?", "1", 2, 2)
    source += norm("vectors", "?x?", "", 1, 2) + norm("instance", "?x?x?", "1", 2, 0)
    functions = compiled(source, target)
    rng = np.random.default_rng(2)
    for channels in (2, 6, 34):
        gamma, beta = rng.normal(size=(2, channels)).astype(np.float32)
        for size in SIZES[1:]:
            x = rng.normal(size=(3, channels, size), loc=5).astype(np.float32)
            for groups, kernels in ((2, ("first", "last")), (channels, ("instance",))):
                parts = x.astype(np.float64).reshape(3, groups, -1)
                deviation = np.sqrt(parts.var(-1, keepdims=True) + 1e-5)
                normal = ((parts - parts.mean(-1, keepdims=True)) / deviation).reshape(x.shape)
                want = normal * gamma[:, None] + beta[:, None]
                for kernel in kernels:
                    order = (0, 1, 2) if kernel == "first" else (0, 2, 1)
                    given = np.ascontiguousarray(x.transpose(order))
                    have = call(functions, kernel, given, (gamma, beta)).transpose(order)
                    np.testing.assert_allclose(have, want, rtol=1e-4, atol=2e-3)
            flat = np.ascontiguousarray(x[..., 0])
            parts = flat.astype(np.float64).reshape(3, 2, -1)
            deviation = np.sqrt(parts.var(-1, keepdims=True) + 1e-5)
            want = ((parts - parts.mean(-1, keepdims=True)) / deviation).reshape(flat.shape) * gamma + beta
            have = call(functions, "vectors", flat, (gamma, beta))
            np.testing.assert_allclose(have, want, rtol=1e-4, atol=2e-3)


def test_the_target_sets_the_vectors() -> None:
    for target, lanes in (("haswell", 4), ("skylake-avx512", 8), ("neoverse-n1", 2)):
        with ir.Context():
            module = ir.Module.parse(scan("cumsum", 2, False))
            SelectKernels(f"cpu -mcpu={target}").apply_(module)
            assert f"vector<{lanes}xf64>" in str(module)
