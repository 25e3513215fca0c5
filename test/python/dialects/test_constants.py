"""Arrays as attributes and back, for every dtype, in memory and through text."""

import gc

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
from numpy.typing import NDArray
from relax_mlir.analysis.structural import assert_structural_equal, structural_hash
from relax_mlir.dialects import dialect, dtypes
from relax_mlir.dialects.constants import DENSE_LIMIT, is_resource, resource_name, to_attribute, to_numpy
from relax_mlir.error import UnsupportedError
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import quoted
from relax_mlir.script import parse, script_constants

Array = NDArray[np.generic]
SIZES = ((), (0, 3), (3,), (DENSE_LIMIT + 1,), (10, 0), (9, 11))


def sample(dtype: str, shape: tuple[int, ...]) -> Array:
    rng = np.random.default_rng(0)
    return np.asarray(rng.integers(0, 100, size=shape)).astype(dtypes.dtype(dtype).numpy)


@pytest.mark.parametrize("dtype", dtypes.DTYPES)
def test_a_broadcast_scalar_is_a_splat(dtype: str) -> None:
    """It equals the same elements in a resource, and takes no memory for them."""
    numpy_dtype = dtypes.dtype(dtype).numpy
    modules = []
    for array in (np.broadcast_to(np.ones((), numpy_dtype), (70, 5)), np.ones((70, 5), numpy_dtype)):
        bb = rx.BlockBuilder()
        with bb.function("main", []):
            bb.emit_func_output(bb.const(array))
        modules.append(bb.get())
    splat, resource = modules
    assert "dense<" in splat.asm() and "dense_resource<" in resource.asm()
    assert_structural_equal(splat, resource)
    assert structural_hash(splat) == structural_hash(resource)
    again = parse(splat.script(), script_constants(splat.mlir))
    assert_structural_equal(again, splat)
    assert "dense<" in again.asm()


def test_large_splats_take_no_memory() -> None:
    """A script of 2**40 elements is printed, read and compared."""
    module = rx.IRModule.parse("""
        func.func @main() -> tensor<1099511627776xf32> {
          %0 = "relax.constant"() {value = dense<2.0> : tensor<1099511627776xf32>} : () -> tensor<1099511627776xf32>
          return %0 : tensor<1099511627776xf32>
        }""")
    assert_structural_equal(parse(module.script(), script_constants(module.mlir)), module)


@pytest.mark.parametrize("dtype", dtypes.DTYPES)
@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_arrays_survive(dtype: str, shape: tuple[int, ...]) -> None:
    array = sample(dtype, shape)
    with dialect.context(), ir.Location.unknown():
        back = to_numpy(to_attribute(array))
    assert back.dtype == array.dtype and back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_special_values_survive() -> None:
    for dtype in (np.float32, np.float16, np.float64, ml_dtypes.bfloat16):
        array = np.array([np.nan, np.inf, -np.inf, -0.0, 1.0], dtype=dtype)
        with dialect.context(), ir.Location.unknown():
            back = to_numpy(to_attribute(array))
        np.testing.assert_array_equal(back.astype(np.float64), array.astype(np.float64))
        assert np.signbit(back[3].astype(np.float64))


def test_arrays_in_other_orders_are_copied() -> None:
    array = np.arange(200.0).reshape(10, 20).T
    with dialect.context(), ir.Location.unknown():
        np.testing.assert_array_equal(to_numpy(to_attribute(array)), array)


def through_text(array: Array) -> Array:
    with dialect.context(), ir.Location.unknown():
        module = ir.Module.create()
        module.operation.attributes["relax.value"] = to_attribute(array)
        text = str(module)
    with dialect.context():
        return to_numpy(ir.Module.parse(text).operation.attributes["relax.value"])


@pytest.mark.parametrize("dtype", dtypes.DTYPES)
def test_large_constants_are_read_from_text(dtype: str) -> None:
    array = sample(dtype, (9, 11))
    np.testing.assert_array_equal(through_text(array), array)


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        ("", "no resource of that name"),
        ("0x0400000000", "has 1 bytes, not 400"),
        ("0x", "has 0 bytes, not 400"),
    ],
)
def test_bad_resources_are_errors(blob: str, message: str) -> None:
    resources = f'{{-# dialect_resources: {{ builtin: {{ w: "{blob}" }} }} #-}}' if blob else ""
    text = f"module attributes {{relax.value = dense_resource<w> : tensor<100xf32>}} {{}}\n{resources}"
    with dialect.context():
        try:
            value = ir.Module.parse(text).operation.attributes["relax.value"]
        except ir.MLIRError:
            return  # MLIR refuses the blob itself
        with pytest.raises(UnsupportedError, match=message):
            to_numpy(value)


@pytest.mark.parametrize(
    "name", ["0x0400000000000000", 'a "b"', "a>b", "{-# }", "\\5C", "\u00e4\n", "dense_resource<w>"]
)
def test_resources_may_have_any_name(name: str) -> None:
    """Their names are read as MLIR's printer writes them, and not taken for their data."""
    key, blob = quoted(name), "0x04000000" + "0000803F" * 100
    text = (
        f"module attributes {{relax.value = dense_resource<{key}> : tensor<100xf32>}} {{}}\n"
        f'{{-# dialect_resources: {{ builtin: {{ {key}: "{blob}" }} }} #-}}'
    )
    with dialect.context():
        value = ir.Module.parse(text).operation.attributes["relax.value"]
        assert is_resource(value) and resource_name(value) == name
        np.testing.assert_array_equal(to_numpy(value), np.ones(100, "f4"))
        missing = ir.Attribute.parse(f"dense_resource<{quoted(name + '!')}> : tensor<100xf32>")
        with pytest.raises(UnsupportedError, match="no resource of that name"):
            to_numpy(missing)
        assert not is_resource(ir.StringAttr.get(str(value)))


def test_a_resource_of_another_context_is_another_constant() -> None:
    first = np.zeros(100, "float32")
    with dialect.context(), ir.Location.unknown():
        name = str(to_attribute(first)).split("<")[1].split(">")[0]
        blob = "0x04000000" + "0000803F" * 100
        text = (
            f"module attributes {{relax.value = dense_resource<{name}> : tensor<100xf32>}} {{}}\n"
            f'{{-# dialect_resources: {{ builtin: {{ {name}: "{blob}" }} }} #-}}'
        )
        with dialect.context():
            other = to_numpy(ir.Module.parse(text).operation.attributes["relax.value"])
    assert other.tolist() == [1.0] * 100
    gc.collect()
