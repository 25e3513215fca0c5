"""Windows larger than the data, and numbers, indices and parts out of range: the same results as onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx_models import Array, floats, model
from relax_mlir.error import RelaxError
from relax_mlir.frontend.onnx import InferenceSession

X = floats(2, 3)


def merged(texts: dict[str, str]) -> onnx.ModelProto:
    """One model of several graphs; names in a graph begin with that of the graph."""
    graphs = [onnx.compose.add_prefix(model(text), f"{name}.") for name, text in texts.items()]
    whole = onnx.compose.merge_models(graphs[0], graphs[1], io_map=[]) if len(graphs) > 1 else graphs[0]
    for graph in graphs[2:]:
        whole = onnx.compose.merge_models(whole, graph, io_map=[])
    return whole


WINDOWS = {
    "half": "kernel_shape = [2], strides = [2]",
    "long": "kernel_shape = [3], strides = [2]",
    "padded": "kernel_shape = [5], strides = [3], pads = [1, 0]",
    "dilated": "kernel_shape = [2], strides = [3], dilations = [3]",
    "ceil": "kernel_shape = [3], strides = [2], ceil_mode = 1",
    "valid": 'kernel_shape = [2], strides = [3], auto_pad = "VALID"',
    "fitting": "kernel_shape = [3], strides = [2], pads = [1, 1]",
}


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_windows_larger_than_the_data(op: str) -> None:
    """The number of windows is rounded towards 0: data that is too short by less than a stride has one."""
    counted = {"AveragePool": {"pads": ", count_include_pad = 1"}}.get(op, {})
    forms = {
        f"{name}{suffix}": attributes + more
        for name, attributes in WINDOWS.items()
        for suffix, more in {"": "", **counted}.items()
    }
    proto = merged(
        {name: f"g (float[1, 2, n] x) => (float[1, 2, m] y) {{ y = {op}<{form}>(x) }}" for name, form in forms.items()}
    )
    theirs, ours = onnxruntime.InferenceSession(proto.SerializeToString()), InferenceSession(proto)
    for length in (2, 3, 4, 7):
        feeds = {f"{name}.x": floats(1, 2, length, seed=length) for name in forms}
        pairs = zip(forms, theirs.run(None, feeds), ours.run(None, feeds), strict=True)
        for name, want, found in pairs:
            assert found.shape == want.shape, (name, length)
            np.testing.assert_allclose(found, want, 1e-5, err_msg=f"{name} {length}")


def test_kernels_larger_than_the_data() -> None:
    text = "g (float[1, 1, n] x, float[1, 1, 3] w) => (float[1, 1, m] y) { y = Conv<strides = [2]>(x, w) }"
    runs(text, [{"x": floats(1, 1, n), "w": np.ones((1, 1, 3), np.float32)} for n in (1, 2, 3, 5)])


def test_static_data_smaller_than_the_window() -> None:
    proto = model(
        """g (float[1, 2, 1, 5] x) => (float[1, 2, p, q] y, float[1, 2, r, s] z) {
            y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)
            z = AveragePool<kernel_shape = [3, 2], strides = [3, 1]>(x)
        }"""
    )
    agree(proto, {"x": floats(1, 2, 1, 5)})


def agree(proto: onnx.ModelProto, feeds: dict[str, Array]) -> None:
    """Both runtimes give the same, or both refuse."""

    def tried(session: Any, kind: type[Exception]) -> list[Array] | None:
        try:
            return list(session(proto.SerializeToString()).run(None, feeds))
        except kind:
            return None

    want = tried(onnxruntime.InferenceSession, Exception)
    found = tried(lambda data: InferenceSession(onnx.load_from_string(data)), RelaxError)
    assert (found is None) == (want is None), (want, found)
    for a, b in zip(found or [], want or [], strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a, b)


def runs(text: str, feeds: Iterator[dict[str, Array]] | list[dict[str, Array]]) -> None:
    """As `agree`, with one session for all feeds."""
    proto = model(text)
    theirs, ours = onnxruntime.InferenceSession(proto.SerializeToString()), InferenceSession(proto)
    for given in feeds:
        try:
            want = theirs.run(None, given)
        except Exception:  # onnxruntime raises of several kinds
            with pytest.raises(RelaxError):
                ours.run(None, given)
            continue
        for a, b in zip(ours.run(None, given), want, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape), given
            np.testing.assert_array_equal(a, b)


def test_top_k_of_so_many() -> None:
    text = "g (float[n, m] x, int64[1] k) => (float[a, b] v, int64[a, b] i) { v, i = TopK<largest = 0>(x, k) }"
    runs(text, [{"x": X, "k": np.array([k])} for k in (0, 1, 3, 4, -1)])


@pytest.mark.parametrize("k", [0, 2, 5, -1])
@pytest.mark.parametrize("sizes", ["2, 3", "n, m"])
def test_top_k_of_a_known_number(k: int, sizes: str) -> None:
    agree(
        model(f"g (float[{sizes}] x) => (float[a, b] v, int64[a, b] i) <int64[1] k = {{{k}}}> {{ v, i = TopK(x, k) }}"),
        {"x": X},
    )


def test_gather_at_indices_that_the_call_gives() -> None:
    text = "g (float[n, m] x, int64[q] i) => (float[n, q] y) { y = Gather<axis = 1>(x, i) }"
    indices: list[list[int]] = [[0, 2], [-3], [3], [-4], [2**40], [0, 1, 7], []]
    runs(text, [{"x": X, "i": np.array(i, np.int64)} for i in indices])
    rows = "g (float[n, m] x, int32[q, r] i) => (float[q, r, m] y) { y = Gather(x, i) }"
    runs(rows, [{"x": X, "i": np.array([i], np.int32)} for i in ([0, 1], [-2], [2], [-3])])
    runs(rows, [{"x": X[:0], "i": np.array([i], np.int32).reshape(1, -1)} for i in ([0], [])])


@pytest.mark.parametrize("index", [2, -3, 3, -4])
@pytest.mark.parametrize("sizes", ["2, 3", "n, m"])
def test_gather_at_a_known_index(index: int, sizes: str) -> None:
    text = f"g (float[{sizes}] x) => (float[a, b] y) <int64[1] i = {{{index}}}> {{ y = Gather<axis = 1>(x, i) }}"
    agree(model(text), {"x": X})


def test_elements_at_indices() -> None:
    gather = "g (float[n, m] x, int64[p, q] i) => (float[p, q] y) { y = GatherElements<axis = 1>(x, i) }"
    runs(gather, [{"x": X, "i": np.array([i], np.int64)} for i in ([0, 2], [-3], [3], [-4])])
    scatter = """g (float[n, m] x, int64[p, q] i, float[p, q] u) => (float[n, m] y) {
        y = ScatterElements<axis = 1>(x, i, u)
    }"""
    runs(scatter, [{"x": X, "i": np.array([[i]]), "u": floats(1, 1)} for i in (0, -3, 3, -4)])
    one_hot = """g (int64[q] i) => (float[q, d] y) <int64[1] depth = {3}, float[2] values = {0, 1}> {
        y = OneHot<axis = -1>(i, depth, values)
    }"""
    runs(one_hot, [{"i": np.array(i, np.int64)} for i in ([0, 2], [-3], [3], [-4], [])])


@pytest.mark.parametrize("depth", [0, 1, -1])
def test_depth_of_one_hot(depth: int) -> None:
    known = f"""g (int64[q] i) => (float[q, d] y) <int64[1] depth = {{{depth}}}, float[2] values = {{0, 1}}> {{
        y = OneHot<axis = -1>(i, depth, values)
    }}"""
    agree(model(known), {"i": np.zeros(2, np.int64)})


def test_depth_of_one_hot_that_the_call_gives() -> None:
    given = """g (int64[q] i, int64[1] depth) => (float[q, d] y) <float[2] values = {0, 1}> {
        y = OneHot<axis = -1>(i, depth, values)
    }"""
    runs(given, [{"i": np.zeros(2, np.int64), "depth": np.array([depth])} for depth in (2, 1, 0, -1)])


def test_names_of_nodes_in_messages() -> None:
    proto = model(
        """g (int64[q] i, int64[1] depth) => (float[q, d] y) <float[2] values = {0, 1}> {
        y = OneHot<axis = -1>(i, depth, values)
    }"""
    )
    proto.graph.node[0].name = "a{0}b{x"
    with pytest.raises(RelaxError, match=r"node 'a\{0\}b\{x' \(OneHot\): the depth"):
        InferenceSession(proto).run(None, {"i": np.zeros(2, np.int64), "depth": np.array([0])})


def test_parts_add_up_to_the_size() -> None:
    text = "g (float[n, m] x, int64[2] s) => (float[n, a] y, float[n, b] z) { y, z = Split<axis = 1>(x, s) }"
    runs(text, [{"x": X, "s": np.array(s)} for s in ([1, 2], [0, 3], [3, 0], [1, 1], [2, 2], [-1, 4])])
    known = "g (float[n, m] x) => (float[n, a] y, float[n, b] z) <int64[2] s = {1, 2}> { y, z = Split<axis = 1>(x, s) }"
    runs(known, [{"x": floats(2, m)} for m in (3, 2, 4, 0)])


def test_parts_of_a_static_size() -> None:
    text = "g (float[2, 3] x) => (float[a, b] y, float[c, d] z) <int64[2] s = {1, 1}> { y, z = Split<axis = 1>(x, s) }"
    agree(model(text), {"x": X})
