"""Small programs of bytecode, and a machine of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.vm import ExecBuilder, VirtualMachine

P = "vm.builtin."


def built(emit: Callable[[ExecBuilder], None], **functions: Callable[..., Any]) -> VirtualMachine:
    ib = ExecBuilder()
    emit(ib)
    return VirtualMachine(ib.get(), functions=functions)


def emit_identity(ib: ExecBuilder) -> None:
    with ib.function("identity", 1):
        ib.emit_ret(ib.r(0))


def emit_sum(ib: ExecBuilder) -> None:
    """``sum(n) = n == 0 ? 0 : n + sum(n - 1)``"""
    with ib.function("sum", 1):
        done = ib.label()
        ib.emit_if(ib.r(0), done)
        ib.emit_call(f"{P}arith.subi", [ib.r(0), ib.imm(1)], ib.r(1))
        ib.emit_call("sum", [ib.r(1)], ib.r(2))
        ib.emit_call(f"{P}arith.addi", [ib.r(0), ib.r(2)], ib.r(0))
        ib.place(done)
        ib.emit_ret(ib.r(0))


def emit_call_of(name: str, num_inputs: int = 0) -> Callable[[ExecBuilder], None]:
    def emit(ib: ExecBuilder) -> None:
        with ib.function("main", num_inputs):
            ib.emit_call(name, [ib.r(i) for i in range(num_inputs)], ib.r(num_inputs))
            ib.emit_ret(ib.r(num_inputs))

    return emit


def emit_forever(ib: ExecBuilder) -> None:
    with ib.function("forever", 1, allow_unused=True):
        again = ib.label()
        ib.place(again)
        ib.emit_call(f"{P}null_value", [], ib.r(1))
        ib.emit_goto(again)
