"""Prim funcs given as IR cannot access memory outside of their buffers, change inputs or crash the compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.error import RelaxError, ShapeError, VerifyError
from relax_mlir.transform import parse_pipeline

N = 'tensor<?xf32, #relax.shape<["n"]>>'
MAIN = """
func.func @{name}(%x: {N}) -> {N} {{
  %0 = builtin.unrealized_conversion_cast %x : {N} to tuple<{N}>
  %1 = "relax.call_tir"(%0) {{callee = @k_{name}, tir_vars = [{vars}]}} : (tuple<{N}>) -> {N}
  return %1 : {N}
}}
"""
ON_MEMREFS = "func.func private @k_{name}(%a: memref<?xf32>, %b: memref<?xf32>{more}) attributes {{relax.prim_func}} {{"
ON_TENSORS = (
    "func.func private @k_{name}(%a: tensor<?xf32>, %b: tensor<?xf32>{more}) -> tensor<?xf32> "
    "attributes {{relax.prim_func}} {{"
)
HEAD = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
"""
COPY = """
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
"""


def module(bodies: dict[str, str]) -> Any:
    """One function per body, which returns what its prim func leaves in %b; bodies with `return %` are on tensors."""
    text = ""
    for name, body in bodies.items():
        tensors, more = "return %" in body, ", %s: index" if "%s" in body else ""
        head = (ON_TENSORS if tensors else ON_MEMREFS).format(name=name, more=more)
        end = "" if tensors else "  return\n"
        text += f"{head}{HEAD}{body}{end}}}\n"
        text += MAIN.format(name=name, N=N, vars='"n - 4"' if more else "")
    return rx.build(rx.IRModule.parse(text))


