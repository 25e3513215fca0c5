"""BlockBuilder: blocks, functions, and values as Python objects."""

from __future__ import annotations

import gc
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import torch
from programs import Program, numpy
from relax_mlir import op
from relax_mlir import op as R
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError, UnknownNameError, VerifyError

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
        with pytest.raises(ShapeError, match=r"\(n, 4\) and \(n, 5\), dimension -1: 4 and 5 do not broadcast"):
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


Use = Callable[[Any], Any]
ARRAY = np.asarray([[1, 2, np.nan, 4], [0, -1, 2, 3]], "float32")
W = np.arange(16, dtype="float32").reshape(4, 4)

GOOD: dict[str, Use] = {
    "x == x": lambda x: x == x,
    "x != x": lambda x: x != x,
    "x == 2": lambda x: x == 2.0,
    "2 != x": lambda x: 2.0 != x,  # noqa: SIM300 - tested here
    "array == x": lambda x: W[0] == x,
    "x @ w": lambda x: x @ W,
    "w + x": lambda x: W[0] + x,
    "w - x": lambda x: W[1] - x,
    "w ** x": lambda x: W[1] % x,
    "scalar": lambda x: np.float32(2) * x,
    "column": lambda x: x[:, 0],
    "row": lambda x: x[1],
    "slices": lambda x: x[-1:, ::2],
    "new axis": lambda x: x[..., None],
    "x == None": lambda x: x * 1.0 if (x == None) is False else x,  # noqa: E711 - tested here
}
TORCH: dict[str, Use] = {
    "x @ torch": lambda x: x @ torch.from_numpy(W),
    "torch + x": lambda x: torch.from_numpy(W[0]) + x,
    "torch / x": lambda x: torch.from_numpy(W[1]) / x,
    "torch == x": lambda x: torch.from_numpy(ARRAY[1]) == x,
    "torch conj view": lambda x: x + torch.from_numpy(W[0].astype("c8")).conj().imag,
}


def test_operators_and_indices_compute_what_numpy_does() -> None:
    uses = {**GOOD, **TORCH}
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output([use(x) for use in uses.values()])
    found = rx.build(bb.get())["main"](ARRAY)
    with np.errstate(all="ignore"):
        wanted = [np.asarray(use(ARRAY)) for use in GOOD.values()]
        wanted += [np.asarray(use(torch.from_numpy(ARRAY))) for use in TORCH.values()]
    for name, one, other in zip(uses, found, wanted, strict=True):
        np.testing.assert_allclose(np.from_dlpack(one), other, rtol=1e-6, err_msg=name)


BAD: dict[str, tuple[Use, str]] = {
    "bool": (
        lambda x: x * True,
        "the bool True beside a tensor of dtype float32: write a number, or op.const",
    ),
    "identity": (lambda x: x * (x == None), "the bool False beside"),  # noqa: E711 - tested here
    "truth": (lambda x: 1 if x else 2, "op.if_then_else"),
    "and": (lambda x: x and x, "op.if_then_else"),
    "list": (lambda x: x * [1.0, 2.0], r"op.const\(numpy.array"),
    "list equal": (lambda x: x == [1.0, 2.0], r"op.const\(numpy.array"),
    "text": (lambda x: x < "a", "cannot make a Relax value of 'a'"),
    "numpy function": (np.exp, "numpy.exp computes now"),
    "numpy array": (np.asarray, "has no elements before it is run"),
    "torch function": (torch.exp, "torch.exp computes now"),
    "float": (float, "it is no Python number"),
    "int": (int, "it is no Python number"),
    "length": (len, "see its `shape`"),
    "set": (lambda x: x.__setitem__(0, 1), "op.where and op.concat make new ones"),
    "attribute": (lambda x: x.sum(), r"the ops are functions: op.sum\(x, …\)"),
    "unknown attribute": (lambda x: x.dtipe, "did you mean 'dtype'"),
    "iteration": (lambda x: [*x], "only tuples can be unpacked"),
    "tensor index": (lambda x: x[x], "op.take takes the elements"),
    "float index": (lambda x: x[1.5], "an index is 1.5, expected an int"),
    "range": (lambda x: x[:, 4], "index 4 is out of range for dimension 1"),
    "step": (lambda x: x[::0], "an int other than 0"),
    "axis": (lambda x: R.nn.softmax(x, axis=x), "softmax: 'axis' is Tensor"),
    "long axis": (lambda x: R.nn.softmax(x, axis=2**64), "which does not fit 64 bits"),
    "epsilon": (lambda x: R.nn.layer_norm(x, x, x, epsilon="1"), "expected a float"),
}


def test_what_values_are_not() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        for use, message in BAD.values():
            with pytest.raises(RelaxError, match=message):
                use(x)
        bb.emit_func_output(x)


def test_values_in_dictionaries_and_outside_of_functions() -> None:
    x, y = (rx.Var("x", rx.Tensor(("n",), "float32")) for _ in range(2))
    assert {x: 1}[x] == 1
    assert (x == y) is False
    assert [x, y].index(y) == 1
    bb = rx.BlockBuilder()
    with bb.function("main", [x]):
        assert {x: 1}[x] == 1
        assert isinstance(x == x, Value)
        assert not hasattr(x, "_missing")
        assert not hasattr(x, "missing")
        bb.emit_func_output(x)


