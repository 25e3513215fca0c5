"""Random bytecode, run by the machine and by an interpreter in Python: same calls, same results, same errors.

``python test/python/vm/random_bytecode.py --count 5000`` does a separate run.
"""

from __future__ import annotations

import gc
import random
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from bytecode_interpreter import Interpreter, TooLong
from relax_mlir.bytecode.instructions import VM, VOID, Arg, ArgKind, Call, Goto, If, Instruction, Ret
from relax_mlir.error import BytecodeError
from relax_mlir.ffi import to_numpy
from relax_mlir.vm.builtins import VMState
from seeds_command import run_seeds

MAX_CALLS = 60
MAX_DEPTH = 12
PACKED = ("add", "odd", "first", "fail", "pair", "apply", "token")
CONSTANTS: tuple[object, ...] = (
    *(0, 1, -7, 1 << 60, True, False, None, 1.5, "text", "a longer text that does not fit into a word", ()),
    *(
        (2, 3),
        "float32",
        np.dtype("float32"),
        np.arange(6.0).reshape(2, 3),
        np.zeros((0, 2), "int8"),
        np.array(3),
    ),
)


class Token:
    """A Python object that passes through the machine; all must be freed when the program has ended."""


def described(value: object) -> object:
    """A value in a form in which results of the machine and of the interpreter can be compared."""
    if isinstance(value, tvm_ffi.Tensor | np.ndarray):
        array = value if isinstance(value, np.ndarray) else to_numpy(value)
        return array.dtype.name, array.shape, array.tobytes()
    if isinstance(value, tvm_ffi.Shape | tvm_ffi.Array | tuple | list):
        return tuple(described(item) for item in value)
    if isinstance(value, VMState | Token):
        return type(value).__name__
    if isinstance(value, tvm_ffi.Function) or callable(value):
        return "function"
    return type(value).__name__.removeprefix("String").lower() or "str", str(value)


class World:
    """The packed functions of one run, with a list of their calls."""

    def __init__(self) -> None:
        self.calls: list[object] = []
        self.tokens: list[weakref.ref[Token]] = []

    def functions(self) -> dict[str, Callable[..., object]]:
        """The packed functions by name."""
        return {name: self._logged(name, getattr(self, f"_{name}")) for name in PACKED}

    def _logged(self, name: str, function: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object) -> object:
            self.calls.append((name, *map(described, args)))
            if len(self.calls) > MAX_CALLS:
                raise ValueError("too many calls")
            return function(*args)

        return call

    def new_token(self) -> Token:
        """A token whose lifetime is checked."""
        token = Token()
        self.tokens.append(weakref.ref(token))
        return token

    def _add(self, *args: object) -> int:
        return sum(int(arg) for arg in args if isinstance(arg, int)) % (1 << 30) + len(args)

    def _odd(self, *args: object) -> bool:
        return bool((self._add(*args) + len(self.calls)) % 2)

    def _first(self, *args: object) -> object:
        return args[0] if args else None

    def _fail(self, *args: object) -> int:
        if self._add(*args) % 5 == 0:
            raise ValueError(f"{len(args)} arguments")
        return 1

    def _pair(self, *args: object) -> tuple[object, ...]:
        flat = [0 if isinstance(arg, tuple | tvm_ffi.Array) else arg for arg in args[:2]]
        return (*flat, len(args))

    def _apply(self, *args: Any) -> object:
        return args[0](*args[1:]) if args and callable(args[0]) else None

    def _token(self, *args: object) -> Token:
        return self.new_token()


def random_executable(rng: random.Random) -> rx.vm.Executable | None:
    """An executable of up to three functions, or None if the random code is not valid."""
    arities = [rng.randrange(3) for _ in range(rng.randrange(1, 4))]
    names = [f"f{number}" for number in range(len(arities))]
    functions, words, offsets = [], [], []
    for name, arity in zip(names, arities, strict=True):
        size = rng.randrange(2, 12)
        count = arity + rng.randrange(1, min(size, 4))
        code = [_instruction(rng, at, size, arity, count, arities) for at in range(size)]
        start = len(offsets)
        functions.append(rx.vm.FunctionInfo(name, "vm", start, start + size, arity, count))
        for each in code:
            offsets.append(len(words))
            words += each.encode()
    table = (*functions, *map(rx.vm.FunctionInfo, PACKED))
    try:
        return rx.vm.Executable(table, CONSTANTS, np.array(words), np.array(offsets))
    except BytecodeError:
        return None


