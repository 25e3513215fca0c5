"""Types of the bindings' module `ir`: the parts that the project uses.

Taken from the signatures in the bindings. Where the class of what is returned depends on the IR, `Any` stands.
"""

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Final, Generic, Literal, overload

import numpy as np
from typing_extensions import Buffer, Self, TypeVar

class DiagnosticSeverity(enum.Enum):
    ERROR = 0
    WARNING = 1
    NOTE = 2
    REMARK = 3

class WalkOrder(enum.Enum):
    PRE_ORDER = 0
    POST_ORDER = 1

class WalkResult(enum.Enum):
    ADVANCE = 0
    INTERRUPT = 1
    SKIP = 2

class Context:
    @property
    def _CAPIPtr(self) -> object: ...
    current: Final[Context | None]
    """The context of this thread, if one is entered."""

    allow_unregistered_dialects: bool
    emit_error_diagnostics: bool

    def __init__(
        self, load_on_create_dialects: Sequence[str] | None = None, thread_pool: object | None = None
    ) -> None: ...
    def __enter__(self) -> Context: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def attach_diagnostic_handler(self, callback: Callable[[Diagnostic], bool]) -> DiagnosticHandler: ...
    def enable_multithreading(self, enable: bool) -> None: ...
    def get_dialect_descriptor(self, dialect_name: str) -> object: ...
    def is_dialect_loaded(self, dialect_name: str) -> bool: ...
    def is_registered_operation(self, operation_name: str) -> bool: ...
    def load_all_available_dialects(self) -> None: ...

class Diagnostic:
    @property
    def severity(self) -> DiagnosticSeverity:
        """Returns the severity of the diagnostic."""

    @property
    def location(self) -> Location:
        """Returns the location associated with the diagnostic."""

    @property
    def message(self) -> str:
        """Returns the message text of the diagnostic."""

    @property
    def notes(self) -> tuple[Diagnostic, ...]:
        """Returns a tuple of attached note diagnostics."""

    def __str__(self) -> str:
        """Returns the diagnostic message as a string."""

class DiagnosticInfo:
    def __init__(self, diag: Diagnostic) -> None:
        """Creates a DiagnosticInfo from a Diagnostic."""

    @property
    def severity(self) -> DiagnosticSeverity:
        """The severity level of the diagnostic."""

    @property
    def location(self) -> Location:
        """The location associated with the diagnostic."""

    @property
    def message(self) -> str:
        """The message text of the diagnostic."""

    @property
    def notes(self) -> list[DiagnosticInfo]:
        """List of attached note diagnostics."""

    def __str__(self) -> str:
        """Returns the diagnostic message as a string."""

class DiagnosticHandler:
    def detach(self) -> None:
        """Detaches the diagnostic handler from the context."""

    @property
    def attached(self) -> bool:
        """Returns True if the handler is attached to a context."""

    @property
    def had_error(self) -> bool:
        """Returns True if an error was encountered during diagnostic handling."""

    def __enter__(self, /) -> DiagnosticHandler:
        """Enters the diagnostic handler as a context manager."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Exits the diagnostic handler context manager."""

class Dialect:
    def __init__(self, descriptor: object) -> None:
        """Creates a Dialect from a DialectDescriptor."""

    @property
    def descriptor(self) -> object:
        """Returns the DialectDescriptor for this dialect."""

    def __repr__(self) -> str:
        """Returns a string representation of the dialect."""

class Location:
    def __enter__(self, /) -> Location:
        """Enters the location as a context manager."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Exits the location context manager."""
    current: Final[Location | Any] = ...
    "Gets the Location bound to the current thread or raises ValueError."

    @staticmethod
    def from_attr(attribute: Attribute, context: Context | None = None) -> Location:
        """Gets a Location from a `LocationAttr`."""

    @staticmethod
    def unknown(context: Context | None = None) -> UnknownLoc:
        """Alias for `UnknownLoc.get()`."""

    @overload
    @staticmethod
    def file(filename: str, line: int, col: int, context: Context | None = None) -> FileLineColLoc:
        """Alias for `FileLineColLoc.get()`."""

    @overload
    @staticmethod
    def file(
        filename: str,
        start_line: int,
        start_col: int,
        end_line: int,
        end_col: int,
        context: Context | None = None,
    ) -> FileLineColLoc:
        """Alias for `FileLineColLoc.get()` over a range."""

    @staticmethod
    def name(name: str, childLoc: Location | None = None, context: Context | None = None) -> NameLoc:
        """Alias for `NameLoc.get()`."""

    @staticmethod
    def callsite(callee: Location, frames: Sequence[Location], context: Context | None = None) -> CallSiteLoc:
        """Alias for `CallSiteLoc.get()`."""

    @staticmethod
    def fused(
        locations: Sequence[Location], metadata: Attribute | None = None, context: Context | None = None
    ) -> Location:
        """Alias for `FusedLoc.get()` (may collapse to a non-fused location)."""

    @property
    def context(self) -> Context:
        """Context that owns the `Location`."""

    @property
    def attr(self) -> Attribute:
        """Get the underlying `LocationAttr`."""

    def emit_error(self, message: str) -> None:
        """Emits an error diagnostic at this location."""

    def __str__(self) -> str:
        """Returns the assembly form of the Location."""

    def __repr__(self) -> str:
        """Returns the assembly representation of the location."""

class UnknownLoc(Location):
    def __init__(self, cast_from_loc: Location) -> None: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(context: Context | None = None) -> UnknownLoc:
        """Gets a Location representing an unknown location."""

class FileLineColLoc(Location):
    def __init__(self, cast_from_loc: Location) -> None: ...
    def __repr__(self) -> str: ...
    @overload
    @staticmethod
    def get(filename: str, line: int, col: int, context: Context | None = None) -> FileLineColLoc:
        """Gets a FileLineColLoc for a file, line, and column."""

    @overload
    @staticmethod
    def get(
        filename: str,
        start_line: int,
        start_col: int,
        end_line: int,
        end_col: int,
        context: Context | None = None,
    ) -> FileLineColLoc:
        """Gets a FileLineColLoc spanning a file and line/column range."""

    @property
    def filename(self) -> str:
        """Gets the filename from a `FileLineColLoc`."""

    @property
    def start_line(self) -> int:
        """Gets the start line number from a `FileLineColLoc`."""

    @property
    def start_col(self) -> int:
        """Gets the start column number from a `FileLineColLoc`."""

    @property
    def end_line(self) -> int:
        """Gets the end line number from a `FileLineColLoc`."""

    @property
    def end_col(self) -> int:
        """Gets the end column number from a `FileLineColLoc`."""

class NameLoc(Location):
    def __init__(self, cast_from_loc: Location) -> None: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(name: str, child_loc: Location | None = None, context: Context | None = None) -> NameLoc:
        """Gets a NameLoc with an optional child location."""

    @property
    def name_str(self) -> str:
        """Gets the name string from a `NameLoc`."""

    @property
    def child_loc(self) -> Location:
        """Gets the child location from a `NameLoc`."""

