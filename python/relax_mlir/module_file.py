"""The file format of modules: IR text and weights in one ZIP archive (`IRModule.save`, `IRModule.load`).

The archive contains, uncompressed, ``module.mlir`` (text with locations and names, weights elided), one
``weights/NUMBER-NAME.npy`` per weight, so that ``numpy.load`` and any ZIP tool can look inside, and
``relax-mlir.json``: the version of the format, and the dtypes.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from relax_mlir._version import version
from relax_mlir.dialects import constants, dtypes
from relax_mlir.error import ArgumentError, ParseError, UnknownNameError, UnsupportedError
from relax_mlir.files import open_regular
from relax_mlir.mlir import ir
from relax_mlir.module_text import PrintOptions, module_text, writing_atomically
from relax_mlir.module_weights import has_hidden_resources, replace_resources, resources

FORMAT, FORMAT_VERSION = "relax-mlir module", 1
MANIFEST, TEXT, WEIGHTS = "relax-mlir.json", "module.mlir", "weights/"
_OTHER = re.compile(r"[^\w.-]")
_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of all entries, so that equal modules produce equal files."""

Array = np.ndarray[Any, Any]


def save(module: ir.Module, path: Path) -> None:
    """Write `module` to `path` atomically: to a temporary file, which is then moved.

    Raises:
        ArgumentError: the file cannot be written; says why.
        UnsupportedError: the module's text had no data for a weight, or a weight is in a type or a location.
    """
    weights = resources(module.operation)
    # In local scope, data of resources is not printed.
    text = module_text(module, PrintOptions(debug_info=True, local_scope=True))
    if has_hidden_resources(module.operation):
        raise UnsupportedError(
            f"IRModule.save: {path}: a type or a location holds a resource, which cannot be saved: only attributes may"
        )
    constants.require(weights.values())
    members = {name: f"{WEIGHTS}{index}-{_OTHER.sub('_', name)}.npy" for index, name in enumerate(weights)}
    arrays = {name: constants.to_numpy(attribute) for name, attribute in weights.items()}
    manifest = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "written_by": f"relax-mlir {version()}",
        "weights": {
            name: {"member": members[name], "dtype": _dtype_of(attribute), "shape": list(arrays[name].shape)}
            for name, attribute in weights.items()
        },
    }
    try:
        with writing_atomically(path) as stream, zipfile.ZipFile(stream, "w") as archive:
            archive.writestr(zipfile.ZipInfo(MANIFEST, _DATE), json.dumps(manifest, indent=1) + "\n")
            archive.writestr(zipfile.ZipInfo(TEXT, _DATE), text)
            for name, array in arrays.items():
                entry = zipfile.ZipInfo(members[name], _DATE)
                with archive.open(entry, "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, _storable(array), allow_pickle=False)
    except OSError as error:
        raise ArgumentError(f"IRModule.save: cannot write {path}: {error.strerror or error}") from None


def _dtype_of(attribute: ir.Attribute) -> str:
    element = ir.RankedTensorType(attribute.type).element_type
    return dtypes.from_element_type(element).name


def _storable(array: Array) -> Array:
    """An array that NumPy's format can store: bfloat16 is stored as its bits, which the manifest records."""
    return np.ascontiguousarray(
        array.view(np.uint16) if array.dtype == dtypes.dtype("bfloat16").numpy else array
    )


def load(path: Path, parse: Callable[[str], ir.Module]) -> ir.Module:
    """Load the module in a file written by `save`; `parse` reads its text.

    Raises:
        ParseError: the file cannot be read, is no such file, is truncated or damaged, or comes from a newer version;
            names the path and the reason.
    """
    try:
        with open_regular(path) as stream, zipfile.ZipFile(stream) as archive:
            manifest = _manifest(archive)
            text = _member(archive, TEXT).decode()
            wanted = manifest["weights"]
            arrays = {name: _array(archive, name, entry) for name, entry in wanted.items()}
    except _Invalid as error:
        raise ParseError(f"IRModule.load: {path}: {error}") from None
    except zipfile.BadZipFile as error:
        reason = "damaged, cut off, or not a file that IRModule.save has written"
        raise ParseError(f"IRModule.load: {path}: {reason} ({error})") from None
    except UnicodeDecodeError as error:
        raise ParseError(f"IRModule.load: {path}: {TEXT} is not UTF-8 text: {error}") from None
    except (OSError, EOFError, NotImplementedError, RuntimeError, MemoryError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ParseError(f"IRModule.load: cannot read {path}: {reason}") from None
    module = parse(text)
    attach_weights(module, arrays, f"IRModule.load: {path}: {TEXT}")
    return module


class _Invalid(Exception):
    """The contents of a file are invalid; the message is the reason."""


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        found = json.loads(_member(archive, MANIFEST))
    except (ValueError, RecursionError) as error:
        raise _Invalid(f"{MANIFEST} is no JSON text: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _Invalid(f'not a module of relax-mlir: {MANIFEST} does not say "format": "{FORMAT}"')
    stated = found.get("version")
    if not isinstance(stated, int) or not 1 <= stated <= FORMAT_VERSION:
        writer = found.get("written_by", "an unknown writer")
        raise _Invalid(
            f"version {stated!r} of the format, by {writer}; relax-mlir {version()} reads up to {FORMAT_VERSION}"
        )
    weights = found.get("weights")
    if not isinstance(weights, dict) or not all(isinstance(entry, dict) for entry in weights.values()):
        raise _Invalid(f'{MANIFEST} has no table "weights"')
    return found


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    with _open(archive, name) as member:
        return member.read()


def _open(archive: zipfile.ZipFile, name: object) -> IO[bytes]:
    try:
        info = archive.getinfo(str(name))
    except KeyError:
        raise _Invalid(f"has no entry '{name}'") from None
    if info.compress_type != zipfile.ZIP_STORED:
        raise _Invalid(f"entry '{name}' is compressed; modules are saved uncompressed")
    return archive.open(info)


def _array(archive: zipfile.ZipFile, name: str, entry: Mapping[str, Any]) -> Array:
    """A weight, after its header has been compared with the manifest and with the size of the data."""
    try:
        dtype = dtypes.dtype(str(entry.get("dtype")))
    except UnknownNameError as error:
        raise _Invalid(f"weight '{name}': {error}") from None
    shape = entry.get("shape")
    if not isinstance(shape, list) or not all(isinstance(d, int) and d >= 0 for d in shape):
        raise _Invalid(f"weight '{name}': its shape is {shape!r}")
    stored = np.dtype(np.uint16) if dtype.name == "bfloat16" else np.dtype(dtype.numpy)
    with _open(archive, entry.get("member")) as member:
        found = _header(member, name)
        if found != (tuple(shape), False, stored):
            told = f"{dtype.name} {tuple(shape)}"
            raise _Invalid(f"weight '{name}': expected {told}, its entry has {found[2]} {found[0]}")
        data = member.read()
    expected = int(np.prod([*shape, stored.itemsize], dtype=object))
    if len(data) != expected:
        raise _Invalid(f"weight '{name}': {len(data)} bytes, expected {expected}")
    return np.frombuffer(data, stored).view(dtype.numpy).reshape(shape)


def _header(member: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape, true if the order is Fortran's, and the dtype."""
    try:
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[np.lib.format.read_magic(member)]
        return read(member)
    except (ValueError, KeyError, TypeError, SyntaxError, RecursionError) as error:
        raise _Invalid(f"weight '{name}': no array in NumPy's format: {error}") from None


def attach_weights(module: ir.Module, arrays: Mapping[str, Array], what: str) -> None:
    """Replace the resource names in the module's text by the weights.

    Raises ParseError for a weight that is missing or of another type; its message begins with `what`.
    """
    wanted = resources(module.operation)
    if missing := sorted(wanted.keys() - arrays.keys()):
        names = ", ".join(f"'{name}'" for name in missing)
        raise ParseError(f"{what} has weights that are not in the file: {names}")
    with module.context, ir.Location.unknown():
        made = {name: constants.to_attribute(arrays[name], name) for name in wanted}
        for name, attribute in wanted.items():
            if made[name].type != attribute.type:
                raise ParseError(
                    f"{what}: weight '{name}' is {made[name].type}, the text says {attribute.type}"
                )
        replace_resources(module.operation, made)
