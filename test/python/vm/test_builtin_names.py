"""Lookup of the builtins: in machines always, in the FFI's registry if TVM does not use their names."""

from __future__ import annotations

from pathlib import Path

import cold_process
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.error import UnknownNameError

PROGRAM = """
import tvm_ffi
import relax_mlir as rx
{before}
ib = rx.vm.ExecBuilder()
with ib.function("f", num_inputs=1):
    ib.emit_call("vm.builtin.arith.addi", args=[ib.r(0), ib.imm(1)], dst=ib.r(1))
    ib.emit_ret(ib.r(1))
print(rx.vm.VirtualMachine(ib.get())["f"](4), rx.vm.builtin("arith.muli")(6, 7))
function = tvm_ffi.get_global_func("vm.builtin.arith.addi", allow_missing=True)
print(None if function is None else function(1, 2))
"""
TAKEN = 'tvm_ffi.register_global_func("vm.builtin.arith.addi", lambda a, b: 1000)'


def _run(before: str = "", path: Path | None = None) -> list[str]:
    code = PROGRAM.format(before=before)
    if path is not None:
        code = f"import sys; sys.path.insert(0, {str(path)!r})\n{code}"
    done = cold_process.run(["-c", code], env=cold_process.cached())
    assert not done.returncode, done.stderr
    return str(done.stdout).splitlines()


def test_registered_where_nobody_else_is() -> None:
    assert _run() == ["5 42", "3"]


@pytest.mark.slow
def test_left_to_an_installed_tvm(tmp_path: Path) -> None:
    (tmp_path / "tvm").mkdir()
    (tmp_path / "tvm" / "__init__.py").write_text("")
    assert _run(path=tmp_path) == ["5 42", "None"]


def test_left_to_who_has_the_names() -> None:
    assert _run(TAKEN) == ["5 42", "1000"]


def test_unknown_ones() -> None:
    assert rx.vm.builtin("vm.builtin.copy")(3) == 3 and isinstance(rx.vm.builtin("copy"), tvm_ffi.Function)
    with pytest.raises(UnknownNameError, match="unknown builtin of the virtual machine 'shapes_of'; did you mean"):
        rx.vm.builtin("shapes_of")