class CallSiteLoc(Location):
    def __init__(self, cast_from_loc: Location) -> None: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(callee: Location, frames: Sequence[Location], context: Context | None = None) -> CallSiteLoc:
        """Gets a CallSiteLoc chaining a callee and one or more caller frames."""

    @property
    def callee(self) -> Location:
        """Gets the callee location from a `CallSiteLoc`."""

    @property
    def caller(self) -> Location:
        """Gets the caller location from a `CallSiteLoc`."""

class Module:
    @staticmethod
    def _CAPICreate(capsule: object, /) -> Module: ...
    @property
    def _CAPIPtr(self) -> object: ...
    def _clear_mlir_module(self) -> None:
        """Clears the internal MLIR module reference."""

    @staticmethod
    def parse(asm: str | bytes, context: Context | None = None) -> Module:
        """Parses a module's assembly format from a string."""

    @staticmethod
    def parseFile(path: str, context: Context | None = None) -> Module:
        """Parses a module's assembly format from a string."""

    @staticmethod
    def create(loc: Location | None = None) -> Module:
        """Creates an empty module."""

    @property
    def context(self) -> Context:
        """Context that created the `Module`."""

    @property
    def operation(self) -> Operation:
        """Accesses the module as an operation."""

    @property
    def body(self) -> Block:
        """Return the block for this module."""

    def __str__(self) -> str:
        """Gets the assembly form of the operation with default options."""

    def __hash__(self) -> int:
        """Returns the hash value of the module."""

class _OperationBase:
    @property
    def _CAPIPtr(self) -> object: ...
    def __hash__(self) -> int:
        """Returns the hash value of the operation."""

    @property
    def attributes(self) -> OpAttributeMap:
        """Returns a dictionary-like map of operation attributes."""

    @property
    def context(self) -> Context:
        """Context that owns the operation."""

    @property
    def name(self) -> str:
        """Returns the fully qualified name of the operation."""

    @property
    def operands(self) -> OpOperandList:
        """Returns the list of operation operands."""

    @property
    def regions(self) -> RegionSequence:
        """Returns the list of operation regions."""

    @property
    def results(self) -> OpResultList:
        """Returns the list of Operation results."""

    @property
    def result(self) -> OpResult:
        """Shortcut to get an op result if it has only one (throws an error otherwise)."""

    @property
    def location(self) -> Location:
        """Returns the source location the operation was defined or derived from."""

    @location.setter
    def location(self, arg: Location, /) -> None:
        """Sets the source location the operation was defined or derived from."""

    @property
    def parent(self) -> Operation | Any:
        """Returns the parent operation, or `None` if at top level."""

    def __str__(self) -> str:
        """Returns the assembly form of the operation."""

    @overload
    def print(self, state: AsmState, file: object | None = None, binary: bool = False) -> None:
        """Prints the assembly form of the operation to a file like object."""

    @overload
    def print(
        self,
        large_elements_limit: int | None = None,
        large_resource_limit: int | None = None,
        enable_debug_info: bool = False,
        pretty_debug_info: bool = False,
        print_generic_op_form: bool = False,
        use_local_scope: bool = False,
        use_name_loc_as_prefix: bool = False,
        assume_verified: bool = False,
        file: object | None = None,
        binary: bool = False,
        skip_regions: bool = False,
    ) -> None:
        """Prints the assembly form of the operation to a file like object."""

    def write_bytecode(self, file: object, desired_version: int | None = None) -> None:
        """Write the bytecode form of the operation to a file like object."""

    @overload
    def get_asm(
        self,
        binary: Literal[False] = False,
        large_elements_limit: int | None = None,
        large_resource_limit: int | None = None,
        enable_debug_info: bool = False,
        pretty_debug_info: bool = False,
        print_generic_op_form: bool = False,
        use_local_scope: bool = False,
        use_name_loc_as_prefix: bool = False,
        assume_verified: bool = False,
        skip_regions: bool = False,
    ) -> str:
        """The text of the operation."""

    @overload
    def get_asm(self, binary: Literal[True], **options: Any) -> bytes: ...
    def verify(self) -> bool:
        """Verify the operation."""

    def move_after(self, other: _OperationBase) -> None:
        """Puts self immediately after the other operation in its parent block."""

    def move_before(self, other: _OperationBase) -> None:
        """Puts self immediately before the other operation in its parent block."""

    def is_before_in_block(self, other: _OperationBase) -> bool:
        """Checks if this operation is before another in the same block."""

    def __eq__(self, other: object, /) -> bool:
        """Whether both are the same op; an `Operation` equals its view."""

    def clone(self, ip: InsertionPoint | Literal[False] | None = None) -> Any:
        """Creates a deep copy of the operation, and gives its view."""

    def detach_from_parent(self) -> OpView:
        """Detaches the operation from its parent block."""

    @property
    def attached(self) -> bool:
        """Reports if the operation is attached to its parent block."""

    def erase(self) -> None:
        """Erases the operation and frees its memory."""

    def walk(
        self,
        callback: Callable[[Operation], WalkResult],
        walk_order: WalkOrder = ...,
        op_class: type[OpView] | None = None,
    ) -> None:
        """Walks the operation tree with a callback function."""

    def has_trait(self, trait_cls: type) -> bool:
        """Checks if the operation has a given trait."""

class Operation(_OperationBase):
    @staticmethod
    def create(
        name: str,
        results: Sequence[Type] | None = None,
        operands: Sequence[Value] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        successors: Sequence[Block] | None = None,
        regions: int = 0,
        loc: Location | None = None,
        ip: object | None = None,
        infer_type: bool = False,
    ) -> Operation:
        """Creates a new operation."""

    @staticmethod
    def parse(source: str | bytes, *, source_name: str = "", context: Context | None = None) -> OpView:
        """Parses an operation."""

    @property
    def operation(self) -> Operation:
        """Returns self (the operation)."""

    @property
    def opview(self) -> Any:
        """Returns an OpView of this operation."""

    @property
    def block(self) -> Block:
        """Returns the block containing this operation."""

    @property
    def successors(self) -> OpSuccessors:
        """Returns the list of Operation successors."""

    def replace_uses_of_with(self, of: Value, with_: Value) -> None:
        """Replaces uses of the 'of' value with the 'with' value inside the operation."""

    def _set_invalid(self) -> None:
        """Invalidate the operation."""

