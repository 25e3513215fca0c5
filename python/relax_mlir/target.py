"""Description of the machine that code is generated for.

Kernel generators are functions of a `Target`: of its vector width, register count and cache sizes, never of constants.
`Target.host()` describes the current machine (Linux: ``/proc/cpuinfo`` and sysfs).
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from relax_mlir.error import ParseError, UnknownNameError, expect

THREADS_VARIABLE = "RELAX_MLIR_NUM_THREADS"
"""The environment variable that overrides the number of threads of the host."""

MAX_THREADS = 256

CACHE_LINE = 64
"""Bytes of a cache line, the same on every supported CPU."""

KIB = 1024
MIB = 1024 * KIB

_X86_FEATURES = frozenset({"sse4_1", "avx", "avx2", "fma", "f16c", "amx_tile", "amx_bf16", "amx_int8"}) | {
    "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_bf16", "avx512_fp16", "avx512_vnni"
}  # fmt: skip
_ARM_FEATURES = frozenset({"asimd", "asimdhp", "asimddp", "bf16", "sve"})
FEATURES = _X86_FEATURES | _ARM_FEATURES
"""The CPU features that affect code generation, with Linux's names."""

_NEEDED = {
    "avx": ("sse4_1",),
    "avx2": ("avx",),
    "fma": ("avx",),
    "f16c": ("avx",),
    "avx512f": ("avx2", "fma", "f16c"),
    "avx512bw": ("avx512f",),
    "avx512dq": ("avx512f",),
    "avx512vl": ("avx512f",),
    "avx512_bf16": ("avx512bw",),
    "avx512_fp16": ("avx512bw", "avx512dq", "avx512vl"),
    "avx512_vnni": ("avx512f",),
    "amx_bf16": ("amx_tile",),
    "amx_int8": ("amx_tile",),
    "asimdhp": ("asimd",),
    "asimddp": ("asimd",),
    "bf16": ("asimd",),
    "sve": ("asimd",),
}
"""The features that a feature requires: no CPU has it without them (LLVM's rules)."""


