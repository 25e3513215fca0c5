"""Torch is imported only by the user, and its tensors are taken and given whenever that happens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

RUN = """
import sys
import numpy as np
import relax_mlir as rx
from relax_mlir import op as R


def built():
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(R.add(x, x)))
    return rx.build(bb.get())["main"]


def check_torch(main):
    import torch
    import tvm_ffi

    given = torch.arange(12.0).reshape(3, 4)
    found = main(given)
    assert type(found) is torch.Tensor and torch.equal(found, given + given)
    assert type(main(given.numpy())) is np.ndarray
    assert type(main.ffi(given)) is torch.Tensor  # by the FFI alone
    assert rx.runtime.fast_call.install_torch().active
    assert tvm_ffi.convert(torch.float32) == tvm_ffi.dtype("float32")
    assert tvm_ffi.core.torch is torch
    for loader in (torch.__loader__, torch.__spec__.loader):
        assert type(loader).__module__.partition(".")[0] != "relax_mlir"
"""

AFTER = """
main = built()
np.testing.assert_array_equal(main(np.ones((2, 4), "f4")), 2)
assert "torch" not in sys.modules
check_torch(main)
"""

BEFORE = """
import torch
check_torch(built())
"""

FFI_BEFORE = """
import torch
import tvm_ffi
check_torch(built())
"""

OTHER_THREAD = """
import ctypes
import threading

errors, load = [], ctypes.CDLL

def work():
    try:
        import torch
        torch.zeros(1)
    except BaseException as error:
        errors.append(error)

def loaded(path, *arguments, **named):  # tvm_ffi has looked for torch in vain: now another thread imports it
    if "libtvm_ffi" in str(path):
        ctypes.CDLL = load
        assert "torch" not in sys.modules
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    return load(path, *arguments, **named)

ctypes.CDLL = loaded
main = built()
assert ctypes.CDLL is load and errors == [] and "torch" in sys.modules
check_torch(main)
"""

FAILS = """
main = built()
for _ in range(2):
    try:
        import torch
    except RuntimeError as error:
        assert str(error) == "half of torch is missing"
    else:
        raise AssertionError
    assert "torch" not in sys.modules
np.testing.assert_array_equal(main(np.ones((2, 4), "f4")), 2)
"""

FOREIGN = """
import warnings
main = built()
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    import torch
assert ["tvm_ffi could not be connected to torch" in str(each.message) for each in found] == [True]
np.testing.assert_array_equal(main(np.ones((2, 4), "f4")), 2)
"""


def run(program: str, *folders: Path) -> None:
    path = f"sys.path[:0] = {[str(folder) for folder in folders]}\n"
    command = [sys.executable, "-c", "import sys\n" + path + RUN + program]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("program", [AFTER, BEFORE, FFI_BEFORE, OTHER_THREAD])
def test_tensors_are_taken_and_given(program: str) -> None:
    run(program)


@pytest.mark.parametrize(
    ("source", "program"),
    [("raise RuntimeError('half of torch is missing')", FAILS), ("Tensor = None", FOREIGN)],
)
def test_another_module_of_the_name_breaks_nothing(source: str, program: str, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(source, encoding="utf-8")
    run(program, tmp_path)
