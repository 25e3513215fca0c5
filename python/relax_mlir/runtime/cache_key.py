"""What a compilation depends on, as a key: the module, its constants, the target, the options, and all versions."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import tvm_ffi

from relax_mlir.capi import library_path
from relax_mlir.dialects.attributes import CONSTANT_VALUE
from relax_mlir.dialects.constants import resource_name, to_numpy
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import ir, provider
from relax_mlir.module_text import has_weights
from relax_mlir.strategy.shipped import shipped_state
from relax_mlir.strategy.tuned import history_state
from relax_mlir.target import Target
from relax_mlir.transform import PassContext
from relax_mlir.transform.config import DUMP_DIR

_RESOURCE = re.compile(r'dense_resource<("[^"]*"|[^>"]*)>')
_CPU_FIELDS = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")


_SAMPLES = 1024


def module_constants(module: ir.Module) -> list[ir.Attribute]:
    """The different constants of a module, in the order in which they first occur."""
    return list(dict.fromkeys(_constants(module.operation)))


def _constants(top: ir.Operation) -> Iterator[ir.Attribute]:
    for region in top.regions:
        for block in region.blocks:
            for op in block.operations:
                name = op.operation.name
                if name == "relax.constant":
                    yield op.attributes["value"]
                elif name == "func.func" and CONSTANT_VALUE in op.attributes:
                    yield op.attributes[CONSTANT_VALUE]
                yield from _constants(op.operation)


def source_text(mod: IRModule) -> str:
    """A module as text, in the generic form and with locations, without the contents of large constants."""
    text: str = mod.mlir.operation.get_asm(
        enable_debug_info=True,
        large_resource_limit=0,
        use_local_scope=has_weights(mod.mlir),
        print_generic_op_form=True,  # which any module has, so that nothing need be verified first
        assume_verified=True,
    )
    return text.partition("{-#")[0]


def source_hash(text: str, constants: list[ir.Attribute]) -> str:
    """The SHA-256 of a module's `source_text`, and of some elements of each large constant.

    It does not depend on how constants are called. Some `_SAMPLES` elements, evenly spread, tell one set of trained
    weights from another, and cost nothing beside a compilation.
    """
    names: dict[str, int] = {}
    for found in _RESOURCE.finditer(text):
        names.setdefault(found[1], len(names))
    plain = _RESOURCE.sub(lambda found: f"dense_resource<{names[found[1]]}>", text)
    digest = hashlib.sha256(plain.encode())
    for value in constants:
        if not isinstance(value, ir.DenseElementsAttr):
            flat = to_numpy(value).reshape(-1)
            digest.update(flat[:: max(1, flat.size // _SAMPLES)].copy().view(np.uint8).data)
    return digest.hexdigest()


def cache_key(text: str, target: Target, constants: list[ir.Attribute], variant: str = "") -> str | None:
    """The key of a compilation in the current `PassContext`; `text` is the `source_text` of the module, whose
    `constants` are given.

    None for a module with large constants in other places than `relax.constant`: their contents are out of reach.
    """
    resources = {
        resource_name(value): value for value in constants if not isinstance(value, ir.DenseElementsAttr)
    }
    order: dict[str, int] = {}
    for found in _RESOURCE.finditer(text):
        order.setdefault(found[1].strip('"'), len(order))
    if not resources.keys() >= order.keys():
        return None
    # Names of resources are counted up in a process; the constant's place says as much.
    text = _RESOURCE.sub(lambda found: f"dense_resource<{order[found[1].strip(chr(34))]}>", text)
    digest = hashlib.sha256()
    for part in (*environment(), *_settings(target), variant, text):
        data = part.encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
    for name in order:
        array = np.ascontiguousarray(to_numpy(resources[name]))
        digest.update(b"%d:" % array.nbytes)
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _settings(target: Target) -> tuple[str, ...]:
    context = PassContext.current()
    config = {key: value for key, value in context.config.items() if key != DUMP_DIR}
    return (
        target.describe(),
        str(context.opt_level),
        repr(sorted(context.required_pass)),
        repr(sorted(context.disabled_pass)),
        repr(sorted(config.items())),
        shipped_state(),
        history_state(),
    )


@functools.cache
def environment() -> tuple[str, ...]:
    """What all compiled code depends on: the machine, and the sources of this project."""
    return (*machine(), _sources())


@functools.cache
def machine() -> tuple[str, ...]:
    """The CPU, and the versions of what this project stands on."""
    library = library_path()
    status = library.stat()
    return (
        _cpu(),
        f"{provider} {library} {status.st_size} {status.st_mtime_ns}",
        f"{tvm_ffi.__version__} {np.__version__} {sys.version}",
    )


def sources_of(modules: Iterable[str]) -> str:
    """A text that changes with the sources of some modules of this project."""
    paths = [str(sys.modules[name].__file__) for name in modules]
    return "\n".join(_state(path, os.stat(path)) for path in paths)


def sources_in(packages: Iterable[str]) -> str:
    """A text that changes with the sources in some packages of this project."""
    return "\n".join(sorted(_states(str(sys.modules[name].__path__[0]) for name in packages)))


def _cpu() -> str:
    """What Linux says of the first CPU: LLVM makes code for exactly this one."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            first = stream.read(1 << 14).partition("\n\n")[0]
    except OSError:
        return ""
    fields = (line.partition(":") for line in first.splitlines())
    return "\n".join(f"{key.strip()}:{value}" for key, _, value in fields if key.strip() in _CPU_FIELDS)


def _sources() -> str:
    """A hash of names, sizes and times of change of the sources of all packages of this project.

    To read them all would take as long as to load a module from the cache.
    """
    roots = [str(Path(__file__).parents[1])]
    for name in ("dialects", "lowering", "passes"):
        roots += getattr(sys.modules.get(f"relax_mlir.{name}"), "__path__", ())
    return hashlib.sha256("\n".join(sorted(set(_states(roots)))).encode()).hexdigest()


def _states(folders: Iterable[str]) -> Iterator[str]:
    """What the system knows of each source in some folders."""
    for folder in folders:
        with os.scandir(folder) as items:
            inner = []
            for item in items:
                if item.is_dir():
                    inner.append(item.path)
                elif item.name.endswith((".py", ".mlir")):
                    yield _state(item.path, item.stat())
        yield from _states(inner)


def _state(path: str, status: os.stat_result) -> str:
    return f"{path} {status.st_size} {status.st_mtime_ns}"
