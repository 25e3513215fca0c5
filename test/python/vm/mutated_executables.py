"""Files of bytecode executables with random changes: each is refused with an error of the project, or loads and works.

``python test/python/vm/mutated_executables.py --count 5000`` does a separate run. Half of the files get corrected
checksums after the change, so that later checks are tested. Address space is limited: an allocation whose size is
corrupted fails.
"""

from __future__ import annotations

import random
import resource
import signal
import struct
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import relax_mlir as rx
from relax_mlir.bytecode.executable_file import HEADER
from relax_mlir.error import ParseError, RelaxError
from seeds_command import run_seeds

SPARE_MEMORY = 1 << 30
"""Bytes of address space in addition to those in use when the run begins."""
SECONDS = 20
"""Time limit of one file."""
ENOUGH = "enough"
"""The message of the error that ends long-running programs."""
ENTRY = 32
INTERESTING = (
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    127,
    255,
    4096,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    1 << 54,
    (1 << 54) + 1,
)
SIGNED = (-1, -2, -(1 << 63), (1 << 63) - 1, 1 << 62, 1 << 56, (2 << 56) + 1, (3 << 56) + 1, 255 << 56)


def seeds() -> list[rx.vm.Executable]:
    """Executables with all kinds of records."""
    return [_constants_of_all_kinds(), _branches_and_loops(), _many_functions()]


def _constants_of_all_kinds() -> rx.vm.Executable:
    ib = rx.vm.ExecBuilder()
    tensors = [np.arange(2000.0), np.ones((2, 3), ml_dtypes.bfloat16), np.zeros((0, 3), "i1"), np.array(True)]
    with ib.function("main", 2, param_names=["x", "y"]):
        values = [*tensors, (1, 2), (), "text", np.float32, 5, 1.5, True, None]
        ib.emit_call("f", args=[ib.r(0), ib.vm_state(), *map(ib.c, values)], dst=ib.r(2))
        ib.emit_call("f", args=[ib.r(1), ib.imm(-7), ib.f("main")])
        ib.emit_ret(ib.r(2))
    ib.set_kernels("module {\n}\n", [ib.c(tensors[0]), ib.c(tensors[1])])
    return ib.get()


def _branches_and_loops() -> rx.vm.Executable:
    ib = rx.vm.ExecBuilder()
    with ib.function("loop", 2):
        again, end, skip = ib.label(), ib.label(), ib.label()
        ib.emit_call("init", dst=ib.r(2))
        ib.place(again)
        ib.emit_call("less", args=[ib.r(2), ib.r(1)], dst=ib.r(3))
        ib.emit_if(ib.r(3), end)
        ib.emit_if(ib.r(0), skip)
        ib.emit_call("step", args=[ib.r(2)], dst=ib.r(4))
        ib.emit_call("step", args=[ib.r(4)], dst=ib.r(2))
        ib.place(skip)
        ib.emit_call("loop", args=[ib.r(2), ib.r(3)], dst=ib.r(2))
        ib.emit_goto(again)
        ib.place(end)
        ib.emit_ret(ib.r(2))
    return ib.get()


def _many_functions() -> rx.vm.Executable:
    ib = rx.vm.ExecBuilder()
    for number in range(12):
        with ib.function(f"f{number}", number, allow_unused=True):
            ib.emit_call(f"packed{number % 3}", args=[ib.imm(number)], dst=ib.r(99))
            ib.emit_call(f"f{number}", args=[ib.r(99)] * number, dst=ib.r(100))
            ib.emit_ret(ib.r(100))
    return ib.get()


# Changes of the whole file


