"""Errors of thread jobs: the call that submitted a job raises the errors of its workers again.

The error of a failing function is in thread-local storage. A job whose function may fail gets a separate context,
{error, context of the job}: the first error of its parts is moved there, and the thread that waits for them raises it
again.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.attributes import SHARED_GROUP
from relax_mlir.ir_queries import callee_of, entry_block, function_of, ops_of
from relax_mlir.lowering.abi.lower_checks import STATUS_OF
from relax_mlir.lowering.parts.shared_code import SUPPORT_GROUP, inherit_marks
from relax_mlir.mlir import func, ir, llvm
from relax_mlir.mlir_text import Fragment, functions, symbol

RUN = "relax.rt.parallel"
"""`(function, context, count, cost, threads)`: runs `function(context, begin, end)` on parts of 0 to count."""

_KEEP, _RAISE = "relax.rt.keep_error", "relax.rt.raise_kept"
_WORDS = 2


@dataclass(frozen=True)
class Job:
    """A call of `relax.rt.parallel`, and the `func.constant` of its function."""

    call: ir.Operation
    body: ir.Operation


def pointed(constant: ir.Operation) -> str:
    """The name of the function that a `func.constant` refers to."""
    return str(ir.FlatSymbolRefAttr(constant.attributes["value"]).value)


def jobs_of(function: func.FuncOp) -> list[Job]:
    """The jobs that a function submits."""
    jobs = []
    for call in ops_of(function.operation, "func.call"):
        if callee_of(call) == RUN:
            defining = call.operands[0].owner
            while defining.name == "builtin.unrealized_conversion_cast":
                defining = defining.operands[0].owner
            jobs.append(Job(call, defining.operation))
    return jobs


def guard_jobs(module: ir.Module, callers: Sequence[func.FuncOp], failing: Container[str]) -> None:
    """Make the jobs of `callers` whose functions are among `failing` pass on their errors."""
    jobs = [job for function in callers for job in jobs_of(function) if pointed(job.body) in failing]
    if not jobs:
        return
    fragment = Fragment()
    names = dict.fromkeys(pointed(job.body) for job in jobs)
    for name in names:
        _define_guard(fragment, name)
    _define_errors(fragment)
    fragment.splice(module)
    table = functions(module)
    for name in names:
        inherit_marks(table[_guarded(name)], table[name])
    for job in jobs:
        with job.call.location:
            _guard(job)


def _guarded(name: str) -> str:
    return f"{name}.guarded"


def _guard(job: Job) -> None:
    """Give a job a separate context, and raise its error after it."""
    job.body.attributes["value"] = ir.FlatSymbolRefAttr.get(_guarded(pointed(job.body)))
    pointer, word = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
    with ir.InsertionPoint.at_block_begin(entry_block(function_of(job.call))):
        count = llvm.ConstantOp(word, ir.IntegerAttr.get(word, _WORDS)).result
        context = llvm.AllocaOp(pointer, count, ir.TypeAttr.get(word), alignment=8).result
    with ir.InsertionPoint(job.call):
        func.call([], "relax.rt.start_job", [context, job.call.operands[1]])
    job.call.operands[1] = context
    with ir.InsertionPoint.after(job.call):
        func.call([], _RAISE, [context])


def _define_guard(fragment: Fragment, name: str) -> None:
    """Define the function that runs parts of the job @name and stores its error."""
    attributes = f"{STATUS_OF} = {symbol(name)}"
    signature = "(!llvm.ptr, index, index) -> i32"
    status = fragment.declare(f"relax.status.{name}", signature, attributes)
    fragment.declare(name, "(!llvm.ptr, index, index) -> ()")
    fragment.define(f"""
func.func private {symbol(_guarded(name))}(%context: !llvm.ptr, %begin: index, %end: index) {{
  %at = llvm.getelementptr %context[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %inner = llvm.load %at : !llvm.ptr -> !llvm.ptr
  %status = func.call {status}(%inner, %begin, %end) : {signature}
  %zero = arith.constant 0 : i32
  %failed = arith.cmpi ne, %status, %zero : i32
  scf.if %failed {{
    func.call @{_KEEP}(%context) : (!llvm.ptr) -> ()
  }}
  return
}}""")


def _define_errors(fragment: Fragment) -> None:
    support = f' attributes {{{SHARED_GROUP} = "{SUPPORT_GROUP}"}}'
    fragment.external("@TVMFFIErrorMoveFromRaised(!llvm.ptr)")
    fragment.external("@TVMFFIErrorSetRaised(!llvm.ptr)")
    fragment.declare("relax.rt.drop", "(!llvm.ptr) -> ()")
    fragment.declare("relax.propagate", "(i32) -> ()")
    fragment.define(f"""
func.func private @relax.rt.start_job(%context: !llvm.ptr, %inner: !llvm.ptr){support} {{
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.store %null, %context : !llvm.ptr, !llvm.ptr
  %at = llvm.getelementptr %context[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %inner, %at : !llvm.ptr, !llvm.ptr
  return
}}

// Move the error of this thread to a job, unless it has one.
func.func private @{_KEEP}(%context: !llvm.ptr){support} {{
  %one = arith.constant 1 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  llvm.call @TVMFFIErrorMoveFromRaised(%out) : (!llvm.ptr) -> ()
  %error = llvm.load %out : !llvm.ptr -> !llvm.ptr
  %pair = llvm.cmpxchg %context, %null, %error acq_rel acquire : !llvm.ptr, !llvm.ptr
  %first = llvm.extractvalue %pair[1] : !llvm.struct<(ptr, i1)>
  %extra = llvm.select %first, %null, %error : i1, !llvm.ptr
  func.call @relax.rt.drop(%extra) : (!llvm.ptr) -> ()
  return
}}

// Raise the error of a job that is done, if it has one.
func.func private @{_RAISE}(%context: !llvm.ptr){support} {{
  %null = llvm.mlir.zero : !llvm.ptr
  %error = llvm.load %context : !llvm.ptr -> !llvm.ptr
  %failed = llvm.icmp "ne" %error, %null : !llvm.ptr
  scf.if %failed {{
    llvm.call @TVMFFIErrorSetRaised(%error) : (!llvm.ptr) -> ()
    func.call @relax.rt.drop(%error) : (!llvm.ptr) -> ()
  }}
  %status = arith.extsi %failed : i1 to i32
  func.call @relax.propagate(%status) : (i32) -> ()
  return
}}""")
