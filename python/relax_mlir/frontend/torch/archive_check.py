"""Check ``.pt2`` files before torch reads them; files that could run code are rejected.

``torch.export.load`` can run code not only through pickles. Each of these cases has a rule here:

- pickles (sample inputs, weights and constants with ``use_pickle``, all tensors of older layouts) are read by the
  unpickler of ``torch.load(weights_only=True)``, which accepts tensors and plain containers only;
- custom objects (torchbind), opaque objects and libraries of AOTInductor are native code, or arbitrary pickles;
- sizes (``expr_str``) and guards are evaluated as Python: their syntax trees may contain only arithmetic;
- names of nodes, and of what they read, are pasted into the source of the graph: they must be identifiers, or contain
  no quotation marks;
- operators are looked up by attribute access from ``torch``: they must be ops, not Python functions;
- specifications of argument trees import modules for some types.

Members are read both by torch's own archive reader and by `zipfile`, which reads older layouts, so that a member that
only one of them sees is checked as well.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import io
import json
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import torch

from relax_mlir.error import UntrustedFileError

_WEIGHTS, _CONSTANTS, _SAMPLES = "data/weights/", "data/constants/", "data/sample_inputs/"
_MODELS, _LIBRARIES = "models/", "data/aotinductor/"
_OLDER_PROGRAM = "serialized_exported_program.json"
_OLDER_PICKLES = ("serialized_state_dict", "serialized_constants", "serialized_example_inputs")
_OBJECTS = ("custom_obj_", "opaque_obj_")

_FREE_TEXT = frozenset({"metadata", "as_string", "as_strings", "torch_version", "stack_trace"})
"""Fields whose strings are only data for torch and never become source."""
_NAMES = frozenset({"name", "as_name", "forward_arg_names"})
"""Fields that become names in the source of the graph."""
_OPERATORS = frozenset({"target", "as_operator"})
_TREES = frozenset({"in_spec", "out_spec"})

_HARMLESS = re.compile(r'[^"\\\x00-\x1f\x7f-\x9f\u2028\u2029]*')
_OP = re.compile(r"torch\.ops\.(?!load_library\b|import_module\b|loaded_libraries\b)[A-Za-z]\w*(\.\w+){1,2}")
_SCALAR_FUNCTION = re.compile(
    r"_operator\.(?!call\b|attrgetter\b|itemgetter\b|methodcaller\b)\w+|math\.\w+|torch\.(_)?sym_\w+"
)
_EXTENSION = re.compile(r"#\w+:[\w.:]+")

_SIZE_FUNCTIONS = frozenset(
    [
        *("Symbol", "Integer", "Float", "Rational", "Add", "Mul", "Pow", "Mod", "Max", "Min", "Abs", "And"),
        *("Or", "Not", "Tuple", "Piecewise", "ExprCondPair", "ITE", "Equality", "Unequality", "Eq", "Ne"),
        *("StrictGreaterThan", "StrictLessThan", "GreaterThan", "LessThan", "Gt", "Lt", "Ge", "Le"),
        *("floor", "ceiling", "sqrt", "FloorDiv", "ModularIndexing", "Where", "PythonMod", "CleanDiv"),
        *("CeilToInt", "FloorToInt", "CeilDiv", "LShift", "RShift", "PowByNatural", "FloatPow"),
        *("FloatTrueDiv", "IntTrueDiv", "IsNonOverlappingAndDenseIndicator", "TruncToFloat", "TruncToInt"),
        *("RoundToInt", "RoundDecimal", "ToFloat", "Identity", "BitwiseFn_bitwise_and"),
        *("BitwiseFn_bitwise_or", "BitwiseFn_bitwise_xor"),
    ]
)
_UNARY_FUNCTION = re.compile(r"OpaqueUnaryFn_[a-z]\w*")
_SIZE_TEXT = re.compile(r"[\w.+-]*")
_GUARD_FUNCTIONS = _SIZE_FUNCTIONS | {*("max", "min", "abs", "int", "float", "bool", "len", "sym_max", "sym_min")}
_GUARD_METHODS = frozenset({"size", "stride", "storage_offset", "dim", "numel", "ndim", "shape", "item", "node"})
_GUARD_KEY = re.compile(r"[\w .:/-]*")
_ARITHMETIC = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Name, ast.Constant, ast.Call),
    *(ast.Load, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.keyword, ast.Tuple),
)
_IN_GUARDS = (*_ARITHMETIC, ast.Subscript, ast.Attribute)
_FACTORIES = frozenset({"list", "dict", "set", "tuple", "int", "float", "str", "bool"})


def check_archive(stream: IO[bytes], path: str | Path) -> None:
    """Raise `UntrustedFileError` if ``torch.export.load`` of this stream could run code from it; `path` is its name.

    A stream that neither reader can open passes: torch reports the error. Load the same stream afterwards, because
    another file may have taken the place of the path.
    """
    seen: set[bytes] = set()
    for members, read in _readers(stream):
        _Check(str(path), members, read, seen).run()
    stream.seek(0)


def _readers(stream: IO[bytes]) -> Iterator[tuple[list[str], Callable[[str], bytes]]]:
    try:
        reader = torch._C.PyTorchFileReader(stream)
        records = list(reader.get_all_records())
    except RuntimeError:
        records = []
    if records:
        yield records, reader.get_record
    stream.seek(0)
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, ValueError):
        return
    with archive:
        names = archive.namelist()
        yield names, archive.read
        roots = {name.partition("/")[0] for name in names if "/" in name}
        for root in sorted(roots):
            inside = [name[len(root) + 1 :] for name in names if name.startswith(f"{root}/")]
            yield inside, functools.partial(_read_below, archive, root)


def _read_below(archive: zipfile.ZipFile, root: str, name: str) -> bytes:
    return archive.read(f"{root}/{name}")


class _Check:
    """The check of an archive with one reader; `seen` holds digests of members that passed with the other reader."""

    def __init__(self, path: str, members: list[str], read: Callable[[str], bytes], seen: set[bytes]) -> None:
        self.path, self.members, self.read, self.seen = path, members, read, seen

    def run(self) -> None:
        for member in self.members:
            folded = member.lower()  # case-insensitive, like torch's reader
            name = folded.rpartition("/")[2]
            if folded.startswith(_LIBRARIES):
                raise self.refused(member, "holds native code of AOTInductor")
            if folded.startswith(_CONSTANTS) and name.startswith(_OBJECTS):
                raise self.refused(member, "holds a custom object, which runs code when it is made")
            if folded.startswith(_SAMPLES) or _is_older_pickle(folded):
                self._check_pickle(member)
            elif folded.startswith((_WEIGHTS, _CONSTANTS)) and name.endswith(".json"):
                self._check_payloads(member)
            elif (folded.startswith(_MODELS) and name) or folded == _OLDER_PROGRAM:
                self._check_program(member)

    def refused(self, member: str, why: str) -> UntrustedFileError:
        return UntrustedFileError(
            f"{self.path}: its member {member} {why}: reading it could run any code. If you trust the source of "
            "the file, load it with relax_mlir.load(path, trusted=True), or --trusted on the command line"
        )

    def _check_pickle(self, member: str) -> None:
        """Read a pickle with torch's restricted unpickler and discard the result."""
        data = self.read(member)
        if not data or self._is_known(b"pickle", data):
            return
        # Sample inputs of a program exported from fake tensors; they are not created here.
        of_fake_tensors = (_ignored, "torch._export.serde.serialize._reconstruct_fake_tensor")
        try:
            with warnings.catch_warnings(), torch.serialization.safe_globals([of_fake_tensors]):
                warnings.simplefilter("ignore")
                torch.load(io.BytesIO(data), weights_only=True)
        except Exception as error:  # damaged pickles raise various errors, and torch would read them unrestricted
            lines = [line.strip() for line in str(error).splitlines() if "WeightsUnpickler error" in line]
            reason = f" ({lines[0]})" if lines else ""
            message = f"is a pickle of more than tensors and plain containers{reason}"
            raise self.refused(member, message) from None

    def _check_payloads(self, member: str) -> None:
        folder = _WEIGHTS if member.lower().startswith(_WEIGHTS) else _CONSTANTS
        config = self._json(member, self.read(member))
        entries = config.get("config") if isinstance(config, dict) else None
        for entry in (entries if isinstance(entries, dict) else {}).values():
            name = str(entry.get("path_name", "")) if isinstance(entry, dict) else ""
            if name.startswith(_OBJECTS):
                raise self.refused(os.path.join(folder, name), "holds a custom object, which runs code when it is made")
            if name and entry.get("use_pickle"):
                self._check_pickle(os.path.join(folder, name))

    def _is_known(self, kind: bytes, data: bytes) -> bool:
        digest = kind + hashlib.sha256(data).digest()
        known = digest in self.seen
        self.seen.add(digest)
        return known

    def _json(self, member: str, data: bytes) -> Any:  # noqa: ANN401 - what JSON holds
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self.refused(member, f"is not JSON ({error})") from None

    def _check_program(self, member: str) -> None:
        data = self.read(member)
        if self._is_known(b"program", data):
            return
        try:
            for field, value in _strings(self._json(member, data)):
                if why := _wrong_string(field, value):
                    raise self.refused(member, f"has {why}")
        except RecursionError:
            raise self.refused(member, "is nested too deep to be checked") from None


