"""The file format of modules: IR text and weights in one ZIP archive (`IRModule.save`, `IRModule.load`).

The archive contains, uncompressed, ``module.mlir`` (text with locations and names, weights elided), one
``weights/NUMBER-NAME.npy`` per weight, so that ``numpy.load`` and any ZIP tool can look inside, and
``relax-mlir.json``: the version of the format, and the dtypes.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from relax_mlir._version import version
from relax_mlir.dialects import constants, dtypes
from relax_mlir.dialects.constants import is_resource
from relax_mlir.error import ArgumentError, ParseError, UnknownNameError, UnsupportedError
from relax_mlir.files import open_regular
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import ir

# Modules as text, and atomic writes of files.

RESOURCE_LIMIT = 64
"""Size in bytes of a resource blob (a weight) above which it is elided from printed modules."""


@dataclass(frozen=True)
class PrintOptions:
    """Options of printing a module; the defaults show everything but large weights and locations."""

    debug_info: bool = False
    elements_limit: int | None = None
    generic: bool = False
    local_scope: bool = False
    value_names: bool = True
    """Name values after the names of their locations, not by numbers."""
    assume_verified: bool = False
    """Print ops in their custom syntax without verifying them."""
    without_body: Callable[[ir.Operation], bool] | None = None
    """True for the functions of which only name and type are printed."""


DEFAULT = PrintOptions()


def module_text(module: ir.Module | ir.Operation, options: PrintOptions = DEFAULT) -> str:
    """The module's assembly, ending in a newline.

    A module with weights is printed without aliases (``#map``): to collect them, MLIR would format every weight, even
    those that it elides.
    """
    if options.without_body is not None:
        module = _without_bodies(module.operation, options.without_body)
    limit = None if options.elements_limit is None else min(max(options.elements_limit, 0), 2**63 - 1)
    text: str = module.operation.get_asm(
        enable_debug_info=options.debug_info,
        large_elements_limit=limit,
        large_resource_limit=RESOURCE_LIMIT if limit is None else limit,
        print_generic_op_form=options.generic,
        assume_verified=options.assume_verified,
        use_name_loc_as_prefix=options.value_names,
        use_local_scope=options.local_scope or has_weights(module),
    )
    return text.rstrip("\n") + "\n"


def _without_bodies(op: ir.Operation, chosen: Callable[[ir.Operation], bool]) -> ir.Operation:
    """A copy of a module in which the chosen functions are declarations, each on one line.

    ``relax.elided`` is the number of ops in their bodies. A function that is printed by itself keeps its body.
    """
    if op.name != "builtin.module":
        return op
    copy: ir.Operation = op.clone(ip=False)
    with copy.context:
        for top in list(entry_block(copy).operations):
            function = top.operation
            is_function = function.name in ("func.func", "llvm.func") and len(function.regions[0].blocks)
            if is_function and chosen(function):
                _declare(function)
    return copy


def _declare(function: ir.Operation) -> None:
    """Replace a function by a declaration of its name and type."""
    count = sum(len(block.operations) for region in function.regions for block in region.blocks)
    attributes: dict[str, ir.Attribute] = {name: function.attributes[name] for name in ("sym_name", "function_type")}
    attributes["relax.elided"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), count)
    if function.name == "func.func":
        attributes["sym_visibility"] = ir.StringAttr.get("private")
    with ir.InsertionPoint(function), function.location:
        ir.Operation.create(function.name, attributes=attributes, regions=1)
    function.erase()


def has_weights(module: ir.Module | ir.Operation) -> bool:
    """True if a constant of the module's functions, or of its constant table, is a resource."""
    return any(is_resource(value) for top in entry_block(module.operation).operations for value in _constants(top))


def _constants(top: ir.OpView) -> Iterator[ir.Attribute]:
    if "relax.constant_value" in top.attributes:
        yield top.attributes["relax.constant_value"]
    for region in top.operation.regions:
        for block in region.blocks:
            for op in block.operations:
                if op.operation.name == "relax.constant":
                    yield op.attributes["value"]
                elif op.operation.name == "relax.dataflow":
                    yield from _constants(op)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write to a temporary file in the same folder, then move it: readers see all of it or nothing.

    Paths other than regular files (``/dev/null``, a pipe) are written directly.
    """
    with writing_atomically(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def writing_atomically(path: Path) -> Iterator[IO[bytes]]:
    """`write_atomically` with a stream: the file appears when the context exits without an error."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "its name has a NUL character")
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def file_name(pass_name: str) -> str:
    """A pass name in a form that is valid in a file name."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in pass_name)


# The weights of ops: find, replace and remove resources, also in arrays and dictionaries of attributes.

_WITHOUT_USE_LISTS = 2
"""The version of MLIR's bytecode that does not record the order of uses, which is not part of the program."""


def resources(op: ir.Operation) -> dict[str, ir.Attribute]:
    """The weights among the attributes of all ops in `op`, by resource name."""
    return {constants.resource_name(weight): weight for weight in dict.fromkeys(_in_order(op))}


def replace_resources(op: ir.Operation, made: Mapping[str, ir.Attribute]) -> None:
    """Replace the resources of these names by the attributes `made`."""

    def visit(inner: ir.Operation) -> ir.WalkResult:
        attributes = inner.attributes
        for name in _weight_names(inner):
            attributes[name] = _replaced(attributes[name], made)
        return ir.WalkResult.ADVANCE

    with op.context:
        op.walk(visit)


def copied(op: ir.Operation, context: ir.Context) -> ir.Operation:
    """A copy of an op in `context`, with names and locations; weights are shared.

    Raises:
        ir.MLIRError: `op` is not valid. UnsupportedError: the data of a weight is missing; names it.
    """
    if op.context == context:
        clone: ir.Operation = op.clone(ip=False)
        return clone
    weights = _in_order(op)
    constants.require(weights)
    # In local scope, data of resources is not printed.
    text = op.get_asm(print_generic_op_form=True, enable_debug_info=True, use_local_scope=True)
    with context, ir.Location.unknown():
        copy: ir.Operation = ir.Operation.parse(text).operation
        # The parser renames resources whose names exist in the context.
        replace_resources(copy, _shared(_in_order(copy), weights))
    return copy


def attribute_in(attribute: ir.Attribute, context: ir.Context) -> ir.Attribute:
    """An attribute in `context`; its weights are shared.

    Raises UnsupportedError if the data of a weight is missing.
    """
    if attribute.context == context:
        return attribute
    with context, ir.Location.unknown():
        parsed: ir.Attribute = ir.Attribute.parse(str(attribute))
        weights = list(_weights_in(attribute))
        return _replaced(parsed, _shared(list(_weights_in(parsed)), weights)) if weights else parsed


def content(attribute: ir.Attribute) -> str:
    """The text of an attribute, with hashes of the weights' elements in place of their names."""
    weights = dict.fromkeys(_weights_in(attribute))
    if not weights:
        return str(attribute)
    with attribute.context:
        hashes: dict[str, ir.Attribute] = {}
        for weight in weights:
            elements = hashlib.sha256(constants.to_numpy(weight).tobytes()).hexdigest()
            name = constants.resource_name(weight)
            hashes[name] = ir.DictAttr.get({elements: ir.TypeAttr.get(weight.type)})
        return f"{len(weights)} weights in {_replaced(attribute, hashes)}"


def _shared(resources: Sequence[ir.Attribute], weights: Sequence[ir.Attribute]) -> dict[str, ir.Attribute]:
    """Weights in the current context, by the names that the parser gave their resources."""
    made: dict[str, ir.Attribute] = {}
    for name, weight in zip(map(constants.resource_name, resources), weights, strict=True):
        if name not in made:
            made[name] = constants.to_attribute(constants.to_numpy(weight))
    return made


def program_bytes(
    op: ir.Operation, chosen: Callable[[ir.Operation], Iterable[str]] | None = None
) -> tuple[bytes, list[tuple[int, str, ir.Attribute]]]:
    """A canonical encoding of an op and its locations: two ops of a context with equal encodings are the same program.

    Args:
        op: an op; it may be invalid.
        chosen: the names of the attributes of an op to treat as weights; by default, all weights.

    Returns:
        MLIR's bytecode of the op without these weights; each weight with the number of its op and the name of the
        attribute. The bytes are the same in every context and process.
    """
    copy = op.clone(ip=False)
    taken: list[tuple[int, str, ir.Attribute]] = []
    number = 0
    with op.context:
        nothing = ir.UnitAttr.get()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        nonlocal number
        number += 1
        for name in _weight_names(inner, deep=False) if chosen is None else chosen(inner):
            taken.append((number, name, inner.attributes[name]))
            inner.attributes[name] = nothing
        return ir.WalkResult.ADVANCE

    copy.walk(visit, ir.WalkOrder.PRE_ORDER)
    stream = io.BytesIO()
    copy.write_bytecode(stream, _WITHOUT_USE_LISTS)
    return stream.getvalue(), taken


def has_hidden_resources(op: ir.Operation) -> bool:
    """True if a type or a location in `op` holds a resource, which `resources` does not find."""
    copy = op.clone(ip=False)
    with op.context:
        none = dict.fromkeys(resources(copy), ir.UnitAttr.get())
    replace_resources(copy, none)
    if "dense_resource<" not in copy.get_asm(print_generic_op_form=True, enable_debug_info=True):
        return False
    # MLIR writes no section of resources for an op without resources, whatever its strings contain.
    text: str = copy.get_asm(print_generic_op_form=True, enable_debug_info=True, assume_verified=True)
    return text.rstrip().endswith("#-}")


def _in_order(op: ir.Operation) -> list[ir.Attribute]:
    """The weights of all ops in `op`, in order."""
    found: list[ir.Attribute] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        attributes = inner.attributes
        for name in _weight_names(inner):
            found.extend(_weights_in(attributes[name]))
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _weight_names(op: ir.Operation, *, deep: bool = True) -> list[str]:
    """The names of the attributes of an op that are weights, or (`deep`) contain some."""
    attributes = op.attributes
    return [name for name in attributes if _is_weight(attributes[name], deep)]


def _is_weight(attribute: ir.Attribute, deep: bool) -> bool:
    return any(_weights_in(attribute)) if deep else constants.is_resource(attribute)


def _weights_in(attribute: ir.Attribute) -> Iterator[ir.Attribute]:
    if isinstance(attribute, ir.ArrayAttr):
        for item in attribute:
            yield from _weights_in(item)
    elif isinstance(attribute, ir.DictAttr):
        for named in attribute:
            yield from _weights_in(named.attr)
    elif constants.is_resource(attribute):
        yield attribute


def _replaced(attribute: ir.Attribute, made: Mapping[str, ir.Attribute]) -> ir.Attribute:
    """An attribute with its resources replaced by those of `made`; needs a current context."""
    if isinstance(attribute, ir.ArrayAttr):
        return ir.ArrayAttr.get([_replaced(item, made) for item in attribute])
    if isinstance(attribute, ir.DictAttr):
        return ir.DictAttr.get({named.name: _replaced(named.attr, made) for named in attribute})
    return made[constants.resource_name(attribute)] if constants.is_resource(attribute) else attribute


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
    return np.ascontiguousarray(array.view(np.uint16) if array.dtype == dtypes.dtype("bfloat16").numpy else array)


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
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[
            np.lib.format.read_magic(member)
        ]
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
                raise ParseError(f"{what}: weight '{name}' is {made[name].type}, the text says {attribute.type}")
        replace_resources(module.operation, made)
