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
import tvm_ffi
from advice_rows import Row, Rows, same
from relax_mlir import op
from relax_mlir.dialects import calls
from relax_mlir.error import RelaxError
from relax_mlir.lowering.llvm import cross_compile
from relax_mlir.script import parse
from relax_mlir.tools import emit_code, opt, supervise
from relax_mlir.transform import BindParams, parse_pipeline
from relax_mlir.transform.run import Recipe
from relax_mlir.vm import VirtualMachine

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


def _runs(make: Callable[[], Any]) -> Callable[[], None]:
    """Assert that the result of `make` computes x + 1."""
    return lambda: same(make()["main"](X), X + 1)


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


def _given(plain: bool) -> Any:
    out = torch.empty(3) if plain else torch.complex(torch.ones(3), torch.arange(3.0)).conj().imag
    _call(X, out)
    return out


# Profiles


def _profiled(target: str = "", **options: Any) -> Any:
    executable = rx.build(_module(), **options)
    with executable.profile() as profile:
        executable["main"](X)
    return profile


def _vm_profile() -> None:
    machine = VirtualMachine(rx.build(_module(), exec_mode="bytecode"))
    with machine.profile() as profile:
        same(machine["main"](X), X + 1)
    assert "relax." in str(profile) or "kernel" in str(profile) or len(str(profile)) > 20


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


def _roofline(patch: bool) -> None:
    profile = _profiled(profile=True)
    with _folder() as folder, _without("matplotlib") if patch else contextlib.nullcontext():
        profile.save_roofline(folder / "roof.png")
        assert (folder / "roof.png").stat().st_size > 1000


def _plan(patch: bool) -> None:
    plan = rx.build(_module(body=lambda x: op.sum(op.exp(x) @ op.exp(x)))).memory_plan("main")
    with _folder() as folder, _without("matplotlib") if patch else contextlib.nullcontext():
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


def _accepted(*arguments: str, text: str, shows: str) -> Callable[[], None]:
    def run() -> None:
        code, out, error = _opt(*arguments, text=text)
        assert code == 0, error
        assert shows in out

    return run


def _object_file() -> None:
    with _folder() as folder:
        code, _, error = _opt("--emit=obj", "-o", str(folder / "a.o"), text=str(_module()))
        assert code == 0, error
        assert (folder / "a.o").read_bytes().startswith(b"\x7fELF")


def _internal(trace: bool) -> str:
    def work(arguments: Sequence[str]) -> int:
        raise KeyError("something")

    stderr = io.StringIO()
    shown = {supervise.TRACEBACK_VARIABLE: "1"} if trace else {}
    with mock.patch.object(sys, "stderr", stderr), mock.patch.dict(os.environ, shown):
        supervise.guarded("relax-opt", work, [])
    return stderr.getvalue()


def _internal_error() -> None:
    raise RelaxError(_internal(False))


def _trace() -> None:
    assert "Traceback" in _internal(True)


def _reproduced() -> None:
    code, out, error = _opt("--run-reproducer", text=TEXT + RECIPE)
    assert code == 0, error
    assert "func.func @main" in out


# Modules and weights

WEIGHT = np.arange(3, dtype=np.float32)


def _weighted() -> rx.IRModule:
    return _module(rx.Tensor((3,), "float32"), lambda x: x + op.const(np.ones((1 << 10, 3), np.float32))[0])


def _reread(**options: Any) -> Any:
    return rx.build(rx.IRModule.parse(_weighted().asm(**options)))


def _saved() -> None:
    with _folder() as folder:
        _weighted().save(folder / "module.rxm")
        same(rx.build(rx.IRModule.load(folder / "module.rxm"))["main"](X), X + 1)


def _registered(override: bool) -> None:
    with contextlib.suppress(LookupError, RelaxError):
        calls.register_infer("advice.rule")(lambda x: x)
    calls.register_infer("advice.rule", override=override)(lambda x: x)


def _rule() -> None:
    _registered(True)
    tvm_ffi.register_global_func("advice.rule", lambda x: x, override=True)
    same(rx.build(_module(body=lambda x: op.call_pure_packed("advice.rule", x)))["main"](X), X)


def _unregistered(register: bool) -> Any:
    if register:
        tvm_ffi.register_global_func("advice.late", lambda x: x, override=True)
    module = _module(
        body=lambda x: op.call_pure_packed("advice.late" if register else "advice.never", x, out=VECTOR)
    )
    return rx.build(module)["main"](X)


