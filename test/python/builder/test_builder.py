"""`BlockBuilder`: what it emits, what it deduces, and its errors."""

import gc
import inspect

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, UnknownNameError, VerifyError

N4 = rx.Tensor(("n", 4), "float32")


def var(name: str, info: rx.StructInfo = N4) -> rx.Var:
    return rx.Var(name, info)


def test_a_function_with_a_dataflow_block() -> None:
    bb, x, y = rx.BlockBuilder(), var("x"), var("y")
    with bb.function("main", [x, y]):
        with bb.dataflow():
            s = bb.emit(R.add(x, y), "s")
            out = bb.emit_output(s + 1.0)
        bb.emit_func_output(out)
    expected = """
      func.func @main(%x: tensor<?x4xf32, #relax.shape<["n", 4]>> {relax.name = "x"},
                      %y: tensor<?x4xf32, #relax.shape<["n", 4]>> {relax.name = "y"})
          -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
        %0 = "relax.dataflow"() ({
          %1 = "relax.add"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>,
            tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
          %2 = "relax.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
          %3 = "relax.add"(%1, %2) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<f32>)
            -> tensor<?x4xf32, #relax.shape<["n", 4]>>
          "relax.output"(%3) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> ()
        }) : () -> tensor<?x4xf32, #relax.shape<["n", 4]>>
        return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
      }
    """
    assert_structural_equal(bb.get(), rx.IRModule.parse(expected))


def test_several_outputs_leave_a_dataflow_block() -> None:
    bb, x = rx.BlockBuilder(), var("x")
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit_output(x + x)
            b = bb.emit_output(a + x)
        bb.emit_func_output([a, (b, x)])
    result = bb.get()["main"].type.results[0]
    assert str(result).count("tensor<?x4xf32") == 3


def test_shapes_and_dtypes_are_deduced_at_once() -> None:
    bb, x = rx.BlockBuilder(), var("x", rx.Tensor(("n", 1, "m"), "float64"))
    y = var("y", rx.Tensor((2, "m"), "float64"))
    with bb.function("main", [x, y]):
        z = x + y
        assert z.struct_info == rx.Tensor(("n", 2, "m"), "float64")
        assert (z.ndim, z.dtype) == (3, "float64")
        bb.emit_func_output(z)


def test_match_shape_defines_symbols() -> None:
    bb, x = rx.BlockBuilder(), var("x", rx.Tensor(ndim=2))
    with bb.function("main", [x]):
        y = bb.match_shape(x, ("n", "m"))
        s = bb.match_shape(R.shape_of(y), ("n", "k"))
        assert y.struct_info == rx.Tensor(("n", "m"))
        assert s.struct_info == rx.Shape(("n", "k"))
        bb.emit_func_output(y)
    bb.get()


def test_locations_are_the_lines_of_the_user() -> None:
    bb, x = rx.BlockBuilder(), var("x")
    with bb.function("main", [x]):
        here = inspect.currentframe().f_lineno  # type: ignore[union-attr]  # CPython has frames
        bb.emit_func_output(R.add(x, x))
    text = bb.get().asm(locations=True)
    assert f'test_builder.py":{here + 1}:' in text


def test_large_constants_share_the_memory_of_the_array() -> None:
    bb, array = rx.BlockBuilder(), np.arange(1000, dtype="float32")
    with bb.function("main", []):
        bb.emit_func_output(bb.const(array))
    module = bb.get()
    from relax_mlir.dialects.constants import to_numpy

    value = module["main"].entry_block.operations[0].operation.attributes["value"]
    assert to_numpy(value) is array
    assert '"0x' not in str(module), "the printout elides large constants"


def test_errors_of_structure() -> None:
    bb, x = rx.BlockBuilder(), var("x")
    with pytest.raises(ArgumentError, match="no function is being built"):
        bb.emit(x)
    with pytest.raises(ArgumentError, match=r"not bound yet|no function"):
        R.add(x, x)
    with pytest.raises(ArgumentError, match="has no result"), bb.function("f", [x]):
        pass
    with pytest.raises(UnknownNameError):
        bb.lookup("f")
    with (
        pytest.raises(ArgumentError, match="do not nest"),
        bb.function("f", [x]),
        bb.dataflow(),
        bb.dataflow(),
    ):
        pass
    with pytest.raises(ArgumentError, match="two parameters are called 'x'"), bb.function("f", [x, x]):
        pass
    with (
        pytest.raises(ArgumentError, match="still being built"),
        bb.function("f", [x]),
        bb.function("g", [x]),
    ):
        pass
    with bb.function("f", [x]):
        bb.emit_func_output(x)
    with pytest.raises(ArgumentError, match="defined already"), bb.function("f", [x]):
        pass
    bb.get()