class OpView(_OperationBase):
    @overload
    def __init__(self, operation: Operation) -> None: ...
    @overload
    def __init__(
        self,
        name: str,
        opRegionSpec: tuple[int, bool],
        operandSegmentSpecObj: object | None = None,
        resultSegmentSpecObj: object | None = None,
        results: Sequence[Type | Sequence[Type]] | None = None,
        operands: Sequence[Value | _OperationBase | Sequence[Value]] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        successors: Sequence[Block] | None = None,
        regions: int | None = None,
        loc: Location | None = None,
        ip: object | None = None,
    ) -> None: ...
    @property
    def operation(self) -> Operation: ...
    @property
    def opview(self) -> OpView: ...
    def __str__(self) -> str: ...
    @property
    def successors(self) -> OpSuccessors:
        """Returns the list of Operation successors."""

    def _set_invalid(self) -> None:
        """Invalidate the operation."""
    OPERATION_NAME: ClassVar[str]
    _ODS_REGIONS: ClassVar[tuple[int, bool]]
    _ODS_OPERAND_SEGMENTS: ClassVar[Sequence[int] | None]
    _ODS_RESULT_SEGMENTS: ClassVar[Sequence[int] | None]

    @classmethod
    def build_generic(
        cls,
        results: Sequence[Type] | None = None,
        operands: Sequence[Value] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        successors: Sequence[Block] | None = None,
        regions: int | None = None,
        loc: Location | None = None,
        ip: InsertionPoint | None = None,
    ) -> Self:
        """Builds a specific, generated OpView based on class level attributes."""

    @classmethod
    def parse(cls, source: str, *, source_name: str = "", context: Context | None = None) -> Self:
        """Parses a specific, generated OpView based on class level attributes."""

    @classmethod
    def has_trait(cls, trait_cls: type, context: Context | None = None) -> bool:
        """Checks if the operation has a given trait."""

class OpAdaptor:
    @overload
    def __init__(self, operands: list[Value], attributes: OpAttributeMap) -> None:
        """Creates an OpAdaptor with the given operands and attributes."""

    @overload
    def __init__(self, operands: list[Value], opview: OpView) -> None:
        """Creates an OpAdaptor with the given operands and operation view."""

    @property
    def operands(self) -> list[Value]:
        """Returns the operands of the adaptor."""

    @property
    def attributes(self) -> OpAttributeMap:
        """Returns the attributes of the adaptor."""

class Region:
    @property
    def blocks(self) -> BlockList:
        """Returns a forward-optimized sequence of blocks."""

    @property
    def owner(self) -> OpView:
        """Returns the operation owning this region."""

    def __iter__(self) -> BlockIterator:
        """Iterates over blocks in the region."""

class Block:
    @property
    def owner(self) -> OpView:
        """Returns the owning operation of this block."""

    @property
    def region(self) -> Region:
        """Returns the owning region of this block."""

    @property
    def arguments(self) -> BlockArgumentList:
        """Returns a list of block arguments."""

    def add_argument(self, type: Type, loc: Location) -> BlockArgument:
        """Appends an argument of the specified type to the block."""

    def erase_argument(self, index: int) -> None:
        """Erases the argument at the specified index."""

    @property
    def operations(self) -> OperationList:
        """Returns a forward-optimized sequence of operations."""

    @staticmethod
    def create_at_start(
        parent: Region, arg_types: Sequence[Type] = [], arg_locs: Sequence[Location] | None = None
    ) -> Block:
        """Creates a block at the beginning of the region, with arguments of these types."""

    def append_to(self, region: Region) -> None:
        """Appends this block to a region."""

    def create_before(self, *arg_types: Type, arg_locs: Sequence[Location] | None = None) -> Block:
        """Creates and returns a new Block before this block (with given argument types and locations)."""

    def create_after(self, *arg_types: Type, arg_locs: Sequence[Location] | None = None) -> Block:
        """Creates and returns a new Block after this block (with given argument types and locations)."""

    def __iter__(self) -> OperationIterator:
        """Iterates over operations in the block."""

    def __hash__(self) -> int:
        """Returns the hash value of the block."""

    def __str__(self) -> str:
        """Returns the assembly form of the block."""

    def append(self, operation: _OperationBase) -> None:
        """Appends an operation to this block."""

    @property
    def successors(self) -> BlockSuccessors:
        """Returns the list of Block successors."""

    @property
    def predecessors(self) -> BlockPredecessors:
        """Returns the list of Block predecessors."""

class InsertionPoint:
    @overload
    def __init__(self, block: Block) -> None:
        """Inserts after the last operation but still inside the block."""

    @overload
    def __init__(self, beforeOperation: _OperationBase) -> None:
        """Inserts before a referenced operation."""

    def __enter__(self, /) -> InsertionPoint:
        """Enters the insertion point as a context manager."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Exits the insertion point context manager."""
    current: Final[InsertionPoint] = ...
    "Gets the InsertionPoint bound to the current thread or raises ValueError if none has been set."

    @staticmethod
    def at_block_begin(block: Block) -> InsertionPoint:
        """Creates an insertion point at the beginning of a block."""

    @staticmethod
    def at_block_terminator(block: Block) -> InsertionPoint:
        """Creates an insertion point before a block's terminator."""

    @staticmethod
    def after(operation: _OperationBase) -> InsertionPoint:
        """Creates an insertion point immediately after an operation."""

    def insert(self, operation: _OperationBase) -> None:
        """Inserts an operation at this insertion point."""

    @property
    def block(self) -> Block:
        """Returns the block that this `InsertionPoint` points to."""

    @property
    def ref_operation(self) -> Operation | None:
        """The operation before which new operations are inserted; None at the end of the block."""

class Attribute:
    @property
    def _CAPIPtr(self) -> object: ...
    def __init__(self, cast_from_type: Attribute) -> None:
        """Casts the passed attribute to the generic `Attribute`."""

    @staticmethod
    def parse(asm: str, context: Context | None = None) -> Any:
        """Parses an attribute from an assembly form."""

    @property
    def context(self) -> Context:
        """Context that owns the `Attribute`."""

    @property
    def type(self) -> Type:
        """Returns the type of the `Attribute`."""

    def get_named(self, arg: str, /) -> NamedAttribute:
        """Binds a name to the attribute, creating a `NamedAttribute`."""

    def __hash__(self) -> int:
        """Returns the hash value of the attribute."""

    def __str__(self) -> str:
        """Returns the assembly form of the Attribute."""

    def __repr__(self) -> str:
        """Returns a string representation of the attribute."""

    def maybe_downcast(self) -> Attribute:
        """Downcasts the attribute to a more specific attribute if possible."""

class NamedAttribute:
    def __repr__(self) -> str:
        """Returns a string representation of the named attribute."""

    @property
    def name(self) -> str:
        """The name of the `NamedAttribute` binding."""

    @property
    def attr(self) -> Any:
        """The underlying generic attribute of the `NamedAttribute` binding."""

class Type:
    def __init__(self, cast_from_type: Type) -> None:
        """Casts the passed type to the generic `Type`."""

    @staticmethod
    def parse(asm: str, context: Context | None = None) -> Type:
        """Parses the assembly form of a type."""

    @property
    def context(self) -> Context:
        """Context that owns the `Type`."""

    def __hash__(self) -> int:
        """Returns the hash value of the `Type`."""

    def __str__(self) -> str:
        """Returns the assembly form of the `Type`."""

    def __repr__(self) -> str:
        """Returns a string representation of the `Type`."""

    def maybe_downcast(self) -> Type:
        """Downcasts the Type to a more specific `Type` if possible."""

class TypeID:
    def __hash__(self) -> int:
        """Returns the hash value of the `TypeID`."""

_T = TypeVar("_T", bound=Type, default=Type)

