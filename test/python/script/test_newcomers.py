"""Small programs that a newcomer writes: each is read, or refused with advice."""
# ruff: noqa: E501 - programs and messages are quoted verbatim

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import RelaxError, ScriptError, UnsupportedError
from relax_mlir.script import parse

HEAD = '@R.function\ndef main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):\n'
N = 'R.Tensor(("n",), "float32")'

REFUSED = {
    # arguments
    "return R.add(x)": "R.add: missing a required argument: 'x2'; it takes (x1, x2)",
    "return R.add(x, x, x)": "too many positional arguments",
    "return R.sum(x, axs=0)": "did you mean 'axis'",
    "return R.sum(x, axis=0, axis=1)": "argument 'axis' is given twice",
    "return R.add(**{'x1': x})": "** is not supported here",
    "return R.sum(x, axis='0')": "sum: 'axis' is '0' (str), expected an int or a list of ints",
    "return R.sum(x, axis=[x])": "sum: 'axis'[0] is Tensor((n, 4), \"float32\"), a value of the program; it is an int that is written out",
    "return R.sum(x, keepdims='yes')": "sum: 'keepdims' is 'yes' (str), expected True or False",
    "return R.cumsum(x, axis=True)": "cumsum: 'axis' is True, expected an int",
    "return R.tril(x, k=0.5)": "tril: 'k' is 0.5, expected an int",
    "return R.argmax(x, axis=[0])": "argmax: 'axis' is [0], expected an int",
    "return R.nn.softmax(x, axis=x)": "softmax: 'axis' is Tensor((n, 4), \"float32\"), a value of the program",
    "return R.nn.layer_norm(x, x, x, epsilon=x)": "layer_norm: 'epsilon' is Tensor((n, 4), \"float32\"), a value of the program, expected a float",
    "return R.nn.attention(x, x, x, causal_mask=True)": "attention: 'causal_mask' is True, expected a string",
    "return R.expand_dims(x, axis=9223372036854775808)": "expand_dims: 'axis' is 9223372036854775808, which does not fit 64 bits",
    "return R.expand_dims(x, axis=None)": "expected an int or a list of ints",
    "return R.split(x, [x], axis=0)": "split: 'indices_or_sections'[0] is Tensor",
    "return R.permute_dims(x, [0, 0])": "name a dimension twice",
    "return R.reshape(x, 4)": "reshape: 'shape' is 4 (int), expected a shape",
    "return R.reshape(x, (3.0, 4))": "'values'[0] is 3.0, expected an int",
    "return R.zeros((-1, 4), 'float32')": "dimension -1 is negative",
    "return R.zeros((9223372036854775808,), 'float32')": "does not fit 64 bits",
    "return R.astype(x, 'flaot32')": "unknown dtype 'flaot32'; did you mean 'float32'",
    "return R.arange(0, 10, 0)": "arange: step is 0",
    "for i in R.range(0, n, 9223372036854775808):\n    x = x + x\nreturn x": "which does not fit 64 bits",
    # constants
    "return R.const([[1, 2], [3]], 'float32')": "is no array of numbers",
    "return R.const('a', 'float32')": "neither a number nor an array",
    "return R.const(None)": "neither a number nor an array",
    "return R.const(300, 'int8')": "'value' is 300, which does not fit dtype int8",
    "return x * True": "the bool True beside a tensor of dtype float32: write a number",
    "return x + None": "cannot make a Relax value of None",
    "return x ** '2'": "cannot make a Relax value of '2' (str)",
    "return R.prim_value('a')": "uses symbol 'a', which is not defined here",
    # names and flow
    "return y": "unknown name 'y'",
    "y = z + x\nz = x\nreturn y": "unknown name 'z'",
    "y = R.exp(x)": "function 'main' has no `return`",
    "return None": "cannot make a Relax value of None",
    "a = b = x\nreturn a": "one assignment binds one target",
    "x, y = x\nreturn x": "only tuples can be unpacked",
    "x[0] = 1.0\nreturn x": "R.where or R.concat make a new value",
    "x.shape = 3\nreturn x": "values have no attributes to set",
    "return [R.exp(x) for i in range(3)]": "comprehensions are not unrolled",
    "R.print(f'{x}')\nreturn x": "strings with fields are not supported",
    "return (y := R.exp(x))": "`:=` hides a binding",
    "while True:\n    x = x + 1.0\nreturn x": "the loop never ends",
    "for i in [1, 2]:\n    x = x + 1.0\nreturn x": "loops run over a range",
    "if x:\n    return x\nreturn x": "expected a bool tensor of rank 0",
    "with R.dataflow():\n    y = R.exp(x)\nreturn y": "has no R.output",
    "y: int = x\nreturn y": "expected an annotation",
    "return x is x": "have no meaning for tensors",
    "def f(z):\n    return z\nreturn f(x)": "parameter 'z' needs an annotation",
    "def f(z: R.Object, z: R.Object):\n    return z\nreturn x": "parameter 'z' is given twice",
    "return print(x)": "the op is R.print",
    "return R": "cannot make a Relax value of <module",
    # attributes and indices
    "return x.T": "write R.permute_dims(x)",
    "return x.reshape((4, n))": "the ops are functions: R.reshape(x, …)",
    "return x.foo": "tensors have shape, dtype, ndim",
    "return x[1.5]": "no index: an integer, a slice",
    "return x[:, 9]": "index 9 is out of range for dimension 1",
    "return x[0, 0, 0]": "3 indices for a tensor of rank 2",
    "return R.zeros((x.shape[2],), 'float32')": "no dimension 2: the rank is 2",
    "return R.shape([x.shape[2]])": 'dimension 2 of Tensor((n, 4), "float32") does not exist',
    # symbols of TVM
    "m = T.int64(x)\nreturn x": "takes a number that is written out",
    "m = T.int64(n=3)\nreturn x": "takes is_size_var, not 'n'",
    "m = T.Var(3)\nreturn x": "a symbol is declared by `m = T.int64()`",
    "return T.serial(3)": "stands in the body of a function with @T.prim_func",
    "return R.reshape(x, (T.int64(), 4))": "a symbol is declared on a line of its own",
    # generic ops
    "return R.op('relax.sm', x)": "did you mean 'relax.sum'",
    "return R.op('relax.sum', x)": 'relax.sum takes attributes={"axis": I.attribute("…")',
    "return R.op('relax.sum', x, attributes={'axis': 1, 'keepdims': False})": "attribute 'axis' is 1; write I.attribute",
    "return R.call_tir('f', (x,))": "argument 'out' is missing",
    "return R.call_dps_packed('f', (x,), R.Object(), out=R.Object())": "argument 'out' is given twice",
    # heads
    f"@R.function\ndef main(x: {N}, x: {N}):\n    return x": "parameter 'x' is given twice",
    "@R.function\ndef main(x):\n    return x": "parameter 'x' needs an annotation",
    "@R.function\ndef main(x: R.Tensr):\n    return x": "did you mean 'R.Tensor'",
    "@R.function\ndef main(x: R.Tensor(ndim=1180591620717411303424)):\n    return x": "a rank is at most 1024",
    '@R.function\ndef main(x: R.Tensor("n", "float32")):\n    return x': "expected a shape: a tuple",
    '@R.function\ndef main(x: R.Tensor(("n",), "float32", dtype="int8")):\n    return x': "R.Tensor: 'dtype' is given twice",
    '@R.function\ndef main(x: R.Tensor(("n +",))):\n    return x': "expected a number, a symbol or '('",
    "@R.function\ndef main(x: R.Tensor((10000000000000000000000,))):\n    return x": "does not fit 64 bits",
    '@R.function\ndef main(x: R.Tensor(("10000000000000000000000*n",))):\n    return x': "does not fit 64 bits",
    f"@R.function\ndef main(*x: {N}):\n    return x": "without defaults, * or **",
    f"@R.fun\ndef main(x: {N}):\n    return x": "needs the decorator @R.function",
}
READ = [
    "return R.sum(x, axis=[R.prim_value(0)])",
    "return R.strided_slice(x, [R.prim_value(0)], [R.prim_value(0)], [3])",
    "return R.permute_dims(x, axes=[R.prim_value(1), R.prim_value(0)])",
    "return R.add(*[x, x])",
    "α = R.exp(x)\nreturn α",
    "return ((x, (x, x)), x)",
    "return R.reshape(x, x.shape)",
    "return R.zeros((x.shape[0], x.shape[-1]), x.dtype) + x",
    "return R.match_shape(R.exp(x), (x.shape[0], x.ndim * 2))",
    "return R.reshape(x, R.shape([x.shape[0] * T.int64(4)]))",
    'm = T.int64()\ny = R.match_cast(x, R.Tensor((m, 4), "float32"))\nreturn R.zeros((m,), "float32")',
    'm, k = T.int64(), T.int64(is_size_var=True)\ny = R.match_cast(x, R.Tensor((m, k), "float32"))\nreturn y',
    'k = T.Var("q", "int64")\ny = R.match_cast(x, R.Tensor((k, 4), "float32"))\nreturn R.zeros((k,), "float32")',
    "return R.zeros((2, 3), 'float32')",
]