def flip(data: bytearray, rng: random.Random) -> None:
    """Other values of some bytes."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        data[rng.randrange(len(data))] = rng.randrange(256)


def cut(data: bytearray, rng: random.Random) -> None:
    """Bytes missing at the end or within."""
    at = rng.randrange(len(data))
    del data[at : rng.choice((len(data), at + rng.randrange(1, 64)))]


def insert(data: bytearray, rng: random.Random) -> None:
    """Inserted bytes."""
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.randbytes(rng.choice((1, 8, 4096)))


def number(data: bytearray, rng: random.Random) -> None:
    """A number in place of another, anywhere but in the tensors."""
    end = min(len(data), 4096) - 8
    if end > 0:
        _put_number(data, rng.randrange(end), rng)


def _put_number(data: bytearray, at: int, rng: random.Random) -> None:
    if rng.random() < 0.5:
        struct.pack_into("<I", data, at, rng.choice(INTERESTING) & 0xFFFFFFFF)
    else:
        struct.pack_into("<q", data, at, rng.choice((*INTERESTING, *SIGNED)))


# Changes of one section


def _section(data: bytearray, rng: random.Random) -> tuple[int, int, int]:
    """The position of the entry in the table, offset and length of a nonempty section."""
    _, _, count, _, _, _ = HEADER.unpack_from(data)
    places = [HEADER.size + ENTRY * index for index in range(min(count, 8))]
    found = [(place, *struct.unpack_from("<QQ", data, place + 8)) for place in places]
    return rng.choice([each for each in found if each[2]])


def section_number(data: bytearray, rng: random.Random) -> None:
    """A number in place of another in one section."""
    _, offset, length = _section(data, rng)
    if length >= 8:
        unit = rng.choice((1, 8))
        _put_number(data, offset + rng.randrange(length // unit - 7 // unit) * unit, rng)


def section_word(data: bytearray, rng: random.Random) -> None:
    """An aligned word that is a little larger or smaller than it was."""
    _, offset, length = _section(data, rng)
    if length >= 8:
        at = offset + rng.randrange(length // 8) * 8
        (value,) = struct.unpack_from("<q", data, at)
        changed = value + rng.choice((-2, -1, 1, 2, 1 << 56, -(1 << 56), 1 << 54))
        struct.pack_into("<q", data, at, (changed + (1 << 63)) % (1 << 64) - (1 << 63))


def section_copy(data: bytearray, rng: random.Random) -> None:
    """Some bytes of one section in another place."""
    _, offset, length = _section(data, rng)
    count = rng.randrange(1, min(length, 64) + 1)
    source, target = (offset + rng.randrange(length - count + 1) for _ in range(2))
    data[target : target + count] = data[source : source + count]


def section_place(data: bytearray, rng: random.Random) -> None:
    """Another offset or length of a section."""
    place, _, _ = _section(data, rng)
    at = place + rng.choice((8, 16))
    (value,) = struct.unpack_from("<q", data, at)
    changed = rng.choice((value + rng.choice((-8, -1, 1, 8, 4096)), *INTERESTING, *SIGNED))
    struct.pack_into("<q", data, at, changed)


MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    *(flip, cut, insert, number),
    *(section_number, section_word, section_word, section_copy, section_place),
)


def put_checksums_right(data: bytearray) -> None:
    """The data with correct checksums of header, table and sections (and the correct length of the file)."""
    if len(data) < HEADER.size:
        return
    magic, version, count, _, _, _ = HEADER.unpack_from(data)
    for place in range(HEADER.size, min(HEADER.size + ENTRY * min(count, 8), len(data) - ENTRY + 1), ENTRY):
        kind, _, offset, length = struct.unpack_from("<IIQQ", data, place)
        checksum = 0 if kind == 6 else zlib.crc32(data[offset : offset + length])
        struct.pack_into("<I", data, place + 4, checksum)
    table = zlib.crc32(data[HEADER.size : HEADER.size + ENTRY * min(count, 8)])
    HEADER.pack_into(data, 0, magic, version, count, len(data), table, 0)
    HEADER.pack_into(data, 0, magic, version, count, len(data), table, zlib.crc32(data[:28]))


def mutant(originals: list[bytes], seed: int) -> bytes:
    """The changed file of a seed."""
    rng = random.Random(seed)
    data = bytearray(rng.choice(originals))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        try:
            rng.choice(MUTATIONS)(data, rng)
        except (struct.error, LookupError, ValueError, OverflowError):
            flip(data, rng)  # an earlier change left no sections
        if len(data) < 8:
            break
    if rng.random() < 0.7:
        put_checksums_right(data)
    return bytes(data)


def use(path: Path) -> str:
    """Load a file, read all of it and run it: "refused" or "loaded"; any error but ParseError is a failure."""
    try:
        ex = rx.vm.Executable.load(path, check_tensors=False)
    except ParseError as error:
        assert str(path) in str(error)
        return "refused"
    assert ex.as_text().count("\n") >= ex.offsets.size
    assert ex.stats() and repr(ex)
    for index in range(ex.offsets.size):
        ex.instruction(index)
    for value in ex.constants:
        if isinstance(value, np.ndarray):
            value.tobytes()
    found: dict[str, object] = {}
    exec(ex.as_python(), found)
    assert found["ex"] == ex
    run_functions(ex)
    return "loaded"


def run_functions(ex: rx.vm.Executable) -> None:
    """Call all functions with numbers; packed functions return numbers, and end the program after some calls."""
    calls = 0

    def packed(*args: object) -> int:
        nonlocal calls
        calls += 1
        if calls > 100:
            raise ValueError(ENOUGH)
        return calls % 3

    def interrupt(*_: object) -> None:
        raise ValueError(ENOUGH)

    plain = rx.vm.Executable(ex.functions, ex.constants, ex.words, ex.offsets)
    machine = rx.vm.VirtualMachine(plain, functions=dict.fromkeys(ex.packed_names, packed), max_depth=20)
    signal.signal(signal.SIGALRM, interrupt)
    for name in ex.function_names:
        calls = 0
        signal.setitimer(signal.ITIMER_REAL, 1)
        try:
            machine[name](*range(ex.function(name).num_args))
        except ValueError as error:
            assert str(error) == ENOUGH or isinstance(error, RelaxError), error
        except (RecursionError, RelaxError):
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def run(seed: int, count: int) -> Counter[str]:
    """Try the mutants of `count` seeds; returns how many were refused, and how many loaded."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + SPARE_MEMORY, hard))
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant.rxvm"
        originals = []
        for ex in seeds():
            ex.save(path)
            originals.append(path.read_bytes())
            assert use(path) == "loaded"
        for number_ in range(seed, seed + count):
            path.unlink(missing_ok=True)
            path.write_bytes(mutant(originals, number_))
            start = time.monotonic()
            try:
                outcomes[use(path)] += 1
            except BaseException:
                print(f"mutant {number_} fails", file=sys.stderr)
                raise
            if time.monotonic() - start > SECONDS:
                raise TimeoutError(f"mutant {number_} took {time.monotonic() - start:.0f} s")
    return outcomes


if __name__ == "__main__":
    run_seeds("mutated executables", __doc__, run)
