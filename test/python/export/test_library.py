"""Exported libraries: results, errors and threads as in the process that compiled them, without the compiler."""

from __future__ import annotations

import gc
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bare_python
import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.error import ArgumentError, CompileError, ParseError, UnsupportedError
from relax_mlir.export import export_library, inspect_library, start_code
from relax_mlir.export.export_library import Linker
from relax_mlir.export.start_code import needed_words
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse
from relax_mlir.target import host_flags

Array = np.ndarray[Any, Any]

WEIGHT = np.random.default_rng(1).standard_normal((64, 96), np.float32)

PROGRAM = """
@R.function
def layer(x: R.Tensor(("n", 64), "float32")):
    return R.nn.gelu(R.matmul(x, constants["W"]) + R.sum(x, axis=[1], keepdims=True))

@R.function
def product(x: R.Tensor(("n", "k"), "float64"), y: R.Tensor(("k", "m"), "float64")):
    return R.matmul(x, y)

@R.function
def several(
    x: R.Tensor(("n",), "int32"), s: R.Shape(("a", "b")), t: R.Tuple(R.Tensor(("n",), "int32"), R.Prim("int64"))
):
    return x + t[0], s, R.reshape(R.arange(0, 6, 1, dtype="float32"), (2, 3)), t[1]

@R.function
def grows(x: R.Tensor(("n",), "float32")):
    y = R.concat([x, x])
    for i in R.range(3):
        y = R.nn.softmax(y)
    return y

@R.function
def asks(x: R.Tensor(("n",), "float32")):
    return R.call_pure_packed("export.double", x, out=R.Tensor(("n",), "float32"))

@R.function
def fails(x: R.Tensor(("n",), "float32")):
    R.assert_op(R.const(False), [], format="never")
    return x
"""

CHILD = """
import json, numpy as np, gc
assert not any(name.startswith("relax_mlir") for name in sys.modules)
library = tvm_ffi.load_module(sys.argv[1])
given = np.load(sys.argv[2])
def tensor(name):
    return tvm_ffi.from_dlpack(given[name])
def array(value):
    return np.from_dlpack(value)
found = {"layer": array(library.layer(tensor("layer"))), "product": array(library.product(tensor("a"), tensor("b")))}
added, shape, ordered, number = library.several(tensor("i"), tvm_ffi.Shape((4, 5)), (tensor("i"), 7))
found |= {"added": array(added), "shape": np.array(shape), "ordered": array(ordered), "number": np.array(number)}
found["grows"] = array(library.grows(tensor("g")))
errors = []
for call in (lambda: library.layer(tensor("g")), lambda: library.asks(tensor("g")), lambda: library.fails(tensor("g"))):
    try:
        call()
    except Exception as error:
        errors.append(str(error))
@tvm_ffi.register_global_func("export.double")
def double(x):
    return tvm_ffi.from_dlpack(2 * np.from_dlpack(x))
found["asks"] = array(library.asks(tensor("g")))
result = library.layer(tensor("layer"))
del library
gc.collect()
found["outlives"] = array(result)
np.savez(sys.argv[3], **found)
print(json.dumps(errors))
"""


@pytest.fixture(scope="module")
def executable() -> rx.Executable:
    return rx.build(parse(PROGRAM, constants={"W": WEIGHT}))


@pytest.fixture(scope="module")
def library(executable: rx.Executable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return executable.export_library(tmp_path_factory.mktemp("library") / "model.so")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare") / "packages"
    bare_python.make_packages(folder)
    return folder


@pytest.fixture
def doubled() -> Iterator[None]:
    tvm_ffi.register_global_func("export.double", lambda x: tvm_ffi.from_dlpack(2 * np.from_dlpack(x)), override=True)
    yield
    tvm_ffi.registry.remove_global_func("export.double")


@pytest.mark.usefixtures("doubled")
def test_equal_results_in_a_bare_python(
    executable: rx.Executable, library: Path, packages: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    given = {
        "layer": rng.standard_normal((37, 64), np.float32),
        "a": rng.standard_normal((5, 33)),
        "b": rng.standard_normal((33, 17)),
        "i": np.arange(9, dtype=np.int32),
        "g": rng.standard_normal(31, np.float32),
    }
    np.savez(tmp_path / "given.npz", **given)
    found_file = tmp_path / "found.npz"
    errors = bare_python.run(
        packages, "import sys\n" + CHILD, str(library), str(tmp_path / "given.npz"), str(found_file)
    )
    found = np.load(found_file)
    added, shape, ordered, number = executable["several"](given["i"], tvm_ffi.Shape((4, 5)), (given["i"], 7))
    expected = {
        "layer": executable["layer"](given["layer"]),
        "product": executable["product"](given["a"], given["b"]),
        "added": added,
        "ordered": ordered,
        "grows": executable["grows"](given["g"]),
        "asks": executable["asks"](given["g"]),
        "outlives": executable["layer"](given["layer"]),
    }
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], to_numpy(value), err_msg=name, strict=True)
    assert tuple(found["shape"]) == tuple(shape) == (4, 5)
    assert int(found["number"]) == number == 7
    np.testing.assert_allclose(found["product"], given["a"] @ given["b"], rtol=1e-12)
    shape, missing, check = json.loads(errors)
    assert shape == "layer: parameter 'x' has rank 1, expected rank 2 (x: Tensor((n, 64), \"float32\"))"
    assert "export.double" in missing and "not registered" in missing
    assert check.endswith(": never")