def program(text: str) -> str:
    if text.startswith("@"):
        return text
    return HEAD + "".join(f"    {line}\n" for line in text.split("\n"))


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse(program(text))
    assert REFUSED[text] in str(caught.value)
    assert str(caught.value).startswith("1 mistake in the script\n<script>:"), "only the first mistake, with a place"


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert parse(program(text)) is not None


def test_a_lambda_is_refused_once() -> None:
    with pytest.raises(UnsupportedError) as caught:
        parse(program("f = lambda z: z\nreturn f(x)"))
    assert str(caught.value).count("UnsupportedError") == 1


def test_a_mistake_elsewhere_is_not_a_missing_return() -> None:
    text = '@R.function\ndef g(x: R.Tensor(("n",), "float3")):\n    return x\n'
    with pytest.raises(ScriptError, match=r"1 mistake in the script\n.*unknown dtype"):
        parse(f"{text}@R.function\ndef main(x: {N}):\n    def f(z: {N}):\n        return cls.g(z)\n    return f(x)\n")


def test_symbols_as_tvm_declares_them() -> None:
    module = parse(
        """
@R.function
def main(x: R.Tensor(("m", 4), "float32"), kk: R.Prim(value="k")) -> R.Tensor(("m", "k"), "float32"):
    m = T.int64()
    def f(z: R.Tensor((m, 4), "float32"), j: R.Prim(value="i")):
        return R.sum(R.zeros((m, i), "float32"))
    y: R.Tensor((m * 4,), "float32") = R.flatten(x)
    return R.broadcast_to(R.sum(R.reshape(y, (m, 4)), axis=1, keepdims=True), (m, k))
"""
    )
    main = rx.build(module)["main"]
    assert np.from_dlpack(main(np.ones((2, 4), "f4"), 3)).tolist() == [[4.0] * 3] * 2


WIDE = 'tensor<?xf32, #relax.shape<["10000000000000000000000*n"]>>'


def test_numbers_of_more_than_64_bits_in_ir() -> None:
    text = f"func.func @f(%x: {WIDE}) -> {WIDE} {{ return %x : {WIDE} }}"
    with pytest.raises(RelaxError, match="does not fit 64 bits"):
        rx.build(rx.IRModule.parse(text))
