"""Compiles a random module and compares every function with its reference."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from difference import (
    Expected,
    Node,
    Program,
    TooLargeError,
    difference,
    evaluate,
    fails_unused,
)
from generator import BIG_SIZES, SIZES, Generator, draw
from reference import Array
from relax_mlir.error import CheckError, RelaxError
from relax_mlir.runtime import to_numpy
from relax_mlir.transform import MLIRPass, create_pass

OWN = (
    "normalize",
    "lambda-lift",
    "canonicalize-calls",
    "fold-constant",
    "legalize-ops",
    "fuse-ops",
    "to-non-dataflow",
)
PASSES = (*OWN, "canonicalize", "cse")
CANARY = 0xA5
PADDING = 64


class DifferenceError(AssertionError):
    """A compiled function whose result differs from the reference."""


def register() -> None:
    """Register the packed functions that the programs call."""

    def negate(x: Any, out: Any) -> None:
        np.negative(to_numpy(x), out=to_numpy(out))

    def both(x: Any, amount: int, first: Any, second: Any) -> None:
        source = to_numpy(x)
        to_numpy(first)[...] = source
        to_numpy(second)[...] = source + np.asarray(amount, source.dtype)

    def increment(x: Any) -> None:
        array = to_numpy(x)
        np.add(array, np.ones((), array.dtype), out=array)

    def copy(x: Any) -> Any:
        return to_numpy(x).copy()

    tvm_ffi.register_global_func("differential.increment", increment, override=True)
    tvm_ffi.register_global_func("differential.copy", copy, override=True)
    tvm_ffi.register_global_func("differential.negate", negate, override=True)
    tvm_ffi.register_global_func("differential.both", both, override=True)


def check(
    generator: Generator, seed: int, passes: bool = False, bytecode: bool = False, opt_level: int = 2
) -> tuple[int, int]:
    """Compile and compare; return the number of compared elements, and of all elements.

    `passes`: run a random choice of passes first. `bytecode`: also run it as bytecode, which must give the same bits.
    `opt_level`: that of `build`. Raises `DifferenceError` or the errors of the compiler.
    """
    register()
    module = generator.bb.get()
    if passes:
        module = transformed(module, seed)
    executable = rx.build(module, opt_level=opt_level)
    machine = rx.vm.build(module, opt_level=opt_level) if bytecode else None
    compared = total = 0
    for program in generator.programs:
        for sizes in (*SIZES, random.Random(seed).choice(BIG_SIZES)):
            inputs = _inputs(program, sizes, seed)
            more = _check_call(executable[program.name], program, inputs)
            if machine is not None:
                _check_modes(executable[program.name], machine[program.name], program, inputs)
            compared, total = compared + more[0], total + more[1]
    return compared, total


def transformed(module: rx.IRModule, seed: int) -> rx.IRModule:
    """`module` after some passes in random order; merging equal ops is valid once effects are explicit."""
    chosen = random.Random(seed)
    work = module.clone()
    work.apply_(create_pass("explicit-effects"))
    for name in chosen.sample(PASSES, chosen.randint(1, len(PASSES))):
        made = create_pass(name) if name in OWN else MLIRPass(name)
        work.apply_(made)
    return work


def _inputs(program: Program, sizes: dict[str, int], seed: int) -> list[Array]:
    rng = np.random.default_rng([seed, *sizes.values()])
    return [
        draw(rng, tuple(d if isinstance(d, int) else sizes[str(d)] for d in p.dims), p.dtype or "")
        for p in program.params
    ]


def _check_call(function: Any, program: Program, inputs: Sequence[Array]) -> tuple[int, int]:
    where = f"{program.name}({', '.join(f'{a.dtype}{list(a.shape)}' for a in inputs)})"
    before = [array.copy() for array in (*inputs, *program.constants)]
    try:
        expected = evaluate(program, inputs)
    except TooLargeError:
        return 0, 0
    except ValueError as error:
        _expect_failure(function, inputs, where, error)
        return 0, 0
    try:
        first = _arrays(function(*inputs))
    except Exception as error:
        if isinstance(error, CheckError) and fails_unused(program, inputs):
            return 0, 0
        raise DifferenceError(f"{where}: raised {type(error).__name__}: {error}") from error
    _compare(first, expected, where)
    kept = [array.copy() for array in first]
    _check_separate(first, [*inputs, *program.constants], where)
    second = _arrays(function(*inputs))
    _check_same(second, kept, f"{where}: second call")
    _check_same(first, kept, f"{where}: results after the second call")
    if isinstance(program.results, Node) or all(isinstance(r, Node) for r in program.results):
        _check_destinations(function, inputs, kept, where)
    _check_same([*inputs, *program.constants], before, f"{where}: inputs and constants")
    return sum(int(e.certain.sum()) for e in expected), sum(e.value.size for e in expected)


def _check_modes(native: Any, bytecode: Any, program: Program, inputs: Sequence[Array]) -> None:
    """Both modes return the same bits (except for NaN), or both raise."""
    where = f"{program.name}({', '.join(f'{a.dtype}{list(a.shape)}' for a in inputs)})"
    before = [array.copy() for array in (*inputs, *program.constants)]
    wanted, found = _outcome(native, inputs), _outcome(bytecode, inputs)
    if isinstance(wanted, RelaxError) and isinstance(found, RelaxError):
        return
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        raise DifferenceError(f"{where}: as bytecode {found!r}, natively {wanted!r}")
    _check_separate(found, [*inputs, *program.constants], f"{where} as bytecode")
    for index, (have, want) in enumerate(zip(found, wanted, strict=True)):
        if have.dtype != want.dtype or have.shape != want.shape or not _same_bits(have, want):
            raise DifferenceError(f"{where}: result {index} as bytecode is not what it is natively")
    _check_same([*inputs, *program.constants], before, f"{where} as bytecode: inputs and constants")


def _same_bits(have: Array, want: Array) -> bool:
    """True if elements have the same bits, or are both NaN, as LLVM does not define the sign of NaN."""
    if have.tobytes() == want.tobytes():
        return True
    if have.dtype.kind != "f" and have.dtype.name not in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        return False
    numbers = ~np.isnan(want)
    same_nans = np.array_equal(np.isnan(have), ~numbers)
    return same_nans and have[numbers].tobytes() == want[numbers].tobytes()


def _outcome(function: Any, inputs: Sequence[Array]) -> Any:
    try:
        return _arrays(function(*inputs))
    except Exception as error:
        return error


def _expect_failure(function: Any, inputs: Sequence[Array], where: str, error: Exception) -> None:
    try:
        function(*inputs)
    except RelaxError:
        return
    except Exception as other:
        raise DifferenceError(f"{where}: raised {type(other).__name__}: {other}; NumPy: {error}") from other
    raise DifferenceError(f"{where}: returned, but NumPy says: {error}")


def _arrays(result: Any) -> list[Array]:
    if isinstance(result, tvm_ffi.Array | tuple | list):
        return [array for item in result for array in _arrays(item)]
    return [to_numpy(result)]


def _compare(found: Sequence[Array], expected: Sequence[Expected], where: str) -> None:
    if len(found) != len(expected):
        raise DifferenceError(f"{where}: {len(found)} results, expected {len(expected)}")
    for index, (have, want) in enumerate(zip(found, expected, strict=True)):
        message = difference(have, want)
        if message is not None:
            raise DifferenceError(f"{where}: result {index}: {message}")


def _check_separate(results: Sequence[Array], others: Sequence[Array], where: str) -> None:
    for index, result in enumerate(results):
        for other in (*others, *results[:index]):
            if np.may_share_memory(result, other):
                raise DifferenceError(f"{where}: result {index} shares memory with an input, constant or result")


def _check_same(found: Sequence[Array], kept: Sequence[Array], where: str) -> None:
    for index, (have, want) in enumerate(zip(found, kept, strict=True)):
        if have.tobytes() != want.tobytes():
            raise DifferenceError(f"{where}: number {index} has changed")


def _check_destinations(function: Any, inputs: Sequence[Array], kept: Sequence[Array], where: str) -> None:
    """Results written to given arrays, with canaries before and after them."""
    blocks, outs = [], []
    for array in kept:
        block = np.full(array.nbytes + 2 * PADDING, CANARY, np.uint8)
        blocks.append(block)
        outs.append(block[PADDING : PADDING + array.nbytes].view(array.dtype).reshape(array.shape))
    function(*inputs, *outs)
    _check_same(outs, kept, f"{where}: given results")
    for index, block in enumerate(blocks):
        if not (block[:PADDING] == CANARY).all() or not (block[len(block) - PADDING :] == CANARY).all():
            raise DifferenceError(f"{where}: result {index} was written out of bounds")


__all__ = ["DifferenceError", "check", "register", "transformed"]
