"""`from_onnx`: symbols of dimensions, chains of shapes, control flow, functions, and errors that name nodes."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
import relax_mlir as rx
from onnx import TensorProto, helper
from onnx_models import check, floats, model
from relax_mlir.error import (
    ArgumentError,
    DTypeError,
    ParseError,
    ShapeError,
    UnknownNameError,
    UnsupportedError,
)
from relax_mlir.frontend.onnx import InferenceSession, ValueNeededError, from_onnx


def test_dim_params_are_symbols_and_shapes_are_computed() -> None:
    proto = model(
        """g (float[n, m, 4] x) => (float[a, b] y, int64[k] s) {
            s = Shape(x)
            zero = Constant<value_ints = [0]>()
            one = Constant<value_ints = [1]>()
            rest = Constant<value_ints = [-1]>()
            rows = Gather(s, zero)
            columns = Gather(s, one)
            both = Mul(rows, columns)
            shape = Concat<axis = 0>(both, rest)
            y = Reshape(x, shape)
        }"""
    )
    module = from_onnx(proto)
    text = module.script()
    assert 'R.Tensor(("n", "m", 4), "float32")' in text
    assert 'R.Tensor(("m*n", 4), "float32")' in text
    session = InferenceSession(proto)
    for n, m in ((2, 3), (1, 1), (7, 2)):
        check(session, proto, {"x": floats(n, m, 4)})
    y, s = session.run(None, {"x": floats(0, 5, 4)})
    assert y.shape == (0, 4)
    assert s.tolist() == [0, 5, 4]


def test_expressions_of_other_symbols_are_checked() -> None:
    proto = model(
        "g (float[n] x, float[both] y, float[m] z) => (float[k] w) { t = Concat<axis = 0>(x, z) w = Add(t, y) }"
    )
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "n + m"
    session = InferenceSession(proto)
    check(session, proto, {"x": floats(2), "y": floats(5), "z": floats(3)})
    with pytest.raises(ShapeError):
        session.run(None, {"x": floats(2), "y": floats(4), "z": floats(3)})


def test_constants_are_shared_not_copied() -> None:
    weights = floats(64, 64)
    proto = model("g (float[n, 64] x) => (float[n, 64] y) { y = MatMul(x, w) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    check(InferenceSession(proto), proto, {"x": floats(3, 64)}, 1e-4)


def test_external_data_is_mapped(tmp_path) -> None:
    weights = floats(32, 8)
    proto = model("g (float[n, 32] x) => (float[n, 8] y) { y = MatMul(x, w) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    path = tmp_path / "m.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="m.data", size_threshold=0)
    x = floats(5, 32)
    (y,) = InferenceSession(path).run(None, {"x": x})
    np.testing.assert_allclose(y, x @ weights, rtol=1e-4, atol=1e-5)
    (tmp_path / "m.data").write_bytes(b"short")
    with pytest.raises(ParseError, match=r"'w' is bytes 0 to 1024 of .*m.data, which has only 5 bytes"):
        from_onnx(path)
    (tmp_path / "m.data").unlink()
    with pytest.raises(ParseError, match=r"'w' is stored in .*m.data: there is no such file; copy it beside the model"):
        from_onnx(path)
    loaded = onnx.load(path, load_external_data=False)
    with pytest.raises(ParseError, match="give the path of the model"):
        from_onnx(loaded)
    loaded.graph.initializer[0].external_data[0].value = "../m.data"
    outside = tmp_path / "outside.onnx"
    outside.write_bytes(loaded.SerializeToString())
    with pytest.raises(ParseError, match="not below the model's folder"):
        from_onnx(outside)


def test_conditionals() -> None:
    proto = model(
        """g (float[n] x, bool c) => (float[k] y) {
            y = If(c) <
                then_branch = t () => (float[n] a) { a = Neg(x) },
                else_branch = e () => (float[m] b) { b = Concat<axis = 0>(x, x) }
            >
        }"""
    )
    session = InferenceSession(proto)
    for n in (0, 1, 3):
        for condition in (True, False):
            check(session, proto, {"x": floats(n), "c": np.asarray(condition)})


def test_counted_loops_collect_rows() -> None:
    proto = model(
        """g (float[n] x, int64 count) => (float[n] y, float[k, n] rows) {
            yes = Constant<value = bool {1}>()
            y, rows = Loop(count, yes, x) <
                body = b (int64 i, bool c, float[n] before) => (bool d, float[n] after, float[n] row) {
                    d = Identity(c)
                    step = Cast<to = 1>(i)
                    after = Add(before, step)
                    row = Mul(after, before)
                }
            >
        }"""
    )
    session = InferenceSession(proto)
    for n, count in ((2, 3), (0, 2), (3, 17)):
        check(session, proto, {"x": floats(n), "count": np.asarray(count)})
    y, rows = session.run(None, {"x": floats(3), "count": np.asarray(0)})
    np.testing.assert_array_equal(y, floats(3))
    assert rows.shape == (0, 3)


def test_loops_that_end_by_their_condition_and_grow() -> None:
    proto = model(
        """g (float[n] x, float limit) => (float[m] y, float[k, 1] sizes) {
            front = Constant<value_ints = [0]>()
            none = Constant<value_int = 9223372036854775807>()
            yes = Constant<value = bool {1}>()
            y, sizes = Loop(none, yes, x) <
                body = b (int64 i, bool c, float[m] before) => (bool d, float[m] after, float[1] row) {
                    after = Concat<axis = 0>(before, before)
                    size = Size(after)
                    total = Cast<to = 1>(size)
                    row = Unsqueeze(total, front)
                    d = Less(total, limit)
                }
            >
        }"""
    )
    session = InferenceSession(proto)
    for n, limit in ((1, 10.0), (3, 1.0), (2, 64.0)):
        check(session, proto, {"x": floats(n), "limit": np.float32(limit)})


def test_scans_go_both_ways() -> None:
    proto = model(
        """g (float[h] start, float[t, h] x) => (float[h] last, float[t, h] rows) {
            last, rows = Scan(start, x) <
                num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1],
                body = b (float[h] s, float[h] e) => (float[h] u, float[h] r) { u = Sub(s, e) r = Identity(u) }
            >
        }"""
    )
    session = InferenceSession(proto)
    for t, h in ((3, 2), (1, 1), (5, 4)):
        start, x = floats(h), floats(t, h, seed=1)
        states = [start]
        for row in x[::-1]:
            states.append(states[-1] - row)
        last, rows = session.run(None, {"start": start, "x": x})
        np.testing.assert_allclose(last, states[-1], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(rows, np.stack(states[1:])[::-1], rtol=1e-5, atol=1e-6)


def test_functions_of_the_model() -> None:
    proto = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21, "mine" : 1]>
        g (float[n] x) => (float[n] y) { t = mine.scaled<factor = 3.0>(x) y = mine.scaled(t) }
        <domain: "mine", opset_import: ["" : 21]>
        scaled <factor: float = 2.0> (v) => (w) {
            f = Constant<value_float: float = @factor>()
            w = Mul(v, f)
        }"""
    )
    x = floats(4)
    (y,) = InferenceSession(proto).run(None, {"x": x})
    np.testing.assert_allclose(y, 6 * x, rtol=1e-6)


