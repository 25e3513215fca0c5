"""MLIR's C API through `ctypes`: its calls release the GIL, which the bindings hold.

So threads parse, lower and compile in parallel; a fork waits for them (`relax_mlir.fork_safety`). Calls of
microseconds keep the GIL (`quick_library`): while another thread runs Python code, acquiring the GIL again takes longer
than the call.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from relax_mlir.error import CompileError
from relax_mlir.fork_safety import Order, native_call, process_lock
from relax_mlir.memory_left import CONTEXT, for_text, require
from relax_mlir.mlir import ExecutionEngine, ir, libraries

_LibraryT = TypeVar("_LibraryT", ctypes.CDLL, ctypes.PyDLL)

_POINTER, _BOOL = ctypes.c_void_p, ctypes.c_bool


class Text(ctypes.Structure):
    """MlirStringRef: a string that need not be zero-terminated."""

    _fields_ = (("data", ctypes.c_char_p), ("length", ctypes.c_size_t))


class _Message(ctypes.Structure):
    """MlirStringRef as passed by MLIR."""

    _fields_ = (("data", _POINTER), ("length", ctypes.c_size_t))


_Note = ctypes.CFUNCTYPE(None, _Message, _POINTER)
"""MlirStringCallback."""

_SIGNATURES: dict[str, tuple[Any, Sequence[Any]]] = {
    "mlirContextGetNumLoadedDialects": (ctypes.c_ssize_t, [_POINTER]),
    "mlirContextGetOrLoadDialect": (_POINTER, [_POINTER, Text]),
    "mlirModuleCreateParse": (_POINTER, [_POINTER, Text]),
    "mlirPassManagerCreate": (_POINTER, [_POINTER]),
    "mlirPassManagerGetAsOpPassManager": (_POINTER, [_POINTER]),
    "mlirPassManagerEnableVerifier": (None, [_POINTER, _BOOL]),
    "mlirPassManagerRunOnOp": (ctypes.c_int8, [_POINTER, _POINTER]),
    "mlirParsePassPipeline": (ctypes.c_int8, [_POINTER, Text, _Note, _POINTER]),
    "mlirDenseElementsAttrGetRawData": (_POINTER, [_POINTER]),
    "mlirTranslateModuleToLLVMIRToString": (_POINTER, [_POINTER]),
    "mlirExecutionEngineCreate": (
        _POINTER,
        [_POINTER, ctypes.c_int, ctypes.c_int, ctypes.POINTER(Text), _BOOL, _BOOL],
    ),
    "mlirExecutionEngineDestroy": (None, [_POINTER]),
    "mlirExecutionEngineLookup": (_POINTER, [_POINTER, Text]),
    "mlirExecutionEngineRegisterSymbol": (None, [_POINTER, Text, _POINTER]),
    "mlirExecutionEngineDumpToObjectFile": (None, [_POINTER, Text]),
    "LLVMParseCommandLineOptions": (None, [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p), ctypes.c_char_p]),
    "LLVMDisposeMessage": (None, [_POINTER]),
}
"""Result and argument types of each function in use: MLIR's handles are structures of one pointer."""


def library_path() -> Path:
    """The shared library with the C API."""
    folder = Path(str(libraries.__file__)).parent
    found = sorted(folder.glob("lib*CAPI*.so*")) + sorted(folder.glob("lib*CAPI*.dylib"))
    if not found:
        raise ImportError(f"no MLIR C API library in {folder}")
    return found[0]


class FreeLibrary:
    """The C API, through calls that release the GIL."""

    def __init__(self, path: Path) -> None:
        loaded = _with_signatures(ctypes.CDLL(str(path)))
        for name in _SIGNATURES:
            setattr(self, name, _native(getattr(loaded, name)))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...


