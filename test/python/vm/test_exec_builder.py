"""Bytecode built by hand: the documents' programs verbatim, and every error that the builder detects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import torch
import tvm_ffi
from relax_mlir.bytecode.instructions import Arg, ArgKind, Call, Goto, If, Ret
from relax_mlir.error import ArgumentError, BytecodeError, DTypeError

Builder = rx.vm.ExecBuilder


def two_functions() -> rx.vm.Executable:
    """The documents' `func0` and a function with all kinds of instructions and arguments."""
    ib = Builder()
    with ib.function("func0", num_inputs=2):
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_call("test.vm.mul", args=[ib.r(2), ib.r(1)], dst=ib.r(10000))
        ib.emit_ret(ib.r(10000))
    with ib.function("func1", num_inputs=1):
        ib.emit_if(ib.r(0), 3)
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.imm(-5)], dst=ib.r(5))
        ib.emit_goto(2)
        ib.emit_call("vm.builtin.copy", args=[ib.c("s"), ib.c("s"), ib.c("s"), ib.vm_state()], dst=ib.r(5))
        ib.emit_call("test.vm.mul", args=[ib.f("func0"), ib.c((1, 2))], dst=ib.void_arg())
        ib.emit_ret(ib.r(5))
    return ib.get()


TEXT = """\
@func0:
  call  test.vm.add      in: %0, %1       dst: %2
  call  test.vm.mul      in: %2, %1       dst: %3
  ret   %3

@test.vm.add packed_func;

@test.vm.mul packed_func;

@func1:
  If    %0, 3
  call  test.vm.add      in: %0, i-5      dst: %1
  goto  2
  call  vm.builtin.copy  in: c[0], c[0], c[0], %vm dst: %1
  call  test.vm.mul      in: f[func0], c[1] dst: %void
  ret   %1

@vm.builtin.copy packed_func;

"""


def test_text_and_tables() -> None:
    ex = two_functions()
    assert ex.as_text() == ex.astext() == TEXT
    assert ex.function_names == ("func0", "func1")
    assert ex.packed_names == ("test.vm.add", "test.vm.mul", "vm.builtin.copy")
    assert ex.constants == ("s", tvm_ffi.Shape((1, 2)))
    assert ex.function("func1") == rx.vm.FunctionInfo("func1", "vm", 3, 9, 1, 2)
    assert ex.stats() == (
        "Relax VM executable statistics:\n"
        '  Constant pool (# 2): ["s", shapetuple[1, 2]]\n'
        "  Globals (#5): [func0, test.vm.add, test.vm.mul, func1, vm.builtin.copy]\n"
    )


def test_words_are_tvms() -> None:
    ex = two_functions()
    constant, function, void = 2 << 56, 3 << 56, 1 << 54
    copy = [1, 1, 4, 4, constant, constant, constant, void + 1]
    assert ex.words.tolist() == [
        *[1, 2, 1, 2, 0, 1],
        *[1, 3, 2, 2, 2, 1],
        *[2, 3],
        *[4, 0, 3],
        *[1, 1, 1, 2, 0, (1 << 56) + (1 << 56) - 5],
        *[3, 2],
        *copy,
        *[1, void, 2, 2, function, constant + 1],
        *[2, 1],
    ]
    assert ex.offsets.tolist() == [0, 6, 12, 14, 17, 23, 25, 33, 39]
    assert ex.instruction(3) == If(0, 3)
    assert ex.instruction(5) == Goto(2)
    assert ex.instruction(8) == Ret(1)
    assert ex.instruction(4) == Call(1, (Arg(ArgKind.REGISTER, 0), Arg(ArgKind.IMMEDIATE, -5)), 1)


def test_registers_are_renamed_in_the_order_of_use() -> None:
    texts = []
    for a, b in ((100, 50), (2, 3), (10**15, 7)):
        ib = Builder()
        with ib.function("func0", num_inputs=2):
            ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(1)], dst=ib.r(a))
            ib.emit_call("test.vm.mul", args=[ib.r(1), ib.r(a)], dst=ib.r(b))
            ib.emit_ret(ib.r(b))
        assert ib.get().function("func0").num_registers == 4
        texts.append(ib.get().as_text())
    assert len(set(texts)) == 1