def _outside() -> None:
    op.zeros((3,), "float32")


def _empty_builder() -> None:
    rx.BlockBuilder().call("f")


def _defined_twice(update: bool) -> rx.IRModule:
    bb = rx.BlockBuilder()
    for number in range(2):
        x = rx.Var("x", VECTOR)
        if update and number:
            bb.update_func("main", _module())
            continue
        with bb.function("main", [x]):
            bb.emit_func_output(x + 1.0 if number else x)
    return bb.get()


def _bound(file: bool) -> Any:
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", VECTOR), rx.Var("w", VECTOR)
    with bb.function("main", [x, w]):
        bb.emit_func_output(x + w)
    with _folder() as folder:
        np.savez(folder / "w.npz", w=np.ones(3, np.float32))
        bb.get().apply_(BindParams(file=str(folder / "w.npz") if file else ""))
    return rx.build(bb.get())


def _bound_size(first: bool) -> Any:
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", VECTOR), rx.Var("w", rx.Tensor(("n+m",), "float32"))
    s = rx.Var("s", rx.Shape(("m",)))
    with bb.function("main", [x, w, s]):
        bb.emit_func_output(x + op.sum(w))
    module = bb.get()
    if first:
        parse_pipeline("bind-symbolic-vars{bindings=n=3,m=1}").apply_(module)
    module.apply_(BindParams.of({"w": np.full(4, 0.25, np.float32)}))
    return rx.build(module)


def _threads(count: int) -> Any:
    with mock.patch.object(platform, "system", lambda: "Plan9") if count > 1 else contextlib.nullcontext():
        return rx.build(_module(), f"cpu -num-threads={count}")


def _tiles() -> Any:
    """Request AMX tiles on a machine without them."""
    host = rx.Target.host()
    without = dataclasses.replace(
        host, features=frozenset(f for f in host.features if not f.startswith("amx_"))
    )
    with mock.patch.object(rx.Target, "host", staticmethod(lambda: without)):
        return rx.build(_module(), AMX)


