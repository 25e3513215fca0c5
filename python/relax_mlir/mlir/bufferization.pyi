"""Types of the bindings of `bufferization` in use. Made by `relax_mlir.mlir.generate_stubs`."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.mlir import ir

def alloc_tensor(
    result: ir.Type,
    dynamic_sizes: Sequence[ir.Value],
    *,
    copy: ir.Value | None = ...,
    size_hint: ir.Value | None = ...,
    memory_space: Any | ir.Attribute | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def materialize_in_destination(
    result: ir.Type | None,
    source: ir.Value,
    dest: ir.Value,
    *,
    restrict: bool | None = ...,
    writable: bool | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> Any: ...
def to_buffer(
    buffer: ir.Type,
    tensor: ir.Value,
    *,
    read_only: bool | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
def to_tensor(
    result: ir.Type,
    buffer: ir.Value,
    *,
    restrict: bool | None = ...,
    writable: bool | None = ...,
    loc: ir.Location | None = ...,
    ip: ir.InsertionPoint | None = ...,
) -> ir.OpResult: ...