def test_errors_of_shapes_and_dtypes() -> None:
    bb = rx.BlockBuilder()
    x, y = var("x"), var("y", rx.Tensor(("n", 5), "float32"))
    z, k = var("z", rx.Tensor(("m", 4), "float32")), var("k", rx.Tensor(("n", 4), "int32"))
    with bb.function("main", [x, y, z, k]):
        with pytest.raises(
            ShapeError, match=r"\(n, 4\) and \(n, 5\), dimension -1: 4 and 5 do not broadcast"
        ):
            x + y
        with pytest.raises(ShapeError, match="cannot tell whether n equals m; match_shape"):
            x + z
        with pytest.raises(DTypeError, match=r"float32 and int32.*astype"):
            x + k
        with pytest.raises(DTypeError, match=r"1.5 does not fit dtype int32"):
            k + 1.5
        with pytest.raises(ArgumentError, match="if_then_else"):
            bool(x)
        bb.emit_func_output(x)


def test_calls_between_functions_substitute_symbols() -> None:
    bb, a = rx.BlockBuilder(), var("a", rx.Tensor(("p", "q"), "float32"))
    with bb.function("callee", [a], private=True):
        bb.emit_func_output((a + a, a))
    x = var("x")
    with bb.function("main", [x]):
        result = bb.call("callee", x)
        assert result[0].struct_info == N4
        with pytest.raises(ShapeError, match="the ranks differ"):
            bb.call("callee", R.const(1.0))
        with pytest.raises(ArgumentError, match="1 expected"):
            bb.call("callee", x, x)
        bb.emit_func_output(result[1])
    bb.get()


def test_update_and_add_functions() -> None:
    bb, x = rx.BlockBuilder(), var("x")
    with bb.function("main", [x]):
        bb.emit_func_output(x + 1.0)
    other, y = rx.BlockBuilder(), var("x")
    with other.function("main", [y]):
        other.emit_func_output(y + 2.0)
    assert bb.add_func(other.get(), "main") == "main_1"
    bb.update_func("main", other.get())
    module = bb.get()
    assert str(module).count("2.000000e+00") == 2
    with pytest.raises(UnknownNameError, match="main"):
        bb.lookup("mian")


def test_purity_of_dataflow_blocks() -> None:
    bb, x = rx.BlockBuilder(), var("x")
    with bb.function("main", [x]):
        with bb.dataflow():
            R.call_packed("effect", x)
            out = bb.emit_output(x + x)
        bb.emit_func_output(out)
    with pytest.raises(VerifyError, match=r"relax.call_packed is not pure"):
        bb.get()


def test_conditionals() -> None:
    bb, x, c = rx.BlockBuilder(), var("x"), var("c", rx.Tensor((), "bool"))
    with bb.function("main", [x, c]):
        y = R.if_then_else(c, lambda: x + 1.0, lambda: x)
        assert y.struct_info == N4
        with pytest.raises(ArgumentError, match="bool tensor of rank 0"):
            R.if_then_else(x, lambda: x, lambda: x)
        with pytest.raises(ShapeError, match="the branches give"):
            R.if_then_else(c, lambda: x, lambda: R.const(1.0))
        bb.emit_func_output(y)


def test_values_of_an_abandoned_function_can_still_be_printed() -> None:
    bb, x = rx.BlockBuilder(), var("x")
    values = []
    with pytest.raises(RuntimeError, match="stop"), bb.function("main", [x]):
        with bb.dataflow():
            values.append(R.add(x, x))
            values.append(bb.emit_output(values[0] + 1.0))
        values.append(values[1] + 2.0)
        raise RuntimeError("stop")
    assert [str(v.struct_info) for v in values] == [str(N4)] * 3
    assert "relax.add" in str(values[2].ssa)
    with bb.function("main", [x]):
        bb.emit_func_output(x)
    assert len(list(bb.get().functions())) == 1


def test_values_outlive_their_builder() -> None:
    """Their module lives as long as they do, so that they can be printed and asked."""

    def build() -> list[rx.Value]:
        bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n",)))
        with bb.function("main", [x]):
            with bb.dataflow():
                y = bb.emit_output(x * 2.0)
            z = R.exp(y)
            bb.emit_func_output(z)
        return [x, y, z]

    values = build()
    gc.collect()
    assert [str(value.ssa.type) for value in values] == ['tensor<?xf32, #relax.shape<["n"]>>'] * 3
