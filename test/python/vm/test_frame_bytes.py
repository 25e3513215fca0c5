"""The memory of frames is bounded, too: functions with many registers raise an error before memory runs out."""

from __future__ import annotations

import pytest
from relax_mlir.error import ArgumentError, RecursionLimitError
from relax_mlir.vm import ExecBuilder, Executable, VirtualMachine

WIDE = 10_000
FRAME = 16 * WIDE


def executable(registers: int = WIDE) -> Executable:
    """``wide``: recursion to the depth of its argument; ``by_packed``: the same through a packed function."""
    ib = ExecBuilder()
    for name, callee in (("wide", "wide"), ("by_packed", "test.again")):
        with ib.function(name, 1):
            end = ib.label()
            ib.emit_if(ib.r(0), end)
            for number in range(1, registers):
                ib.emit_call("vm.builtin.null_value", [], ib.r(number))
            ib.emit_call("vm.builtin.arith.subi", [ib.r(0), ib.imm(1)], ib.r(1))
            ib.emit_call(callee, [ib.r(1)], ib.r(1))
            ib.place(end)
            ib.emit_ret(ib.r(0))
    return ib.get()


def test_wide_frames() -> None:
    vm = VirtualMachine(executable(), functions={"test.again": print}, max_frame_bytes=100 * FRAME)
    assert vm["wide"](90) == 90
    for _ in range(2):
        with pytest.raises(
            RecursionLimitError, match=rf"^wide: the registers .* more than {100 * FRAME} bytes .* {WIDE}\)"
        ):
            vm["wide"](9_000)
        assert vm["wide"](90) == 90


def test_the_default_is_reached_before_the_depth() -> None:
    vm = VirtualMachine(executable(), functions={"test.again": print})
    with pytest.raises(RecursionLimitError, match=rf"more than {256 << 20} bytes"):
        vm["wide"](9_000)


def test_a_single_frame() -> None:
    vm = VirtualMachine(executable(), functions={"test.again": print}, max_frame_bytes=1000)
    with pytest.raises(RecursionLimitError, match=r"more than 1000 bytes"):
        vm["wide"](0)


def test_machines_entered_by_packed_functions() -> None:
    """They share the limit of their thread."""
    machines: list[VirtualMachine] = []
    vm = VirtualMachine(
        executable(),
        functions={"test.again": lambda n: machines[0]["by_packed"](n)},
        max_frame_bytes=30 * (FRAME + (1 << 16)),
    )
    machines.append(vm)
    for _ in range(2):
        assert vm["by_packed"](20) == 20
        with pytest.raises(RecursionLimitError, match=r"^by_packed: the registers of the calls"):
            vm["by_packed"](60)


def test_limits_that_are_none() -> None:
    for limit in (0, -1, True, 1.5, 1 << 41):
        with pytest.raises(ArgumentError, match=r"'max_frame_bytes'"):
            VirtualMachine(executable(3), max_frame_bytes=limit)  # type: ignore[arg-type]  # what it checks