class Value(Generic[_T]):
    def __init__(self, value: Value) -> None:
        """Creates a Value reference from another `Value`."""

    @property
    def context(self) -> Context:
        """Context in which the value lives."""

    @property
    def owner(self) -> Any:
        """The op view (of results) or the `Block` (of arguments) that owns the value."""

    @property
    def uses(self) -> OpOperandIterator:
        """Returns an iterator over uses of this value."""

    def __hash__(self) -> int:
        """Returns the hash value of the value."""

    def __str__(self) -> str:
        """Returns the string form of the value."""

    @overload
    def get_name(self, use_local_scope: bool = False, use_name_loc_as_prefix: bool = False) -> str:
        """Returns the string form of value as an operand."""

    @overload
    def get_name(self, state: AsmState) -> str:
        """Returns the string form of value as an operand (i.e., the ValueID)."""

    @property
    def type(self) -> _T:
        """Returns the type of the value."""

    def set_type(self, type: Type) -> None:
        """Sets the type of the value."""

    def replace_all_uses_with(self, arg: Value, /) -> None:
        """Replace all uses of the value by another one."""

    @overload
    def replace_all_uses_except(self, with_: Value, exceptions: Operation) -> None: ...
    @overload
    def replace_all_uses_except(self, with_: Value, exceptions: Sequence[Operation]) -> None:
        """Replace all uses of this value with the `with` value, except for those in `exceptions`."""

    def maybe_downcast(self) -> BlockArgument | OpResult | Value:
        """Downcasts the `Value` to a more specific kind if possible."""

    @property
    def location(self) -> Location:
        """Returns the source location of the value."""

class BlockArgument(Value[_T]):
    def __init__(self, value: Value) -> None: ...
    def maybe_downcast(self) -> BlockArgument: ...
    def __str__(self) -> str: ...
    @property
    def owner(self) -> Block:
        """Returns the block that owns this argument."""

    @property
    def arg_number(self) -> int:
        """Returns the position of this argument in the block's argument list."""

    def set_type(self, type: Type) -> None:
        """Sets the type of this block argument."""

    def set_location(self, loc: Location) -> None:
        """Sets the location of this block argument."""

class OpResult(Value[_T]):
    def __init__(self, value: Value) -> None: ...
    def maybe_downcast(self) -> OpResult: ...
    def __str__(self) -> str: ...
    @property
    def owner(self) -> OpView:
        """Returns the operation that produces this result."""

    @property
    def result_number(self) -> int:
        """Returns the position of this result in the operation's result list."""

class OpOperand:
    @property
    def owner(self) -> OpView:
        """Returns the operation that owns this operand."""

    @property
    def operand_number(self) -> int:
        """Returns the operand number in the owning operation."""

class AsmState:
    @overload
    def __init__(self, value: Value, use_local_scope: bool = False) -> None:
        """Creates an `AsmState` for consistent SSA value naming."""

    @overload
    def __init__(self, op: _OperationBase, use_local_scope: bool = False) -> None:
        """Creates an AsmState for consistent SSA value naming."""

class SymbolTable:
    def __init__(self, arg: _OperationBase, /) -> None:
        """Creates a symbol table for an operation."""

    def __getitem__(self, arg: str, /) -> OpView:
        """Looks up a symbol by name in the symbol table."""

    def insert(self, operation: _OperationBase) -> StringAttr:
        """Inserts a symbol operation into the symbol table."""

    def erase(self, operation: _OperationBase) -> None:
        """Erases a symbol operation from the symbol table."""

    def __delitem__(self, arg: str, /) -> None:
        """Deletes a symbol by name from the symbol table."""

    def __contains__(self, arg: str, /) -> bool:
        """Checks if a symbol with the given name exists in the table."""

    @staticmethod
    def set_symbol_name(symbol: _OperationBase, name: str) -> None:
        """Sets the symbol name for a symbol operation."""

    @staticmethod
    def get_symbol_name(symbol: _OperationBase) -> StringAttr:
        """Gets the symbol name from a symbol operation."""

    @staticmethod
    def get_visibility(symbol: _OperationBase) -> StringAttr:
        """Gets the visibility attribute of a symbol operation."""

    @staticmethod
    def set_visibility(symbol: _OperationBase, visibility: str) -> None:
        """Sets the visibility attribute of a symbol operation."""

    @staticmethod
    def replace_all_symbol_uses(old_symbol: str, new_symbol: str, from_op: _OperationBase) -> None:
        """Replaces all uses of a symbol with a new symbol name within the given operation."""

    @staticmethod
    def walk_symbol_tables(from_op: _OperationBase, all_sym_uses_visible: bool, callback: object) -> None:
        """Walks symbol tables starting from an operation with a callback function."""

class BlockArgumentList(Sequence[BlockArgument]):
    @overload
    def __getitem__(self, key: int, /) -> BlockArgument: ...
    @overload
    def __getitem__(self, key: slice, /) -> BlockArgumentList: ...
    def __len__(self) -> int: ...
    def __add__(self, arg: BlockArgumentList, /) -> list[BlockArgument]: ...
    @property
    def types(self) -> list[Type]:
        """Returns a list of types for all arguments in this argument list."""

class BlockIterator:
    def __iter__(self) -> BlockIterator:
        """Returns an iterator over the blocks in the operation's region."""

    def __next__(self) -> Block:
        """Returns the next block in the iteration."""

class BlockList:
    def __getitem__(self, arg: int, /) -> Block:
        """Returns the block at the specified index."""

    def __iter__(self) -> BlockIterator:
        """Returns an iterator over blocks in the operation's region."""

    def __len__(self) -> int:
        """Returns the number of blocks in the operation's region."""

    def append(self, *args: Type, arg_locs: Sequence[Location] | None = None) -> Block:
        """Appends a new block, with argument types as positional args."""

class BlockSuccessors(Sequence[Block]):
    @overload
    def __getitem__(self, key: int, /) -> Block: ...
    @overload
    def __getitem__(self, key: slice, /) -> BlockSuccessors: ...
    def __len__(self) -> int: ...
    def __add__(self, arg: BlockSuccessors, /) -> list[Block]: ...

class BlockPredecessors(Sequence[Block]):
    @overload
    def __getitem__(self, key: int, /) -> Block: ...
    @overload
    def __getitem__(self, key: slice, /) -> BlockPredecessors: ...
    def __len__(self) -> int: ...
    def __add__(self, arg: BlockPredecessors, /) -> list[Block]: ...

class OperationIterator:
    def __iter__(self) -> OperationIterator:
        """Returns an iterator over the operations in an operation's block."""

    def __next__(self) -> OpView:
        """Returns the next operation in the iteration."""

class OperationList:
    def __getitem__(self, arg: int, /) -> OpView:
        """Returns the operation at the specified index."""

    def __iter__(self) -> OperationIterator:
        """Returns an iterator over operations in the list."""

    def __len__(self) -> int:
        """Returns the number of operations in the list."""

