"""The invariants of bytecode: each error is located, and path checks agree with an exhaustive search."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir.bytecode import instructions, verify
from relax_mlir.bytecode.instructions import (
    MAX_VALUE,
    MIN_VALUE,
    VM,
    VOID,
    Arg,
    ArgKind,
    Call,
    Goto,
    If,
    Instruction,
    Ret,
)
from relax_mlir.error import ArgumentError, BytecodeError

Info = rx.vm.FunctionInfo


def reg(number: int) -> Arg:
    return Arg(ArgKind.REGISTER, number)


def executable(code: Sequence[Instruction], num_args: int, num_registers: int, **parts: Any) -> rx.vm.Executable:
    """One function `main`, number 0, and the packed function `f`, number 1."""
    words: list[int] = []
    offsets: list[int] = []
    for each in code:
        offsets.append(len(words))
        words += each.encode()
    given: dict[str, Any] = {
        "functions": (Info("main", "vm", 0, len(code), num_args, num_registers), Info("f")),
        "constants": ("s",),
        "words": words,
        "offsets": offsets,
    }
    return rx.vm.Executable(**(given | parts))


CODE = (Call(1, (reg(0),), 1), If(1, 2), Call(1, (reg(0), Arg(ArgKind.CONSTANT, 0))), Ret(1))


def changed(at: int, value: int) -> list[int]:
    """The words of `CODE` with one of them replaced."""
    words = executable(CODE, 1, 2).words.tolist()
    words[at] = value
    return words


def of_main(**changes: Any) -> tuple[rx.vm.FunctionInfo, ...]:
    given: dict[str, Any] = {"kind": "vm", "start": 0, "end": 4, "num_args": 1, "num_registers": 2}
    return (Info("main", **(given | changes)), Info("f"))


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "empty name": ({"functions": (*of_main(), Info(""))}, r"^function 2 of the table has the name '' .*1\]"),
    "name twice": (
        {"functions": (*of_main(), Info("f"))},
        r"^function 'f': is in the function table twice .*1\]",
    ),
    "kind": ({"functions": of_main(kind="tir")}, r"^function 'main': is of the unknown kind 'tir' .*1\]"),
    "packed with code": ({"functions": (*of_main(), Info("g", num_args=1))}, r"'g': is packed, but .*1\]"),
    "range outside": ({"functions": of_main(end=5)}, r"'main': has instructions 0 to 5, expected .*2\]"),
    "range negative": ({"functions": of_main(start=-1)}, r"'main': has instructions -1 to 4.*2\]"),
    "range huge": ({"functions": of_main(end=1 << 80)}, r"'main': has instructions 0 to \d+.*2\]"),
    "range empty": ({"functions": (*of_main(), Info("g", "vm", 4, 4))}, r"'g': has instructions 4 to 4.*2\]"),
    "ranges overlap": (
        {"functions": (*of_main(), Info("g", "vm", 3, 4, 1, 2))},
        r"'g': has instructions 3 to 4, expected them to begin at 4.*2\]",
    ),
    "range too short": (
        {"functions": of_main(end=3)},
        r"^instructions from 3 on belong to no function .*2\]",
    ),
    "no function": ({"functions": (Info("f"),)}, r"^instructions from 0 on belong to no function"),
    "many parameters": (
        {"functions": of_main(num_args=4097, num_registers=4098)},
        r"has 4097 parameters.*3\]",
    ),
    "negative parameters": ({"functions": of_main(num_args=-1)}, r"has -1 parameters.*3\]"),
    "few registers": ({"functions": of_main(num_args=3)}, r"has 2 registers, expected 3 to 7 .*3\]"),
    "many registers": ({"functions": of_main(num_registers=1 << 60)}, r"registers, expected 1 to 5 .*3\]"),
    "few names": (
        {"functions": of_main(num_args=2, param_names=("x",))},
        r"has 2 parameters; their names are 'x' .*3\]",
    ),
    "same names": (
        {"functions": of_main(num_args=2, param_names=("x", "x"))},
        r"their names are 'x', 'x' .*3\]",
    ),
    "empty names": ({"functions": of_main(param_names=("",))}, r"their names are '' .*3\]"),
    "opcode": ({"words": changed(5, 5)}, r"'main', instruction 1: has no known opcode .*4\]"),
    "opcode zero": ({"words": changed(0, 0)}, r"'main', instruction 0: has no known opcode .*4\]"),
    "opcode huge": ({"words": changed(0, -(1 << 63))}, r"'main', instruction 0: has no known opcode .*4\]"),
    "length": ({"words": changed(3, 2)}, r"'main', instruction 0: does not end where .*4\]"),
    "last too long": ({"words": [*changed(0, 1), 7]}, r"'main', instruction 3: does not end where .*4\]"),
    "last too short": ({"words": changed(0, 1)[:-1]}, r"'main', instruction 3: ends behind the words .*4\]"),
    "words missing": (
        {"words": changed(0, 1)[:-3]},
        r"'main', instruction 3: begins outside of the words .*4\]",
    ),
    "no words": ({"words": []}, r"instruction 0: begins outside of the words .*4\]"),
    "first offset": ({"offsets": [1, 5, 8, 14]}, r"the first instruction begins at word 0 .*4\]"),
    "negative offset": ({"offsets": [0, -5, 8, 14]}, r"instruction 1: begins outside of the words .*4\]"),
    "huge offset": (
        {"offsets": [0, (1 << 63) - 1, 8, 14]},
        r"instruction 1: begins outside of the words .*4\]",
    ),
    "descending offsets": ({"offsets": [0, 8, 5, 14]}, r"instruction 0: does not end where .*4\]"),
    "result": (
        {"words": changed(1, 2)},
        r"'main', instruction 0, register %2: is none of the function's 2 .*5\]",
    ),
    "result negative": ({"words": changed(1, -1)}, r"instruction 0, register %-1: is none of .*5\]"),
    "result in the machine": ({"words": changed(1, VM)}, r"register %vm: is the machine.*5\]"),
    "condition": ({"words": changed(6, 9)}, r"'main', instruction 1, register %9: is none of .*5\]"),
    "condition void": (
        {"words": changed(6, VOID)},
        r"instruction 1, register %void: takes results only.*5\]",
    ),
    "return": ({"words": changed(15, VM)}, r"instruction 3, register %vm: is the machine.*5\]"),
    "argument": ({"words": changed(4, 2)}, r"instruction 0, register %2: is none of .*5\]"),
    "argument void": ({"words": changed(4, VOID)}, r"instruction 0, register %void: takes results only.*5\]"),
    "argument huge": ({"words": changed(4, VOID + 2)}, r"register %18014398509481986: is none of .*5\]"),
    "argument negative": (
        {"words": changed(4, (1 << 56) - 1)},
        r"instruction 0, register %-1: is none of .*5\]",
    ),
    "argument's kind": (
        {"words": changed(4, 4 << 56)},
        r"instruction 0: has an argument of the unknown kind 4 .*6\]",
    ),
    "argument's last kind": ({"words": changed(4, -1)}, r"has an argument of the unknown kind 255 .*6\]"),
    "constant": (
        {"words": changed(13, (2 << 56) + 1)},
        r"instruction 2: has constant 1 as an argument, but .* 1 .*6\]",
    ),
    "constant negative": ({"words": changed(13, (3 << 56) - 1)}, r"instruction 2: has constant -1 as .*6\]"),
    "function": ({"words": changed(13, (3 << 56) + 2)}, r"instruction 2: has function 2 as an argument.*6\]"),
    "callee": ({"words": changed(2, 2)}, r"instruction 0: calls function 2, but there are 2 functions .*6\]"),
    "callee negative": ({"words": changed(2, -1)}, r"instruction 0: calls function -1.*6\]"),
    "arity": ({"words": changed(10, 0)}, r"instruction 2: calls 'main' with 2 arguments, expected 1 .*6\]"),
    "many arguments": (
        {"words": changed(3, 4097)},
        r"instruction 0: has not between 0 and 4096 arguments .*6\]",
    ),
    "negative arguments": (
        {"words": changed(3, -1)},
        r"instruction 0: has not between 0 and 4096 arguments .*6\]",
    ),
    "huge arguments": ({"words": changed(3, (1 << 63) - 1)}, r"instruction 0: has not between .*6\]"),
    "jump": ({"words": changed(7, 3)}, r"'main', instruction 1: jumps out of its function .*7\]"),
    "jump back": ({"words": changed(7, -2)}, r"'main', instruction 1: jumps out of its function .*7\]"),
    "huge jump": ({"words": changed(7, (1 << 63) - 1)}, r"instruction 1: jumps out of its function .*7\]"),
    "huge jump back": ({"words": changed(7, -(1 << 63))}, r"instruction 1: jumps out of its function .*7\]"),
    "loop": ({"words": changed(7, 0)}, r"'main', instruction 1: is in a loop without a call.*10\]"),
    "constants": ({"kernels": rx.vm.Kernels("", (1,))}, r"^the kernels use constant 1 of 1 constants .*11\]"),
}


def test_what_is_changed_is_right() -> None:
    ex = executable(CODE, 1, 2)
    assert ex.offsets.tolist() == [0, 5, 8, 14]
    assert [ex.instruction(number) for number in range(4)] == list(CODE)


@pytest.mark.parametrize("name", WRONG)
def test_what_breaks_an_invariant(name: str) -> None:
    changes, message = WRONG[name]
    with pytest.raises(BytecodeError, match=message):
        executable(CODE, 1, 2, **changes)


def test_places_are_those_of_the_function() -> None:
    code = (*CODE, Call(1), Ret(0))
    functions = (*of_main(), Info("g", "vm", 4, 6, 0, 1))
    with pytest.raises(BytecodeError, match="no instruction writes it") as raised:
        executable(code, 1, 2, functions=functions)
    assert (raised.value.function, raised.value.instruction, raised.value.register) == ("g", 1, "%0")


def test_constants_of_other_kinds() -> None:
    with pytest.raises(ArgumentError, match=r"constant 1 is \[1\]"):
        executable(CODE, 1, 2, constants=("s", [1]))


KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "function": ({"functions": ("main",)}, "'functions'\\[0\\] is 'main'"),
    "name": ({"functions": (Info(3),)}, "function 0 of the table: name is 3"),  # type: ignore[arg-type]  # the mistake
    "start": ({"functions": of_main(start="0")}, "function 'main': start is '0'"),
    "names": ({"functions": of_main(param_names="x")}, "function 'main': param_names is 'x'"),
    "a name": ({"functions": of_main(param_names=(3,))}, "function 'main': the name of a parameter is 3"),
    "kernels": ({"kernels": "text"}, "kernels is 'text'"),
    "text": ({"kernels": rx.vm.Kernels(3)}, "kernels: text is 3"),  # type: ignore[arg-type]  # the mistake
    "place": ({"kernels": rx.vm.Kernels("", ("s",))}, "a constant is 's'"),  # type: ignore[arg-type]  # the mistake
    "floats": ({"words": [1.5]}, r"rows of integers of 64 bits; got float64 of shape \(1,\)"),
    "matrix": ({"offsets": [[0]]}, r"rows of integers of 64 bits; got int64 of shape \(1, 1\)"),
    "ragged": ({"words": [[0], 1]}, "words and offsets are integers of 64 bits: "),
    "large": ({"words": np.array([1 << 63], np.uint64)}, "rows of integers of 64 bits; got uint64"),
    "huge": ({"words": [1 << 70]}, "rows of integers of 64 bits; got object"),
}


@pytest.mark.parametrize("name", KINDS)
def test_parts_of_other_kinds(name: str) -> None:
    changes, message = KINDS[name]
    with pytest.raises(ArgumentError, match=message):
        executable(CODE, 1, 2, **changes)


def test_too_many_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relax_mlir.bytecode.verify.MAX_WORDS", 15)
    with pytest.raises(BytecodeError, match=r"16 words, expected at most 15 \[invariant 12\]"):
        executable(CODE, 1, 2)


# Paths


def successors(code: Sequence[Instruction], at: int) -> list[int]:
    each = code[at]
    if isinstance(each, Ret):
        return []
    if isinstance(each, Goto):
        return [at + each.offset]
    return [at + 1, at + each.false_offset] if isinstance(each, If) else [at + 1]


def reached(code: Sequence[Instruction], starts: Sequence[int], stops: set[int]) -> set[int]:
    """All instructions on paths from the starts, which end at the stops."""
    found, waiting = set(), list(starts)
    while waiting:
        at = waiting.pop()
        if at not in found:
            found.add(at)
            waiting += [] if at in stops else successors(code, at)
    return found


def wrong_reads(code: Sequence[Instruction], num_args: int) -> set[tuple[int, int]]:
    """Reads of a register that is never written, or not on every path, found by exhaustive search."""
    found = set()
    registers = {register for each in code for register in instructions.registers_read(each)}
    for register in registers - set(range(num_args)):
        writes = {at for at, each in enumerate(code) if isinstance(each, Call) and each.dst == register}
        unwritten = reached(code, [0], writes) if writes else set(range(len(code)))
        found |= {(at, register) for at in unwritten if register in instructions.registers_read(code[at])}
    return found


def has_endless_loop(code: Sequence[Instruction]) -> bool:
    calls = {at for at, each in enumerate(code) if isinstance(each, Call)}
    jumps = [at for at in range(len(code)) if at not in calls]
    return any(at in reached(code, successors(code, at), calls) for at in jumps)


def random_code(rng: random.Random) -> tuple[list[Instruction], int, int]:
    """Instructions with the number of parameters and of registers."""
    size, num_args = rng.randrange(1, 12), rng.randrange(3)
    count = min(num_args + size, num_args + rng.randrange(1, 4))
    code: list[Instruction] = []
    for at in range(size):
        kinds = ["ret", "goto"] if at == size - 1 else ["call"] * 6 + ["if"] * 4 + ["goto", "ret"]
        kind = rng.choice(kinds)
        offset = rng.randrange(size) - at
        if kind == "call":
            args = tuple(reg(rng.randrange(count)) for _ in range(rng.choice((0, 0, 1, 2))))
            code.append(Call(1, args, rng.choice((VOID, *range(count)))))
        else:
            register = rng.randrange(count)
            code.append({"ret": Ret(register), "goto": Goto(offset), "if": If(register, offset)}[kind])
    return code, num_args, count


def test_random_paths_against_a_search() -> None:
    rng = random.Random(0)
    outcomes = {"right": 0, "9": 0, "10": 0}
    for _ in range(8000 if sweep.ALL else 2000):
        code, num_args, count = random_code(rng)
        endless, reads = has_endless_loop(code), wrong_reads(code, num_args)
        outcome = "10" if endless else "9" if reads else "right"
        outcomes[outcome] += 1
        if outcome == "right":
            executable(code, num_args, count)
            continue
        with pytest.raises(BytecodeError) as raised:
            executable(code, num_args, count)
        assert f"[invariant {outcome}]" in str(raised.value), code
        if outcome == "9":
            assert raised.value.instruction is not None and raised.value.register is not None
            assert (raised.value.instruction, int(raised.value.register[1:])) in reads, code
    assert min(outcomes.values()) > 150, outcomes


def branches(count: int, missing: int | None) -> list[Instruction]:
    """`count` conditionals, each of which writes a separate register in both branches and reads all at the end."""
    code: list[Instruction] = []
    for number in range(count):
        code += [If(0, 3), Call(1, (), number + 1), Goto(2)]
        code += [Call(1, (), VOID if number == missing else number + 1)]
    code += [If(number + 1, 1) for number in range(count)]
    return [*code, Ret(0)]


@pytest.mark.parametrize("missing", [0, 4095, 4096, 4999])
def test_more_registers_than_are_followed_at_once(missing: int) -> None:
    executable(branches(5000, None), 1, 5001)
    with pytest.raises(BytecodeError, match=rf"instruction {20000 + missing}, register %{missing + 1}: .*9\]"):
        executable(branches(5000, missing), 1, 5001)


def test_code_that_takes_too_long_to_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "MAX_VISITS", 10)
    with pytest.raises(BytecodeError, match="'main', instruction 0: begins a function with too many branches"):
        executable(branches(100, None), 1, 101)


# Words


def test_arguments_and_their_words() -> None:
    for value in (0, 1, -1, MAX_VALUE, MIN_VALUE, VOID, VM):
        for kind in ArgKind:
            arg = Arg(kind, value)
            assert -(1 << 63) <= arg.encode() < 1 << 63
            assert Arg.decode(arg.encode()) == arg
    assert [str(Arg(kind, 3)) for kind in ArgKind] == ["%3", "i3", "c[3]", "f[3]"]
    assert (str(reg(VOID)), str(reg(VM))) == ("%void", "%vm")
    for value in (MAX_VALUE + 1, MIN_VALUE - 1):
        with pytest.raises(ArgumentError, match="needs more than 56 bits"):
            Arg(ArgKind.IMMEDIATE, value).encode()
    for word in (4 << 56, -1, 255 << 56):
        with pytest.raises(ArgumentError, match="is no argument"):
            Arg.decode(word)


@pytest.mark.parametrize(
    ("words", "start", "message"),
    [
        ([], 0, "word 0: 0 is no opcode"),
        ([5], 0, "5 is no opcode"),
        ([1, 2], 2, "word 2"),
        ([1, 2], -1, "word -1"),
        ([2], 0, "end inside of a RET"),
        ([4, 1], 0, "end inside of a IF"),
        ([1, 0, 0], 0, "end inside of a CALL"),
        ([1, 0, 0, 2, 0], 0, "end inside of a CALL with 2 arguments"),
        ([1, 0, 0, -1, 0], 0, "end inside of a CALL with -1 arguments"),
        ([1, 0, 0, 1, -1], 0, "is no argument: kind 255"),
    ],
)
def test_words_that_are_no_instruction(words: list[int], start: int, message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        instructions.decode(words, start)


def test_instruction_by_number() -> None:
    ex = executable(CODE, 1, 2)
    assert ex.instruction(-1) == Ret(1)
    with pytest.raises(IndexError):
        ex.instruction(4)
    assert ex.words.dtype == np.int64
