"""Calls with torch tensors by generated code: they return the same as calls through the FFI."""

from __future__ import annotations

import dataclasses
import gc
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
import warm_process
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.runtime import fast_call, object_layouts
from relax_mlir.script import parse

torch = pytest.importorskip("torch")

TEXT = """
@R.function
def add(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n", "m"), "float32")):
    return x + y

@R.function
def double(x: R.Tensor(("n",), "float32")):
    return x * 2.0

@R.function
def pair(x: R.Tensor(("n",), "float32")):
    return x + x, x * x

@R.function
def shaped(x: R.Tensor(("n",), "float32"), s: R.Shape(("a", "b"))):
    return R.reshape(x, ("a", "b"))

@R.function
def same(x: R.Object()):
    return x
"""


@pytest.fixture(scope="module")
def module() -> rx.Executable:
    built = rx.build(parse(TEXT))
    built["add"](torch.ones(1, 1), torch.ones(1, 1))
    return built


def test_it_is_there(module: rx.Executable) -> None:
    found = fast_call.install_torch()
    assert found is not None and found.active, found


def matrices() -> dict[str, Any]:
    """The same numbers in tensors and arrays of all kinds."""
    plain = torch.arange(12.0).reshape(3, 4)
    with torch.inference_mode():
        inference = plain.clone()
    return {
        "torch": plain,
        "numpy": plain.numpy(),
        "frozen": np.frombuffer(plain.numpy().tobytes(), "float32").reshape(3, 4),
        "ffi": tvm_ffi.from_dlpack(plain.clone()),
        "gradient": plain.clone().requires_grad_(),
        "parameter": torch.nn.Parameter(plain.clone()),
        "inference": inference,
        "transposed": plain.t().contiguous().t(),
        "steps": plain.repeat_interleave(2, 1)[:, ::2],
        "end": torch.cat([torch.zeros(1, 4), plain])[1:],
        "negative": torch.complex(plain, -plain).conj().imag,
        "copy on write": torch._lazy_clone(plain),
    }


@pytest.mark.parametrize("second", matrices())
@pytest.mark.parametrize("first", matrices())
def test_kinds_of_tensors(module: rx.Executable, first: str, second: str) -> None:
    x, y = matrices()[first], matrices()[second]
    with torch.no_grad():
        result = module["add"](x, y)
    is_torch = isinstance(x, torch.Tensor) or isinstance(y, torch.Tensor)
    is_numpy = isinstance(x, np.ndarray) or isinstance(y, np.ndarray)
    assert type(result) is (torch.Tensor if is_torch else np.ndarray if is_numpy else tvm_ffi.Tensor)
    np.testing.assert_array_equal(np.from_dlpack(result), 2 * np.arange(12, dtype="float32").reshape(3, 4))


def test_results_to_write_to(module: rx.Executable) -> None:
    x = torch.ones(3, 4)
    out = torch.zeros(5, 4)
    for given in (out[:3], out[2:]):
        assert module["add"](x, x, given) is None
        assert given.eq(2).all()
    with pytest.raises(ArgumentError, match="not contiguous"):
        module["add"](x, x, torch.empty(4, 3).t())
    with pytest.raises(ArgumentError, match="negative or conjugate bit"):
        module["add"](x, x, torch._neg_view(x))
    assert x.eq(1).all()


def test_gradients_are_not_lost(module: rx.Executable) -> None:
    """A result without gradient flow is refused while torch records, as torch refuses to export the tensor."""
    plain = torch.ones(2, 2)
    leaf = torch.nn.Parameter(plain.clone())
    for tensor in (leaf, 2 * leaf, leaf[:2]):
        for arguments in ((tensor, plain), (plain, tensor), (plain, plain, tensor)):
            number = next(i for i, each in enumerate(arguments) if each is tensor)
            with pytest.raises(ArgumentError, match=rf"argument {number} is a torch tensor that requires a gradient"):
                module["add"](*arguments)
        with torch.no_grad():
            assert not module["add"](tensor, plain).requires_grad
        assert module["add"](tensor.detach(), plain).shape == (2, 2)
    with pytest.raises(ArgumentError, match=r"argument 0\[1\] is a torch tensor that requires a gradient"):
        module["add"]((plain, leaf), plain)


def test_several_results(module: rx.Executable) -> None:
    sums, squares = module["pair"](torch.full((3,), 3.0))
    assert isinstance(sums, torch.Tensor) and sums.tolist() == [6, 6, 6] and squares.tolist() == [9, 9, 9]


@pytest.mark.parametrize("shape", [(0, 4), (1, 1), (1, 0)])
def test_small(module: rx.Executable, shape: tuple[int, ...]) -> None:
    x = torch.ones(shape)
    assert torch.equal(module["add"](x, x), x + x)


def test_beside_other_arguments(module: rx.Executable) -> None:
    x = torch.arange(6.0)
    for shape in ((2, 3), [2, 3], tvm_ffi.Shape((2, 3))):
        assert module["shaped"](x, shape).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ArgumentError, match="needs 24 bytes, but its storage has 4"):
        x.untyped_storage().resize_(4)
        module["shaped"](x, (2, 3))