class OpAttributeMap:
    def __contains__(self, name: str) -> bool:
        """Checks if an attribute with the given name exists in the map."""

    def __len__(self) -> int:
        """Returns the number of attributes in the map."""

    @overload
    def __getitem__(self, name: str) -> Any:
        """Gets an attribute by name."""

    @overload
    def __getitem__(self, index: int) -> NamedAttribute:
        """Gets a named attribute by index."""

    def __setitem__(self, name: str, attr: Attribute) -> None:
        """Sets an attribute with the given name."""

    def __delitem__(self, name: str) -> None:
        """Deletes an attribute with the given name."""

    def get(self, key: str, default: object | None = None) -> Any:
        """Gets an attribute by name or the default value, if it does not exist."""

    def __iter__(self) -> Iterator[str]:
        """Iterates over attribute names."""

    def keys(self) -> list[str]:
        """Returns a list of attribute names."""

    def values(self) -> list[Attribute]:
        """Returns a list of attribute values."""

    def items(self) -> list[tuple[str, Attribute]]:
        """Returns a list of `(name, attribute)` tuples."""

class OpOperandIterator:
    def __iter__(self) -> OpOperandIterator:
        """Returns an iterator over operands."""

    def __next__(self) -> OpOperand:
        """Returns the next operand in the iteration."""

class OpOperandList(Sequence[Value]):
    @overload
    def __getitem__(self, key: int, /) -> Value: ...
    @overload
    def __getitem__(self, key: slice, /) -> OpOperandList: ...
    def __len__(self) -> int: ...
    def __add__(self, arg: OpOperandList, /) -> list[Value]: ...
    def __setitem__(self, index: int, value: Value) -> None:
        """Sets the operand at the specified index to a new value."""

class OpResultList(Sequence[OpResult]):
    @overload
    def __getitem__(self, key: int, /) -> OpResult: ...
    @overload
    def __getitem__(self, key: slice, /) -> OpResultList: ...
    def __len__(self) -> int: ...
    def __add__(self, arg: OpResultList, /) -> list[OpResult]: ...
    @property
    def types(self) -> list[Type]:
        """Returns a list of types for all results in this result list."""

    @property
    def owner(self) -> OpView:
        """Returns the operation that owns this result list."""

class OpSuccessors(Sequence[Block]):
    @overload
    def __getitem__(self, key: int, /) -> Block: ...
    @overload
    def __getitem__(self, key: slice, /) -> OpSuccessors: ...
    def __len__(self) -> int: ...
    def __add__(self, arg: OpSuccessors, /) -> list[Block]: ...
    def __setitem__(self, index: int, block: Block) -> None:
        """Sets the successor block at the specified index."""

class RegionSequence(Sequence[Region]):
    @overload
    def __getitem__(self, key: int, /) -> Region: ...
    @overload
    def __getitem__(self, key: slice, /) -> RegionSequence: ...
    def __len__(self) -> int: ...
    def __add__(self, arg: RegionSequence, /) -> list[Region]: ...

class DynamicOpTrait:
    @classmethod
    def attach(cls, op_name: object, target: object | None = None, context: Context | None = None) -> bool:
        """Attach the dynamic op trait subclass to the given operation name."""

class IsTerminatorTrait(DynamicOpTrait):
    @classmethod
    def attach(  # type: ignore[override]  # without the target, in the bindings too
        cls, op_name: object, context: Context | None = None
    ) -> bool:
        """Attach IsTerminator trait to the given operation name."""

class MLIRError(Exception):
    @property
    def message(self) -> str: ...
    @property
    def error_diagnostics(self) -> list[DiagnosticInfo]: ...

