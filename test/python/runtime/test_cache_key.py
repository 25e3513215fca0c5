"""Keys of compilations: equal for equal programs, in every process, and for no others."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
import warm_process
from numpy.typing import NDArray
from relax_mlir import op as R
from relax_mlir.dialects import dialect
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import quoted
from relax_mlir.runtime import cache_key, cache_store
from relax_mlir.runtime.cache_key import source_hash
from relax_mlir.runtime.cache_store import LRU
from relax_mlir.runtime.elf import SUPPORTED

STRINGS = [
    *("{-# x", "{-# y", "{-#", "#-}", "{-#\n\n#-}"),
    *("dense_resource<w> x", "dense_resource<w> y", "dense_resource<v> x", 'dense_resource<"w">'),
    *(
        'a"b',
        'a"c',
        'a\\"b',
        "a\nb",
        "a\nc",
        "a\\nb",
        "\u00e4",
        "a\u0308",
        "a\u2028b",
        "loc(unknown)",
        "\x01",
    ),
]
"""Strings that look like the end or a part of a printed module."""
PLACES = {
    "message": 'module {{ func.func private @f() {{ "other.x"() {{message = {0}}} : () -> () return }} }}',
    "file": "module {{ func.func private @f() loc({0}:1:2) }}",
    "value": "module {{ func.func private @f() loc({0}) }}",
    "nested location": 'module {{ func.func private @f() loc(callsite("a" at fused[{0}:3:4, "b"])) }}',
    "function": "module {{ func.func private @{0}() }}",
    "module": "module @{0} {{ }}",
    "packed": "module {{ func.func private @f() attributes {{relax.packed = {{name = {0}}}}} }}",
    "array": "module attributes {{relax.a = [1, [{0}]]}} {{ }}",
    "dictionary": "module attributes {{relax.a = {{b = [{{c = {0}}}]}}}} {{ }}",
    "symbol": "module attributes {{relax.a = [@a::@{0}]}} {{ }}",
    "key": "module attributes {{relax.a = {{{0} = 1}}}} {{ }}",
}


def scaled(weight: NDArray[np.float32], scale: float = 2.0, message: str = "") -> rx.IRModule:
    """x * weight * scale for x of n rows."""
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", *weight.shape), "float32"))
    with builder.function("main", [x]):
        R.assert_op(R.max(x) < 1e9, format=message)
        builder.emit_func_output(x * builder.const(weight) * builder.const(np.float32(scale)))
    return builder.get()


def test_no_two_programs_have_one_key() -> None:
    found: dict[str, tuple[str, str]] = {}
    for strings in (STRINGS, STRINGS[::-1]):
        context = dialect.context()
        context.allow_unregistered_dialects = True
        for place, text in PLACES.items():
            for string in strings:
                key = source_hash(ir.Module.parse(text.format(quoted(string)), context))
                assert found.setdefault(key, (place, string)) == (place, string)
    assert len(found) == len(PLACES) * len(STRINGS)


@pytest.mark.skipif(not SUPPORTED, reason="objects for this machine cannot be loaded")
def test_programs_that_begin_alike_have_code_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache_store.SWITCH, "1")
    monkeypatch.setenv(cache_store.DIRECTORY, str(tmp_path / "cache"))
    for factor, weight in ((2.0, 1.0), (3.0, 1.0), (3.0, 5.0), (2.0, 1.0)):
        mod = scaled(np.full(80, weight, "f4"), factor, "{{-# dense_resource<w> is too large")
        executable = rx.build(mod)
        result = np.from_dlpack(executable["main"](np.ones((1, 80), "f4")))
        np.testing.assert_array_equal(result, np.full((1, 80), factor * weight, "f4"))
    assert executable.compile_report is not None and executable.compile_report.from_cache


def test_a_key_does_not_depend_on_how_a_program_is_made(tmp_path: Path) -> None:
    """Names of resources, contexts and processes are not part of a program; locations are."""
    weight = np.arange(100, dtype="f4")
    mod = scaled(weight)
    key = source_hash(mod.mlir)
    assert source_hash(scaled(weight).mlir) == source_hash(mod.clone().mlir) == key
    path = tmp_path / "mod.relax"
    mod.save(path)
    program = (
        "import sys, numpy, relax_mlir as rx\n"
        "from relax_mlir.runtime.cache_key import source_hash\n"
        "builder = rx.BlockBuilder()\n"
        "with builder.function('f', []): builder.emit_func_output(builder.const(numpy.zeros(99)))\n"
        "builder.get()\n"
        "print(source_hash(rx.IRModule.load(sys.argv[1], trusted=True).mlir))\n"
    )
    done = warm_process.run(["-c", program, str(path)])
    assert done.stdout.decode().split() == [source_hash(rx.IRModule.load(path).mlir)] == [key], done
    with mod.context:
        mod["main"].operation.location = ir.Location.file("other.py", 1, 1)
    assert source_hash(mod.mlir) != key


def test_the_order_of_uses_is_no_part_of_a_program() -> None:
    text = """func.func @f(%a: f32) -> f32 {
      %b = arith.addf %a, %a : f32
      %c = arith.mulf %a, %b : f32
      %d = arith.mulf %a, %c : f32
      return %d : f32
    }"""
    with dialect.context(), ir.Location.unknown():
        first, second = ir.Module.parse(text), ir.Module.parse(text)
        block = second.body.operations[0].regions[0].blocks[0]
        ops, value = [op.operation for op in block.operations], block.arguments[0]
        for number in (2, 0, 1):
            other = block.add_argument(value.type, value.location)
            for operand in (other, value):
                ops[number].operands[0] = operand
            block.erase_argument(1)
        assert str(first) == str(second)
        assert source_hash(first) == source_hash(second)


def test_which_weight_stands_where_counts() -> None:
    def quotient(*order: int) -> rx.IRModule:
        builder = rx.BlockBuilder()
        with builder.function("main", [rx.Var("x", rx.Tensor((80,), "float32"))]):
            weights = [builder.const(np.full(80, value, "f4")) for value in (1.0, 2.0)]
            builder.emit_func_output(R.divide(*(weights[i] for i in order)))
        return builder.get()

    keys = [source_hash(quotient(*order).mlir) for order in ((0, 1), (1, 0), (0, 0), (0, 1))]
    assert len(set(keys)) == 3 and keys[0] == keys[3]


def test_every_element_of_a_weight_counts() -> None:
    weight = np.zeros(100_000, "f4")
    keys = {source_hash(scaled(weight).mlir)}
    for place in (0, 1, 4_711, 99_999):
        changed = weight.copy()
        changed[place] = 1
        keys.add(source_hash(scaled(changed).mlir))
    assert len(keys) == 5


def test_a_mapped_file_is_hashed_once_while_it_stays_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weights.bin"
    hashes: LRU[tuple[int, ...], bytes] = LRU(8)
    monkeypatch.setattr(cache_key, "_mapped", hashes)

    def write(value: float, name: Path = path) -> None:
        name.write_bytes(np.full(200, value, "f4").tobytes())

    def mapped(mode: str = "r") -> NDArray[np.float32]:
        return np.memmap(path, np.float32, mode, offset=400, shape=(100,))[:90]  # type: ignore[call-overload]

    def key(weight: NDArray[np.float32]) -> str:
        return source_hash(scaled(weight).mlir)

    write(1)
    wanted = key(np.ones(90, "f4"))
    assert key(mapped()) == wanted and len(hashes) == 0, "its time might be that of two contents"
    monkeypatch.setattr(cache_key, "_QUIET_NANOSECONDS", 0)
    assert key(mapped("c")) == wanted and len(hashes) == 0, "memory that may be written"
    assert key(mapped()) == wanted and len(hashes) == 1
    part = next(iter(hashes._items))
    hashes.put(part, b"other")
    assert key(mapped()) != wanted, "the hash that is known is taken"
    hashes.put(part, cache_key.hashlib.sha256(np.ones(90, "f4").tobytes()).digest())

    before = mapped()
    write(2, tmp_path / "new.bin")
    os.replace(tmp_path / "new.bin", path)
    assert key(before) == wanted and len(hashes) == 1, "the file of that name is another one"
    second = key(np.full(90, 2, "f4"))
    assert key(mapped()) == second and len(hashes) == 2
    os.utime(path, ns=(5, 5))
    write(3)
    assert key(mapped()) == key(np.full(90, 3, "f4")) and len(hashes) == 3
