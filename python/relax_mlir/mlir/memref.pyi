"""Types of the bindings of `memref` in use. Made by `relax_mlir.mlir.generate_stubs`."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.mlir import ir

class AllocaOp(ir.OpView):
    def __init__(
        self,
        memref: ir.Type,
        dynamicSizes: Sequence[ir.Value],
        symbolOperands: Sequence[ir.Value],
        *,
        alignment: int | ir.IntegerAttr | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def dynamicSizes(self) -> ir.OpOperandList: ...
    @property
    def symbolOperands(self) -> ir.OpOperandList: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...
    @alignment.setter
    def alignment(self, value: Any) -> None: ...
    @property
    def memref(self) -> ir.OpResult: ...

class DimOp(ir.OpView):
    def __init__(
        self,
        source: ir.Value,
        index: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def index(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

class ExtractAlignedPointerAsIndexOp(ir.OpView):
    def __init__(
        self,
        source: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def aligned_pointer(self) -> ir.OpResult: ...

class ExtractStridedMetadataOp(ir.OpView):
    def __init__(
        self,
        source: ir.Value,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def base_buffer(self) -> ir.OpResult: ...
    @property
    def offset(self) -> ir.OpResult: ...
    @property
    def sizes(self) -> ir.OpResultList: ...
    @property
    def strides(self) -> ir.OpResultList: ...

class GlobalOp(ir.OpView):
    def __init__(
        self,
        sym_name: ir.StringAttr | str,
        type_: Any | ir.TypeAttr,
        *,
        sym_visibility: ir.StringAttr | str | None = ...,
        initial_value: Any | ir.Attribute | None = ...,
        constant: bool | None = ...,
        alignment: int | ir.IntegerAttr | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def sym_name(self) -> ir.StringAttr: ...
    @sym_name.setter
    def sym_name(self, value: Any) -> None: ...
    @property
    def sym_visibility(self) -> ir.StringAttr | None: ...
    @sym_visibility.setter
    def sym_visibility(self, value: Any) -> None: ...
    @property
    def type_(self) -> ir.TypeAttr: ...
    @type_.setter
    def type_(self, value: Any) -> None: ...
    @property
    def initial_value(self) -> ir.Attribute | None: ...
    @initial_value.setter
    def initial_value(self, value: Any) -> None: ...
    @property
    def constant(self) -> bool: ...
    @constant.setter
    def constant(self, value: Any) -> None: ...
    @property
    def alignment(self) -> ir.IntegerAttr | None: ...
    @alignment.setter
    def alignment(self, value: Any) -> None: ...

class ViewOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        source: ir.Value,
        byte_shift: ir.Value,
        sizes: Sequence[ir.Value],
        *,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def source(self) -> ir.Value: ...
    @property
    def byte_shift(self) -> ir.Value: ...
    @property
    def sizes(self) -> ir.OpOperandList: ...

def alloc(
    memref: ir.Type,
    dynamic_sizes: Sequence[ir.Value],
    symbol_operands: Sequence[ir.Value],
    *,
    alignment: int | ir.IntegerAttr | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def alloca(
    memref: ir.Type,
    dynamic_sizes: Sequence[ir.Value],
    symbol_operands: Sequence[ir.Value],
    *,
    alignment: int | ir.IntegerAttr | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def cast(
    dest: ir.Type, source: ir.Value, *, loc: ir.Location | None = ..., ip: ir.InsertionPoint | None = ...
) -> ir.OpResult: ...
def collapse_shape(
    result: ir.Type,
    src: ir.Value,
    reassociation: Any | ir.ArrayAttr,
    *,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def copy(
    source: ir.Value, target: ir.Value, *, loc: ir.Location | None = ..., ip: ir.InsertionPoint | None = ...
) -> ir.OpView: ...
def dealloc(memref: ir.Value, *, loc: ir.Location | None = ..., ip: ir.InsertionPoint | None = ...) -> ir.OpView: ...
def dim(
    source: ir.Value,
    index: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def extract_aligned_pointer_as_index(
    source: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def load(
    memref: ir.Value,
    indices: Sequence[ir.Value],
    *,
    nontemporal: bool | ir.BoolAttr | None = ...,
    alignment: int | ir.IntegerAttr | None = ...,
    invariant: bool | ir.BoolAttr | None = ...,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def prefetch(
    memref: ir.Value,
    indices: Sequence[ir.Value],
    is_write: bool | ir.BoolAttr,
    locality_hint: int | ir.IntegerAttr,
    is_data_cache: bool | ir.BoolAttr,
    *,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpView: ...
def reinterpret_cast(
    result: ir.Type,
    source: ir.Value,
    offsets: Sequence[ir.Value],
    sizes: Sequence[ir.Value],
    strides: Sequence[ir.Value],
    static_offsets: Sequence[int] | ir.DenseI64ArrayAttr,
    static_sizes: Sequence[int] | ir.DenseI64ArrayAttr,
    static_strides: Sequence[int] | ir.DenseI64ArrayAttr,
    *,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def store(
    value: ir.Value,
    memref: ir.Value,
    indices: Sequence[ir.Value],
    *,
    nontemporal: bool | ir.BoolAttr | None = ...,
    alignment: int | ir.IntegerAttr | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpView: ...
def view(
    result: ir.Type,
    source: ir.Value,
    byte_shift: ir.Value,
    sizes: Sequence[ir.Value],
    *,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