def test_values_that_programs_depend_on() -> None:
    proto = model("g (float[n, m] x, int64[1] axes) => (float[k] y) { y = ReduceSum<keepdims = 0>(x, axes) }")
    with pytest.raises(ValueNeededError, match=r"of 'axes' \(input 1\) must be known at import") as caught:
        from_onnx(proto)
    assert caught.value.inputs == ("axes",)
    program = rx.build(from_onnx(proto, fixed={"axes": [1]}))
    x = floats(3, 4)
    np.testing.assert_allclose(np.from_dlpack(program["main"](x)), x.sum(1), rtol=1e-5)
    session = InferenceSession(proto)
    for axis in (0, 1, 0):
        check(session, proto, {"x": x, "axes": np.asarray([axis])})


def test_unsupported_ops_are_listed_at_once() -> None:
    proto = model(
        """g (float[n] x, string[n] s) => (string[n] y, string[n] z) {
            [first] y = StringNormalizer(s)
            [second] z = StringConcat(s, y)
        }"""
    )
    with pytest.raises(UnsupportedError) as caught:
        from_onnx(proto)
    assert "StringConcat" in str(caught.value) and "StringNormalizer" in str(caught.value)


def test_errors_name_the_node() -> None:
    proto = model("g (float[2] x, float[3] y) => (float[k] z) { [join] z = Add(x, y) }")
    with pytest.raises(ShapeError, match=r"node 'join' \(Add\)"):
        from_onnx(proto)
    proto = model("g (float[n] x, int64[2] s) => (float[a, b] z) { [bend] z = Reshape(x, s) }")
    session = InferenceSession(proto)
    check(session, proto, {"x": floats(6), "s": np.asarray([2, -1])})
    with pytest.raises(ShapeError, match=r"node 'bend' \(Reshape\)"):
        session.run(None, {"x": floats(6), "s": np.asarray([4, 2])})