CHECKED: dict[str, tuple[str, str, Callable[[int], bool]]] = {
    "load": (
        f"{COPY}  %i = arith.constant 3 : index\n  %x = memref.load %a[%i] : memref<?xf32>\n"
        "  memref.store %x, %b[%i] : memref<?xf32>\n",
        "index 3 is out of range for dimension 0",
        lambda n: n > 3,
    ),
    "negative": (
        f"{COPY}  %x = memref.load %a[%s] : memref<?xf32>\n  memref.store %x, %b[%s] : memref<?xf32>\n",
        "index -[1-4] is out of range",
        lambda n: n >= 4,
    ),
    "backwards": (
        f"{COPY}  scf.for %i = %s to %c2 step %c1 {{\n    %x = memref.load %a[%i] : memref<?xf32>\n"
        "    memref.store %x, %b[%i] : memref<?xf32>\n  }\n",
        "index -",
        lambda n: n >= 4,
    ),
    "step": (
        f"{COPY}  %k = arith.subi %s, %c1 : index\n  scf.for %i = %c0 to %c2 step %k {{\n"
        f"    memref.store %zero, %b[%c0] : memref<?xf32>\n  }}\n{COPY}",
        "the step of the loop is -?[0-9]+, expected 1 or more",
        lambda n: n >= 6,
    ),
    "dimension": (
        "  %d = memref.dim %a, %s : memref<?xf32>\n  %j = arith.index_cast %d : index to i32\n"
        f"  %f = arith.sitofp %j : i32 to f32\n  memref.store %f, %b[%c0] : memref<?xf32>\n{COPY}",
        "memref.dim asks for dimension",
        lambda n: n == 4,
    ),
    "allocation": (
        f"{COPY}  %m = memref.alloc(%s) : memref<?xf32>\n  linalg.fill ins(%zero : f32) outs(%m : memref<?xf32>)\n",
        "no buffer can have the shape",
        lambda n: n >= 4,
    ),
    "large": (
        f"{COPY}  %h = arith.constant 4611686018427387904 : index\n  %m = arith.muli %s, %h : index\n"
        "  %l = memref.alloc(%m) : memref<?xf32>\n  linalg.fill ins(%zero : f32) outs(%l : memref<?xf32>)\n",
        "no buffer can have the shape",
        lambda n: n == 4,
    ),
    "stack": (
        f"{COPY}  %l = memref.alloca(%s) : memref<?x1000000xf32>\n"
        "  linalg.fill ins(%zero : f32) outs(%l : memref<?x1000000xf32>)\n",
        "no buffer can have the shape",
        lambda n: n >= 4,
    ),
    "cast": (
        f"{COPY}  %l = memref.cast %a : memref<?xf32> to memref<5xf32>\n  %m = memref.alloc() : memref<5xf32>\n"
        "  linalg.exp ins(%l : memref<5xf32>) outs(%m : memref<5xf32>)\n",
        "dimension 0 is [0-9]+, but memref.cast says 5|along one loop differ",
        lambda n: n == 5,
    ),
    "copy": (
        f"{COPY}  %l = memref.alloc() : memref<6xf32>\n  memref.copy %a, %l : memref<?xf32> to memref<6xf32>\n",
        "dimension 0 of the source is [0-9]+, of the target 6",
        lambda n: n == 6,
    ),
    "subview": (
        f"{COPY}  %v = memref.subview %a[%c2] [%s] [2] : memref<?xf32> to memref<?xf32, strided<[2], offset: ?>>\n"
        "  %m = memref.alloc(%s) : memref<?xf32>\n"
        "  linalg.exp ins(%v : memref<?xf32, strided<[2], offset: ?>>) outs(%m : memref<?xf32>)\n",
        "the slice of dimension 0 begins at 2 and has -?[0-9]+ elements",
        lambda n: 0 <= n - 4 <= (n - 1) // 2,
    ),
    "loops": (
        f"{COPY}  %l = memref.alloc() : memref<6xf32>\n  linalg.exp ins(%a : memref<?xf32>) outs(%l : memref<6xf32>)\n",
        "sizes [0-9]+ and 6 of operands along one loop differ|sizes 6 and [0-9]+",
        lambda n: n == 6,
    ),
    "window": (
        f"{COPY}  %l = memref.alloc() : memref<3xf32>\n  linalg.fill ins(%zero : f32) outs(%l : memref<3xf32>)\n"
        "  %w = memref.alloc() : memref<3xf32>\n  linalg.fill ins(%zero : f32) outs(%w : memref<3xf32>)\n"
        "  linalg.conv_1d ins(%a, %w : memref<?xf32>, memref<3xf32>) outs(%l : memref<3xf32>)\n",
        "which its loops of length .* leave",
        lambda n: n >= 5,
    ),
    "while_loop": (
        f"{COPY}  %r = scf.while (%i = %s) : (index) -> index {{\n    %go = arith.cmpi slt, %i, %c2 : index\n"
        "    scf.condition(%go) %i : index\n  } do {\n  ^bb0(%i: index):\n"
        "    memref.store %zero, %b[%i] : memref<?xf32>\n    %j = arith.addi %i, %c1 : index\n"
        "    scf.yield %j : index\n  }\n  memref.copy %a, %b : memref<?xf32> to memref<?xf32>\n",
        "index -",
        lambda n: n >= 4,
    ),
    "affine_load": (
        f"{COPY}  %x = affine.load %a[symbol(%s) * 2] : memref<?xf32>\n"
        "  affine.store %x, %b[symbol(%s) * 2] : memref<?xf32>\n",
        "out of range",
        lambda n: 0 <= 2 * (n - 4) < n,
    ),
    "extract": (
        "  %x = tensor.extract %a[%s] : tensor<?xf32>\n  %r = tensor.insert %x into %a[%s] : tensor<?xf32>\n"
        "  return %r : tensor<?xf32>\n",
        "out of range",
        lambda n: n >= 4,
    ),
    "gather": (
        "  %r = linalg.map { math.absf } ins(%a : tensor<?xf32>) outs(%b : tensor<?xf32>)\n"
        "  %x = tensor.extract %a[%c2] : tensor<?xf32>\n  %q = tensor.insert %x into %r[%c2] : tensor<?xf32>\n"
        "  return %q : tensor<?xf32>\n",
        "index 2 is out of range",
        lambda n: n > 2,
    ),
    "slices": (
        "  %e = tensor.extract_slice %a[%s] [2] [1] : tensor<?xf32> to tensor<2xf32>\n"
        "  %f = linalg.map { math.absf } ins(%a : tensor<?xf32>) outs(%b : tensor<?xf32>)\n"
        "  %r = tensor.insert_slice %e into %f[%s] [2] [1] : tensor<2xf32> into tensor<?xf32>\n"
        "  return %r : tensor<?xf32>\n",
        "the slice of dimension 0 begins at",
        lambda n: n >= 4,
    ),
    "input_returned": ("  return %a : tensor<?xf32>\n", "", lambda n: True),
}