def test_a_prim_value_where_an_int_is_meant() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.sum(x, axis=[R.prim_value(0)]))
    assert np.from_dlpack(rx.build(bb.get())["main"](ARRAY[1:])).tolist() == ARRAY[1].tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: rx.Tensor((2**63,), "float32"),
        lambda: rx.Tensor("n"),
        lambda: rx.Shape("nm"),
        lambda: rx.Tuple([1]),
        lambda: rx.Tuple("ab"),
        lambda: rx.Callable([1], rx.Object()),
    ],
)
def test_struct_infos_of_something_else(make: Callable[[], object]) -> None:
    with pytest.raises(RelaxError):
        make()


def test_advice_for_an_index_that_run_time_knows() -> None:
    bb = rx.BlockBuilder()
    x, i = rx.Var("x", rx.Tensor(("n", 4), "float32")), rx.Var("i", rx.Prim())
    with bb.function("main", [x, i]):
        with pytest.raises(
            ArgumentError,
            match=r'after match_shape\(i, \("k",\)\) the symbol k stands for it, as in x\["k"\]',
        ):
            x[i]
        bb.match_shape(i, ("k",))
        bb.emit_func_output(x["k"])
    assert np.from_dlpack(rx.build(bb.get())["main"](W, 2)).tolist() == W[2].tolist()


X = np.array([[1.25, -2.5, 3.75], [0.5, 7.0, -0.75]], np.float32)

Emit = Callable[[Any, Any], Any]

RIGHT: dict[str, tuple[Emit, Callable[[np.ndarray, int], Any]]] = {
    "divmod": (lambda x, i: divmod(x, 2.0), lambda x, i: np.divmod(x, np.float32(2))),
    "divmod_reversed": (lambda x, i: divmod(7.0, x), lambda x, i: np.divmod(np.float32(7), x)),
    "divmod_integers": (lambda x, i: divmod(i, 2), lambda x, i: divmod(i, 2)),
    "divmod_integers_reversed": (lambda x, i: divmod(17, i), lambda x, i: divmod(17, i)),
    "round": (lambda x, i: round(x), lambda x, i: np.round(x)),
    "floor": (lambda x, i: math.floor(x), lambda x, i: np.floor(x)),
    "ceil": (lambda x, i: math.ceil(x), lambda x, i: np.ceil(x)),
    "trunc": (lambda x, i: math.trunc(x), lambda x, i: np.trunc(x)),
    "abs": (lambda x, i: abs(x), lambda x, i: np.abs(x)),
    "positive": (lambda x, i: +x, lambda x, i: x),
    "negative": (lambda x, i: -x, lambda x, i: -x),
    "negative_integer": (lambda x, i: -i, lambda x, i: -i),
    "numpy_integer": (lambda x, i: np.int64(5) - i * np.int32(2), lambda x, i: 5 - 2 * i),
    "sum_of_list": (lambda x, i: sum([x, x]), lambda x, i: x + x),
    "format": (lambda x, i: x if f"{x} {x!r} {x!s:}" else None, lambda x, i: x),
    "keys": (lambda x, i: {x: x, i: i}[x], lambda x, i: x),
    "numpy_add": (lambda x, i: np.add(x, x), lambda x, i: x + x),
    "element": (lambda x, i: x[:, 0], lambda x, i: x[:, 0]),
    "shape": (lambda x, i: x * float(len(x.shape)) * x.shape[-1], lambda x, i: x * 2 * 3),
    "shape_slice": (lambda x, i: op.ones(x.shape[1:], "float32"), lambda x, i: np.ones(3, np.float32)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_results(built: rx.Executable, name: str) -> None:
    found, expected = _flat(numpy(built[name](X, 3))), _flat(RIGHT[name][1](X, 3))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


WRAPPING: dict[str, tuple[Emit, int]] = {
    "wraps_sum": (lambda x, i: i + 1, -(2**63)),
    "wraps_product": (lambda x, i: i * 2, -2),
    "wraps_difference": (lambda x, i: -i - 2, 2**63 - 1),
}


@pytest.mark.parametrize("name", WRAPPING)
def test_integers_wrap_around(built: rx.Executable, name: str) -> None:
    """At 64 bits, as documented."""
    assert built[name](X, 2**63 - 1) == WRAPPING[name][1]


@pytest.fixture(scope="module")
def built() -> rx.Executable:
    program = Program()
    for name, (emit, _) in (RIGHT | WRAPPING).items():

        def body(bb: rx.BlockBuilder, x: Any, i: Any, emit: Any = emit) -> Any:
            found = emit(x, i)
            return op.make_tuple(*found) if isinstance(found, tuple) else found

        body.__name__ = name
        program.function(rx.Tensor((2, 3), "float32"), rx.Prim("int64"))(body)
    return program.compile()


def test_outputs_of_dataflow_blocks_stay_valid() -> None:
    """The value that `emit_output` takes is the output afterwards, as is the one that it returns."""
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y, z = bb.emit(R.exp(x)), bb.emit(R.negative(x))
            again = bb.emit_output(y)
            bb.emit_output(z)
            bb.emit_output(x)
        bb.emit_func_output([y, z, again, x])
    values = rx.build(bb.get())["main"](np.zeros(2, "float32"))
    np.testing.assert_array_equal([*values], [[1, 1], [0, 0], [1, 1], [0, 0]])
