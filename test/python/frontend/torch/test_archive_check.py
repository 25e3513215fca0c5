"""``.pt2`` files that could run code are refused before torch reads them; others load as usual."""

from __future__ import annotations

import functools
import io
import json
import os
import pickle
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import torch
from relax_mlir.error import UntrustedFileError
from relax_mlir.frontend.torch.archive_check import check_archive
from relax_mlir.tools import compile_command, opt, run_command, tune_command

PROGRAM, SAMPLES = "models/model.json", "data/sample_inputs/model.pt"
WEIGHTS, CONSTANTS = "data/weights/model_weights_config.json", "data/constants/model_constants_config.json"


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(3.0))
        self.offset = torch.tensor([1.0, 2.0, 3.0])

    def forward(self, x: torch.Tensor, *, y: torch.Tensor) -> torch.Tensor:
        return (x * self.weight + self.offset).reshape(-1) + y


@functools.cache
def exported() -> torch.export.ExportedProgram:
    rows = torch.export.Dim("rows", min=2, max=50)
    sizes = {"x": {0: rows}, "y": {0: 3 * rows}}
    return torch.export.export(Scaled(), (torch.ones(4, 3),), {"y": torch.zeros(12)}, dynamic_shapes=sizes)


@functools.cache
def members() -> dict[str, bytes]:
    """The members that `torch.export.save` writes, by name."""
    stream = io.BytesIO()
    torch.export.save(exported(), stream)
    with zipfile.ZipFile(stream) as archive:
        root = archive.namelist()[0].split("/")[0]
        return {name.removeprefix(f"{root}/"): archive.read(name) for name in archive.namelist()}


def check_path(path: str | Path) -> None:
    with open(path, "rb") as stream:
        check_archive(stream, path)


def write(folder: Path, contents: dict[str, bytes], root: str = "model/") -> Path:
    with zipfile.ZipFile(folder / "model.pt2", "w") as archive:
        for name, data in contents.items():
            archive.writestr(root + name, data)
    return folder / "model.pt2"


class Touches:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (str(self.path),)


def pickled(value: object) -> bytes:
    """The bytes that `torch.save` writes for an object."""
    stream = io.BytesIO()
    torch.save(value, stream)
    return stream.getvalue()


def edited(member: str, edit: Callable[[Any], object]) -> dict[str, bytes]:
    """The members with a change of one of JSON."""
    facts = json.loads(members()[member])
    edit(facts)
    return {**members(), member: json.dumps(facts).encode()}


def nodes(program: Any) -> list[Any]:
    return list(program["graph_module"]["graph"]["nodes"])


def test_files_of_models_load(tmp_path: Path) -> None:
    module = rx.load(write(tmp_path, members()))
    x, y = np.ones((2, 3), "float32"), np.zeros(6, "float32")
    found = rx.build(module)["main"](x, y)
    expected = exported().module()(torch.from_numpy(x), y=torch.from_numpy(y))
    np.testing.assert_array_equal(np.from_dlpack(found), expected.detach().numpy())


def test_files_of_other_layouts_pass(tmp_path: Path) -> None:
    with torch._subclasses.FakeTensorMode() as mode:
        fake = torch.export.export(torch.nn.Identity(), (mode.from_tensor(torch.ones(2)),))
    torch.export.save(fake, tmp_path / "fake.pt2")
    check_path(tmp_path / "fake.pt2")
    from torch._export.serde.serialize import serialize

    parts = serialize(exported())
    older = {
        "version": b"8.0",
        "serialized_exported_program.json": parts.exported_program,
        "serialized_state_dict.pt": parts.state_dict,
        "serialized_constants.pt": parts.constants,
        "serialized_example_inputs.pt": parts.example_inputs,
    }
    check_path(write(tmp_path, older, root=""))
    for name in older:
        if name.endswith(".pt"):
            changed = {**older, name: pickled(Touches(tmp_path / "made"))}
            with pytest.raises(UntrustedFileError, match=f"member {name} is a pickle of more than"):
                rx.load(write(tmp_path, changed, root=""))
    assert not (tmp_path / "made").exists()


def test_pickles_are_not_run(tmp_path: Path) -> None:
    """torch would run them, as the last load shows."""
    made = tmp_path / "made"
    tensors = lambda facts: facts["config"]["weight"].update(use_pickle=True)  # noqa: E731
    for contents, member in (
        ({**members(), SAMPLES: pickled(Touches(made))}, SAMPLES),
        ({**members(), SAMPLES: pickle.dumps(Touches(made))}, SAMPLES),
        ({**edited(WEIGHTS, tensors), "data/weights/weight_0": pickled(Touches(made))}, "weight_0"),
        ({**members(), "data/constants/opaque_obj_0": pickle.dumps(Touches(made))}, "opaque_obj_0"),
    ):
        path = write(tmp_path, contents)
        with pytest.raises(UntrustedFileError, match=f"{member} .* trusted=True.*--trusted"):
            rx.load(path)
        assert not made.exists()
    rx.load(write(tmp_path, {**members(), SAMPLES: pickled((Touches(made), {}))}), trusted=True)
    assert made.is_dir()


def test_tools_take_trusted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made = tmp_path / "made"
    path = str(write(tmp_path, {**members(), SAMPLES: pickled((Touches(made), {}))}))
    for run, code, options in (
        (opt.run, 0, []),
        (compile_command.run, 0, ["--emit=relax"]),
        (run_command.run, 1, ["missing"]),
        (tune_command.run, 1, ["--list"]),
    ):
        assert run([path, *options]) == 1
        assert not made.exists()
        assert "--trusted on the command line" in capfd.readouterr().err
        assert run([path, *options, "--trusted"]) == code
        assert made.exists()
        made.rmdir()