def test_accesses_are_checked() -> None:
    executable = module({name: body for name, (body, _, _) in CHECKED.items()})
    for name, (_, message, good) in CHECKED.items():
        for n in (0, 1, 3, 4, 5, 6, 7, 8):
            x = np.arange(1, n + 1, dtype="float32")
            kept = x.copy()
            if good(n):
                got = np.from_dlpack(executable[name](x))
                assert got.shape == (n,)
                np.testing.assert_array_equal(got, kept, err_msg=f"{name} {n}")
            else:
                with pytest.raises((IndexError, ShapeError), match=message):
                    executable[name](x)
            np.testing.assert_array_equal(x, kept)


def test_sizes_of_types() -> None:
    """A prim func for 4 elements is not called with others, declared or not."""
    text = f"""
func.func private @k(%a: memref<4xf32>, %b: memref<?xf32>) attributes {{relax.prim_func}} {{
  %c0 = arith.constant 3 : index
  %x = memref.load %a[%c0] : memref<4xf32>
  linalg.fill ins(%x : f32) outs(%b : memref<?xf32>)
  return
}}
func.func @main(%x: {N}) -> {N} {{
  %0 = builtin.unrealized_conversion_cast %x : {N} to tuple<{N}>
  %1 = "relax.call_tir"(%0) {{callee = @k, tir_vars = []}} : (tuple<{N}>) -> {N}
  return %1 : {N}
}}"""
    main = rx.build(rx.IRModule.parse(text))["main"]
    np.testing.assert_array_equal(np.from_dlpack(main(np.arange(4, dtype="float32"))), np.full(4, 3, "float32"))
    with pytest.raises(ShapeError):
        main(np.zeros(3, "float32"))


@pytest.mark.parametrize(
    "attribute",
    [
        "relax.check",
        "relax.constant",
        "relax.packed",
        "relax.signature",
        "relax.latency_critical",
        "llvm.linkage",
        "relax.other",
    ],
)
def test_attributes_of_the_lowering(attribute: str) -> None:
    prim = f"""
func.func private @k(%a: memref<?xf32>, %b: memref<?xf32>) attributes {{relax.prim_func, {{}}}} {{
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  return
}}
func.func @main(%x: {N}) -> {N} attributes {{}} {{
  return %x : {N}
}}"""
    for on_prim, on_main in ((attribute, ""), ("relax.pattern", attribute)):
        text = prim.replace("{}}", on_prim + "}", 1).replace("attributes {}", f"attributes {{{on_main}}}", 1)
        text = text.replace("relax.pattern}", 'relax.pattern = "opaque"}')
        with pytest.raises(VerifyError, match=rf"'(k|main)' has the attribute {attribute}.*\[invariant 15\]"):
            rx.IRModule.parse(text).verify()


@pytest.mark.parametrize(
    ("op", "attribute", "values", "good"),
    [
        ("scf.if", "relax.by_size", ("false", '""', "[]"), '"add"'),
        ("scf.for", "relax.loop", ("false", '"serial"', "1"), '"parallel"'),
        ("memref.alloc", "relax.dtype", ("false", '"float32"', '"int8x"', '"uint16"'), '"uint8"'),
        ("memref.alloca", "relax.dtype", ("unit",), '"int8"'),
        ("tensor.empty", "relax.dtype", ("2", '"bool"'), '"int8"'),
        ("memref.alloc", "relax.scope", ("1", "unit"), '"local"'),
    ],
)
def test_values_of_attributes_of_ops(op: str, attribute: str, values: Sequence[str], good: str) -> None:
    prim = """
func.func private @k(%a: memref<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %alloc = memref.alloc() ALLOC : memref<4xi8>
  %alloca = memref.alloca() ALLOCA : memref<4xi8>
  %empty = tensor.empty() EMPTY : tensor<4xi8>
  scf.for %i = %zero to %one step %one {
    scf.yield
  } FOR
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  return
}
"""
    main = f"""
func.func @main(%x: {N}) -> {N} {{
  %flag = arith.constant true
  %r = scf.if %flag -> ({N}) {{
    scf.yield %x : {N}
  }} else {{
    scf.yield %x : {N}
  }} IF
  return %r : {N}
}}"""
    places = {
        "scf.if": "IF",
        "scf.for": "FOR",
        "memref.alloc": "ALLOC ",
        "memref.alloca": "ALLOCA",
        "tensor.empty": "EMPTY",
    }

    def text(value: str) -> str:
        found = prim + main
        for each, place in places.items():
            given = f"{{{attribute} = {value}}}" if each == op else ""
            found = found.replace(f" {place}", f" {given} " if place.endswith(" ") else f" {given}")
        return found

    for value in values:
        module = rx.IRModule.parse(text(value))
        with pytest.raises(VerifyError, match=rf"{op}: {attribute} is .*, expected .*\[invariant (8|15)\]"):
            module.verify()
        assert module.script()
    rx.IRModule.parse(text(good)).verify()


