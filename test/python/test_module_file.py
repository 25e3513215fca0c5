"""`IRModule.save` and `IRModule.load`: round trips, and errors for damaged files."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.analysis.variables import name_to_binding
from relax_mlir.dialects.constants import to_attribute, to_numpy
from relax_mlir.error import ArgumentError, ParseError, UnsupportedError
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import quoted
from relax_mlir.runtime.cache_key import source_hash

Entries = dict[str, bytes]


def module() -> rx.IRModule:
    """Weights above and below the size from which they are resources, of dtypes with and without a buffer format."""
    rng = np.random.default_rng(0)
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 100), "float32"))
    scale = rng.standard_normal(100).astype(ml_dtypes.bfloat16)
    with bb.function("main", [x]):
        with bb.dataflow():
            scaled = bb.emit(x * R.astype(bb.const(scale), "float32"), name="scaled")
            longer = bb.emit(R.concat([scaled, bb.const(np.zeros((0, 100), "f4"))], axis=0))
            product = bb.emit(R.matmul(longer, bb.const(rng.standard_normal((100, 80), dtype="f4"))))
            chosen = R.where(bb.const(rng.random(80) > 0.5), product, R.astype(bb.const(np.arange(80)), "float32"))
            out = bb.emit_output(chosen + bb.const(np.float32(2)), name="out")
        bb.emit_func_output(out)
    return bb.get()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("modules") / "model.relax"
    module().save(path)
    return path


def test_round_trip(saved: Path, tmp_path: Path) -> None:
    mod = module()
    loaded = rx.IRModule.load(saved)
    assert_structural_equal(mod, loaded)
    assert list(name_to_binding(loaded["main"])) == ["scaled", "out"]
    x = np.random.default_rng(1).standard_normal((3, 100), dtype="f4")
    results = [np.from_dlpack(rx.build(m)["main"](x)) for m in (mod, loaded)]
    np.testing.assert_array_equal(*results)
    loaded.save(tmp_path / "again" / "model.relax")
    assert_structural_equal(mod, rx.IRModule.load(tmp_path / "again" / "model.relax", trusted=True))
    assert [p.name for p in (tmp_path / "again").iterdir()] == ["model.relax"]


def test_others_can_look_inside(saved: Path) -> None:
    arrays = np.load(saved)
    shapes = {arrays[name].shape for name in arrays if name.startswith("weights/")}
    assert shapes == {(100,), (100, 80), (80,)}
    with zipfile.ZipFile(saved) as archive:
        assert '"relax.matmul"' in archive.read("module.mlir").decode()
        assert json.loads(archive.read("relax-mlir.json"))["written_by"] == f"relax-mlir {rx.__version__}"


def test_lower_levels_are_saved_too(tmp_path: Path) -> None:
    from relax_mlir.transform import create_pass

    mod = module()
    mod.apply_(create_pass("relax-to-tensors"))
    mod.save(tmp_path / "tensors.relax")
    assert str(rx.IRModule.load(tmp_path / "tensors.relax")).count("\n") == str(mod).count("\n")


def test_strings_that_look_like_weights(tmp_path: Path) -> None:
    """Names, messages, locations and other attributes are unchanged; weights are detected as attributes."""
    texts = ("{-# x", "dense_resource<w> x", "#-}", '\u00e4 dense_resource<"w">\n{-#\n\n"#-}')
    for number, text in enumerate(texts):
        bb = rx.BlockBuilder()
        x = rx.Var("x", rx.Tensor(("n", 80), "float32"))
        with bb.function("main", [x]):
            R.assert_op(R.max(x) < 1e9, format=text.replace("{", "{{").replace("}", "}}"))
            bb.emit_func_output(x * bb.const(np.arange(80, dtype="f4")))
        mod = bb.get()
        with mod.context:
            mod["main"].attributes["note"] = ir.Attribute.parse(f"[{{a = {quoted(text)}}}, {quoted(text)}]")
            mod["main"].operation.location = ir.Location.file(text, 1, 2)
            mod.operation.attributes["sym_name"] = ir.StringAttr.get(text)
        path = tmp_path / f"{number}.relax"
        mod.save(path)
        loaded = rx.IRModule.load(path, trusted=number < len(texts) - 1)
        assert source_hash(loaded.mlir) == source_hash(mod.mlir)
        copy = rx.IRModule()
        copy["main"] = loaded["main"]
        assert copy.context != loaded.context and copy["main"].attributes["note"][1].value == text
    result = np.from_dlpack(rx.build(copy)["main"](np.ones((1, 80), "f4")))
    np.testing.assert_array_equal(result, [np.arange(80)])


def test_weights_inside_of_other_attributes(tmp_path: Path) -> None:
    mod = module()
    array = np.arange(70, dtype="f4")
    with mod.context, ir.Location.unknown():
        weight = to_attribute(array, 'a "name" > {-# of its own')
        mod["main"].attributes["note"] = ir.ArrayAttr.get([ir.DictAttr.get({"w": weight}), weight])
    mod.save(tmp_path / "mod.relax")
    loaded = rx.IRModule.load(tmp_path / "mod.relax")
    copy = rx.IRModule()
    copy["main"] = loaded["main"]
    for other in (loaded, copy):
        note = other["main"].attributes["note"]
        for found in (note[0]["w"], note[1]):
            np.testing.assert_array_equal(to_numpy(found), array)
    with mod.context:
        mod["main"].operation.location = ir.Location.fused([ir.Location.unknown()], weight)
    with pytest.raises(UnsupportedError, match=r"IRModule\.save: .*a type or a location holds a resource"):
        mod.save(tmp_path / "other.relax")
    assert not (tmp_path / "other.relax").exists()


def test_weights_with_any_name(tmp_path: Path) -> None:
    """Text may give a resource any name; the manifest stores it unescaped."""
    name = 'a \\"name\\" > \\5C #-}'
    text = (
        f'module {{ func.func @main() -> tensor<2xf32> {{ %0 = "relax.constant"() {{value = dense_resource<"{name}"> : '
        "tensor<2xf32>} : () -> tensor<2xf32>\n return %0 : tensor<2xf32> } }\n"
        f'{{-# dialect_resources: {{ builtin: {{ "{name}": "0x040000000000803F00000040" }} }} #-}}'
    )
    mod = rx.IRModule.parse(text)
    mod.save(tmp_path / "mod.relax")
    with zipfile.ZipFile(tmp_path / "mod.relax") as archive:
        manifest = json.loads(archive.read("relax-mlir.json"))
    assert list(manifest["weights"]) == ['a "name" > \\ #-}'] and manifest["version"] == 1
    for other in (mod, rx.IRModule.load(tmp_path / "mod.relax")):
        np.testing.assert_array_equal(np.from_dlpack(rx.build(other)["main"]()), [1, 2])


def test_a_text_without_its_weights_names_them(tmp_path: Path) -> None:
    read = rx.IRModule.parse(str(module()))
    names = sorted({part.partition(">")[0] for part in str(read).split("dense_resource<")[1:]})
    for act in (rx.build, lambda mod: rx.build(mod, cache=False), lambda mod: mod.save(tmp_path / "m")):
        with pytest.raises(UnsupportedError, match=r"no data for its weights .*IRModule\.save") as raised:
            act(read)
        assert all(f"'{name}'" in str(raised.value) for name in names)
    assert not list(tmp_path.iterdir())


def test_files_that_cannot_be_written_or_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no module")
    with pytest.raises(ArgumentError, match=r"IRModule\.save: cannot write .*file/model"):
        module().save(tmp_path / "file" / "model")
    with pytest.raises(ArgumentError, match="'path' is 3"):
        module().save(3)  # type: ignore[arg-type]  # the mistake under test
    for path, reason in (
        ("missing", "No such file"),
        ("", "it is a folder"),
        ("file", "damaged, cut off, or not a file"),
    ):
        with pytest.raises(ParseError, match=f"IRModule.load: .*{tmp_path}.*{reason}"):
            rx.IRModule.load(tmp_path / path)


def entries(path: Path) -> Entries:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def manifest_with(change: Callable[[dict[str, Any]], object]) -> Callable[[Entries], None]:
    def edit(found: Entries) -> None:
        manifest = json.loads(found["relax-mlir.json"])
        change(manifest)
        found["relax-mlir.json"] = json.dumps(manifest).encode()

    return edit


def weights_with(**changes: object) -> Callable[[Entries], None]:
    return manifest_with(lambda m: [entry.update(changes) for entry in m["weights"].values()])


def array_bytes(array: np.ndarray[Any, Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def every_weight(data: Callable[[bytes], bytes]) -> Callable[[Entries], None]:
    def edit(found: Entries) -> None:
        found.update({name: data(old) for name, old in found.items() if name.startswith("weights/")})

    return edit


HOSTILE: dict[str, tuple[Callable[[Entries], object], str]] = {
    "no manifest": (lambda e: e.pop("relax-mlir.json"), "has no entry 'relax-mlir.json'"),
    "no text": (lambda e: e.pop("module.mlir"), "has no entry 'module.mlir'"),
    "not json": (lambda e: e.update({"relax-mlir.json": b"{"}), "is no JSON text"),
    "deep json": (lambda e: e.update({"relax-mlir.json": b"[" * 100_000}), "is no JSON text"),
    "json of another kind": (lambda e: e.update({"relax-mlir.json": b"[1]"}), "not a module of relax-mlir"),
    "newer": (
        manifest_with(lambda m: m.update(version=2)),
        "version 2 of the format, by relax-mlir .* reads up to 1",
    ),
    "version of another kind": (manifest_with(lambda m: m.update(version="x")), "version 'x'"),
    "weights are a list": (manifest_with(lambda m: m.update(weights=[])), 'no table "weights"'),
    "weights missing": (
        manifest_with(lambda m: m.update(weights={})),
        "weights that are not in the file: 'relax_",
    ),
    "unknown dtype": (weights_with(dtype="float7"), "unknown dtype 'float7'"),
    "dtype of another kind": (weights_with(dtype=None), "unknown dtype 'None'"),
    "another dtype": (weights_with(dtype="float64"), r"expected float64 .*, its entry has uint16"),
    "another shape": (weights_with(shape=[7]), r"expected bfloat16 \(7,\)"),
    "negative shape": (weights_with(shape=[-1]), r"its shape is \[-1\]"),
    "shape of another kind": (weights_with(shape="x"), "its shape is 'x'"),
    "no member": (weights_with(member=None), "has no entry 'None'"),
    "member is the text": (weights_with(member="module.mlir"), "no array in NumPy's format"),
    "weights cut off": (every_weight(lambda data: data[:-1]), "199 bytes, expected 200"),
    "weights empty": (every_weight(lambda data: b""), "no array in NumPy's format"),
    "header lies": (every_weight(lambda d: d.replace(b"(100,)", b"(9**9)")), "no array in NumPy's format"),
    "pickles": (every_weight(lambda d: array_bytes(np.array([{}], object))), "its entry has object"),
    "weights of another type": (
        lambda e: (
            weights_with(shape=[50], dtype="uint16")(e),
            every_weight(lambda _: array_bytes(np.zeros(50, "u2")))(e),
        ),
        r"weight 'relax_constant_\d+' is tensor<50xui16>, the text says tensor<100xbf16>",
    ),
    "bad text": (lambda e: e.update({"module.mlir": b"module {"}), r"not a valid module\n.*:1:\d+: error"),
    "text not utf-8": (lambda e: e.update({"module.mlir": b"\xff"}), "is not UTF-8"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_errors(case: str, saved: Path, tmp_path: Path) -> None:
    edit, message = HOSTILE[case]
    found = entries(saved)
    edit(found)
    path = tmp_path / "hostile.relax"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in found.items():
            archive.writestr(name, data)
    with pytest.raises(ParseError, match=message) as raised:
        rx.IRModule.load(path)
    assert str(path) in str(raised.value)


def test_compressed_entries_are_refused(saved: Path, tmp_path: Path) -> None:
    """A few bytes must not expand to gigabytes."""
    path = tmp_path / "small.relax"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries(saved).items():
            archive.writestr(name, data)
    with pytest.raises(ParseError, match="is compressed; modules are saved uncompressed"):
        rx.IRModule.load(path)


def test_cut_and_damaged_files_are_errors_or_right(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    path = tmp_path / "damaged.relax"
    rng = np.random.default_rng(2)
    for end in (0, 1, 30, *rng.integers(0, len(data), 20), len(data) - 1):
        path.write_bytes(data[:end])
        with pytest.raises(ParseError, match=f"IRModule.load: .*{path.name}"):
            rx.IRModule.load(path)
    mod, refused = module(), 0
    for place in rng.integers(0, len(data), 60):
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        try:
            loaded = rx.IRModule.load(path)
        except ParseError as error:
            assert path.name in str(error)
            refused += 1
        else:  # the bit was insignificant: part of a date or a version
            assert_structural_equal(mod, loaded)
    assert refused > 30