TEXT = str(_module())
RECIPE = Recipe("builtin.module(canonicalize)").text()
FOREIGN_TARGET = "cpu -mcpu=" + ("neoverse-n1" if FOREIGN.startswith("aarch64") else "haswell")
AMX = "cpu -mattr=+amx_tile,+amx_bf16"
ROWS = {
    "builder_for_module": Row(
        lambda: rx.build(rx.BlockBuilder()),  # type: ignore[arg-type]  # the mistake
        r"BlockBuilder.get\(\) gives one",
        _runs(lambda: rx.build(_module())),
    ),
    "builder_for_code": Row(
        lambda: emit_code.llvm_ir(rx.BlockBuilder()),
        r"BlockBuilder.get\(\) gives one",
        lambda: _shows(emit_code.llvm_ir(_module()), "define"),
    ),
    "builder_for_bytecode": Row(
        lambda: emit_code.bytecode(rx.BlockBuilder()),
        r"BlockBuilder.get\(\) gives one",
        lambda: _shows(emit_code.bytecode(_module()), "main"),
    ),
    "profile_of_bytecode": Row(
        lambda: rx.build(_module(), exec_mode="bytecode", profile=True),
        r"VirtualMachine\(executable\).profile\(\)",
        _vm_profile,
    ),
    "no_records": Row(
        _profiled,
        r"build it with rx.build\(mod, profile=True\)",
        lambda: _shows(_printed(_profiled(profile=True)), "calls"),
    ),
    "dropped": Row(_dropped, "raise the capacity", lambda: _lacks(_truncated(100_000), "raise the capacity")),
    "roofline": Row(lambda: _roofline(True), r"pip install matplotlib", lambda: _roofline(False)),
    "plan": Row(lambda: _plan(True), "pip install matplotlib", lambda: _plan(False)),
    "tiles": Row(
        _tiles,
        r"add -mattr=-amx_\w+",
        _runs(lambda: rx.build(_module(), "cpu -mattr=-amx_bf16,-amx_tile")),
    ),
    "foreign": Row(
        lambda: rx.build(_module(), FOREIGN_TARGET),
        r"rx\.export\.cross_build makes code for it",
        lambda: _shows(
            str(rx.export.cross_build(_module(), FOREIGN_TARGET).interface.target), FOREIGN_TARGET
        ),
    ),
    "architecture": Row(
        lambda: rx.Target.parse(f"cpu -mtriple={FOREIGN}"),
        "-mcpu names a CPU of that architecture",
        lambda: _shows(rx.Target.parse(FOREIGN_TARGET).triple, FOREIGN.partition("-")[0]),
    ),
    "llvmlite": Row(
        lambda: _llvmlite(True), r"pip install 'relax-mlir\[asm\]' brings it", lambda: _llvmlite(False)
    ),
    "gradients": Row(
        lambda: _call(torch.from_numpy(X).requires_grad_()),
        "requires a gradient, which compiled functions do not compute: call under torch.no_grad",
        lambda: same(_call(torch.from_numpy(X).requires_grad_().detach()), X + 1),
    ),
    "sparse": Row(
        lambda: _call(torch.from_numpy(X).to_sparse()),
        "convert it to a dense tensor first",
        lambda: same(_call(torch.from_numpy(X).to_sparse().to_dense()), X + 1),
    ),
    "negative_bit": Row(
        lambda: _given(False),
        "give a plain one, such as torch.empty makes",
        lambda: same(_given(True), X + 1),
    ),
    "weights_saved": Row(lambda: _reread(elide_above=10), "keep modules with IRModule.save", _saved),
    "weights_printed": Row(
        lambda: _reread(elide_above=10),
        r"print them with asm\(elide_above=None\)",
        _runs(lambda: _reread(elide_above=None)),
    ),
    "rule": Row(lambda: _registered(False), "override=True replaces it", _rule),
    "packed": Row(
        lambda: _unregistered(False),
        "tvm_ffi.register_global_func registers it",
        lambda: same(_unregistered(True), X),
    ),
    "no_function": Row(
        _outside, r"call it inside `with bb.function\(...\)`", _runs(lambda: rx.build(_module()))
    ),
    "no_function_of_builder": Row(
        _empty_builder, r"use it inside `with bb.function\(...\)`", _runs(lambda: rx.build(_module()))
    ),
    "unbound": Row(
        lambda: rx.Var("x", VECTOR).ssa,
        "use it inside the function that has it as a parameter",
        _runs(lambda: rx.build(_module())),
    ),
    "defined_twice": Row(
        lambda: _defined_twice(False),
        "use update_func to replace it",
        _runs(lambda: rx.build(_defined_twice(True))),
    ),
    "no_file": Row(lambda: _bound(False), "give 'file', an .npz file of arrays", _runs(lambda: _bound(True))),
    "unknown_size": Row(
        lambda: _bound_size(False),
        "bind-symbolic-vars first",
        lambda: same(_bound_size(True)["main"](X, tvm_ffi.Shape((1,))), X + 1),
    ),
    "threads": Row(lambda: _threads(2), r"use Target\(num_threads=1\)", _runs(lambda: _threads(1))),
    "object_file": Row(_refused("--emit=obj", text=TEXT, terminal=True), "give a file with -o", _object_file),
    "reproducer": Row(_refused("--run-reproducer", "--cse", text=TEXT), "give no others", _reproduced),
    "memory_plan": Row(
        _refused("--memory-plan", "--cse", text=TEXT),
        "run --plan-memory, --relax-to-memrefs or no passes",
        _accepted(
            "--memory-plan", text=str(_module(body=lambda x: op.sum(op.exp(x) @ op.exp(x)))), shows="main"
        ),
    ),
    "entry_symbols": Row(
        lambda: _halved("m // 2 * 2"),
        "give 'a' a symbol for the dimension",
        lambda: same(_halved("m")(X), X + 1),
    ),
    "internal": Row(_internal_error, "set RELAX_MLIR_TRACEBACK=1 for the trace", _trace),
    "unknown_pass": Row(
        _refused("--no-such-pass", text=TEXT),
        "relax-opt --show-passes lists all|unknown",
        _accepted("--show-passes", text="", shows="fuse-ops"),
    ),
}


def _shows(text: str, part: str) -> None:
    assert part in text


def _lacks(text: str, part: str) -> None:
    assert part not in text


def _llvmlite(patch: bool) -> None:
    with _without("llvmlite") if patch else contextlib.nullcontext():
        _shows(emit_code.assembly(_module()), "main")


TABLE = Rows(ROWS)