def test_functions_without_a_body() -> None:
    """Functions of the C library are not called."""
    text = f"""
func.func private @abort()
func.func @main(%x: {N}) -> {N} {{
  return %x : {N}
}}"""
    with pytest.raises(RelaxError, match=r"'abort' has no body: call a packed function"):
        rx.build(rx.IRModule.parse(text))


@pytest.mark.parametrize("name", ["relax.k", "__tvm_ffi_k", "k.shapes"])
def test_names_of_the_lowering(name: str) -> None:
    text = f"""
func.func private @"{name}"(%a: memref<?xf32>, %b: memref<?xf32>) attributes {{relax.prim_func}} {{
  return
}}"""
    with pytest.raises(VerifyError, match=r"reserved for the lowering \[invariant 9\]"):
        rx.IRModule.parse(text).verify()


def test_names_of_c_functions() -> None:
    """Functions may have names of the C library, whose functions other code still calls."""
    names = ("malloc", "memcpy", "exp", "abort")
    prims = "".join(
        f"func.func private @{name}(%a: memref<?xf32>, %b: memref<?xf32>) attributes {{relax.prim_func}} {{\n"
        "  linalg.exp ins(%a : memref<?xf32>) outs(%b : memref<?xf32>)\n  return\n}\n"
        for name in names
    )
    mains = "".join(
        f"func.func @main{i}(%x: {N}) -> {N} {{\n"
        f"  %0 = builtin.unrealized_conversion_cast %x : {N} to tuple<{N}>\n"
        f'  %1 = "relax.call_tir"(%0) {{callee = @{name}, tir_vars = []}} : (tuple<{N}>) -> {N}\n'
        f"  return %1 : {N}\n}}\n"
        for i, name in enumerate(names)
    )
    executable = rx.build(rx.IRModule.parse(prims + mains))
    x = np.linspace(-1, 1, 19, dtype="float32")
    for i in range(len(names)):
        np.testing.assert_allclose(np.from_dlpack(executable[f"main{i}"](x)), np.exp(x), rtol=1e-6)


