"""Errors for invalid or unsupported ONNX models: the kinds listed in docs/onnx.md."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import relax_mlir as rx
from onnx_models import floats, model
from relax_mlir.error import DTypeError, ParseError, RelaxError, ShapeError, UnsupportedError
from relax_mlir.frontend.onnx import InferenceSession, from_onnx

POOL = "g (float[n, 2, h, w] x) => (float[n, 2, a, b] y) {{ y = MaxPool<kernel_shape = [2, 2], strides = [1, {}]>(x) }}"

CASES: dict[str, tuple[str, type[RelaxError], str]] = {
    "an attribute is missing": (
        "g (float[n, 2, h, w] x) => (float[n, 2, a, b] y) { y = MaxPool(x) }",
        ParseError,
        "kernel_shape",
    ),
    "a stride is no number of elements": (
        POOL.format(2**63 - 1),
        ParseError,
        r"\(MaxPool\): 9223372036854775807 is no size, stride, dilation or pad",
    ),
    "an attribute has no such value": (
        'g (float[n, 2, h, w] x) => (float[n, 2, a, b] y) { y = Resize<mode = "best">(x, , s) }',
        ParseError,
        "Resize",
    ),
    "dtypes do not fit": (
        "g (float[n] x, int64[n] z) => (float[n] y) { y = Add(x, z) }",
        DTypeError,
        r"\(Add\)",
    ),
    "shapes do not fit": (
        "g (float[2] x, float[3] z) => (float[n] y) { y = Add(x, z) }",
        ShapeError,
        r"\(Add\)",
    ),
    "narrow numbers are not quantized": (
        "g (int4[n] x, float s) => (uint8[n] y) { y = QuantizeLinear(x, s) }",
        UnsupportedError,
        "QuantizeLinear of int4 is not supported",
    ),
    "an op of nobody": (
        "g (float[n] x) => (float[n] y) { y = mine.Strange(x) }",
        ParseError,
        "mine",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_kinds_of_errors(case: str) -> None:
    text, kind, message = CASES[case]
    proto = model(text)
    if "Resize" in text:
        proto.graph.initializer.append(onnx.numpy_helper.from_array(floats(4), "s"))
    for make in (from_onnx, InferenceSession):
        with pytest.raises(RelaxError, match=message) as caught:
            make(proto)
        assert isinstance(caught.value, kind)


@pytest.mark.parametrize("name", [b"sizeN", b"nodeN", b"inputN"])
def test_strings_are_utf8(name: bytes) -> None:
    """protobuf returns such strings as bytes."""
    data = model(
        "g (float[sizeN] x) => (float[sizeN] y) { [nodeN] inputN = Relu(x) y = Neg(inputN) }"
    ).SerializeToString()
    with pytest.raises(ParseError, match=r"is no ONNX model: onnx\.\w+.* which is not UTF-8"):
        from_onnx(data.replace(name, name[:-1] + b"\xff"))


def test_files(tmp_path: Path) -> None:
    whole = model("g (float[n] x) => (float[n] y) { y = Relu(x) }").SerializeToString()
    (tmp_path / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.onnx").write_bytes(b"")
    for name in ("cut.onnx", "empty.onnx", "missing.onnx"):
        for read in (from_onnx, rx.load, InferenceSession):
            with pytest.raises(ParseError, match=name):
                read(tmp_path / name)
    with pytest.raises(ParseError, match="cannot open"):
        from_onnx(tmp_path)


def test_opsets() -> None:
    for version, kind in ((999, UnsupportedError), (0, ParseError), (-3, ParseError)):
        with pytest.raises(kind, match=f"is of opset {version}"):
            from_onnx(model("g (float[n] x) => (float[n] y) { y = Relu(x) }", opset=version))
