"""Types of the bindings of `linalg` in use. Made by `relax_mlir.mlir.generate_stubs`."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.mlir import ir

class GenericOp(ir.OpView):
    def __init__(
        self,
        result_tensors: Sequence[ir.Type],
        inputs: Sequence[ir.Value],
        outputs: Sequence[ir.Value],
        indexing_maps: Any | ir.ArrayAttr,
        iterator_types: Any | ir.ArrayAttr,
        *,
        doc: ir.StringAttr | str | None = ...,
        library_call: ir.StringAttr | str | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def inputs(self) -> ir.OpOperandList: ...
    @property
    def outputs(self) -> ir.OpOperandList: ...
    @property
    def indexing_maps(self) -> ir.ArrayAttr: ...
    @indexing_maps.setter
    def indexing_maps(self, value: Any) -> None: ...
    @property
    def iterator_types(self) -> ir.ArrayAttr: ...
    @iterator_types.setter
    def iterator_types(self, value: Any) -> None: ...
    @property
    def doc(self) -> ir.StringAttr | None: ...
    @doc.setter
    def doc(self, value: Any) -> None: ...
    @property
    def library_call(self) -> ir.StringAttr | None: ...
    @library_call.setter
    def library_call(self, value: Any) -> None: ...
    @property
    def result_tensors(self) -> ir.OpResultList: ...
    @property
    def region(self) -> ir.Region: ...

class IndexOp(ir.OpView):
    def __init__(
        self,
        dim: int | ir.IntegerAttr,
        *,
        results: Sequence[ir.Type] | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | None = ...,
    ) -> None: ...
    @property
    def dim(self) -> ir.IntegerAttr: ...
    @dim.setter
    def dim(self, value: Any) -> None: ...
    @property
    def result(self) -> ir.OpResult: ...

class YieldOp(ir.OpView):
    def __init__(
        self, values: Sequence[ir.Value], *, loc: ir.Location | None = ..., ip: ir.InsertionPoint | None = ...
    ) -> None: ...
    @property
    def values(self) -> ir.OpOperandList: ...

copy: Any
fill: Any
get_indexing_maps: Any

def matmul(
    *ins: ir.OpView | ir.Operation | ir.Value,
    outs: Sequence[ir.OpView | ir.Operation | ir.Value],
    indexing_maps: Sequence[ir.AffineMapAttr] | None = ...,
    cast: Any | ir.Attribute | None = ...,
) -> Any: ...