def _native(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:  # noqa: ANN401 - those of the function
        with native_call:
            return function(*arguments)

    return call


@functools.cache
def library() -> FreeLibrary:
    """The C API with the signatures of the functions in use; calls release the GIL."""
    return FreeLibrary(library_path())


@functools.cache
def quick_library() -> ctypes.PyDLL:
    """The C API, through calls that keep the GIL."""
    return _with_signatures(ctypes.PyDLL(str(library_path())))


def _with_signatures(loaded: _LibraryT) -> _LibraryT:
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def text(value: str | bytes) -> Text:
    """`value` as an MlirStringRef, valid as long as the returned object is referenced."""
    data = value.encode() if isinstance(value, str) else value
    return Text(data, len(data))


def pointer(wrapped: ir.Context | ir.Module | ir.Operation | ir.Attribute | ExecutionEngine) -> int:
    """The address that an object of the bindings (a module, an operation, an attribute, an engine) points to."""
    capsule = wrapped._CAPIPtr
    name, address = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address.restype, address.argtypes = _POINTER, [ctypes.py_object, ctypes.c_char_p]
    return int(address(capsule, name(capsule)))


def parse_module(source: bytes, context: ir.Context) -> ir.Module:
    """A module from text or bytecode; raises CompileError if it is neither (MLIR's message is on stderr)."""
    require("a module", for_text(len(source)))
    address = library().mlirModuleCreateParse(pointer(context), text(source))
    if not address:
        raise CompileError("a part of the module cannot be parsed (MLIR's message is on stderr)")
    create = ctypes.pythonapi.PyCapsule_New
    create.restype, create.argtypes = ctypes.py_object, [_POINTER, ctypes.c_char_p, _POINTER]
    return ir.Module._CAPICreate(create(address, _module_capsule(), None))


@functools.cache
def _module_capsule() -> ctypes.c_char_p:
    """The name that the bindings give capsules of modules; capsules refer to this memory."""
    return ctypes.c_char_p(f"{ir.Module.__module__.partition('.')[0]}.ir.Module._CAPIPtr".encode())


class PassPipeline:
    """An MLIR pass pipeline for the modules of a context, which are not verified; for one thread at a time.

    Args:
        elements: the passes, as written between the parentheses of ``builtin.module(…)``.
        context: the context.

    Raises CompileError for passes that MLIR rejects.
    """

    def __init__(self, elements: str, context: ir.Context) -> None:
        messages: list[bytes] = []

        def note(message: _Message, _: int) -> None:
            messages.append(ctypes.string_at(message.data, message.length))

        self._context = context
        """Must live as long as the pass manager, which lives as long as the process."""
        quick = quick_library()
        self._manager = quick.mlirPassManagerCreate(pointer(context))
        passes = quick.mlirPassManagerGetAsOpPassManager(self._manager)
        if not quick.mlirParsePassPipeline(passes, text(f"builtin.module({elements})"), _Note(note), None):
            raise CompileError(b"".join(messages).decode(errors="replace").strip())
        quick.mlirPassManagerEnableVerifier(self._manager, False)

    def run(self, module: ir.Module) -> bool:
        """Run the passes on a module, in place; false if one fails (MLIR's message is on stderr)."""
        return bool(library().mlirPassManagerRunOnOp(self._manager, pointer(module.operation)))


# A context for IR that belongs to no user's module.

PART_DIALECTS = frozenset(
    (
        *("affine", "arith", "builtin", "cf", "func", "index", "llvm", "math", "memref", "scf", "ub"),
        *("vector", "x86"),
    )
)
"""The dialects of levels V, F and L, which are those of a module's compilation units."""

_ALL_DIALECTS = b"""
module attributes {dlti.dl_spec = #dlti.dl_spec<>} {
  func.func private @one_op_of_each(%tensor: tensor<0xf32>) {
    %apply = affine.apply affine_map<() -> (0)>()
    %number = arith.constant 0.0 : f32
    %index = index.constant 0
    %pointer = llvm.mlir.zero : !llvm.ptr
    %size = math.absf %number : f32
    %memory = memref.alloca() : memref<1xf32>
    %region = scf.execute_region -> f32 {
      scf.yield %number : f32
    }
    %poison = ub.poison : f32
    %vector = vector.broadcast %number : f32 to vector<8xf32>
    %root = x86.avx.rsqrt %vector : vector<8xf32>
    %dim = tensor.dim %tensor, %index : tensor<0xf32>
    cf.br ^end
  ^end:
    return
  }
}
"""
"""Parsing this text loads all dialects that levels V, F and L need, in one call that releases the GIL.

These are `PART_DIALECTS`, and dlti and tensor for the passes. Nothing is loaded later, when several threads run."""

_lock = process_lock(Order.SPARE_CONTEXT)


def spare_context() -> ir.Context:
    """A context that several threads may use concurrently.

    It loads only `PART_DIALECTS`, at its creation: loading all dialects takes as long as compiling a small function.
    """
    with _lock:
        return _spare_context()


@functools.cache
def _spare_context() -> ir.Context:
    require("a context", CONTEXT)
    context = ir.Context(load_on_create_dialects=[])
    parse_module(_ALL_DIALECTS, context)
    return context


# Versions of modules: a change of a module may free ops, so older views of its functions are refused.


class Version:
    """The state of a module when a view of it was created; it ends with the next change."""

    __slots__ = ("__weakref__", "_op", "is_current")

    def __init__(self, op: ir.Operation | None = None) -> None:
        self._op = op  # while it lives, its address is that of no other op
        self.is_current = op is not None


_current: WeakValueDictionary[int, Version] = WeakValueDictionary()
"""The versions that views refer to, by the address of the outermost op; a module without views has no entry.

The hash of an op changes with its attributes.
"""


def version(op: ir.Operation | ir.OpView) -> Version:
    """The current version of the module that contains `op`."""
    outermost = _outermost(op)
    return _current.setdefault(pointer(outermost), Version(outermost))


def changed(op: ir.Operation | ir.OpView) -> None:
    """Record a change of the module that contains `op`: older views are refused."""
    ended = _current.pop(pointer(_outermost(op)), None)
    if ended is not None:
        ended.is_current = False


def _outermost(op: ir.Operation | ir.OpView) -> ir.Operation:
    outermost: ir.Operation = op.operation
    while (parent := outermost.parent) is not None:
        outermost = parent.operation
    return outermost