def test_labels() -> None:
    ib = Builder()
    with ib.function("loop", num_inputs=1):
        again, end = ib.label(), ib.label()
        ib.place(again)
        ib.emit_call("less", args=[ib.r(0), ib.imm(3)], dst=ib.r(1))
        ib.emit_if(ib.r(1), end)
        ib.emit_call("next", args=[ib.r(0)], dst=ib.r(0))
        ib.emit_goto(again)
        ib.place(end)
        ib.emit_ret(ib.r(0))
    ex = ib.get()
    assert (ex.instruction(1), ex.instruction(3)) == (If(1, 3), Goto(-3))


def test_functions_that_come_later_and_recursion() -> None:
    ib = Builder()
    with ib.function("even", num_inputs=1):
        ib.emit_call("odd", args=[ib.r(0)], dst=ib.r(1))
        ib.emit_call("even", args=[ib.r(1)], dst=ib.r(1))
        ib.emit_call("packed", args=[ib.f("odd")])
        ib.emit_ret(ib.r(1))
    with ib.function("odd", num_inputs=1):
        ib.emit_ret(ib.r(0))
    assert [info.kind for info in ib.get().functions] == ["vm", "vm", "packed"]


def test_wrong_number_of_arguments_of_a_function_that_comes_later() -> None:
    ib = Builder()
    with ib.function("first"):
        ib.emit_call("second", dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    with ib.function("second", num_inputs=1):
        ib.emit_ret(ib.r(0))
    with pytest.raises(BytecodeError, match=r"function 'first', instruction 0: calls 'second' with 0 arguments"):
        ib.get()


EQUAL = [
    [np.zeros((2, 3), "f4"), np.zeros((2, 3), "f4"), torch.zeros(2, 3)],
    [np.array(1.0), np.float64(1.0), tvm_ffi.from_dlpack(np.array(1.0))],
    [np.zeros((0, 3), ml_dtypes.bfloat16), torch.zeros(0, 3, dtype=torch.bfloat16)],
    [np.arange(8)[::2], np.array([0, 2, 4, 6], ">i8")],
    [(1, 2), tvm_ffi.Shape((1, 2)), torch.Size((1, 2)), (np.int64(1), 2)],
    [np.float32, np.dtype("float32"), torch.float32, tvm_ffi.dtype("float32")],
    [ml_dtypes.bfloat16, torch.bfloat16, tvm_ffi.dtype("bfloat16")],
    ["float32"],
    [np.zeros(2, "bool")],
    [np.array([0.0])],
    [np.array([-0.0])],
    [np.array([np.nan])],
    [0.0],
    [-0.0],
    [float("nan"), -float("nan")],
    [1.0],
    [1],
    [True],
    [None],
    [1 << 62],
    [()],
    [""],
]


def test_equal_constants_are_stored_once() -> None:
    ib = Builder()
    with ib.function("main"):
        for place, values in enumerate(EQUAL):
            for value in values:
                assert ib.c(value) == Arg(ArgKind.CONSTANT, place), value
        ib.emit_call("f", args=[ib.c(0.0), (1, 2), None, True, "float32", np.float32], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    ex = ib.get()
    assert len(ex.constants) == len(EQUAL)
    call = ex.instruction(0)
    assert isinstance(call, Call)
    assert [arg.value for arg in call.args] == [12, 4, 18, 17, 7, 5]
    assert ib.convert_constant(5) == ib.imm(5)
    assert ib.convert_constant(1 << 62) == ib.c(1 << 62) == ib.c(ib.c(1 << 62))
    assert ib.convert_constant(True) == ib.c(True)


def test_large_arrays_that_differ_in_the_middle() -> None:
    ib = Builder()
    arrays = [np.zeros(1 << 20, "u1") for _ in range(3)]
    arrays[2][1 << 19] = 1
    assert [ib.c(array).value for array in arrays] == [0, 0, 1]


def test_constants_are_copied_unless_they_cannot_be_written_to() -> None:
    ib = Builder()
    array, kept = np.zeros(3), np.ones(3)
    kept.flags.writeable = False
    ib.c(array), ib.c(kept)
    array[:] = 7
    first, second = ib.get().constants
    assert isinstance(first, np.ndarray) and isinstance(second, np.ndarray)
    assert first.tolist() == [0, 0, 0] and not first.flags.writeable
    assert np.shares_memory(second, kept)


def test_words_cannot_be_changed() -> None:
    ex = two_functions()
    for array in (ex.words, ex.offsets):
        with pytest.raises(ValueError):
            array[0] = 3
        with pytest.raises(ValueError):
            array.flags.writeable = True
    with pytest.raises(AttributeError):
        ex.words = ex.offsets  # type: ignore[misc]  # the mistake under test


Emit = Callable[[Any], object]


def return_first(ib: rx.vm.ExecBuilder) -> None:
    ib.emit_ret(ib.r(0))


WRONG_FUNCTIONS: dict[str, tuple[Emit, str]] = {
    "never written": (
        lambda ib: ib.emit_ret(ib.r(5)),
        r"instruction 0, register %5: is read, but no instruction writes it \[invariant 9\]",
    ),
    "written later": (
        lambda ib: (ib.emit_call("f", args=[ib.r(9)], dst=ib.r(9)), return_first(ib)),
        r"instruction 0, register %9: is read, but not written on every path",
    ),
    "written on one path": (
        lambda ib: (ib.emit_if(ib.r(0), 2), ib.emit_call("f", dst=ib.r(7)), ib.emit_ret(ib.r(7))),
        r"instruction 2, register %7: is read, but not written on every path",
    ),
    "condition": (
        lambda ib: (ib.emit_if(ib.r(8), 1), return_first(ib)),
        r"instruction 0, register %8: is read, but no instruction",
    ),
    "written in a loop that may not run": (
        lambda ib: (
            ib.emit_if(ib.r(0), 3),
            ib.emit_call("f", dst=ib.r(70)),
            ib.emit_goto(-2),
            ib.emit_call("g", args=[ib.imm(0), ib.r(70)]),
            return_first(ib),
        ),
        r"instruction 3, register %70: is read, but not written on every path",
    ),
    "no instructions": (lambda ib: None, r"has no instructions.*\[invariant 8\]"),
    "no ret": (lambda ib: ib.emit_call("f", args=[ib.r(0)]), r"instruction 0: is the last .*\[invariant 8\]"),
    "ends in an if": (lambda ib: (return_first(ib), ib.emit_if(ib.r(0), -1)), r"instruction 1: is the last"),
    "goto behind the end": (
        lambda ib: (ib.emit_goto(2), return_first(ib)),
        r"instruction 0: jumps out of its function \[invariant 7\]",
    ),
    "goto before the beginning": (
        lambda ib: (return_first(ib), ib.emit_goto(-2)),
        r"instruction 1: jumps out of its function",
    ),
    "if far away": (
        lambda ib: (ib.emit_if(ib.r(0), (1 << 63) - 1), return_first(ib)),
        r"instruction 0: jumps out of its function",
    ),
    "goto itself": (
        lambda ib: ib.emit_goto(0),
        r"instruction 0: is in a loop without a call.*\[invariant 10\]",
    ),
    "loop of jumps": (
        lambda ib: (ib.emit_if(ib.r(0), 2), ib.emit_goto(-1), return_first(ib)),
        r"instruction 0: is in a loop without a call",
    ),
    "wrong arity": (
        lambda ib: (ib.emit_call("main", args=[]), return_first(ib)),
        r"instruction 0: calls 'main' with 0 arguments, expected 1 \[invariant 6\]",
    ),
    "label not placed": (
        lambda ib: (ib.emit_goto(ib.label()), return_first(ib)),
        r"instruction 0: jumps to a label that is not placed",
    ),
    "label at the end": (
        lambda ib: (return_first(ib), ib.emit_goto(end := ib.label()), ib.place(end)),
        r"instruction 1: jumps out of its function",
    ),
}


@pytest.mark.parametrize("name", WRONG_FUNCTIONS)
def test_wrong_functions(name: str) -> None:
    emit, message = WRONG_FUNCTIONS[name]
    ib = Builder()
    with pytest.raises(BytecodeError, match=f"^function 'main'.*{message}") as raised, ib.function("main", 1):
        emit(ib)
    assert raised.value.function == "main"
    assert isinstance(raised.value, rx.error.VerifyError)


WRONG_ARGUMENTS: dict[str, tuple[Emit, str]] = {
    "large immediate": (lambda ib: ib.imm(1 << 55), r"ib\.imm: \d+ needs more than 56 bits; write ib\.c"),
    "small immediate": (lambda ib: ib.imm(-(1 << 55) - 1), r"needs more than 56 bits"),
    "immediate of another kind": (lambda ib: ib.imm(1.5), r"ib\.imm: value is 1\.5"),
    "negative register": (lambda ib: ib.r(-1), r"ib\.r: -1 is no number of a register"),
    "special register": (lambda ib: ib.r(1 << 54), r"is no number of a register"),
    "register of another kind": (lambda ib: ib.r("0"), r"ib\.r: index is '0'"),
    "plain integer": (
        lambda ib: ib.emit_call("f", args=[5]),
        r"args\[0\] is the integer 5: write ib\.imm\(5\)",
    ),
    "void argument": (lambda ib: ib.emit_call("f", args=[ib.void_arg()]), r"args\[0\] is %void"),
    "list": (
        lambda ib: ib.emit_call("f", args=[[1, 2]]),
        r"args\[0\] is \[1, 2\] \(list\), expected a tensor",
    ),
    "no list": (lambda ib: ib.emit_call("f", args="ab"), r"args is 'ab' \(str\), expected a list"),
    "many arguments": (
        lambda ib: ib.emit_call("f", args=[ib.r(0)] * 4097),
        r"4097 arguments, expected at most 4096",
    ),
    "result in the machine": (lambda ib: ib.emit_call("f", dst=ib.vm_state()), r"dst is %vm"),
    "result in a constant": (
        lambda ib: ib.emit_call("f", dst=ib.c(1)),
        r"dst is c\[0\] \(Arg\), expected a register",
    ),
    "return of the machine": (lambda ib: ib.emit_ret(ib.vm_state()), r"ib\.emit_ret is %vm"),
    "return of nothing": (lambda ib: ib.emit_ret(ib.void_arg()), r"ib\.emit_ret is %void"),
    "return of a number": (lambda ib: ib.emit_ret(3), r"ib\.emit_ret is 3 \(int\), expected a register"),
    "immediate condition": (lambda ib: ib.emit_if(ib.imm(1), 1), r"ib\.emit_if is i1"),
    "offset of another kind": (lambda ib: ib.emit_goto(1.5), r"ib\.emit_goto: the offset is 1\.5"),
    "long offset": (lambda ib: ib.emit_goto(1 << 63), r"needs more than 64 bits"),
    "empty name": (lambda ib: ib.emit_call(""), r"ib\.emit_call: name is empty"),
    "name of another kind": (lambda ib: ib.emit_call(3), r"ib\.emit_call: name is 3"),
    "register as a function": (lambda ib: ib.emit_call(ib.r(0)), r"ib\.emit_call is %0, expected a function"),
    "constant of elsewhere": (
        lambda ib: ib.emit_call("f", args=[Arg(ArgKind.CONSTANT, 7)]),
        r"args\[0\] is c\[7\], which this builder has not made",
    ),
    "function of elsewhere": (
        lambda ib: ib.emit_call(Arg(ArgKind.FUNCTION, 70)),
        r"is f\[70\], expected a function",
    ),
    "nested": (
        lambda ib: ib.function("g").__enter__(),
        r"function 'g': its block is inside of that of 'main'",
    ),
    "executable": (lambda ib: ib.get(), r"ib\.get: function 'main' is still being built"),
    "long integer": (lambda ib: ib.c(1 << 63), r"ib\.c: the constant is \d+, which needs more than 64 bits"),
    "entry of a shape": (lambda ib: ib.c((1, 2.5)), r"entry 1 of the shape is 2\.5, expected an integer"),
    "surrogate": (lambda ib: ib.c("\ud800"), r"which is no valid text"),
    "surrogate in a name": (lambda ib: ib.f("\ud800"), r"no valid text"),
    "object": (lambda ib: ib.c(object()), r"expected a tensor, a tuple of integers"),
    "tensor without elements": (
        lambda ib: ib.c(torch.zeros(2, device="meta")),
        r"is a Tensor that NumPy cannot read",
    ),
    "second place": (
        lambda ib: (ib.place(label := ib.label()), ib.place(label)),
        r"the label is placed already, at instruction 0",
    ),
    "no label": (lambda ib: ib.place(3), r"ib\.place is 3 \(int\), expected a label"),
}


@pytest.mark.parametrize("name", WRONG_ARGUMENTS)
def test_wrong_arguments(name: str) -> None:
    emit, message = WRONG_ARGUMENTS[name]
    ib = Builder()
    with pytest.raises(ArgumentError, match=message), ib.function("main", 1):
        emit(ib)
    with ib.function("main", 1):
        return_first(ib)
    assert ib.get().function_names == ("main",)


@pytest.mark.parametrize("value", [np.zeros(2, complex), np.array(["a"]), tvm_ffi.dtype("float32x4"), np.complex64])
def test_dtypes_that_relax_does_not_have(value: object) -> None:
    with pytest.raises(DTypeError, match="Relax does not have"):
        Builder().c(value)


def test_emission_outside_of_a_function() -> None:
    ib = Builder()
    for emit in (
        lambda: ib.emit_call("f"),
        lambda: ib.emit_ret(ib.r(0)),
        lambda: ib.emit_if(ib.r(0), 1),
        lambda: ib.emit_goto(1),
        lambda: ib.label(),
    ):
        with pytest.raises(ArgumentError, match="no function is being built"):
            emit()


def test_wrong_definitions() -> None:
    ib = Builder()
    with ib.function("f", 1):
        return_first(ib)
    for arguments, message in (
        (("f", 1), "'f' is defined already"),
        (("g", -1), "num_inputs is -1, expected 0 to 4096"),
        (("g", True), "num_inputs is True"),
        (("g", 4097), "num_inputs is 4097"),
        (("g", 2, ["a"]), "num_inputs is 2, but param_names has 1 names"),
        (("g", 2, ["a", "a"]), "expected distinct names"),
        (("g", 1, [""]), "expected distinct names"),
        (("g", 1, [3]), r"param_names\[0\] is 3"),
        (("", 0), "ib.function: name is empty"),
        ((3, 0), "ib.function: name is 3"),
    ):
        with pytest.raises(ArgumentError, match=message):
            ib.function(*arguments).__enter__()  # type: ignore[arg-type]  # the mistakes under test
    ib.declare_function("later", "vm")
    with pytest.raises(ArgumentError, match="'later' was declared as 'vm', but has no instructions"):
        ib.get()
    with ib.function("later", 1):
        return_first(ib)
    ib.declare_function("f", "packed")
    with pytest.raises(ArgumentError, match="'f' was declared as 'packed', but has instructions"):
        ib.get()


def test_an_input_that_is_not_used_is_a_warning() -> None:
    ib = Builder()
    message = r"function 'main': the input %1 \('y'\) is never used"
    scope = ib.function("main", 2, param_names=["x", "y"])
    with pytest.warns(rx.vm.UnusedInputWarning, match=message) as found, scope:
        return_first(ib)
    assert [warning.filename for warning in found] == [__file__]
    with ib.function("quiet", 2, allow_unused=True):
        return_first(ib)
    assert ib.get().function("main").param_names == ("x", "y")


def test_names_of_functions_given_up_are_forgotten() -> None:
    ib, other = Builder(), Builder()
    with pytest.raises(ZeroDivisionError), ib.function("wrong"):
        ib.emit_call("missing", args=[ib.f("missing too")])
        raise ZeroDivisionError
    for builder in (ib, other):
        with builder.function("main", 1):
            builder.emit_call("f", args=[builder.r(0), builder.f("g")], dst=builder.r(1))
            builder.emit_ret(builder.r(1))
    assert ib.get() == other.get()


def test_what_is_emitted_behind_a_ret_may_stay() -> None:
    ib = Builder()
    with ib.function("main", num_inputs=2):
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_goto(2)
        ib.emit_call("test.vm.mul", args=[ib.r(2), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    assert ib.get().offsets.size == 4


def test_a_builder_goes_on_after_get() -> None:
    ib = Builder()
    with ib.function("f", 1):
        return_first(ib)
    before = ib.get()
    with ib.function("g", 1):
        ib.emit_call("f", args=[ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    assert before.function_names == ("f",)
    assert ib.get().function_names == ("f", "g")
    assert before == before and before != ib.get() and before != "f"
    with pytest.raises(TypeError):
        hash(before)


def test_how_an_executable_is_shown() -> None:
    ex = two_functions()
    assert repr(ex) == (
        "<bytecode executable: 2 functions, 3 packed functions, 9 instructions, 2 constants of 0 bytes>"
    )
    assert "test.vm.mul" in ex._repr_html_() and "<pre" in ex._repr_html_()
    with pytest.raises(rx.error.UnknownNameError, match="did you mean 'func1'"):
        ex.function("func2")
