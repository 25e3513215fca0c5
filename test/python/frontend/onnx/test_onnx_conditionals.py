"""Conditionals whose branches return tensors of different ranks, and dimensions without names."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx_models import check, floats, model
from relax_mlir.error import CheckError, ShapeError
from relax_mlir.frontend.onnx import InferenceSession, from_onnx

SQUEEZED = """g (float[n, m] x) => (float[{result}] y) {{
    one = Constant<value_ints = [1]>()
    at = Constant<value_int = 1>()
    sizes = Shape(x)
    width = Gather(sizes, at)
    thin = Equal(width, one)
    [thin] t = If(thin) <
        then_branch = a () => (float[n] v) {{ v = Squeeze(x, one) }},
        else_branch = b () => (float[n, m] w) {{ w = Identity(x) }}
    >
    {rest}
}}"""


def test_the_rest_goes_into_both_branches() -> None:
    rest = "s = Shape(t) k = Size(s) r = Cast<to = 1>(k) z = ReduceSum<keepdims = 0>(t) y = Mul(z, r)"
    proto = model(SQUEEZED.format(result="", rest=rest))
    session = InferenceSession(proto)
    for shape in ((3, 1), (1, 1), (2, 4), (0, 1), (5, 0)):
        check(session, proto, {"x": floats(*shape)})


@pytest.mark.parametrize(
    ("rest", "works", "fails"),
    [
        ("y = Concat<axis = 1>(t, x)", (2, 3), (2, 1)),
        (
            "u = Unsqueeze(t, one) k = Constant<value_ints = [-1]>() two = Concat<axis = 1>(u, x) y = Reshape(two, k)",
            (3, 1),
            (3, 2),
        ),
    ],
)
def test_a_rank_that_fits_nothing_is_an_error_of_the_call(
    rest: str, works: tuple[int, int], fails: tuple[int, int]
) -> None:
    proto = model(SQUEEZED.format(result="k" if "Reshape" in rest else "n, k", rest=rest))
    session = InferenceSession(proto)
    check(session, proto, {"x": floats(*works)})
    with pytest.raises(CheckError, match=r"node 'thin' \(If\): the condition is (true|false), and then .*\(Concat\)"):
        session.run(None, {"x": floats(*fails)})


def test_a_rest_that_fits_neither_branch_is_an_error_of_the_import() -> None:
    rest = "three = Constant<value_ints = [3]>() y = Squeeze(t, three)"
    with pytest.raises(ShapeError, match=r"\(Squeeze\)"):
        from_onnx(model(SQUEEZED.format(result="n", rest=rest)))


def test_dimensions_without_names_are_distinct() -> None:
    proto = model("g (float[n, 2, h, w] x) => (float[n, 2, k, l] y) { y = Relu(x) }")
    for number, text in ((2, "?"), (3, "?")):
        proto.graph.input[0].type.tensor_type.shape.dim[number].dim_param = text
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    session = InferenceSession(proto)
    x = floats(3, 2, 5, 7)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], np.maximum(x, 0))
    assert '("x_dim0", 2, "x_dim2", "x_dim3")' in from_onnx(proto).script()


def test_what_is_joined_has_the_number_that_one_part_says() -> None:
    proto = model("g (float[n, h] x, float[2, m] y) => (float[k, l] z) { z = Concat<axis = 1>(x, y) }")
    session = InferenceSession(proto)
    check(session, proto, {"x": floats(2, 3), "y": floats(2, 1)})
    with pytest.raises(ShapeError, match=r"\(Concat\)"):
        session.run(None, {"x": floats(3, 3), "y": floats(2, 1)})


def test_states_of_recurrent_layers_have_the_batch_of_the_steps() -> None:
    proto = model(
        "g (float[t, b, 3] x, float[1, c, 2] h) => (float[t, 1, b, 2] y) { y = RNN<hidden_size = 2>(x, w, r, , , h) }"
    )
    for name, shape in (("w", (1, 2, 3)), ("r", (1, 2, 2))):
        proto.graph.initializer.append(onnx.numpy_helper.from_array(floats(*shape), name))
    session = InferenceSession(proto)
    check(session, proto, {"x": floats(4, 2, 3), "h": floats(1, 2, 2)}, 1e-4)
    with pytest.raises(ShapeError, match=r"\(RNN\)"):
        session.run(None, {"x": floats(4, 2, 3), "h": floats(1, 3, 2)})