def rename(program: Any) -> None:
    program["graph_module"]["graph"]["inputs"][0]["as_tensor"]["name"] = "x):\n  pass\nprint(1)\ndef f("


def retarget(target: str) -> Callable[[Any], object]:
    return lambda program: nodes(program)[0].update(target=target)


def tree(context: str) -> Callable[[Any], object]:
    spec = {"type": "collections.defaultdict", "context": context, "children_spec": []}

    def edit(program: Any) -> None:
        program["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] = json.dumps([1, spec])

    return edit


def keyword(program: Any) -> None:
    signature = program["graph_module"]["module_call_graph"][0]["signature"]
    signature["in_spec"] = signature["in_spec"].replace('[\\"y\\"]', '[\\"y, z=print(1)\\"]')


def size(text: str) -> Callable[[Any], object]:
    def edit(node: Any) -> None:
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if key == "expr_str":
                node[key] = text
            elif isinstance(value, dict | list):
                edit(value)

    return edit


def guard(text: str) -> Callable[[Any], object]:
    return lambda program: program.update(guards_code=[text])


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (size("__import__('os').getcwd()"), "a size that is no arithmetic"),
        (size("Symbol('s0').__class__"), "a size that is no arithmetic"),
        (size("lambdify(Symbol('s0'), 'print(1)')"), "a size that is no arithmetic"),
        (size("sympify('print(1)')"), "a size that is no arithmetic"),
        (size("Symbol('s0" + r"\')+print(1)#')"), "a size that is no arithmetic"),
        (size("[x for x in (1,)]"), "a size that is no arithmetic"),
        (size("(" * 9999), "a size that is no arithmetic"),
        (guard("print(1) == 1"), "a guard that is no arithmetic"),
        (guard("L['x'].__class__ == 1"), "a guard that is no arithmetic"),
        (guard("L['x\"'].size()[0] == 1"), "a guard that is no arithmetic"),
        (guard("(lambda: 1)() == 1"), "a guard that is no arithmetic"),
        (rename, "a name that is no identifier"),
        (retarget("torch.os.system"), "the operator 'torch.os.system'"),
        (retarget("torch.ops.load_library"), "the operator 'torch.ops.load_library'"),
        (retarget("torch.ops.load_library.__call__"), "the operator 'torch.ops.load_library"),
        (retarget("_operator.call"), "the operator '_operator.call'"),
        (retarget('x")+print(1)#'), "a target with quotation marks"),
        (
            tree('{"default_factory_module": "this", "default_factory_name": "s"}'),
            "a tree of arguments with a type that a module is imported for",
        ),
        (
            tree('[{"__enum__": 1, "fqn": "this:s", "name": "x"}]'),
            "a tree of arguments with a type that a module is imported for",
        ),
        (keyword, "a keyword argument whose name is no identifier"),
    ],
)
def test_programs_are_data(edit: Callable[[Any], object], reason: str, tmp_path: Path) -> None:
    with pytest.raises(UntrustedFileError, match=f"member {PROGRAM} has {reason}"):
        check_path(write(tmp_path, edited(PROGRAM, edit)))


def test_sizes_of_torch_run_code(tmp_path: Path) -> None:
    """The reason for the rule: torch evaluates what the file says."""
    made = tmp_path / "made"
    path = write(tmp_path, edited(PROGRAM, size(f"__import__('os').mkdir({str(made)!r}) or 4")))
    with pytest.raises(UntrustedFileError):
        rx.load(path)
    assert not made.exists()
    with pytest.raises(rx.error.ParseError):
        rx.load(path, trusted=True)
    assert made.exists()


@pytest.mark.parametrize(
    "name", ["data/constants/custom_obj_0", "data/aotinductor/model/model.so", "data/constants/model.pt"]
)
def test_members_that_are_code(name: str, tmp_path: Path) -> None:
    with pytest.raises(UntrustedFileError, match=f"member {name} "):
        check_path(write(tmp_path, {**members(), name: b"code"}))


def test_what_only_one_reader_of_archives_sees(tmp_path: Path) -> None:
    """torch finds members regardless of letter case, and refuses archives with two folders; `zipfile` does neither."""
    evil = pickled((Touches(tmp_path / "made"), {}))
    for name in (f"other/{SAMPLES}", "serialized_constants.pt"):
        path = write(tmp_path, members())
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, evil)
        with pytest.raises(UntrustedFileError):
            check_path(path)
    others = {name: data for name, data in members().items() if name != SAMPLES}
    path = write(tmp_path, {**others, SAMPLES.replace("sample", "SAMPLE"): evil})
    with pytest.raises(UntrustedFileError):
        rx.load(path)
    assert not (tmp_path / "made").exists()
    rx.load(path, trusted=True)
    assert (tmp_path / "made").exists()


def test_constants_name_their_members(tmp_path: Path) -> None:
    def edit(facts: Any) -> None:
        for entry in facts["config"].values():
            entry.update(path_name="custom_obj_7")

    with pytest.raises(UntrustedFileError, match="custom_obj_7 holds a custom object"):
        check_path(write(tmp_path, edited(CONSTANTS, edit)))


def test_what_is_no_archive_passes() -> None:
    with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
        file.write(b"PK this is no archive")
        file.flush()
        check_path(file.name)
