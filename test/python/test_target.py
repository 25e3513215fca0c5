"""`relax_mlir.target`: reading the host, notation, presets, errors."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest
import relax_mlir as rx
from relax_mlir import target as module
from relax_mlir.error import ParseError, UnknownNameError, UnsupportedError
from relax_mlir.lowering.base.module_parts import FunctionCpu
from relax_mlir.target import FEATURES, KIB, MIB, Target


def test_host_is_sensible() -> None:
    host = Target.host()
    assert host == Target("cpu") == Target()
    assert host.cpu == "native" and host.kind == "cpu"
    assert host.vector_bytes in (16, 32, 64)
    assert host.num_vector_registers in (16, 32)
    assert 8 * KIB <= host.l1_bytes <= MIB <= 64 * host.l2_bytes
    assert host.num_threads >= 1
    assert host.features <= FEATURES


def test_preset_and_options() -> None:
    target = Target("cpu -mcpu=haswell -num-threads=4 -l2=1048576")
    assert (target.vector_bytes, target.num_vector_registers) == (32, 16)
    assert (target.num_threads, target.l2_bytes, target.l1_bytes) == (4, MIB, 32 * KIB)
    assert target.has("avx2", "fma") and not target.has("avx512f")
    assert str(target) == "cpu -mcpu=haswell -num-threads=4 -l2=1048576"


@pytest.mark.parametrize(
    "text",
    [
        "cpu -mcpu=native",
        "cpu -mcpu=skylake-avx512",
        "cpu -mcpu=haswell -mtriple=x86_64-apple-darwin -mattr=+avx512f",
        "cpu -mcpu=haswell -mattr=+amx_tile,-fma",
        "cpu -mcpu=neoverse-n1 -num-threads=8 -vector-bytes=32 -vector-registers=16 -l1=1024 -l2=2048 -l3=0",
    ],
)
def test_text_says_everything(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(module.THREADS_VARIABLE, raising=False)
    target = Target(text)
    assert str(target) == text
    assert Target(str(target)) == target


@pytest.mark.parametrize("name", Target.presets())
def test_every_preset(name: str) -> None:
    target = Target.parse(f"cpu -mcpu={name}")
    assert target.features <= FEATURES
    assert target.lanes(32) * 4 == target.vector_bytes
    assert hash(target) == hash(Target(f"cpu -mcpu={name}"))


@pytest.mark.parametrize(
    ("text", "gone", "vectors"),
    [
        ("cpu -mcpu=haswell -mattr=-fma", {"fma"}, (32, 16)),
        ("cpu -mcpu=haswell -mattr=-avx2", {"avx2"}, (32, 16)),
        ("cpu -mcpu=haswell -mattr=-avx", {"avx", "avx2", "fma", "f16c"}, (16, 16)),
        ("cpu -mcpu=haswell -mattr=-avx -vector-bytes=32", {"avx", "avx2", "fma", "f16c"}, (32, 16)),
        ("cpu -mcpu=skylake-avx512 -mattr=-avx512vl", {"avx512vl"}, (64, 32)),
        (
            "cpu -mcpu=skylake-avx512 -mattr=-fma",
            {"fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"},
            (32, 16),
        ),
        ("cpu -mcpu=neoverse-n1 -mattr=-asimdhp", {"asimdhp"}, (16, 32)),
    ],
)
def test_features_that_are_gone(text: str, gone: set[str], vectors: tuple[int, int]) -> None:
    """Features that require them are removed, too, and so are the registers that come with them."""
    target = Target(text)
    assert Target(f"cpu -mcpu={target.cpu}").features - target.features == gone
    assert (target.vector_bytes, target.num_vector_registers) == vectors
    assert Target(str(target)) == target


def test_features_bring_what_they_need() -> None:
    target = Target("cpu -mcpu=x86-64 -mattr=+avx512_bf16")
    assert target.features == {"sse4_1", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_bf16"}
    assert target.vector_bytes == 16


def test_architectures() -> None:
    assert Target("cpu -mcpu=neoverse-n1").architecture == "aarch64"
    assert Target("cpu -mcpu=neoverse-n1 -mtriple=arm64-apple-darwin").architecture == "aarch64"
    assert "sve" in Target("cpu -mcpu=neoverse-n1").known_features
    with pytest.raises(ParseError, match="the triple is for aarch64, the CPU haswell is x86_64; -mcpu names"):
        Target("cpu -mcpu=haswell -mtriple=aarch64-unknown-linux-gnu")


def test_lanes() -> None:
    target = Target("cpu -mcpu=skylake-avx512")
    assert [target.lanes(bits) for bits in (8, 16, 32, 64)] == [64, 32, 16, 8]
    assert target.lanes(4096) == 1


def test_parse_gives_back_a_target() -> None:
    target = Target("cpu -mcpu=neoverse-n1")
    assert Target.parse(target) is target
    assert target.triple.startswith("aarch64")


def test_llvm_is_the_cpu() -> None:
    assert Target("llvm -mcpu=haswell") == Target("cpu -mcpu=haswell")


def test_values_and_replace() -> None:
    target = Target("cpu -mcpu=haswell", l2_bytes=MIB)
    assert target.l2_bytes == MIB
    assert replace(target, num_threads=8).num_threads == 8
    assert replace(target, num_threads=8).l2_bytes == MIB


def test_runnable_here(monkeypatch: pytest.MonkeyPatch) -> None:
    host, wanted = Target("cpu -mcpu=haswell"), Target("cpu -mcpu=sapphirerapids")
    monkeypatch.setattr(Target, "host", lambda: host)
    found = wanted.runnable_here()
    assert found.features == host.features
    assert (found.vector_bytes, found.num_vector_registers, found.cpu) == (64, 32, "native")
    assert Target(str(found)) == found
    assert host.runnable_here() == host


def test_is_immutable() -> None:
    with pytest.raises(FrozenInstanceError):
        Target("cpu -mcpu=haswell").cpu = "other"  # type: ignore[misc]


def test_describe_names_everything() -> None:
    text = Target("cpu -mcpu=haswell").describe()
    assert "vector_bytes          32" in text
    assert "avx2" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu", "unknown target kind 'gpu'"),
        ("", "unknown target kind ''"),
        ("cpu -mcpu=haswel", "did you mean 'haswell'"),
        ("cpu -mcup=haswell", "did you mean '-mcpu'"),
        ("cpu -mcpu=haswell -mattr=+avx3", "did you mean 'avx2?'"),
        ("cpu -mcpu=neoverse-n1 -mattr=+avx", "unknown CPU feature 'avx'; known: asimd, "),
    ],
)
def test_unknown_names(text: str, message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        Target(text)


def test_unknown_attribute() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'l2_bytes'"):
        Target("cpu", l2_byte=3)


@pytest.mark.parametrize(
    "text",
    [
        "cpu haswell",
        "cpu -mcpu",
        "cpu -mcpu=",
        "cpu -num-threads=many",
        "cpu -num-threads=0",
        "cpu -vector-bytes=24",
    ],
)
def test_malformed(text: str) -> None:
    with pytest.raises(ParseError, match="target"):
        Target(text)


def _sysfs(root: Path, caches: list[tuple[str, str, str]]) -> list[Path]:
    folders = []
    for number, (level, kind, size) in enumerate(caches):
        folder = root / f"index{number}"
        folder.mkdir()
        for name, value in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(value + "\n")
        folders.append(folder)
    return folders


def test_cache_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = _sysfs(
        tmp_path,
        [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2M"), ("3", "Unified", "0K")],
    )
    monkeypatch.setattr(module, "_caches", lambda: folders)
    assert module._cache_sizes() == {1: 48 * KIB, 2: 2 * MIB}


def test_machine_without_sysfs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_read", lambda path: "")
    monkeypatch.setattr(module, "_caches", list)
    values = module._host.__wrapped__()
    assert values["features"] == frozenset()
    assert values["l1_bytes"] > 0 and values["l2_bytes"] > 0


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/sys/fs/cgroup/cpu.max": "150000 100000"}, 2),
        ({"/sys/fs/cgroup/cpu.max": "max 100000"}, None),
        (
            {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"},
            None,
        ),
        (
            {
                "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000",
                "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            1,
        ),
        ({}, None),
    ],
)
def test_cgroup_quota(files: dict[str, str], expected: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_read", lambda path: files.get(str(path), ""))
    assert module._cgroup_cpus() == expected


@pytest.mark.parametrize("granted", [True, False])
def test_tiles_are_there_if_the_system_gives_them(monkeypatch: pytest.MonkeyPatch, granted: bool) -> None:
    monkeypatch.setattr(module, "_ask_for_tiles", lambda: granted)
    found = module._permitted(frozenset({"avx2", "amx_tile", "amx_bf16"}))
    assert found == {"avx2", *(("amx_tile", "amx_bf16") if granted else ())}
    assert module._permitted(frozenset({"avx2"})) == {"avx2"}


@pytest.mark.skipif("amx_tile" in Target.host().features, reason="this CPU has AMX tiles")
def test_build_for_tiles_that_are_not_there() -> None:
    with pytest.raises(UnsupportedError, match=r"the target has amx_bf16, amx_tile, .*add -mattr=-amx_bf16,-amx_tile"):
        rx.build(rx.BlockBuilder().get(), "cpu -mattr=+amx_tile,+amx_bf16")


def test_functions_are_compiled_for_the_cpu_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FunctionCpu.of(Target("cpu")) is None
    monkeypatch.setattr(Target, "host", lambda: Target("cpu -mcpu=haswell"))
    assert FunctionCpu.of(Target("cpu -mcpu=x86-64-v4")) is None  # the host lacks features of it
    found = FunctionCpu.of(Target("cpu -mcpu=x86-64-v2"))
    assert found is not None
    assert found.name == "x86-64-v2"
    assert "+sse4.1" in found.features and "-avx2" in found.features