def _instruction(rng: random.Random, at: int, size: int, arity: int, count: int, arities: Sequence[int]) -> Instruction:
    if at < count - arity:  # most registers are written at the beginning, so that more of the code is valid
        return Call(len(arities) + rng.randrange(len(PACKED)), _arguments(rng, arity + at, arities, 2), arity + at)
    kind = rng.choice(["ret", "ret", "goto"] if at == size - 1 else ["call"] * 8 + ["if"] * 3 + ["goto", "ret"])
    offset = rng.randrange(size) - at
    register = rng.randrange(count)
    if kind == "ret":
        return Ret(register)
    if kind == "goto":
        return Goto(offset)
    if kind == "if":
        return If(register, offset)
    callee = rng.randrange(len(arities) + len(PACKED) * 2) % (len(arities) + len(PACKED))
    needed = arities[callee] if callee < len(arities) else rng.randrange(5)
    args = _arguments(rng, count, arities, needed, exact=True)
    return Call(callee, args, rng.choice((VOID, *range(count))))


def _arguments(
    rng: random.Random, registers: int, arities: Sequence[int], most: int, exact: bool = False
) -> tuple[Arg, ...]:
    def one() -> Arg:
        kind = rng.choice([ArgKind.REGISTER] * 4 + list(ArgKind))
        if kind is ArgKind.REGISTER:
            return Arg(kind, rng.choice([VM, *range(registers), *range(registers), *range(registers)]))
        if kind is ArgKind.IMMEDIATE:
            return Arg(kind, rng.choice((0, 1, 2, -1, (1 << 55) - 1, -(1 << 55))))
        size = len(CONSTANTS) if kind is ArgKind.CONSTANT else len(arities) + len(PACKED)
        return Arg(kind, rng.randrange(size))

    return tuple(one() for _ in range(most if exact else rng.randrange(most + 1)))


def outcome(function: Callable[..., object], args: Sequence[object]) -> object:
    """The result of a run, or the kind of its error."""
    try:
        return described(function(*args))
    except Exception as error:
        return f"error: {type(error).__name__}"


def arguments(world: World, rng: random.Random, count: int) -> list[object]:
    """Arguments for a function, the same for the same state of `rng`."""
    choices = ("number", "token", "text", "tensor", "shape", "none", "flag")
    made: dict[str, Callable[[], object]] = {
        "number": lambda: 3,
        "token": world.new_token,
        "text": lambda: "argument",
        "tensor": lambda: np.ones((2, 2), "f4"),
        "shape": lambda: (4, 5),
        "none": lambda: None,
        "flag": lambda: True,
    }
    return [made[rng.choice(choices)]() for _ in range(count)]


def check(seed: int) -> str:
    """Run the program of a seed both ways; "invalid", "endless", "error" or "result", or AssertionError."""
    rng = random.Random(seed)
    ex = random_executable(rng)
    if ex is None:
        return "invalid"
    worlds = (World(), World())
    kind = _compare(ex, worlds, rng)
    tokens = [token for world in worlds for token in world.tokens]
    if any(token() is not None for token in tokens):
        gc.collect()  # errors hold frames in cycles
    assert all(token() is None for token in tokens), f"tokens are left\n{ex.as_text()}"
    return kind


def _compare(ex: rx.vm.Executable, worlds: tuple[World, World], rng: random.Random) -> str:
    machine = rx.vm.VirtualMachine(ex, functions=worlds[0].functions(), max_depth=MAX_DEPTH)
    reference = Interpreter(ex, worlds[1].functions(), machine.state, MAX_DEPTH)
    kinds = set()
    for name in ex.function_names:
        draw = rng.randrange(1 << 30)
        given = [arguments(world, random.Random(draw), ex.function(name).num_args) for world in worlds]
        try:
            expected = outcome(reference.function(name), given[1])
        except TooLong:
            return "endless"
        found = outcome(machine[name], given[0])
        pairs = zip(worlds[0].calls, worlds[1].calls, strict=False)
        other = next((f"{a}, expected {b}" for a, b in pairs if a != b), "")
        assert worlds[0].calls == worlds[1].calls, f"{name}: other calls: {other}\n{ex.as_text()}"
        assert found == expected, f"{name}: {found}, expected {expected}\n{ex.as_text()}"
        kinds.add("error" if str(found).startswith("error") else "result")
        for world in worlds:
            world.calls.clear()
    return "error" if "error" in kinds else "result"


def run(seed: int, count: int) -> Counter[str]:
    """Check the programs of `count` seeds; the outcomes."""
    outcomes: Counter[str] = Counter()
    for number in range(seed, seed + count):
        try:
            outcomes[check(number)] += 1
        except BaseException:
            print(f"program {number} fails", file=sys.stderr)
            raise
    return outcomes


if __name__ == "__main__":
    run_seeds("random bytecode", __doc__, run)
