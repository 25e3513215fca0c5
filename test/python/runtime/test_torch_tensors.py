"""Torch tensors whose elements differ from their memory, or that have no memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import ArgumentError, DeviceError, DTypeError
from relax_mlir.script import parse

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

TEXT = """
@R.function
def plain(x: R.Tensor(("n",), "float32")):
    return x * 2.0

@R.function
def field(x: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("m",), "float32"))):
    return x[0] * 2.0

@R.function
def unknown(x: R.Tensor()):
    y = R.match_cast(x, R.Tensor(("n",), "float32"))
    return y * 2.0
"""
Function = Callable[[Any], Any]


@pytest.fixture(scope="module")
def functions() -> list[Function]:
    built = rx.build(parse(TEXT))
    plain = built["plain"]
    return [plain, lambda t: built["field"]((t, t)), built["unknown"], lambda t: plain(torch.ones(3), t)]


def _negative() -> Any:
    return torch.complex(torch.arange(3.0), torch.arange(1.0, 4.0)).conj().imag


def _fake() -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(3)


def _resized(size: int) -> Any:
    tensor = torch.ones(3)
    tensor.untyped_storage().resize_(size)
    return tensor


def _read(result: Any) -> Any:
    return result.numpy() if isinstance(result, torch.Tensor) else np.from_dlpack(result)


GOOD: dict[str, Callable[[], Any]] = {
    "negative bit": _negative,
    "negative bit, strides": lambda: torch.complex(torch.ones(6), torch.arange(6.0)).conj().imag[::2],
    "requires grad": lambda: torch.ones(3, requires_grad=True),
    "parameter": lambda: torch.nn.Parameter(torch.ones(3)),
    "strides": lambda: torch.arange(9.0)[::3],
    "expanded": lambda: torch.ones(1).expand(3),
    "behind an offset": lambda: torch.arange(5.0)[2:],
    "empty": lambda: torch.empty(0),
    "empty, without storage": lambda: _emptied(),
}


def _emptied() -> Any:
    tensor = torch.empty(0)
    tensor.untyped_storage().resize_(0)
    return tensor


@pytest.mark.parametrize("name", GOOD)
def test_values(functions: list[Function], name: str) -> None:
    tensor = GOOD[name]()
    for function in functions[:3]:
        with torch.no_grad():
            result = function(tensor)
        np.testing.assert_array_equal(_read(result), tensor.detach().resolve_neg().numpy() * 2)


BAD: dict[str, tuple[Callable[[], Any], type[Exception] | tuple[type[Exception], ...], str]] = {
    "fake": (_fake, ArgumentError, "no memory"),
    "meta": (lambda: torch.ones(3, device="meta"), DeviceError, "meta"),
    "resized to nothing": (lambda: _resized(0), ArgumentError, "needs 12 bytes, but its storage has 0"),
    "resized": (lambda: _resized(8), ArgumentError, "needs 12 bytes, but its storage has 8"),
    "sparse": (lambda: torch.ones(3).to_sparse(), ArgumentError, "sparse_coo"),
    "opaque": (lambda: torch.ones(3).to_mkldnn(), ArgumentError, "mkldnn"),
    "quantised": (
        lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
        ArgumentError,
        "quantised",
    ),
    "nested": (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), ArgumentError, "nested"),
    "gradient": (
        lambda: torch.ones(3, requires_grad=True),
        ArgumentError,
        r"torch.no_grad\(\), or give its detach",
    ),
    "computed of a gradient": (
        lambda: 2 * torch.ones(3, requires_grad=True),
        ArgumentError,
        "requires a gradient",
    ),
    "known zeros": (lambda: torch._efficientzerotensor(3), ArgumentError, "no memory"),
    "conjugate bit": (
        lambda: torch.complex(torch.ones(3), torch.ones(3)).conj(),
        (DTypeError, ArgumentError),
        "complex64|conjugate",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_errors(functions: list[Function], name: str) -> None:
    make, error, message = BAD[name]
    for function in functions:
        with pytest.raises(error, match=message):
            function(make())


def test_results_to_write_to(functions: list[Function]) -> None:
    write = functions[3]
    with pytest.raises(ArgumentError, match="negative or conjugate bit"):
        write(_negative())
    out = torch.zeros(3)
    assert write(out) is None
    assert out.tolist() == [2, 2, 2]


def test_inside_transformations(functions: list[Function]) -> None:
    """Tensors of `torch.vmap` and `torch.func.grad` are wrappers without memory."""

    def call(x: Any) -> Any:
        with pytest.raises(ArgumentError, match="memory cannot be used"):
            functions[0](x)
        return x.sum()

    torch.vmap(call)(torch.ones(2, 3))
    torch.func.grad(call)(torch.ones(3))


def test_lists_stay_lists() -> None:
    """A list without such a tensor reaches an `Object` parameter unchanged."""
    main = rx.build(parse("@R.function\ndef main(x: R.Object()):\n    return x\n"))["main"]
    assert [int(item) for item in main([1, 2])] == [1, 2]