def test_bad_models(tmp_path) -> None:
    with pytest.raises(ParseError, match="there is no such file"):
        from_onnx(tmp_path / "none.onnx")
    with pytest.raises(ParseError, match="no ONNX model"):
        from_onnx(b"\xff\xfe not a model")
    with pytest.raises(ParseError, match="no ONNX model"):
        from_onnx(b"")
    with pytest.raises(ArgumentError, match="expected a path"):
        from_onnx(3)
    with pytest.raises(UnsupportedError, match="install a newer onnx"):
        from_onnx(model("g (float[n] x) => (float[n] y) { y = Relu(x) }", opset=999))
    twice = model("g (float[n] x) => (float[n] y) { y = Relu(nowhere) }")
    with pytest.raises(ParseError, match="not as ONNX defines"):
        from_onnx(twice)
    with pytest.raises(UnknownNameError, match="input of the model in 'fixed'"):
        from_onnx(model("g (float[n] x) => (float[n] y) { y = Relu(x) }"), fixed={"z": 1})
    ranked = helper.make_model(
        helper.make_graph(
            [helper.make_node("Relu", ["x"], ["y"])],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        )
    )
    with pytest.raises(ShapeError, match="the rank of the input 'x' is not known: give its shape"):
        from_onnx(ranked)
    assert "main" in from_onnx(ranked, shapes={"x": ("n", 4)}).script()


def test_the_manners_of_onnxruntime() -> None:
    proto = model(
        "g (float[n, 4] x, int32 c) => (float[n, 4] y, float[4] z) { y = Relu(x) z = ReduceMax<keepdims = 0>(x, a) }"
    )
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray([0]), "a"))
    with pytest.warns(UserWarning, match="'providers'.*are ignored"):
        session = InferenceSession(proto, providers=["CUDAExecutionProvider"])
    first = session.get_inputs()[0]
    assert (first.name, first.type, first.shape) == ("x", "tensor(float)", ["n", 4])
    assert [output.name for output in session.get_outputs()] == ["y", "z"]
    feeds = {"x": floats(2, 4), "c": np.asarray(1, np.int32)}
    assert len(session.run(["z"], feeds)) == 1
    with pytest.raises(UnknownNameError):
        session.run(["w"], feeds)
    with pytest.raises(ArgumentError, match="'c' is missing"):
        session.run(None, {"x": feeds["x"]})
    with pytest.raises(DTypeError, match="'x' is of float64, expected float32"):
        session.run(None, feeds | {"x": feeds["x"].astype(np.float64)})