@dataclass(frozen=True, init=False)
class Target:
    """The machine that code is generated for; immutable and hashable.

    ``Target("cpu")`` is the host, ``Target("cpu -mcpu=haswell -num-threads=4")`` a named CPU with a change. Options:
    ``-mcpu`` (one of `presets()`, or ``native``), ``-mtriple``, ``-mattr=+avx2,-fma``, ``-num-threads``,
    ``-vector-bytes``, ``-vector-registers`` and ``-l1``, ``-l2``, ``-l3`` (bytes). The string form is complete:
    ``Target(str(target)) == target``. Keyword arguments set attributes directly, and `dataclasses.replace` works.

    ``-mattr`` adds a feature together with the features that it requires, and removes a feature together with those
    that require it. Unless the options say otherwise, there are 16 vector registers without ``avx512f``, of at most 32
    bytes, or of 16 bytes without ``avx``.

    Attributes:
        kind: always ``cpu``.
        triple: LLVM's target triple.
        cpu: LLVM's name of the CPU, or ``native``.
        vector_bytes: width of the vector registers that kernels use, in bytes.
        num_vector_registers: the number of vector registers.
        l1_bytes, l2_bytes: data caches of one core, in bytes.
        l3_bytes: the shared cache, in bytes (0: none).
        num_threads: the number of threads that compiled code may use, at most 256. For the host: the number of CPUs
            that the process may use (affinity, quota of the control group), or the value of the environment variable
            RELAX_MLIR_NUM_THREADS; 1 where compiled code has no threads (see docs/limits.md).
        features: the CPU's features, a subset of `FEATURES`.

    Raises:
        ParseError: malformed text or values, or a CPU of another architecture than the triple's.
        UnknownNameError: an unknown kind, option, CPU or attribute.
    """

    kind: str
    triple: str
    cpu: str
    vector_bytes: int
    num_vector_registers: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    num_threads: int
    features: frozenset[str]

    def __init__(self, text: str = "cpu", **values: Any) -> None:  # noqa: ANN401 - any attribute
        names = [field.name for field in fields(self)]
        for name in values:
            if name not in names:
                raise UnknownNameError("target attribute", name, names)
        for name, value in {**_parse(text), **values}.items():
            object.__setattr__(self, name, value)
        _check(self)

    @staticmethod
    def parse(text: str | Target) -> Target:
        """The target described by a text like ``cpu -mcpu=haswell``; a target is returned unchanged."""
        return text if isinstance(text, Target) else Target(text)

    @staticmethod
    def host() -> Target:
        """The current machine."""
        return Target("cpu")

    @staticmethod
    def presets() -> tuple[str, ...]:
        """The CPUs that ``-mcpu`` accepts in addition to ``native``."""
        return tuple(sorted(_PRESETS))

    def lanes(self, bits: int) -> int:
        """The number of elements of `bits` bits that fill one vector register (minimum 1)."""
        return max(1, self.vector_bytes * 8 // bits)

    def has(self, *features: str) -> bool:
        """True if the CPU has all these features."""
        return self.features.issuperset(features)

    def runnable_here(self) -> Target:
        """The target with only those of its features that the current machine has.

        The vector width does not change: LLVM splits vectors that are too wide for the CPU. But LLVM aborts the process
        for an operation without an instruction. If a feature is missing, LLVM compiles for the CPU of the host.
        """
        kept = self.features & Target.host().features
        return self if kept == self.features else replace(self, features=kept, cpu="native")

    @property
    def has_fma(self) -> bool:
        """True if the CPU multiplies and adds in one instruction; all but old x86 CPUs do."""
        return self.has("fma") or self.architecture != "x86_64"

    @property
    def has_masks(self) -> bool:
        """True if the CPU has masked loads and stores of vectors of 32-bit or 64-bit elements."""
        return self.has("avx") or self.has("sve")

    @property
    def architecture(self) -> str:
        """``x86_64``, ``aarch64``, …: the first part of the triple."""
        return _architecture(self.triple)

    @property
    def known_features(self) -> frozenset[str]:
        """The `FEATURES` that CPUs of this architecture may have."""
        return _features_of(self.triple)

    def __str__(self) -> str:
        base = _base(self.cpu)
        options = [f"-mcpu={self.cpu}"]
        if self.triple != base["triple"]:
            options.append(f"-mtriple={self.triple}")
        changes = [f"+{name}" for name in sorted(self.features - base["features"])]
        changes += [f"-{name}" for name in sorted(base["features"] - self.features)]
        if changes:
            options.append(f"-mattr={','.join(changes)}")
        implied = {**base, **_vectors(base, self.features)}
        for option, name in _NUMBERS.items():
            # Environment variables are not part of the machine.
            always = name == "num_threads" and THREADS_VARIABLE in os.environ and self.cpu == "native"
            if always or getattr(self, name) != implied[name]:
                options.append(f"-{option}={getattr(self, name)}")
        return " ".join([self.kind, *options])

    def describe(self) -> str:
        """All attributes, one per line."""
        rows = {field.name: getattr(self, field.name) for field in fields(self)}
        rows["features"] = " ".join(sorted(self.features))
        return "\n".join(f"{name:<22}{value}" for name, value in rows.items())


_X86 = "x86_64-unknown-linux-gnu"
_AVX2 = frozenset({"sse4_1", "avx", "avx2", "fma", "f16c"})
_AVX512 = _AVX2 | {"avx512f", "avx512bw", "avx512dq", "avx512vl"}


def _preset(
    cpu: str, triple: str, vectors: tuple[int, int], caches: tuple[int, int, int], features: frozenset[str]
) -> dict[str, Any]:
    (vector_bytes, registers), (l1, l2, l3) = vectors, caches
    return {
        "kind": "cpu",
        "triple": triple,
        "cpu": cpu,
        "vector_bytes": vector_bytes,
        "num_vector_registers": registers,
        "l1_bytes": l1,
        "l2_bytes": l2,
        "l3_bytes": l3,
        "num_threads": 1,
        "features": features,
    }


_PRESETS: dict[str, dict[str, Any]] = {
    "x86-64": _preset("x86-64", _X86, (16, 16), (32 * KIB, 256 * KIB, 4 * MIB), frozenset()),
    "x86-64-v2": _preset("x86-64-v2", _X86, (16, 16), (32 * KIB, 256 * KIB, 4 * MIB), frozenset({"sse4_1"})),
    "x86-64-v3": _preset("x86-64-v3", _X86, (32, 16), (32 * KIB, 256 * KIB, 8 * MIB), _AVX2),
    "x86-64-v4": _preset("x86-64-v4", _X86, (64, 32), (32 * KIB, 1 * MIB, 16 * MIB), _AVX512),
    "haswell": _preset("haswell", _X86, (32, 16), (32 * KIB, 256 * KIB, 8 * MIB), _AVX2),
    "avx2": _preset("haswell", _X86, (32, 16), (32 * KIB, 256 * KIB, 8 * MIB), _AVX2),
    "znver3": _preset("znver3", _X86, (32, 16), (32 * KIB, 512 * KIB, 32 * MIB), _AVX2),
    "skylake-avx512": _preset("skylake-avx512", _X86, (64, 32), (32 * KIB, 1 * MIB, 16 * MIB), _AVX512),
    "sapphirerapids": _preset(
        "sapphirerapids",
        _X86,
        (64, 32),
        (48 * KIB, 2 * MIB, 32 * MIB),
        _AVX512 | {"avx512_bf16", "avx512_fp16", "avx512_vnni", "amx_tile", "amx_bf16", "amx_int8"},
    ),
    "cortex-a72": _preset(
        "cortex-a72",
        "aarch64-unknown-linux-gnu",
        (16, 32),
        (32 * KIB, 1 * MIB, 1 * MIB),
        frozenset({"asimd"}),
    ),
    "neoverse-n1": _preset(
        "neoverse-n1",
        "aarch64-unknown-linux-gnu",
        (16, 32),
        (64 * KIB, 1 * MIB, 32 * MIB),
        frozenset({"asimd", "asimdhp", "asimddp"}),
    ),
}


_NUMBERS = {
    "num-threads": "num_threads",
    "vector-bytes": "vector_bytes",
    "vector-registers": "num_vector_registers",
    "l1": "l1_bytes",
    "l2": "l2_bytes",
    "l3": "l3_bytes",
}
"""Options with integer values, and the attributes that they set."""


def _parse(text: str) -> dict[str, Any]:
    """The attributes that a target's text denotes."""
    expect("target", text, str, "a target or its text")
    kind, *options = text.split() or [""]
    if kind not in ("cpu", "llvm"):
        raise UnknownNameError("target kind", kind, ["cpu", "llvm"])
    given: dict[str, str] = {}
    for option in options:
        name, _, value = option.removeprefix("-").partition("=")
        if not option.startswith("-") or not value:
            raise ParseError(f"target {text!r}: {option!r} is not of the form -name=value")
        known = ["mcpu", "mtriple", "mattr", *_NUMBERS]
        if name not in known:
            raise UnknownNameError("target option", f"-{name}", [f"-{n}" for n in known])
        given[name] = value
    base = _base(given.pop("mcpu", "native"))
    triple = given.pop("mtriple", base["triple"])
    if _architecture(triple) != _architecture(base["triple"]):
        raise ParseError(
            f"target {text!r}: the triple is for {_architecture(triple)}, the CPU {base['cpu']} is "
            f"{_architecture(base['triple'])}; -mcpu names a CPU of that architecture"
        )
    features = _changed(text, base["features"], given.pop("mattr", ""), _features_of(triple))
    numbers = {_NUMBERS[name]: _number(text, name, value) for name, value in given.items()}
    return {**base, "triple": triple, "features": features, **_vectors(base, features), **numbers}


def _architecture(triple: str) -> str:
    first = triple.partition("-")[0]
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(first, first)


def _features_of(triple: str) -> frozenset[str]:
    return {"x86_64": _X86_FEATURES, "aarch64": _ARM_FEATURES}.get(_architecture(triple), frozenset())


def _vectors(base: dict[str, Any], features: frozenset[str]) -> dict[str, int]:
    """Width and number of the vector registers without the removed features."""
    gone = base["features"] - features
    if "avx" in gone:
        widest = (16, 16)
    elif "avx512f" in gone:
        widest = (32, 16)
    else:
        return {}
    return {
        "vector_bytes": min(base["vector_bytes"], widest[0]),
        "num_vector_registers": min(base["num_vector_registers"], widest[1]),
    }


def _threads_from_environment() -> int | None:
    """The value of RELAX_MLIR_NUM_THREADS; None if it is not set."""
    text = os.environ.get(THREADS_VARIABLE)
    if text is None:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= MAX_THREADS:
        raise ParseError(
            f"the environment variable {THREADS_VARIABLE} is {text!r}, expected a number of threads from 1 to "
            f"{MAX_THREADS}"
        )
    return int(text)


def _base(cpu: str) -> dict[str, Any]:
    """The attributes of a named CPU, or of the host."""
    if cpu == "native":
        count = _threads_from_environment()
        return _host() if count is None else {**_host(), "num_threads": count}
    if cpu not in _PRESETS:
        raise UnknownNameError("CPU", cpu, ["native", *_PRESETS])
    return _PRESETS[cpu]


def _changed(text: str, features: frozenset[str], changes: str, known: frozenset[str]) -> frozenset[str]:
    """The features after changes like ``+avx2,-fma``, applied in order."""
    for change in filter(None, changes.split(",")):
        sign, name = change[0], change[1:]
        if sign not in "+-":
            raise ParseError(f"target {text!r}: -mattr takes +feature and -feature, not {change!r}")
        if name not in known:
            raise UnknownNameError("CPU feature", name, known)
        features = features | _needs(name) if sign == "+" else features - _needing(name)
    return features


def _needs(name: str) -> frozenset[str]:
    """A feature and all that it requires."""
    return frozenset({name}).union(*map(_needs, _NEEDED.get(name, ())))


def _needing(name: str) -> frozenset[str]:
    """A feature and all that require it."""
    return frozenset(other for other in FEATURES if name in _needs(other))


def _number(text: str, name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ParseError(f"target {text!r}: -{name} takes a number, not {value!r}") from None


def _check(target: Target) -> None:
    width = target.vector_bytes
    if width < 8 or width & (width - 1):
        raise ParseError(f"target: vector_bytes must be a power of two of at least 8, not {width}")
    for name in ("num_vector_registers", "l1_bytes", "l2_bytes", "num_threads"):
        if getattr(target, name) < 1:
            raise ParseError(f"target: {name} must be positive, not {getattr(target, name)}")
    if target.num_threads > MAX_THREADS:
        raise ParseError(f"target: num_threads must be at most {MAX_THREADS}, not {target.num_threads}")
    if target.l3_bytes < 0:
        raise ParseError(f"target: l3_bytes must not be negative, not {target.l3_bytes}")


@lru_cache(maxsize=1)
def _host() -> dict[str, Any]:
    """The attributes of the current machine; values that cannot be read come from a modest preset."""
    machine = platform.machine().lower()
    arm = machine in ("aarch64", "arm64")
    found = _permitted(_cpu_features())
    if arm:
        base = _PRESETS["neoverse-n1"]
    elif "avx512f" in found and found >= _AVX512:
        base = _PRESETS["skylake-avx512"]
    elif found >= _AVX2:
        base = _PRESETS["haswell"]
    else:
        base = _PRESETS["x86-64"]
    host = {
        **base,
        "cpu": "native",
        "features": found,
        "num_threads": usable_cpus(),
        "triple": f"{machine}-{'apple-darwin' if platform.system() == 'Darwin' else 'unknown-linux-gnu'}",
    }
    caches = _cache_sizes()
    return {**host, **{f"l{level}_bytes": size for level, size in caches.items() if level <= 3}}


def _cpu_features() -> frozenset[str]:
    return FEATURES & host_flags()


def host_flags() -> frozenset[str]:
    """All features of the host CPU as Linux names them, also those that no target names."""
    for line in _read(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()


def _permitted(features: frozenset[str]) -> frozenset[str]:
    """The features that this process may use: Linux grants AMX tiles only on request."""
    amx = frozenset(name for name in features if name.startswith("amx_"))
    return features if not amx or _ask_for_tiles() else features - amx


def _ask_for_tiles() -> bool:
    """Request the state of AMX tiles (``ARCH_REQ_XCOMP_PERM`` of Linux's x86 ABI); true if it is granted."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return False
    arch_prctl, request, tile_data = 158, 0x1023, 18
    return bool(ctypes.CDLL(None).syscall(arch_prctl, request, tile_data) == 0)


def _cache_sizes() -> dict[int, int]:
    """Bytes of the data or unified cache of each level of the first CPU, as far as sysfs lists them."""
    sizes: dict[int, int] = {}
    for folder in sorted(_caches()):
        level, size = _read(folder / "level").strip(), _read(folder / "size").strip()
        if _read(folder / "type").strip() == "Instruction" or not level.isdigit():
            continue
        scale = {"K": KIB, "M": MIB}.get(size[-1:], 1)
        digits = size.rstrip("KM")
        if digits.isdigit() and int(digits) > 0:
            sizes[int(level)] = int(digits) * scale
    return sizes


def _caches() -> list[Path]:
    return list(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))


def usable_cpus() -> int:
    """The number of CPUs that this process may use, by affinity and cgroup quota."""
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "aarch64"):
        return 1  # there is no thread pool for other systems
    count = len(affinity(0)) if affinity else (os.cpu_count() or 1)
    return max(1, min(count, _cgroup_cpus() or count))


def _cgroup_cpus() -> int | None:
    """The CPU quota of the control group (v2, then v1), rounded up; None without one."""
    quota, period = [*_read(Path("/sys/fs/cgroup/cpu.max")).split(), "", ""][:2]
    if not quota:
        quota = _read(Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")).strip()
        period = _read(Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us")).strip()
    if not (quota.isdigit() and period.isdigit()) or int(period) == 0:
        return None
    return -(-int(quota) // int(period))


def _read(path: Path) -> str:
    """A file's text; empty if it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""


# The tile of a GEMM that fits in the vector registers of a target.

TILE_VECTORS = 2
"""Vectors per row."""
SPARE_REGISTERS = 2
"""Registers for the element of A, and for a product or a widened vector."""


@dataclass(frozen=True)
class RegisterTile:
    """`rows` rows of `vectors` vectors of `lanes` elements; code can use `registers` registers."""

    rows: int
    vectors: int
    lanes: int
    registers: int

    @property
    def columns(self) -> int:
        """Elements per row."""
        return self.lanes * self.vectors


def register_tile(target: Target, bits: int) -> RegisterTile:
    """The tile of accumulators of `bits` bits: it, a row of B and an element of A fill the registers."""
    # AArch64's code loads elements of A ahead, since its instructions have no memory operands: with too few registers
    # for that, LLVM spills accumulators.
    registers = max(4, target.num_vector_registers - (4 if target.architecture == "aarch64" else 0))
    rows = max(1, (registers - TILE_VECTORS - SPARE_REGISTERS) // TILE_VECTORS)
    return RegisterTile(rows, TILE_VECTORS, target.lanes(bits), registers)