def _is_older_pickle(member: str) -> bool:
    of_a_model = member.startswith((_WEIGHTS, _CONSTANTS)) and member.endswith(".pt")
    return of_a_model or member.startswith(_OLDER_PICKLES)


def _ignored(*_: object) -> None:
    return None


def _strings(node: Any, field: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401 - what JSON holds
    """Yield the strings of a program that torch may turn into source, with their fields (``key`` for keys)."""
    if isinstance(node, str):
        yield field, node
    elif isinstance(node, list):
        for item in node:
            yield from _strings(item, field)
    elif isinstance(node, Mapping):
        for key, value in node.items():
            yield "key", key
            if key not in _FREE_TEXT:
                yield from _strings(value, key)


def _wrong_string(field: str, value: str) -> str:
    """Return the reason why a string of a program may be code, or ""."""
    if field in _TREES:
        return _wrong_tree(value, is_input=field == "in_spec")
    if field == "expr_str":
        return "" if _is_arithmetic(value, in_guard=False) else f"a size that is no arithmetic: {value[:80]!r}"
    if field == "guards_code":
        return "" if _is_arithmetic(value, in_guard=True) else f"a guard that is no arithmetic: {value[:80]!r}"
    if field in _OPERATORS and value.startswith(("torch", "_operator", "math", "#")):
        # Other targets are names of parameters and buffers.
        known = any(rule.fullmatch(value) for rule in (_OP, _SCALAR_FUNCTION, _EXTENSION))
        return "" if known else f"the operator {value[:80]!r}, which is none of torch.ops"
    if field in _NAMES:
        return "" if not value or value.isidentifier() else f"a name that is no identifier: {value[:80]!r}"
    return "" if _HARMLESS.fullmatch(value) else f"a {field} with quotation marks or controls: {value[:80]!r}"


def _is_arithmetic(text: str, in_guard: bool) -> bool:
    """True if an expression contains only arithmetic and calls of known functions, and in guards also paths."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return all(_is_known(node, in_guard) for node in ast.walk(tree))


def _is_known(node: ast.AST, in_guard: bool) -> bool:
    if not isinstance(node, _IN_GUARDS if in_guard else _ARITHMETIC):
        return False
    if isinstance(node, ast.Name):
        return not node.id.startswith("_")
    if isinstance(node, ast.Attribute):
        return node.attr in _GUARD_METHODS
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return bool((_GUARD_KEY if in_guard else _SIZE_TEXT).fullmatch(node.value))
        return isinstance(node.value, bool | int | float)
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute):
            return in_guard
        known = _GUARD_FUNCTIONS if in_guard else _SIZE_FUNCTIONS
        return isinstance(function, ast.Name) and (
            function.id in known or _UNARY_FUNCTION.fullmatch(function.id) is not None
        )
    return True


def _wrong_tree(text: str, is_input: bool) -> str:
    """Return why a tree specification may run code (it imports a module, or has invalid names), or ""."""
    try:
        spec = json.loads(text) if text else None
    except ValueError:
        return f"a tree of arguments that is not JSON: {text[:80]!r}"
    if _imports(spec):
        return "a tree of arguments with a type that a module is imported for"
    for name in _keyword_names(spec) if is_input else ():
        if not isinstance(name, str) or not name.isidentifier():
            return f"a keyword argument whose name is no identifier: {str(name)[:80]!r}"
    return ""


def _imports(node: Any) -> bool:  # noqa: ANN401 - what JSON holds
    if isinstance(node, str):
        try:
            inner = json.loads(node)
        except ValueError:
            return False
        return not isinstance(inner, str) and _imports(inner)
    if isinstance(node, list):
        return any(_imports(item) for item in node)
    if not isinstance(node, dict):
        return False
    if "__enum__" in node:
        return True
    if "default_factory_module" in node or "default_factory_name" in node:
        plain = node.get("default_factory_module") == "builtins"
        return not (plain and node.get("default_factory_name") in _FACTORIES)
    return any(_imports(value) for value in node.values())


def _keyword_names(spec: Any) -> list[Any]:  # noqa: ANN401 - what JSON holds
    """Return the names of keyword arguments in the specification ``[version, tuple of (positional, keywords)]``."""
    try:
        keywords = spec[1]["children_spec"][1]
        names = json.loads(keywords["context"])
    except (TypeError, LookupError, ValueError):
        return []
    return names if isinstance(names, list) else []