def test_constants_keep_the_names_of_the_model(tmp_path) -> None:
    names = ["layer.0/weight", "layer.0_weight", "1 > 2", "é"]
    chained = " ".join(f"t{i + 1} = MatMul(t{i}, c{i})" for i in range(4))
    proto = model(f"g (float[n, 16] t0) => (float[n, 16] t4) {{ {chained} }}")
    arrays = [floats(16, 16, seed=number) for number in range(4)]
    for node, name, array in zip(proto.graph.node, names, arrays, strict=True):
        node.input[1] = name
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    module = from_onnx(proto)
    text = str(module)
    for number, name in enumerate(["layer.0_weight", "layer.0_weight_", "_1___2", "_"]):
        assert f"dense_resource<{name}" in text, (number, name)
    assert '= constants["layer.0_weight"]' in module.script()
    module.save(tmp_path / "m.rx")
    x = floats(3, 16)
    wanted = x @ arrays[0] @ arrays[1] @ arrays[2] @ arrays[3]
    for made in (module, rx.IRModule.load(tmp_path / "m.rx")):
        np.testing.assert_allclose(np.from_dlpack(rx.build(made)["main"](x)), wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), pytest.param("GRU", 3, marks=pytest.mark.slow), ("RNN", 1)])
def test_recurrent_layers_of_constant_weights(op: str, gates: int) -> None:
    """Their gates are reordered at import, so that only the layer is left; ONNX Runtime gives the same."""
    directions, hidden, inputs = 2, 3, 5
    graph = model(
        f"g (float[t, b, {inputs}] x) => (float[t, {directions}, b, {hidden}] y, float[{directions}, b, {hidden}] h)"
        f'{{ [layer] y, h = {op}<hidden_size = {hidden}, direction = "bidirectional">(x, w, r, bias) }}'
    )
    shapes = {
        "w": (directions, gates * hidden, inputs),
        "r": (directions, gates * hidden, hidden),
        "bias": (directions, 2 * gates * hidden),
    }
    for number, (name, shape) in enumerate(shapes.items()):
        graph.graph.initializer.append(onnx.numpy_helper.from_array(floats(*shape, seed=number), name))
    text = from_onnx(graph).script()
    assert not any(name in text for name in ("R.strided_slice", "R.split", "R.concat"))
    ours, theirs = InferenceSession(graph), onnxruntime.InferenceSession(graph.SerializeToString())
    for steps, batch in ((4, 2), (1, 1)):
        feed = {"x": floats(steps, batch, inputs)}
        for one, other in zip(ours.run(None, feed), theirs.run(None, feed), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_sequences_have_the_given_shapes() -> None:
    x = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["k", 2])
    node = helper.make_node("ConcatFromSequence", ["x"], ["y"], axis=0)
    proto = helper.make_model(helper.make_graph([node], "g", [x], [y]))
    main = rx.build(from_onnx(proto, sequences={"x": [("n", 2), ("m", 2)]}))["main"]
    a, b = floats(3, 2), floats(1, 2)
    np.testing.assert_array_equal(main(a, b), np.vstack([a, b]))


def test_narrow_integers_are_cast() -> None:
    proto = model("g (int4[n] x) => (float[n] y) { wide = Cast<to = 1>(x) y = Add(wide, wide) }")
    np.testing.assert_array_equal(rx.build(from_onnx(proto))["main"](np.array([3, -8], "i1")), [6, -16])


def test_powers_of_two_are_products() -> None:
    """An exponent that is the constant 2, of any shape that does not change the result's."""
    graph = model(
        "g (float[n] x, float[m] e) => (float[n] y, float[k] z) "
        "{ two = Constant<value = float {2.0}>() y = Pow(x, two) z = Pow(two, e) }"
    )
    assert from_onnx(graph).script().count("R.power") == 1
    check(InferenceSession(graph), graph, {"x": floats(5), "e": floats(3)})
