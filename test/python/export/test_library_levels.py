"""Libraries with code for several levels of CPUs: the best level that the CPU supports is selected."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path
from typing import Any

import bare_python
import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import ArgumentError
from relax_mlir.export import export_library, inspect_library, start_code
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

TABLE = np.random.default_rng(1).standard_normal((65, 40), np.float32)
SOURCE = """
@R.function
def main(x: R.Tensor(("n", 65), "float32")):
    return R.nn.softmax(R.matmul(x, constants["W"]))

@R.function
def second(x: R.Tensor(("n",), "float32")):
    return x * 2.0
"""
ODD = 'second.level1 "quoted"\n# ${main} \\ é'
"""A name that MLIR text, the linker or objcopy could misinterpret."""
LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3")

CHILD = """
import sys
import numpy as np
library = tvm_ffi.load_module(sys.argv[1])
given = np.load(sys.argv[2])
np.save(sys.argv[3], np.from_dlpack(library.main(tvm_ffi.from_dlpack(given))))
assert list(np.from_dlpack(library.second(tvm_ffi.from_dlpack(given[0, :3].copy())))) == list(2 * given[0, :3])
odd = getattr(library, ODD)
assert list(np.from_dlpack(odd(tvm_ffi.from_dlpack(given[0, :3].copy())))) == list(2 * given[0, :3])
""".replace("ODD", repr(ODD))


@pytest.fixture(scope="module")
def executables() -> dict[str, rx.Executable]:
    module = parse(SOURCE, constants={"W": TABLE})
    module[ODD] = module["second"]
    return {level: rx.build(module, f"cpu -mcpu={level}") for level in LEVELS}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare") / "packages"
    bare_python.make_packages(folder)
    return folder


def test_the_best_level_that_runs_is_taken(
    executables: dict[str, rx.Executable], packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).standard_normal((7, 65), np.float32)
    np.save(tmp_path / "x.npy", x)
    results = {level: to_numpy(each["main"](x)) for level, each in executables.items()}
    # Without FMA every product is rounded, so the results show which level ran.
    assert not np.array_equal(results["x86-64-v3"], results["x86-64-v2"])
    needed = start_code.needed_words
    for expected, refused in (("x86-64-v3", ()), ("x86-64-v2", ("x86-64-v3",))):

        def words(target: rx.Target, host: Any, refused: tuple[str, ...] = refused) -> list[int]:
            return bare_python.IMPOSSIBLE_WORDS if target.cpu in refused else needed(target, host)

        monkeypatch.setattr(start_code, "needed_words", words)
        path = export_library(list(executables.values()), tmp_path / "levels.so")
        bare_python.run(packages, CHILD, str(path), str(tmp_path / "x.npy"), str(tmp_path / "y.npy"))
        np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), results[expected])
    facts = inspect_library(path).facts
    assert facts["targets"] == [f"cpu -mcpu={level}" for level in reversed(LEVELS)]
    monkeypatch.setattr(start_code, "needed_words", lambda target, host: bare_python.IMPOSSIBLE_WORDS)
    path = export_library(list(executables.values()), tmp_path / "none.so")
    said = bare_python.run(packages, f"import sys\nimport numpy as np\ntry:\n    {CALL}\n{REPORT}", str(path))
    wanted = " or ".join(facts["targets"])
    assert said == f"RuntimeError this CPU lacks what the library is compiled for: {wanted}\n"


CALL = "tvm_ffi.load_module(sys.argv[1]).main(tvm_ffi.from_dlpack(np.zeros((1, 65), np.float32)))"
REPORT = "except RuntimeError as error:\n    print(type(error).__name__, error)"


def test_code_with_tiles_asks_the_system(
    executables: dict[str, rx.Executable], packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without AMX tiles, Linux refuses the request, and the next level is selected."""
    engine, target = executables["x86-64-v3"].engine, "cpu -mcpu=sapphirerapids"
    monkeypatch.setattr(engine, "interface", dataclasses.replace(engine.interface, target=target))
    monkeypatch.setattr(start_code, "needed_words", lambda target, host: [0] * 7)
    both = [executables["x86-64"], executables["x86-64-v3"]]
    x = np.random.default_rng(0).standard_normal((7, 65), np.float32)
    np.save(tmp_path / "x.npy", x)
    path = export_library(both, tmp_path / "tiles.so")
    assert inspect_library(path).facts["targets"][0] == target
    bare_python.run(packages, CHILD, str(path), str(tmp_path / "x.npy"), str(tmp_path / "y.npy"))
    has_tiles = any(name.startswith("amx_") for name in rx.Target.host().features)
    taken = executables["x86-64-v3" if has_tiles else "x86-64"]
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), to_numpy(taken["main"](x)))


def test_objects_of_several_levels_show_entry_points_only(
    executables: dict[str, rx.Executable], tmp_path: Path
) -> None:
    path = export_library(list(executables.values()), tmp_path / "levels.o")
    done = subprocess.run(["nm", "--defined-only", "--extern-only", path], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in done.stdout.replace(ODD, "odd").splitlines() if line}
    assert names == {"__tvm_ffi_main", "__tvm_ffi_second", "__tvm_ffi_odd"}


def test_equal_constants_are_stored_once(executables: dict[str, rx.Executable], tmp_path: Path) -> None:
    alone = inspect_library(executables["x86-64"].export_library(tmp_path / "one.so")).facts["weights"]["bytes"]
    two = export_library([executables["x86-64"], executables["x86-64-v2"]], tmp_path / "two.so")
    assert inspect_library(two).facts["weights"]["bytes"] == alone


def test_executables_that_do_not_go_together(executables: dict[str, rx.Executable], tmp_path: Path) -> None:
    path = tmp_path / "no.so"
    other = rx.build(parse('@R.function\ndef f(x: R.Tensor(("n",), "float32")):\n    return x'))
    with pytest.raises(ArgumentError, match="the executables are not of one module"):
        export_library([executables["x86-64"], other], path)
    weights = rx.build(parse(SOURCE, constants={"W": TABLE + 1}), "cpu -mcpu=x86-64-v2")
    with pytest.raises(ArgumentError, match="the executables are not of one module"):
        export_library([executables["x86-64"], weights], path)
    with pytest.raises(ArgumentError, match="two executables are for the target cpu -mcpu=x86-64: leave one"):
        export_library([executables["x86-64"], executables["x86-64"]], path)
    with pytest.raises(ArgumentError, match="'executable' is empty, expected an Executable"):
        export_library([], path)
    with pytest.raises(ArgumentError, match=r"'executable'.*expected an Executable"):
        export_library([3], path)  # type: ignore[list-item]  # tested here
    assert not path.exists()
