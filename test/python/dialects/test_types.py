"""Types and struct infos: conversion of a value's MLIR type, and back."""

import gc
import weakref

import pytest
from relax_mlir import IRModule, Object, Prim, Shape, StructInfo, Tensor, Tuple
from relax_mlir.dialects import dialect
from relax_mlir.dialects.types import remembered_types, struct_info, substitute
from relax_mlir.error import DTypeError, ParseError, ShapeError, UnknownNameError, VerifyError
from relax_mlir.mlir import ir

INFOS = {
    Tensor(("n", 4), "float32"): 'tensor<?x4xf32, #relax.shape<["n", 4]>>',
    Tensor((2, 4), "float16"): "tensor<2x4xf16>",
    Tensor((), "bool"): "tensor<i1>",
    Tensor((None, 4), "uint8"): "tensor<?x4xui8>",
    Tensor((None, "m*2"), "bfloat16"): 'tensor<?x?xbf16, #relax.shape<["?", "2*m"]>>',
    Tensor(None, "int64"): "tensor<*xi64>",
    Tensor(("n",), None): 'tensor<?x!relax.any, #relax.shape<["n"]>>',
    Tensor(None, None): "tensor<*x!relax.any>",
    Shape(("n", 4)): '!relax.shape_value<["n", 4]>',
    Shape(ndim=2): '!relax.shape_value<["?", "?"]>',
    Shape(): "!relax.shape_value<unit>",
    Prim("int64"): "i64",
    Object(): "!relax.object",
    Tuple([Tensor((1,)), Tuple([]), Prim()]): "tuple<tensor<1xf32>, tuple<>, i64>",
}


@pytest.mark.parametrize("info", INFOS, ids=str)
def test_infos_and_types_correspond(info: StructInfo) -> None:
    with dialect.context():
        assert str(info.to_type()) == INFOS[info]
        assert struct_info(ir.Type.parse(INFOS[info])) == info


def test_equal_expressions_are_equal_types() -> None:
    with dialect.context():
        assert Tensor(("n*4", "m + 1")).to_type() == Tensor(("4*n", "1 + m")).to_type()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('tensor<?x4xf32, #relax.shape<["n"]>>', "rank 2, but its encoding has 1"),
        ('tensor<?x4xf32, #relax.shape<["n", 5]>>', "dimension 1 is 4 in the type, but 5"),
        ('tensor<?x4xf32, #relax.shape<["n", "m"]>>', "dimension 1 is 4 in the type, but m"),
        ('tensor<?xf32, #relax.shape<["n +"]>>', "n +"),
        ("tensor<?xf32, #relax.shape<[1.0]>>", "neither an integer nor a string"),
        ("tensor<?xf32, dense<1> : tensor<1xi64>>", "encoding is a foreign one"),
        ("vector<4xf32>", "not the type of a Relax value"),
        ("tensor<4xi7>", "none of Relax's"),
    ],
)
def test_malformed_types_are_errors(text: str, message: str) -> None:
    with dialect.context(), pytest.raises((VerifyError, DTypeError), match=message.replace("+", r"\+")):
        struct_info(ir.Type.parse(text))


def test_bad_infos_are_errors() -> None:
    with pytest.raises(ShapeError, match="negative"):
        Tensor((-1,))
    with pytest.raises(ShapeError, match="sequence of dimensions"):
        Tensor("n")  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(ShapeError, match="ndim is 1"):
        Tensor(("n", 2), ndim=1)
    with pytest.raises(UnknownNameError, match="float32"):
        Tensor(("n",), "float23")
    with pytest.raises(ParseError):
        Tensor(("n +",))
    with pytest.raises(DTypeError, match="int64"):
        Prim("float32")


def test_ranks_have_an_end() -> None:
    """The length of a static vector becomes a rank: without a limit, a mutant used all memory."""
    for ndim in (-1, 1025, 2**40):
        for make in (Tensor, Shape):
            with pytest.raises(ShapeError, match=f"ndim is {ndim}, expected 0 to 1024"):
                make(ndim=ndim)
    with pytest.raises(ParseError, match="expected 0 to 1024"):
        IRModule.parse("""
            func.func @f(%x: tensor<1099511627776xi64>) -> !relax.shape_value<["?"]> {
              %s = "relax.tensor_to_shape"(%x) : (tensor<1099511627776xi64>) -> !relax.shape_value<["?"]>
              return %s : !relax.shape_value<["?"]>
            }""")


def test_no_memory_holds_more_than_63_bits_count() -> None:
    Tensor((2**60, "n"), "float32")
    Tensor((2**61, 0), "int16")
    for shape, dtype in (((2**61,), "float32"), ((2**40, "n", 2**23), "int8"), ((2**62, 0, 2), None)):
        with pytest.raises(ShapeError, match="has more bytes than 64 bits count"):
            Tensor(shape, dtype)
    with pytest.raises(ParseError, match="more bytes than 64 bits count"):
        IRModule.parse("""
            !long = tensor<16x9223372036854775807xi32>
            func.func @f(%x: !long) -> tensor<32x9223372036854775807xi32> {
              %t = builtin.unrealized_conversion_cast %x, %x : !long, !long to tuple<!long, !long>
              %c = "relax.concat"(%t) {axis = 0 : i64} : (tuple<!long, !long>) -> tensor<32x9223372036854775807xi32>
              return %c : tensor<32x9223372036854775807xi32>
            }""")


def test_text() -> None:
    assert str(Tensor(("n",), "float32")) == 'Tensor((n,), "float32")'
    assert str(Tensor(None, None)) == "Tensor(?, ?)"
    assert str(Shape((None, 2))) == "Shape((?, 2))"


def test_substitute() -> None:
    info = Tuple([Tensor(("n", "m")), Shape(("n*m",))])
    assert substitute(info, {"n": 3, "m": 4}) == Tuple([Tensor((3, 4)), Shape((12,))])


def test_types_are_read_once_while_they_are_remembered() -> None:
    context = dialect.context()
    with context, remembered_types():
        first = struct_info(ir.Type.parse('tensor<?x4xf32, #relax.shape<["n", 4]>>'))
        with remembered_types():
            assert struct_info(ir.Type.parse('tensor<?x4xf32, #relax.shape<["n", 4]>>')) is first
        assert struct_info(ir.Type.parse('tensor<?x4xf32, #relax.shape<["n", 4]>>')) is first
        assert struct_info(ir.Type.parse('tensor<?x4xf32, #relax.shape<["m", 4]>>')) != first
        with pytest.raises(VerifyError, match="not the type of a Relax value"):
            struct_info(ir.F32Type.get())
    gone = weakref.ref(context)
    del context
    dialect.context()  # the bindings keep the last one
    gc.collect()
    assert gone() is None