Index = Callable[[Any, Any], Any]
ACCESSES: dict[str, tuple[str, Index]] = {
    "halves": ("i floordiv 2, j floordiv 2", lambda i, j: (i // 2, j // 2)),
    "sum": ("i + j, j floordiv 2", lambda i, j: (i + j, j // 2)),
    "sum_of_halves": ("(i + j) floordiv 2, j floordiv 2", lambda i, j: ((i + j) // 2, j // 2)),
    "halves_and_sum": ("i floordiv 3 + j, j floordiv 2", lambda i, j: (i // 3 + j, j // 2)),
    "columns": ("i floordiv 2, j + 3", lambda i, j: (i // 2, j + 3)),
    "multiple_of_half": ("(i floordiv 2) * 2, j floordiv 2", lambda i, j: (i // 2 * 2, j // 2)),
    "half_of_half": ("(i floordiv 2) floordiv 3, j floordiv 2", lambda i, j: (i // 2 // 3, j // 2)),
    "turned": ("j floordiv 4, i floordiv 5", lambda i, j: (j // 4, i // 5)),
    "constant": ("i floordiv 9223372036854775807, 1", lambda i, j: (i * 0, i * 0 + 1)),
    "far": ("i * 4611686018427387904, j floordiv 2", lambda i, j: (i * 4611686018427387904, j // 2)),
}
T, OUT = 'tensor<?x?xf32, #relax.shape<["p", "q"]>>', 'tensor<?x?xf32, #relax.shape<["n", "m"]>>'
PRIM = """
func.func private @k_{name}(%x: {X}, %o: {O}) -> {O} attributes {{
  relax.prim_func
}} {{
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> ({access})>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  }} ins(%x : {X}) outs(%o : {O}) {{
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }} -> {O}
  return %r : {O}
}}
func.func @{name}(%x: {T}, %like: {OUT}) -> {OUT} {{
  {before}
  %t = builtin.unrealized_conversion_cast %y : {T} to tuple<{T}>
  %z = "relax.call_tir"(%t) {{callee = @k_{name}, tir_vars = []}} : (tuple<{T}>) -> {OUT}
  {after}
  return %w : {OUT}
}}
"""


def function(name: str, access: str, given: str, result: str) -> str:
    """A function of x and like: a prim func's reads of abs(x) at `access`, plus like."""
    plain = [type_.partition(",")[0].rstrip(">") + ">" for type_ in (given, result)]
    before = f'%y = "relax.abs"(%x) : ({given}) -> {given}'
    after = f'%w = "relax.add"(%z, %like) : ({result}, {result}) -> {result}'
    return PRIM.format(
        name=name, access=access, T=given, OUT=result, X=plain[0], O=plain[1], before=before, after=after
    )


@pytest.fixture(scope="module")
def built() -> rx.Executable:
    text = "".join(function(name, access, T, OUT) for name, (access, _) in ACCESSES.items())
    return rx.build(rx.IRModule.parse(text))


@pytest.mark.parametrize("name", ACCESSES)
def test_accesses(built: rx.Executable, name: str) -> None:
    """Elements are those of NumPy, between ops that could be fused; what is outside is an error."""
    random, kinds = np.random.default_rng(0), set()
    main = built[name]
    for n, m in [(0, 0), (0, 3), (3, 0), (1, 1), (2, 1), (5, 1), (7, 3), (12, 12), (33, 19)]:
        i, j = np.indices((n, m))
        rows, columns = ACCESSES[name][1](i.astype(object), j.astype(object))
        last = [int(index.max()) if index.size else 0 for index in (rows, columns)]
        for p, q in {(last[0] + 1, last[1] + 1), (last[0], last[1] + 1), (last[0] + 1, last[1]), (9, 2)}:
            if p > 1000:
                continue
            x, like = (random.standard_normal(s).astype("float32") for s in ((p, q), (n, m)))
            if not rows.size or (p > last[0] and q > last[1]):
                expected = np.abs(x)[rows.astype(int), columns.astype(int)] + like if rows.size else like
                assert np.array_equal(np.from_dlpack(main(x, like)), expected)
                kinds.add("inside")
            else:
                with pytest.raises(ShapeError, match=r"dimension [01] is \d+, which its loops"):
                    main(x, like)
                kinds.add("outside")
    assert kinds == {"inside", "outside"}


@pytest.mark.parametrize(("given", "result"), [("(n + 1) // 2", "n"), ("3", "6"), ("n", "2 * n")])
def test_proved_accesses(given: str, result: str) -> None:
    """Repeated rows, whose indices are proved: the prim func needs no check, and is fused with its neighbours."""
    types = (
        f"tensor<{dim}x4xf32>" if dim.isdecimal() else f'tensor<?x4xf32, #relax.shape<["{dim}", 4]>>'
        for dim in (given, result)
    )
    main = rx.build(rx.IRModule.parse(function("f", "i floordiv 2, j", *types)))["f"]
    random = np.random.default_rng(2)
    for n in [6] if result == "6" else [0, 2, 4, 18]:
        x = random.standard_normal(((n + 1) // 2, 4)).astype("float32")
        like = random.standard_normal((n, 4)).astype("float32")
        expected = np.repeat(np.abs(x), 2, axis=0)[:n] + like
        assert np.array_equal(np.from_dlpack(main(x, like)), expected)


@pytest.mark.parametrize("heads", [(4, 2), (6, 1), (3, 3)])
def test_attention_after_canonicalize(heads: tuple[int, int]) -> None:
    """Bodies of grouped attention read ``h floordiv g``; they are compiled when a pass has changed them, too."""
    bb = rx.BlockBuilder()
    q = rx.Var("q", rx.Tensor(("b", "s", heads[0], 8), "float32"))
    k, v = (rx.Var(name, rx.Tensor(("b", "t", heads[1], 8), "float32")) for name in "kv")
    with bb.function("main", [q, k, v]):
        bb.emit_func_output(bb.emit(R.nn.attention(q, k, v)))
    mod = bb.get()
    plain = rx.build(mod)["main"]
    parse_pipeline("builtin.module(legalize-ops,canonicalize)").apply_(mod)
    changed = rx.build(mod)["main"]
    random = np.random.default_rng(1)
    for b, s, t in [(1, 1, 1), (2, 3, 5), (0, 2, 2), (1, 17, 4)]:
        given = [
            random.standard_normal((b, n, h, 8)).astype("float32")
            for n, h in ((s, heads[0]), (t, heads[1]), (t, heads[1]))
        ]
        results = [np.from_dlpack(f(*given)) for f in (plain, changed)]
        np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-6)
