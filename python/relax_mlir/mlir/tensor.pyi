"""Types of the bindings of `tensor` in use. Made by `relax_mlir.mlir.generate_stubs`."""

from collections.abc import Sequence
from typing import Any, Literal

from relax_mlir.mlir import ir

class EmptyOp(ir.OpView):
    def __init__(
        self,
        sizes: Sequence[int | ir.Value],
        element_type: ir.Type,
        *,
        encoding: ir.Attribute | None = ...,
        loc: ir.Location | None = ...,
        ip: ir.InsertionPoint | Literal[False] | None = ...,
    ) -> None: ...
    @property
    def dynamicSizes(self) -> ir.OpOperandList: ...
    @property
    def result(self) -> ir.OpResult: ...

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
def dim(
    source: ir.Value,
    index: ir.Value,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def empty(
    sizes: Sequence[int | ir.Value],
    element_type: ir.Type,
    *,
    encoding: ir.Attribute | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | Literal[False] | None = ...,
) -> ir.Value: ...
def expand_shape(
    result: ir.Type,
    src: ir.Value,
    reassociation: Any | ir.ArrayAttr,
    output_shape: Sequence[ir.Value],
    static_output_shape: Sequence[int] | ir.DenseI64ArrayAttr,
    *,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def extract(
    tensor: ir.Value,
    indices: Sequence[ir.Value],
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def extract_slice(
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
def from_elements(
    result: ir.Type,
    elements: Sequence[ir.Value],
    *,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def insert(
    scalar: ir.Value,
    dest: ir.Value,
    indices: Sequence[ir.Value],
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def insert_slice(
    source: ir.Value,
    dest: ir.Value,
    offsets: Sequence[ir.Value],
    sizes: Sequence[ir.Value],
    strides: Sequence[ir.Value],
    static_offsets: Sequence[int] | ir.DenseI64ArrayAttr,
    static_sizes: Sequence[int] | ir.DenseI64ArrayAttr,
    static_strides: Sequence[int] | ir.DenseI64ArrayAttr,
    *,
    results: Sequence[ir.Type] | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