def symbols(path: Path, *options: str) -> list[str]:
    done = subprocess.run(["nm", *options, str(path)], capture_output=True, text=True, check=True)
    return [line.split()[-1] for line in done.stdout.splitlines() if line]


FUNCTIONS = {"layer", "product", "several", "grows", "asks", "fails"}


def test_only_entry_points_can_be_seen(executable: rx.Executable, library: Path, tmp_path: Path) -> None:
    wanted = {f"__tvm_ffi_{name}" for name in FUNCTIONS}
    assert set(symbols(library, "-D", "--defined-only")) == wanted
    merged = executable.export_library(tmp_path / "model.o")
    assert set(symbols(merged, "--defined-only", "--extern-only")) == wanted
    archive = executable.export_library(tmp_path / "model.a")
    assert wanted <= set(symbols(archive, "--defined-only", "--extern-only"))
    assert inspect_library(merged).facts == inspect_library(archive).facts == inspect_library(library).facts


def test_libraries_side_by_side_in_the_process_of_the_compiler(
    executable: rx.Executable, library: Path, tmp_path: Path
) -> None:
    other = rx.build(parse('@R.function\ndef layer(x: R.Tensor(("n",), "float32")):\n    return R.cumsum(x + 1.0)'))
    second = tvm_ffi.load_module(str(other.export_library(tmp_path / "other.so")))
    first = tvm_ffi.load_module(str(library))
    x = np.random.default_rng(2).standard_normal((70, 64), np.float32)
    for _ in range(3):
        result = first.layer(tvm_ffi.from_dlpack(x))
        np.testing.assert_array_equal(to_numpy(result), to_numpy(executable["layer"](x)))
        summed = to_numpy(second.layer(tvm_ffi.from_dlpack(x[0])))
        np.testing.assert_array_equal(summed, to_numpy(other["layer"](x[0])))
    del result
    gc.collect()


THREADS = """
import numpy as np, os
library = tvm_ffi.load_module(sys.argv[1])
x = tvm_ffi.from_dlpack(np.ones((700, 700)))
threads = len(os.listdir("/proc/self/task"))
expected = np.full((700, 700), 700.0)
np.testing.assert_array_equal(np.from_dlpack(library.product(x, x)), expected)
more = len(os.listdir("/proc/self/task")) - threads
child = os.fork()
if child == 0:
    np.testing.assert_array_equal(np.from_dlpack(library.product(x, x)), expected)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
before = int(open("/proc/self/statm").read().split()[1])
for _ in range(3000):
    library.grows(tvm_ffi.from_dlpack(np.ones(100, np.float32)))
after = int(open("/proc/self/statm").read().split()[1])
assert after - before < 500, (before, after)
print(more)
"""


def test_threads_forks_and_flat_memory(packages: Path, tmp_path: Path) -> None:
    module = parse(PROGRAM, constants={"W": WEIGHT})
    path = rx.build(module, rx.Target(num_threads=2)).export_library(tmp_path / "threads.so")
    assert int(bare_python.run(packages, "import sys\n" + THREADS, str(path))) == 1
    settings = {"RELAX_MLIR_BLOCKTIME": "0", "RELAX_MLIR_MEMORY_LIMIT": "0"}
    assert int(bare_python.run(packages, "import sys\n" + THREADS, str(path), env=settings)) == 1
    settings = {"RELAX_MLIR_BLOCKTIME": "soon", "RELAX_MLIR_MEMORY_LIMIT": "-1"}
    assert int(bare_python.run(packages, "import sys\n" + THREADS, str(path), env=settings)) == 1


WEIGHTS = """
import numpy as np
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
before = resident()
library = tvm_ffi.load_module(sys.argv[1])
loaded = resident()
assert loaded - before < 4 << 20, (before, loaded)
row = np.from_dlpack(library.main(tvm_ffi.from_dlpack(np.array([5], np.int64))))
assert row[0, 0] == 5.0 and resident() - loaded < 8 << 20
"""


def test_weights_are_mapped_when_they_are_read(packages: Path, tmp_path: Path) -> None:
    table = np.repeat(np.arange(16384, dtype=np.float32)[:, None], 1024, axis=1)
    source = '@R.function\ndef main(i: R.Tensor(("n",), "int64")):\n    return R.take(constants["W"], i, axis=0)'
    path = rx.build(parse(source, constants={"W": table}), cache=False).export_library(tmp_path / "large.so")
    assert inspect_library(path).facts["weights"]["bytes"] == table.nbytes
    bare_python.run(packages, "import sys\n" + WEIGHTS, str(path))


