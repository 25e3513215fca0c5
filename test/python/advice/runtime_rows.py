"""Building, calling, profiling, files and the command line: what they refuse, and what to do instead."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import relax_mlir as rx
import torch
from advice_rows import Rows
from relax_mlir import op
from relax_mlir.dialects import calls
from relax_mlir.error import RelaxError
from relax_mlir.lowering.llvm import cross_compile
from relax_mlir.script import parse
from relax_mlir.tools import emit_code, opt, supervise
from relax_mlir.transform import BindParams

X = np.arange(3, dtype=np.float32)
VECTOR = rx.Tensor(("n",), "float32")
FOREIGN = "aarch64-unknown-linux-gnu" if platform.machine() == "x86_64" else "x86_64-unknown-linux-gnu"


def _halved(size: str) -> Callable[..., Any]:
    """A prim func on memory that adds 1, of this many elements."""
    text = f'''
@T.prim_func
def f(a: T.Buffer(("{size}",), "float32"), b: T.Buffer(("{size}",), "float32"), m: T.int64):
    for i in range({size}):
        b[i] = a[i] + T.float32(1)
'''
    built = rx.build(parse(text))

    def call(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        result = np.empty_like(x)
        built["f"](x, result, x.size)
        return result

    return call


def _module(info: rx.Tensor = VECTOR, body: Callable[[Any], Any] = lambda x: x + 1.0) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", info)
    with bb.function("main", [x]):
        bb.emit_func_output(body(x))
    return bb.get()


def _without(name: str) -> Any:
    """Simulate that a package is not installed."""
    cross_compile._binding.cache_clear()
    return mock.patch.dict(sys.modules, {name: None, f"{name}.figure": None, f"{name}.binding": None})


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


# Torch


def _call(*arguments: Any) -> Any:
    return rx.build(_module())["main"](*arguments)


def _given() -> Any:
    out = torch.complex(torch.ones(3), torch.arange(3.0)).conj().imag
    _call(X, out)
    return out


# Profiles


def _profiled(target: str = "", **options: Any) -> Any:
    executable = rx.build(_module(), **options)
    with executable.profile() as profile:
        executable["main"](X)
    return profile


def _truncated(capacity: int) -> str:
    executable = rx.build(_module(), profile=True)
    with executable.profile(capacity) as profile:
        for _ in range(50):
            executable["main"](X)
    return _printed(profile)


def _printed(profile: Any) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        profile.print()
    return text.getvalue()


def _dropped() -> None:
    raise RelaxError(_truncated(100))


def _roofline() -> None:
    profile = _profiled(profile=True)
    with _folder() as folder, _without("matplotlib"):
        profile.save_roofline(folder / "roof.png")
        assert (folder / "roof.png").stat().st_size > 1000


def _plan() -> None:
    plan = rx.build(_module(body=lambda x: op.sum(op.exp(x) @ op.exp(x)))).memory_plan("main")
    with _folder() as folder, _without("matplotlib"):
        plan.plot(folder / "plan.png", n=5)
        assert (folder / "plan.png").stat().st_size > 1000


# The command line


def _opt(*arguments: str, text: str = "", terminal: bool = False) -> tuple[int, str, str]:
    """The exit code, output and errors of relax-opt in this process."""
    data = io.BytesIO()
    stdout = io.TextIOWrapper(data, encoding="utf-8", write_through=True)
    stderr = io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    with (
        mock.patch.object(sys, "stdout", stdout),
        mock.patch.object(sys, "stderr", stderr),
        mock.patch.object(sys, "stdin", stdin),
        mock.patch.object(stdout, "isatty", lambda: terminal),
        mock.patch.dict(os.environ, {supervise.IN_PROCESS_VARIABLE: "1"}),
    ):
        code = opt.main(list(arguments))
        stdout.flush()
    return code, data.getvalue().decode(errors="replace"), stderr.getvalue()


def _refused(*arguments: str, **named: Any) -> Callable[[], None]:
    def run() -> None:
        code, _, error = _opt(*arguments, **named)
        if code:
            raise RelaxError(error)

    return run


def _internal() -> None:
    def work(arguments: Sequence[str]) -> int:
        raise KeyError("something")

    stderr = io.StringIO()
    with mock.patch.object(sys, "stderr", stderr):
        supervise.guarded("relax-opt", work, [])
    raise RelaxError(stderr.getvalue())


# Modules and weights


def _weighted() -> rx.IRModule:
    return _module(rx.Tensor((3,), "float32"), lambda x: x + op.const(np.ones((1 << 10, 3), np.float32))[0])


def _reread(**options: Any) -> Any:
    return rx.build(rx.IRModule.parse(_weighted().asm(**options)))


def _registered() -> None:
    with contextlib.suppress(LookupError, RelaxError):
        calls.register_infer("advice.rule")(lambda x: x)
    calls.register_infer("advice.rule")(lambda x: x)


def _unregistered() -> Any:
    module = _module(body=lambda x: op.call_pure_packed("advice.never", x, out=VECTOR))
    return rx.build(module)["main"](X)


def _outside() -> None:
    op.zeros((3,), "float32")


def _empty_builder() -> None:
    rx.BlockBuilder().call("f")


def _defined_twice() -> rx.IRModule:
    bb = rx.BlockBuilder()
    for number in range(2):
        x = rx.Var("x", VECTOR)
        with bb.function("main", [x]):
            bb.emit_func_output(x + 1.0 if number else x)
    return bb.get()


def _bound() -> Any:
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", VECTOR), rx.Var("w", VECTOR)
    with bb.function("main", [x, w]):
        bb.emit_func_output(x + w)
    with _folder() as folder:
        np.savez(folder / "w.npz", w=np.ones(3, np.float32))
        bb.get().apply_(BindParams())
    return rx.build(bb.get())


def _bound_size() -> Any:
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", VECTOR), rx.Var("w", rx.Tensor(("n+m",), "float32"))
    s = rx.Var("s", rx.Shape(("m",)))
    with bb.function("main", [x, w, s]):
        bb.emit_func_output(x + op.sum(w))
    module = bb.get()
    module.apply_(BindParams.of({"w": np.full(4, 0.25, np.float32)}))
    return rx.build(module)


def _threads(count: int) -> Any:
    with mock.patch.object(platform, "system", lambda: "Plan9") if count > 1 else contextlib.nullcontext():
        return rx.build(_module(), f"cpu -num-threads={count}")


def _tiles() -> Any:
    """Request AMX tiles on a machine without them."""
    host = rx.Target.host()
    without = dataclasses.replace(host, features=frozenset(f for f in host.features if not f.startswith("amx_")))
    with mock.patch.object(rx.Target, "host", staticmethod(lambda: without)):
        return rx.build(_module(), AMX)


TEXT = str(_module())
FOREIGN_TARGET = "cpu -mcpu=" + ("neoverse-n1" if FOREIGN.startswith("aarch64") else "haswell")
AMX = "cpu -mattr=+amx_tile,+amx_bf16"
ROWS = {
    "builder_for_module": (lambda: rx.build(rx.BlockBuilder()), r"BlockBuilder.get\(\) gives one"),
    "builder_for_code": (lambda: emit_code.llvm_ir(rx.BlockBuilder()), r"BlockBuilder.get\(\) gives one"),
    "builder_for_bytecode": (
        lambda: emit_code.bytecode(rx.BlockBuilder()),
        r"BlockBuilder.get\(\) gives one",
    ),
    "profile_of_bytecode": (
        lambda: rx.build(_module(), exec_mode="bytecode", profile=True),
        r"VirtualMachine\(executable\).profile\(\)",
    ),
    "no_records": (_profiled, r"build it with rx.build\(mod, profile=True\)"),
    "dropped": (_dropped, "raise the capacity"),
    "roofline": (_roofline, r"pip install matplotlib"),
    "plan": (_plan, "pip install matplotlib"),
    "tiles": (_tiles, r"add -mattr=-amx_\w+"),
    "foreign": (lambda: rx.build(_module(), FOREIGN_TARGET), r"rx\.export\.cross_build makes code for it"),
    "architecture": (
        lambda: rx.Target.parse(f"cpu -mtriple={FOREIGN}"),
        "-mcpu names a CPU of that architecture",
    ),
    "llvmlite": (lambda: _llvmlite(), r"pip install 'relax-mlir\[asm\]' brings it"),
    "gradients": (
        lambda: _call(torch.from_numpy(X).requires_grad_()),
        "requires a gradient, which compiled functions do not compute: call under torch.no_grad",
    ),
    "sparse": (lambda: _call(torch.from_numpy(X).to_sparse()), "convert it to a dense tensor first"),
    "negative_bit": (_given, "give a plain one, such as torch.empty makes"),
    "weights_saved": (
        lambda: _reread(elide_above=10),
        r"keep modules with IRModule.save.*print them with asm\(elide_above=None\)",
    ),
    "rule": (_registered, "override=True replaces it"),
    "packed": (_unregistered, "tvm_ffi.register_global_func registers it"),
    "no_function": (_outside, r"call it inside `with bb.function\(...\)`"),
    "no_function_of_builder": (_empty_builder, r"use it inside `with bb.function\(...\)`"),
    "unbound": (lambda: rx.Var("x", VECTOR).ssa, "use it inside the function that has it as a parameter"),
    "defined_twice": (_defined_twice, "use update_func to replace it"),
    "no_file": (_bound, "give 'file', an .npz file of arrays"),
    "unknown_size": (_bound_size, "bind-symbolic-vars first"),
    "threads": (lambda: _threads(2), r"use Target\(num_threads=1\)"),
    "object_file": (_refused("--emit=obj", text=TEXT, terminal=True), "give a file with -o"),
    "reproducer": (_refused("--run-reproducer", "--cse", text=TEXT), "give no others"),
    "memory_plan": (
        _refused("--memory-plan", "--cse", text=TEXT),
        "run --plan-memory, --relax-to-memrefs or no passes",
    ),
    "entry_symbols": (lambda: _halved("m // 2 * 2"), "give 'a' a symbol for the dimension"),
    "internal": (_internal, "set RELAX_MLIR_TRACEBACK=1 for the trace"),
    "unknown_pass": (_refused("--no-such-pass", text=TEXT), "relax-opt --show-passes lists all|unknown"),
}


def _llvmlite() -> None:
    with _without("llvmlite"):
        emit_code.assembly(_module())


TABLE = Rows(ROWS)
