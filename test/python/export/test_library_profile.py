"""Libraries that write profiling records: the profiler and ``relax-run`` read them like those of this process."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.error import ArgumentError
from relax_mlir.export import export_library, inspect_library
from relax_mlir.profiler import Profile, profile_library
from relax_mlir.script import parse
from relax_mlir.tools import compile_command, compile_driver, run_command, run_driver

SOURCE = """
@R.function
def main(x: R.Tensor(("n", 64), "float32")):
    y = R.matmul(x, R.permute_dims(x))
    return R.nn.softmax(y)
"""


def recorded(profile: Profile) -> list[object]:
    """Sites and sizes, without the times."""
    return [(dataclasses.astuple(event.site), dict(event.sizes)) for event in profile.events]


@pytest.fixture(scope="module")
def executable() -> rx.Executable:
    return rx.build(parse(SOURCE), profile=True)


def test_the_same_records_as_in_this_process(executable: rx.Executable, tmp_path: Path) -> None:
    path = executable.export_library(tmp_path / "model.so")
    library = tvm_ffi.load_module(str(path))
    x = np.ones((5, 64), np.float32)
    for rows in (0, 1, 5):
        with executable.profile() as expected:
            executable["main"](x[:rows])
        with profile_library(path) as found:
            library.main(tvm_ffi.from_dlpack(x[:rows].copy()))
        assert recorded(found) == recorded(expected)
        assert len(found.events) > 1
    library.main(tvm_ffi.from_dlpack(x))  # outside of a context nothing is recorded
    with profile_library(path) as nothing:
        pass
    assert not nothing.events
    with (
        profile_library(path),
        pytest.raises(ArgumentError, match="is being profiled already"),
        profile_library(path),
    ):
        pass


@pytest.mark.slow
def test_levels_are_profiled_together(tmp_path: Path) -> None:
    module = parse(SOURCE)
    levels = [rx.build(module, f"cpu -mcpu={name}", profile=True) for name in ("x86-64", "x86-64-v2")]
    path = export_library(levels, tmp_path / "levels.so")
    with profile_library(path) as found:
        tvm_ffi.load_module(str(path)).main(tvm_ffi.from_dlpack(np.ones((5, 64), np.float32)))
    assert {event.site.kind for event in found.events} >= {"function"}
    with pytest.raises(ArgumentError, match="record different things: build all with profile=True, or none"):
        export_library([levels[0], rx.build(module, "cpu -mcpu=x86-64-v2")], path)


def test_without_records(tmp_path: Path) -> None:
    path = rx.build(parse(SOURCE)).export_library(tmp_path / "plain.so")
    assert inspect_library(path).facts["profile"] == []
    with (
        pytest.raises(ArgumentError, match=r"writes no records; build it with rx\.build\(mod, profile=True\)"),
        profile_library(path),
    ):
        pass


def run(*arguments: str) -> int:
    return run_driver.run_model(run_command.parser().parse_args(arguments))


@pytest.mark.slow
def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(parse(SOURCE).asm())
    np.save(tmp_path / "x.npy", np.ones((3, 64), np.float32))
    for name, options in (("with.so", ["--profile"]), ("without.so", [])):
        words = [str(tmp_path / "model.mlir"), *options, "-o", str(tmp_path / name)]
        compile_driver.compile_file(compile_command.parser().parse_args(words))
    given, trace = ["main", "--input", str(tmp_path / "x.npy")], tmp_path / "trace.json"
    assert run(str(tmp_path / "with.so"), *given, "--profile", str(trace)) == 0
    events = json.loads(trace.read_text())["traceEvents"]
    assert any(event.get("name") == "main" for event in events)
    with pytest.raises(ArgumentError, match="writes no records: compile it with relax-compile --profile"):
        run(str(tmp_path / "without.so"), *given, "--profile", str(trace))