def test_objects_share_memory(module: rx.Executable) -> None:
    """A parameter of any type gets the tensor itself, not a copy."""
    x = torch.zeros(3)
    same = module["same"](x)
    x[1] = 5
    assert same.tolist() == [0, 5, 0]
    assert isinstance(same, torch.Tensor)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: (torch.ones(3, 4), torch.ones(3, 4, dtype=torch.float64)), DTypeError),
        (lambda: (torch.ones(3, 4), torch.ones(3)), ShapeError),
        (lambda: (torch.ones(3, 4), torch.ones(4, 4)), ShapeError),
        (lambda: (torch.ones(3, 4),), ArgumentError),
        (lambda: (torch.ones(3, 4), 1), ArgumentError),
        (lambda: (torch.ones(3, 4), torch.ones(3, 4, dtype=torch.complex64).conj()), DTypeError),
    ],
)
def test_errors(module: rx.Executable, make: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as fast:
        module["add"](*make())
    with pytest.raises(error) as slow:
        module["add"]._call_any(*make())
    assert str(fast.value) == str(slow.value)


def test_nothing_is_kept(module: rx.Executable) -> None:
    x, y = torch.ones(2, 2), torch.ones(2)
    calls = (
        lambda: module["add"](x, x),
        lambda: module["add"](x, x, x.clone()),
        lambda: failing(module, x, y),
        lambda: module["pair"](y),
        lambda: module["shaped"](y, (1, 2)),
    )
    for call in calls:
        call()
    gc.collect()
    before = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(None)
    for call in calls:
        for _ in range(100):
            call()
    gc.collect()
    after = sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(None)
    assert all(abs(a - b) < 20 for a, b in zip(after, before, strict=True))


def failing(module: rx.Executable, *arguments: Any) -> None:
    with pytest.raises(ShapeError):
        module["add"](*arguments)


def test_from_many_threads(module: rx.Executable) -> None:
    def work(seed: int) -> None:
        for i in range(200):
            x = torch.full((seed + 1, i % 5), float(i))
            assert torch.equal(module["add"](x, x), x + x)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture
def anew() -> Iterator[None]:
    """Simulate the state before the first torch tensor of the process, for the test; it is restored afterwards."""

    def forget() -> None:
        state = fast_call._installed[0][1]
        state.torch_type = state.parameter_type = 0
        fast_call._torch.clear()

    forget()
    yield
    forget()


def check(function: Any) -> None:
    """A function that doubles gives the right results or errors on every call path."""
    assert function(torch.ones(3)).tolist() == [2, 2, 2]
    assert function(torch._neg_view(torch.ones(3))).tolist() == [-2, -2, -2]
    short = torch.ones(3)
    short.untyped_storage().resize_(8)
    with pytest.raises(ArgumentError, match="needs 12 bytes, but its storage has 8"):
        function(short)


def changed(**words: Any) -> Callable[[], Any]:
    """Determines the layouts, some of them wrong."""
    return lambda: dataclasses.replace(FIND(), **{name: make() for name, make in words.items()})


def keys_of_negative() -> int:
    return int(torch._C._dispatch_keys(torch._neg_view(torch.ones(3))).raw_repr())


FIND = object_layouts.torch_layouts


@pytest.mark.parametrize(
    ("module_", "name", "value", "reason"),
    [
        (object_layouts, "_STORAGE_WORDS", 2, "0 places found"),
        (object_layouts, "_DLPACK_MAJOR", 7, "version 1 of DLPack"),
        (object_layouts, "torch_layouts", changed(plain_keys=lambda: 0), "self-test failed"),
        (object_layouts, "torch_layouts", changed(plain_keys=keys_of_negative), "self-test failed"),
        (
            object_layouts,
            "torch_layouts",
            changed(bytes_offset=lambda: FIND().start_offset),
            "self-test failed",
        ),
        (fast_call, "_plain", dict, "raises KeyError"),
    ],
)
def test_other_layouts(
    module: rx.Executable,
    anew: None,
    monkeypatch: pytest.MonkeyPatch,
    module_: Any,
    name: str,
    value: Any,
    reason: str,
) -> None:
    """If torch's tensor layout is unknown, torch is asked about each tensor; the results are the same."""
    monkeypatch.setattr(module_, name, value)
    check(module["double"])
    found = fast_call.install_torch()
    assert found is not None and not found.active and reason in found.reason, found
    check(module["double"])
    monkeypatch.undo()


def test_torch_of_another_version(module: rx.Executable, anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch._C, "_dispatch_keys")
    check(module["double"])
    found = fast_call.install_torch()
    assert found is not None and not found.active and "_dispatch_keys" in found.reason, found


def test_modes(module: rx.Executable, anew: None) -> None:
    """After a first call in a mode of torch that creates other tensors, the layout stays undetermined."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True):
        assert fast_call.install_torch() is None
    with torch.inference_mode():
        check(module["double"])
    found = fast_call.install_torch()
    assert found is not None and found.active, found


def test_switched_off() -> None:
    program = """
import os
os.environ["RELAX_MLIR_FAST_CALLS"] = "0"
import torch, relax_mlir as rx
from relax_mlir.runtime import fast_call
from relax_mlir.script import parse
main = rx.build(parse("@R.function\\ndef main(x: R.Tensor(('n',), 'float32')):\\n    return x * 2.0\\n"))["main"]
assert main(torch._neg_view(torch.ones(3))).tolist() == [-2, -2, -2]
print(fast_call.install_torch())
"""
    done = warm_process.run(["-c", program])
    assert done.returncode == 0, done.stderr
    assert b"through the FFI" in done.stdout