class AffineExpr:
    @overload
    def __add__(self, arg: AffineExpr, /) -> AffineAddExpr: ...
    @overload
    def __add__(self, arg: int, /) -> AffineAddExpr: ...
    def __radd__(self, arg: int, /) -> AffineAddExpr: ...
    @overload
    def __mul__(self, arg: AffineExpr, /) -> AffineMulExpr: ...
    @overload
    def __mul__(self, arg: int, /) -> AffineMulExpr: ...
    def __rmul__(self, arg: int, /) -> AffineMulExpr: ...
    @overload
    def __mod__(self, arg: AffineExpr, /) -> AffineModExpr: ...
    @overload
    def __mod__(self, arg: int, /) -> AffineModExpr: ...
    def __rmod__(self, arg: int, /) -> AffineModExpr: ...
    @overload
    def __sub__(self, arg: AffineExpr, /) -> AffineAddExpr: ...
    @overload
    def __sub__(self, arg: int, /) -> AffineAddExpr: ...
    def __rsub__(self, arg: int, /) -> AffineAddExpr: ...
    def __str__(self) -> str: ...
    def __repr__(self) -> str: ...
    def __hash__(self) -> int: ...
    @property
    def context(self) -> Context: ...
    def compose(self, arg: AffineMap, /) -> AffineExpr: ...
    def maybe_downcast(self) -> AffineExpr: ...
    def shift_dims(self, num_dims: int, shift: int, offset: int = 0) -> AffineExpr: ...
    def shift_symbols(self, num_symbols: int, shift: int, offset: int = 0) -> AffineExpr: ...
    @staticmethod
    def simplify_affine_expr(expr: AffineExpr, num_dims: int, num_symbols: int) -> AffineExpr:
        """Simplify an affine expression by flattening and some amount of simple analysis."""

    @overload
    @staticmethod
    def get_add(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineAddExpr:
        """Gets an affine expression containing a sum of two expressions."""

    @overload
    @staticmethod
    def get_add(arg0: int, arg1: AffineExpr, /) -> AffineAddExpr:
        """Gets an affine expression containing a sum of a constant and another expression."""

    @overload
    @staticmethod
    def get_add(arg0: AffineExpr, arg1: int, /) -> AffineAddExpr:
        """Gets an affine expression containing a sum of an expression and a constant."""

    @overload
    @staticmethod
    def get_mul(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineMulExpr:
        """Gets an affine expression containing a product of two expressions."""

    @overload
    @staticmethod
    def get_mul(arg0: int, arg1: AffineExpr, /) -> AffineMulExpr:
        """Gets an affine expression containing a product of a constant and another expression."""

    @overload
    @staticmethod
    def get_mul(arg0: AffineExpr, arg1: int, /) -> AffineMulExpr:
        """Gets an affine expression containing a product of an expression and a constant."""

    @overload
    @staticmethod
    def get_mod(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineModExpr:
        """Gets an affine expression containing the modulo of dividing one expression by another."""

    @overload
    @staticmethod
    def get_mod(arg0: int, arg1: AffineExpr, /) -> AffineModExpr:
        """Gets a semi-affine expression containing the modulo of dividing a constant by an expression."""

    @overload
    @staticmethod
    def get_mod(arg0: AffineExpr, arg1: int, /) -> AffineModExpr:
        """Gets an affine expression containing the module of dividingan expression by a constant."""

    @overload
    @staticmethod
    def get_floor_div(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineFloorDivExpr:
        """Gets an affine expression containing the rounded-down result of dividing one expression by another."""

    @overload
    @staticmethod
    def get_floor_div(arg0: int, arg1: AffineExpr, /) -> AffineFloorDivExpr:
        """Gets a semi-affine expression containing the rounded-down result of dividing a constant by an expression."""

    @overload
    @staticmethod
    def get_floor_div(arg0: AffineExpr, arg1: int, /) -> AffineFloorDivExpr:
        """Gets an affine expression containing the rounded-down result of dividing an expression by a constant."""

    @overload
    @staticmethod
    def get_ceil_div(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineCeilDivExpr:
        """Gets an affine expression containing the rounded-up result of dividing one expression by another."""

    @overload
    @staticmethod
    def get_ceil_div(arg0: int, arg1: AffineExpr, /) -> AffineCeilDivExpr:
        """Gets a semi-affine expression containing the rounded-up result of dividing a constant by an expression."""

    @overload
    @staticmethod
    def get_ceil_div(arg0: AffineExpr, arg1: int, /) -> AffineCeilDivExpr:
        """Gets an affine expression containing the rounded-up result of dividing an expression by a constant."""

    @staticmethod
    def get_constant(value: int, context: Context | None = None) -> AffineConstantExpr:
        """Gets a constant affine expression with the given value."""

    @staticmethod
    def get_dim(position: int, context: Context | None = None) -> AffineDimExpr:
        """Gets an affine expression of a dimension at the given position."""

    @staticmethod
    def get_symbol(position: int, context: Context | None = None) -> AffineSymbolExpr:
        """Gets an affine expression of a symbol at the given position."""

class AffineConstantExpr(AffineExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(value: int, context: Context | None = None) -> AffineConstantExpr: ...
    @property
    def value(self) -> int: ...

class AffineDimExpr(AffineExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(position: int, context: Context | None = None) -> AffineDimExpr: ...
    @property
    def position(self) -> int: ...

class AffineSymbolExpr(AffineExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(position: int, context: Context | None = None) -> AffineSymbolExpr: ...
    @property
    def position(self) -> int: ...

class AffineBinaryExpr(AffineExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @property
    def lhs(self) -> AffineExpr: ...
    @property
    def rhs(self) -> AffineExpr: ...

class AffineAddExpr(AffineBinaryExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineAddExpr: ...

class AffineMulExpr(AffineBinaryExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineMulExpr: ...

class AffineModExpr(AffineBinaryExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineModExpr: ...

class AffineFloorDivExpr(AffineBinaryExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineFloorDivExpr: ...

class AffineCeilDivExpr(AffineBinaryExpr):
    def __init__(self, expr: AffineExpr) -> None: ...
    @staticmethod
    def get(arg0: AffineExpr, arg1: AffineExpr, /) -> AffineCeilDivExpr: ...

class AffineMap:
    def __str__(self) -> str: ...
    def __repr__(self) -> str: ...
    def __hash__(self) -> int: ...
    @staticmethod
    def compress_unused_symbols(arg0: Sequence[AffineMap], arg1: Context, /) -> list[AffineMap]: ...
    @property
    def context(self) -> Context:
        """Context that owns the Affine Map."""

    @staticmethod
    def get(
        dim_count: int, symbol_count: int, exprs: Sequence[AffineExpr], context: Context | None = None
    ) -> AffineMap:
        """Gets a map with the given expressions as results."""

    @staticmethod
    def get_constant(value: int, context: Context | None = None) -> AffineMap:
        """Gets an affine map with a single constant result."""

    @staticmethod
    def get_empty(context: Context | None = None) -> AffineMap:
        """Gets an empty affine map."""

    @staticmethod
    def get_identity(n_dims: int, context: Context | None = None) -> AffineMap:
        """Gets an identity map with the given number of dimensions."""

    @staticmethod
    def get_minor_identity(n_dims: int, n_results: int, context: Context | None = None) -> AffineMap:
        """Gets a minor identity map with the given number of dimensions and results."""

    @staticmethod
    def get_permutation(permutation: Sequence[int], context: Context | None = None) -> AffineMap:
        """Gets an affine map that permutes its inputs."""

    def get_submap(self, result_positions: Sequence[int]) -> AffineMap: ...
    def get_major_submap(self, n_results: int) -> AffineMap: ...
    def get_minor_submap(self, n_results: int) -> AffineMap: ...
    def replace(
        self, expr: AffineExpr, replacement: AffineExpr, n_result_dims: int, n_result_syms: int
    ) -> AffineMap: ...
    @property
    def is_permutation(self) -> bool: ...
    @property
    def is_projected_permutation(self) -> bool: ...
    @property
    def n_dims(self) -> int: ...
    @property
    def n_inputs(self) -> int: ...
    @property
    def n_symbols(self) -> int: ...
    @property
    def results(self) -> AffineExprList: ...

class AffineExprList(Sequence[AffineExpr]):
    @overload
    def __getitem__(self, key: int, /) -> AffineExpr: ...
    @overload
    def __getitem__(self, key: slice, /) -> AffineExprList: ...
    def __len__(self) -> int: ...
    def __add__(self, arg: AffineExprList, /) -> list[AffineExpr]: ...

class AffineMapAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    attr_name: Final[str] = ...
    @staticmethod
    def get(affine_map: AffineMap) -> AffineMapAttr:
        """Gets an attribute wrapping an AffineMap."""

    @property
    def value(self) -> AffineMap:
        """Returns the value of the AffineMap attribute."""

class DenseI32ArrayAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(values: Sequence[int], context: Context | None = None) -> DenseI32ArrayAttr:
        """Gets a uniqued dense array attribute."""

    def __getitem__(self, arg: int, /) -> int: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> DenseI32ArrayIterator: ...
    def __add__(self, arg: Sequence[int], /) -> DenseI32ArrayAttr: ...

class DenseI32ArrayIterator:
    def __iter__(self) -> DenseI32ArrayIterator: ...
    def __next__(self) -> int: ...

class DenseI64ArrayAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(values: Sequence[int], context: Context | None = None) -> DenseI64ArrayAttr:
        """Gets a uniqued dense array attribute."""

    def __getitem__(self, arg: int, /) -> int: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> DenseI64ArrayIterator: ...
    def __add__(self, arg: Sequence[int], /) -> DenseI64ArrayAttr: ...

class DenseI64ArrayIterator:
    def __iter__(self) -> DenseI64ArrayIterator: ...
    def __next__(self) -> int: ...

class ArrayAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    attr_name: Final[str] = ...
    @staticmethod
    def get(attributes: Sequence[Attribute], context: Context | None = None) -> ArrayAttr:
        """Gets a uniqued Array attribute."""

    def __getitem__(self, arg: int, /) -> Any: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __add__(self, arg: Sequence[Attribute], /) -> ArrayAttr: ...

class BoolAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(value: bool, context: Context | None = None) -> BoolAttr:
        """Gets an uniqued bool attribute."""

    @property
    def value(self) -> bool:
        """Returns the value of the bool attribute."""

    def __bool__(self) -> bool:
        """Converts the value of the bool attribute to a Python bool."""

class DenseElementsAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    def __len__(self) -> int: ...
    @overload
    @staticmethod
    def get(
        array: Buffer | np.ndarray[Any, Any],
        signless: bool = True,
        type: Type | None = None,
        shape: Sequence[int] | None = None,
        context: Context | None = None,
    ) -> DenseElementsAttr:
        """Gets a DenseElementsAttr from a Python buffer or array."""

    @overload
    @staticmethod
    def get(attrs: Sequence[Attribute], type: Type | None = None, context: Context | None = None) -> DenseElementsAttr:
        """Gets a DenseElementsAttr from a Python list of attributes."""

    @staticmethod
    def get_splat(shaped_type: Type, element_attr: Attribute) -> DenseElementsAttr:
        """Gets a DenseElementsAttr where all values are the same."""

    @property
    def is_splat(self) -> bool: ...
    def get_splat_value(self) -> Any: ...

class DenseResourceElementsAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    attr_name: Final[str] = ...
    @staticmethod
    def get_from_buffer(
        array: Buffer | np.ndarray[Any, Any],
        name: str,
        type: Type,
        alignment: int | None = None,
        is_mutable: bool = False,
        context: Context | None = None,
    ) -> DenseResourceElementsAttr:
        """Gets a DenseResourceElementsAttr from a Python buffer or array."""

class DictAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    attr_name: Final[str] = ...
    def __contains__(self, arg: str, /) -> bool: ...
    def __len__(self) -> int: ...
    # By `__getitem__` alone, as of old.
    def __iter__(self) -> Iterator[NamedAttribute]: ...
    @staticmethod
    def get(value: Mapping[str, Attribute] = {}, context: Context | None = None) -> DictAttr:
        """Gets an uniqued dict attribute."""

    @overload
    def __getitem__(self, arg: str, /) -> Any: ...
    @overload
    def __getitem__(self, arg: int, /) -> NamedAttribute: ...

class SymbolRefAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    attr_name: Final[str] = ...

    @staticmethod
    def get(symbols: Sequence[str], context: Context | None = None) -> Attribute:
        """Gets a uniqued SymbolRef attribute from a list of symbol names."""

    @property
    def value(self) -> list[str]:
        """Returns the value of the SymbolRef attribute as a list[str]."""

class FlatSymbolRefAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    attr_name: Final[str] = ...
    @staticmethod
    def get(value: str, context: Context | None = None) -> FlatSymbolRefAttr:
        """Gets a uniqued FlatSymbolRef attribute."""

    @property
    def value(self) -> str:
        """Returns the value of the FlatSymbolRef attribute as a string."""

class FloatAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    attr_name: Final[str] = ...
    @staticmethod
    def get(type: Type, value: float, loc: Location | None = None) -> FloatAttr:
        """Gets an uniqued float point attribute associated to a type."""

    @staticmethod
    def get_unchecked(type: Type, value: float, context: Context | None = None) -> FloatAttr:
        """Gets an uniqued float point attribute associated to a type."""

    @staticmethod
    def get_f32(value: float, context: Context | None = None) -> FloatAttr:
        """Gets an uniqued float point attribute associated to a f32 type."""

    @staticmethod
    def get_f64(value: float, context: Context | None = None) -> FloatAttr:
        """Gets an uniqued float point attribute associated to a f64 type."""

    @property
    def value(self) -> float:
        """Returns the value of the float attribute."""

    def __float__(self) -> float:
        """Converts the value of the float attribute to a Python float."""

class IntegerAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    attr_name: Final[str] = ...
    @staticmethod
    def get(type: Type, value: object) -> IntegerAttr:
        """Gets an uniqued integer attribute associated to a type."""

    @property
    def value(self) -> int:
        """Returns the value of the integer attribute."""

    def __int__(self) -> int:
        """Converts the value of the integer attribute to a Python int."""

class StringAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    attr_name: Final[str] = ...
    @overload
    @staticmethod
    def get(value: str, context: Context | None = None) -> StringAttr: ...
    @overload
    @staticmethod
    def get(value: bytes, context: Context | None = None) -> StringAttr:
        """Gets a uniqued string attribute."""

    @staticmethod
    def get_typed(type: Type, value: str) -> StringAttr:
        """Gets a uniqued string attribute associated to a type."""

    @property
    def value(self) -> str:
        """Returns the value of the string attribute."""

    @property
    def value_bytes(self) -> bytes:
        """Returns the value of the string attribute as `bytes`."""

class TypeAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    attr_name: Final[str] = ...
    @staticmethod
    def get(value: Type, context: Context | None = None) -> TypeAttr:
        """Gets a uniqued Type attribute."""

    @property
    def value(self) -> Type: ...

class UnitAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    attr_name: Final[str] = ...
    @staticmethod
    def get(context: Context | None = None) -> UnitAttr:
        """Create a Unit attribute."""

class StridedLayoutAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    attr_name: Final[str] = ...
    @staticmethod
    def get(offset: int, strides: Sequence[int], context: Context | None = None) -> StridedLayoutAttr:
        """Gets a strided layout attribute."""

    @staticmethod
    def get_fully_dynamic(rank: int, context: Context | None = None) -> StridedLayoutAttr:
        """Gets a strided layout attribute with dynamic offset and strides of a given rank."""

    @property
    def offset(self) -> int:
        """Returns the value of the float point attribute."""

    @property
    def strides(self) -> list[int]:
        """Returns the value of the float point attribute."""

class DynamicAttr(Attribute):
    def __init__(self, cast_from_attr: Attribute) -> None: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(full_attr_name: str, attributes: Sequence[Attribute], context: Context | None = None) -> DynamicAttr:
        """Create a dynamic attribute."""

    @property
    def params(self) -> list[Attribute]:
        """Returns the parameters of the dynamic attribute as a list of attributes."""

    @property
    def attr_name(self) -> str: ...
    @staticmethod
    def lookup_typeid(full_attr_name: str, context: Context | None = None) -> TypeID:
        """Look up the TypeID for the given dynamic attribute name."""

class IntegerType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    type_name: Final[str] = ...
    class Signedness(enum.Enum):
        SIGNLESS = 0
        SIGNED = 1
        UNSIGNED = 2

    SIGNLESS: Signedness = Signedness.SIGNLESS
    SIGNED: Signedness = Signedness.SIGNED
    UNSIGNED: Signedness = Signedness.UNSIGNED

    @staticmethod
    def get_signless(width: int, context: Context | None = None) -> IntegerType:
        """Create a signless integer type."""

    @staticmethod
    def get_signed(width: int, context: Context | None = None) -> IntegerType:
        """Create a signed integer type."""

    @staticmethod
    def get_unsigned(width: int, context: Context | None = None) -> IntegerType:
        """Create an unsigned integer type."""

    @staticmethod
    def get(
        width: int,
        signedness: Signedness = Signedness.SIGNLESS,
        context: Context | None = None,
    ) -> IntegerType:
        """Create an integer type."""

    @property
    def signedness(self) -> Signedness: ...
    @property
    def width(self) -> int:
        """Returns the width of the integer type."""

    @property
    def is_signless(self) -> bool:
        """Returns whether this is a signless integer."""

    @property
    def is_signed(self) -> bool:
        """Returns whether this is a signed integer."""

    @property
    def is_unsigned(self) -> bool:
        """Returns whether this is an unsigned integer."""

class FloatType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    @property
    def width(self) -> int:
        """Returns the width of the floating-point type."""

class IndexType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    type_name: Final[str] = ...
    @staticmethod
    def get(context: Context | None = None) -> IndexType:
        """Create a index type."""

class BF16Type(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    type_name: Final[str] = ...
    @staticmethod
    def get(context: Context | None = None) -> BF16Type:
        """Create a bf16 type."""

class F16Type(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    type_name: Final[str] = ...
    @staticmethod
    def get(context: Context | None = None) -> F16Type:
        """Create a f16 type."""

class F32Type(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    type_name: Final[str] = ...
    @staticmethod
    def get(context: Context | None = None) -> F32Type:
        """Create a f32 type."""

class F64Type(FloatType):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    type_name: Final[str] = ...
    @staticmethod
    def get(context: Context | None = None) -> F64Type:
        """Create a f64 type."""

class ShapedType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    @property
    def element_type(self) -> Any:
        """Returns the element type of the shaped type."""

    @property
    def has_rank(self) -> bool:
        """Returns whether the given shaped type is ranked."""

    @property
    def rank(self) -> int:
        """Returns the rank of the given ranked shaped type."""

    @property
    def has_static_shape(self) -> bool:
        """Returns whether the given shaped type has a static shape."""

    def is_dynamic_dim(self, dim: int) -> bool:
        """Returns whether the dim-th dimension of the given shaped type is dynamic."""

    def is_static_dim(self, dim: int) -> bool:
        """Returns whether the dim-th dimension of the given shaped type is static."""

    def get_dim_size(self, dim: int) -> int:
        """Returns the dim-th dimension of the given ranked shaped type."""

    @staticmethod
    def is_dynamic_size(dim_size: int) -> bool:
        """Returns whether the given dimension size indicates a dynamic dimension."""

    @staticmethod
    def is_static_size(dim_size: int) -> bool:
        """Returns whether the given dimension size indicates a static dimension."""

    def is_dynamic_stride_or_offset(self, dim_size: int) -> bool:
        """Returns whether the given value is used as a placeholder for dynamic strides and offsets in shaped types."""

    def is_static_stride_or_offset(self, dim_size: int) -> bool:
        """Returns whether the given shaped type stride or offset value is statically-sized."""

    @property
    def shape(self) -> list[int]:
        """Returns the shape of the ranked shaped type as a list of integers."""

    @staticmethod
    def get_dynamic_size() -> int:
        """Returns the value used to indicate dynamic dimensions in shaped types."""

    @staticmethod
    def get_dynamic_stride_or_offset() -> int:
        """Returns the value used to indicate dynamic strides or offsets in shaped types."""

class VectorType(ShapedType):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    type_name: Final[str] = ...
    @staticmethod
    def get(
        shape: Sequence[int],
        element_type: Type,
        *,
        scalable: Sequence[bool] | None = None,
        scalable_dims: Sequence[int] | None = None,
        loc: Location | None = None,
    ) -> VectorType:
        """Create a vector type."""

    @staticmethod
    def get_unchecked(
        shape: Sequence[int],
        element_type: Type,
        *,
        scalable: Sequence[bool] | None = None,
        scalable_dims: Sequence[int] | None = None,
        context: Context | None = None,
    ) -> VectorType:
        """Create a vector type."""

    @property
    def scalable(self) -> bool: ...
    @property
    def scalable_dims(self) -> list[bool]: ...

class RankedTensorType(ShapedType):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    type_name: Final[str] = ...
    @staticmethod
    def get(
        shape: Sequence[int],
        element_type: Type,
        encoding: Attribute | None = None,
        loc: Location | None = None,
    ) -> RankedTensorType:
        """Create a ranked tensor type."""

    @staticmethod
    def get_unchecked(
        shape: Sequence[int],
        element_type: Type,
        encoding: Attribute | None = None,
        context: Context | None = None,
    ) -> RankedTensorType:
        """Create a ranked tensor type."""

    @property
    def encoding(self) -> Attribute | None: ...

class UnrankedTensorType(ShapedType):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    type_name: Final[str] = ...
    @staticmethod
    def get(element_type: Type, loc: Location | None = None) -> UnrankedTensorType:
        """Create a unranked tensor type."""

    @staticmethod
    def get_unchecked(element_type: Type, context: Context | None = None) -> UnrankedTensorType:
        """Create a unranked tensor type."""

class MemRefType(ShapedType):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    type_name: Final[str] = ...
    @staticmethod
    def get(
        shape: Sequence[int],
        element_type: Type,
        layout: Attribute | None = None,
        memory_space: Attribute | None = None,
        loc: Location | None = None,
    ) -> MemRefType:
        """Create a memref type."""

    @staticmethod
    def get_unchecked(
        shape: Sequence[int],
        element_type: Type,
        layout: Attribute | None = None,
        memory_space: Attribute | None = None,
        context: Context | None = None,
    ) -> MemRefType:
        """Create a memref type."""

    @property
    def layout(self) -> Attribute:
        """The layout of the MemRef type."""

    def get_strides_and_offset(self) -> tuple[list[int], int]:
        """The strides and offset of the MemRef type."""

    @property
    def affine_map(self) -> AffineMap:
        """The layout of the MemRef type as an affine map."""

    @property
    def memory_space(self) -> Attribute | None:
        """Returns the memory space of the given MemRef type."""

class UnrankedMemRefType(ShapedType):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    type_name: Final[str] = ...
    @staticmethod
    def get(element_type: Type, memory_space: Attribute | None, loc: Location | None = None) -> UnrankedMemRefType:
        """Create a unranked memref type."""

    @staticmethod
    def get_unchecked(
        element_type: Type, memory_space: Attribute | None, context: Context | None = None
    ) -> UnrankedMemRefType:
        """Create a unranked memref type."""

    @property
    def memory_space(self) -> Attribute | None:
        """Returns the memory space of the given Unranked MemRef type."""

class TupleType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    type_name: Final[str] = ...
    @staticmethod
    def get_tuple(elements: Sequence[Type], context: Context | None = None) -> TupleType:
        """Create a tuple type."""

    def get_type(self, pos: int) -> Type:
        """Returns the pos-th type in the tuple type."""

    @property
    def num_types(self) -> int:
        """Returns the number of types contained in a tuple."""

class FunctionType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    type_name: Final[str] = ...
    @staticmethod
    def get(inputs: Sequence[Type], results: Sequence[Type], context: Context | None = None) -> FunctionType:
        """Gets a FunctionType from a list of input and result types."""

    @property
    def inputs(self) -> list[Type]:
        """Returns the list of input types in the FunctionType."""

    @property
    def results(self) -> list[Type]:
        """Returns the list of result types in the FunctionType."""

class DynamicType(Type):
    def __init__(self, cast_from_type: Type) -> None: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def get(full_type_name: str, attributes: Sequence[Attribute], context: Context | None = None) -> DynamicType:
        """Create a dynamic type."""

    @property
    def params(self) -> list[Attribute]:
        """Returns the parameters of the dynamic type as a list of attributes."""

    @property
    def type_name(self) -> str: ...
    @staticmethod
    def lookup_typeid(full_type_name: str, context: Context | None = None) -> TypeID:
        """Look up the TypeID for the given dynamic type name."""
