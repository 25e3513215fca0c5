"""Builders derived from op classes: signatures, arguments, documentation, and the stubs for type checkers."""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.dialects.builders import NAMESPACES, builders, signature_text
from relax_mlir.dialects.convolution import Conv2dOp
from relax_mlir.dialects.sorting import SortOp
from relax_mlir.dialects.value import ValueLike
from relax_mlir.error import ArgumentError
from relax_mlir.op.generate_stubs import path_of


def emitted(build: Any) -> str:
    """The IR of a function of one matrix that `build` computes."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(build(x))
    return str(bb.get())


def test_signature_and_documentation() -> None:
    signature = inspect.signature(R.sort)
    assert [(p.name, p.default) for p in signature.parameters.values()] == [
        ("data", inspect.Parameter.empty),
        ("axis", -1),
        ("descending", False),
    ]
    assert signature.parameters["data"].annotation == ValueLike
    assert signature.return_annotation is rx.Value
    assert R.sort.__doc__ == SortOp.__doc__
    assert signature_text(SortOp) == "(data: ValueLike, axis: int = -1, descending: bool = False) -> Value"


def test_subclasses_have_other_defaults() -> None:
    """The fields of convolutions are those of their base class."""
    assert inspect.signature(R.nn.conv1d).parameters["strides"].default == 1
    assert inspect.signature(R.nn.conv2d).parameters["strides"].default == (1, 1)
    assert inspect.signature(R.nn.conv2d).parameters["out_dtype"].default is None
    assert "out_layout: str | None = None, out_dtype: str | DType | None = None" in signature_text(Conv2dOp)


def test_builders_can_be_pickled() -> None:
    for builder in (R.sort, R.nn.softmax, R.clip):
        assert pickle.loads(pickle.dumps(builder)) is builder


def test_arguments_by_position_and_by_name() -> None:
    expected = emitted(lambda x: R.sort(x, 0, True))
    assert "axis = 0 : i64, descending = true" in expected
    assert expected == emitted(lambda x: R.sort(data=x, descending=True, axis=0))
    assert "axis = -1 : i64, descending = false" in emitted(lambda x: R.sort(x))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: R.sort(), "sort() missing a required argument: 'data'"),
        (lambda x: R.sort(x, 0, True, 1), "sort() too many positional arguments"),
        (lambda x: R.sort(x, 0, axis=1), "sort() multiple values for argument 'axis'"),
        (lambda x: R.sort(x, axes=0), "sort() got an unexpected keyword argument 'axes'"),
        (lambda x: R.nn.softmax(axis=0, axes=0), "softmax() missing a required argument: 'data'"),
    ],
)
def test_wrong_arguments(build: Any, message: str) -> None:
    with pytest.raises(TypeError) as error:
        emitted(build)
    assert str(error.value) == message


def test_errors_name_the_builder_and_its_parameter() -> None:
    with pytest.raises(ArgumentError, match=r"^sort: 'axis' is 1\.5, expected an int$"):
        emitted(lambda x: R.sort(x, 1.5))
    with pytest.raises(ArgumentError, match=r"^nn\.softmax: no function is being built"):
        R.nn.softmax(rx.Var("x", rx.Tensor((2,), "float32")))


def test_stubs_are_current() -> None:
    """Checked in a separate process: tests define ops."""
    script = "import json; from relax_mlir.op.generate_stubs import stubs; print(json.dumps(stubs()))"
    made = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    for module, text in json.loads(made).items():
        assert path_of(module).read_text() == text, (
            f"{path_of(module)} is stale: run python -m relax_mlir.op.generate_stubs"
        )


def test_every_namespace_is_a_module() -> None:
    for namespace in NAMESPACES:
        module = getattr(R, namespace)
        assert {*module.__all__} == builders(namespace).keys()