def test_the_words_of_the_cpu(executable: rx.Executable, packages: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """Code that needs features that no CPU has is not run; features of the host are found."""
    host = rx.Target.host()
    assert any(needed_words(host, host_flags()))
    assert not any(needed_words(rx.Target("cpu -mcpu=x86-64"), host_flags()))
    assert needed_words(rx.Target("cpu -mcpu=neoverse-n1"), host_flags()) == [
        1 << 1 | 1 << 10 | 1 << 20,
        *[0] * 6,
    ]
    monkeypatch.setattr(start_code, "needed_words", lambda target, flags: bare_python.IMPOSSIBLE_WORDS)
    path = executable.export_library(tmp_path / "no.so")
    script = """
import numpy as np
try:
    tvm_ffi.load_module(sys.argv[1]).layer(tvm_ffi.from_dlpack(np.zeros((1, 64), np.float32)))
except RuntimeError as error:
    print(error)
"""
    said = bare_python.run(packages, "import sys\n" + script, str(path))
    assert said == f"this CPU lacks what the library is compiled for: {host}\n"


def test_what_a_library_says_of_itself(executable: rx.Executable, library: Path) -> None:
    facts = inspect_library(library).facts
    assert set(facts["functions"]) == FUNCTIONS
    assert facts["functions"]["layer"]["params"] == [
        {"name": "x", "kind": "tensor", "type": 'Tensor((n, 64), "float32")'}
    ]
    assert facts["packed"].keys() == {"export.double"}
    assert facts["weights"]["bytes"] >= WEIGHT.nbytes
    text = str(inspect_library(library))
    assert 'product(x: Tensor((n, k), "float64"), y: Tensor((k, m), "float64")) -> Tensor((n, m), "float64")' in text
    again = rx.build(parse(PROGRAM, constants={"W": WEIGHT}), cache=False)
    assert again.engine.interface == executable.engine.interface


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:40],
        lambda data: data[:1000],
        lambda data: data[: len(data) // 2],
        lambda data: b"!<arch>\n" + data,
        lambda data: b"PK" + data,
        lambda data: data.replace(b'"format": 1', b'"format": 9'),
        lambda data: data.replace(b".mlir_relax\0", b".nlir_relax\0"),
        lambda data: data.replace(b'"functions": {', b'"functions": ['),
    ],
)
def test_damaged_files_are_refused(library: Path, tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "damaged.so"
    path.write_bytes(damage(library.read_bytes()))
    with pytest.raises(ParseError, match=r"damaged\.so: (not a library of relax-mlir|metadata of format 9)"):
        inspect_library(path)


REFUSED = {
    "unique": (
        "R.unique(x)",
        r"relax\.unique gives a tensor whose size only its elements tell \(at <script>:3:12\)",
    ),
    "nonzero": ("R.nonzero(x)", r"relax\.nonzero gives a tensor .*call_pure_packed"),
    "print": ("R.print(x)\n    return x", r"relax\.print writes to Python's standard output .*call_packed"),
    "unknown": (
        'R.nn.softmax(R.call_pure_packed("f", x, out=R.Tensor(dtype="float32")))',
        r"rank or dtype .*match_shape first",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_needs_the_compiler_is_refused(case: str, tmp_path: Path) -> None:
    body, message = REFUSED[case]
    line = body if body.startswith("R.print") else f"return {body}"
    module = parse(f'@R.function\ndef main(x: R.Tensor(("n",), "float32")):\n    {line}')
    with pytest.raises(UnsupportedError, match=message):
        rx.build(module).export_library(tmp_path / "model.so")
    assert not list(tmp_path.iterdir())


def test_bad_paths_and_linkers(executable: rx.Executable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentError, match=r"'path' is 'model\.dll', expected an ending of \.so, \.o, \.a"):
        executable.export_library("model.dll")
    with pytest.raises(ArgumentError, match="'path'"):
        executable.export_library(3)  # type: ignore[arg-type]  # tested here
    with pytest.raises(CompileError, match=r"false .*failed with code 1"):
        export_library(executable, tmp_path / "model.so", Linker(("false",)))
    with pytest.raises(CompileError, match="cannot be started"):
        export_library(executable, tmp_path / "model.so", Linker(("no-such-compiler",)))
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(UnsupportedError, match="CC is 'no-such-compiler -m64', which is no program here"):
        executable.export_library(tmp_path / "model.so")
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # Zig's may be there
    with pytest.raises(UnsupportedError, match=r"there is no C compiler .*relax-mlir\[link\]"):
        executable.export_library(tmp_path / "model.so")
    assert not list(tmp_path.iterdir())


def test_which_program_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler of the environment, else the first one that is found, else that of the package ziglang."""
    assert Linker.find().command[0].endswith(("cc", "gcc", "clang"))
    monkeypatch.setenv("CC", f"{sys.executable} -m cc")
    assert Linker.find().command == (sys.executable, "-m", "cc")
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert Linker.find().command == (sys.executable, "-m", "ziglang", "cc")
