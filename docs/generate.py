"""Write ``docs/reference/`` from the docstrings: ``python docs/generate.py``, or ``make docs``."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import sys
import textwrap
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relax_mlir.dialects.base import RelaxOp

REFERENCE = Path(__file__).resolve().parent / "reference"
NOTICE = "<!-- Written by docs/generate.py from the docstrings. -->"


def builders(namespace: types.ModuleType, prefix: str = "R") -> Iterator[tuple[str, Any]]:
    """The name for users and the function of every builder, including namespaces such as ``R.nn``."""
    for name in sorted(vars(namespace)):
        value = getattr(namespace, name)
        if name.startswith("_"):
            continue
        if inspect.isfunction(value) and family_of(value).startswith("relax_mlir.dialects."):
            yield f"{prefix}.{name}", value
        elif isinstance(value, types.ModuleType) and value.__name__.startswith(f"{namespace.__name__}."):
            yield from builders(value, f"{prefix}.{name}")


def family_of(builder: Any) -> str:  # noqa: ANN401 - a function
    """The module of the op class from which a builder is derived, or of the builder."""
    module: str = getattr(builder, "op_class", builder).__module__
    return module


def definition(item: Any) -> ast.stmt:  # noqa: ANN401
    """The source of a function or class; unlike `inspect.signature` it does not depend on Python's version."""
    item = inspect.unwrap(item)
    (found,) = [node for name, node in definitions(inspect.getsourcefile(item) or "") if _is_of(node, name, item)]
    return found


@functools.cache
def definitions(path: str) -> list[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """The functions and classes of a file, by their qualified names."""

    def within(parent: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
        for node in ast.iter_child_nodes(parent):
            inner = prefix
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield prefix + node.name, node
                inner += f"{node.name}." if isinstance(node, ast.ClassDef) else f"{node.name}.<locals>."
            if isinstance(node, ast.stmt):
                yield from within(node, inner)

    return list(within(parsed(path), ""))


@functools.cache
def parsed(path: str) -> ast.Module:
    return ast.parse(text_of(path))


@functools.cache
def text_of(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def _is_of(node: ast.FunctionDef | ast.ClassDef, name: str, item: Any) -> bool:  # noqa: ANN401 - a function or class
    if inspect.isclass(item):
        return isinstance(node, ast.ClassDef) and name == item.__qualname__
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return name == item.__qualname__ and first == item.__code__.co_firstlineno


def signature(function: Any) -> str:  # noqa: ANN401
    """The name, parameters and result in the source, or in the op class of a derived builder."""
    if hasattr(function, "op_class"):
        from relax_mlir.dialects.builders import signature_text

        return f"{function.__name__}{signature_text(function.op_class)}"
    found = definition(function)
    assert isinstance(found, ast.FunctionDef)
    return function_signature(found, function.__name__)


def function_signature(function: ast.FunctionDef, name: str = "") -> str:
    result = f" -> {ast.unparse(function.returns)}" if function.returns is not None else ""
    return f"{name or function.name}({ast.unparse(function.args)}){result}"


def markdown(docstring: str | None) -> str:
    """A docstring as Markdown: sections such as ``Raises:`` become lists, doctests become code."""
    paragraphs = inspect.cleandoc(docstring or "").split("\n\n")
    return "\n\n".join(_paragraph(text) for text in paragraphs)


def _paragraph(text: str) -> str:
    if text.lstrip().startswith(">>>"):
        return f"```pycon\n{textwrap.dedent(text)}\n```"
    heading, _, entries = text.partition("\n")
    if re.fullmatch(r"(Args|Raises|Returns|Attributes):", heading) and entries:
        items = re.sub(r"^(?! )", "- ", textwrap.dedent(entries), flags=re.MULTILINE)
        return f"{heading}\n\n{items}".replace("``", "`")
    return text.replace("``", "`")


def classes_meant(function: Any, module: types.ModuleType) -> list[type]:  # noqa: ANN401
    """The op classes that ``(see `AddOp`)`` in a builder's docstring names; none for that of a class."""
    names = [] if hasattr(function, "op_class") else re.findall(r"`(\w+Op)`", function.__doc__ or "")
    return [found for name in names if isinstance(found := getattr(module, name, None), type)]


def op_entry(function: Any, names: list[str]) -> str:  # noqa: ANN401
    docstring = inspect.getdoc(function) or ""
    module = importlib.import_module(family_of(function))
    own = docstring if hasattr(function, "op_class") else re.sub(r"\s*\(see [^)]*\)", "", docstring)
    texts = [markdown(own), *(markdown(cls.__doc__) for cls in classes_meant(function, module))]
    first, *others = sorted(names, key=lambda name: (name.split(".")[-1] != function.__name__, name))
    if others:
        texts.append("Also called " + ", ".join(f"`{name}`" for name in others) + ".")
    return "\n\n".join([f"### {first}", f"```python\n{signature(function)}\n```", *filter(None, texts)])


def ops_page() -> str:
    from relax_mlir import op

    names: dict[Any, list[str]] = {}
    for name, function in builders(op):
        names.setdefault(function, []).append(name)
    families: dict[str, list[Any]] = {}
    for function in names:
        families.setdefault(family_of(function), []).append(function)
    parts = [
        NOTICE,
        "# Ops",
        "`from relax_mlir import op as R`. Each builder emits its op where the `BlockBuilder` stands and returns "
        "its value. Operands may be values, numbers and NumPy arrays.",
    ]
    for family in sorted(families):
        heading = family.removeprefix("relax_mlir.dialects.").replace("_", " ").replace(".", " ")
        parts.append(f"## {heading[0].upper()}{heading[1:]}")
        parts.append(markdown(importlib.import_module(family).__doc__))
        parts += [op_entry(function, names[function]) for function in families[family]]
    return "\n\n".join(parts) + "\n"


STRUCT_INFOS = ("Tensor", "Shape", "Prim", "Tuple", "Callable", "Object")


def dialect_page() -> str:
    """The page of types, invariants, and every op of the dialect in the IR."""
    from relax_mlir.analysis import well_formed
    from relax_mlir.dialects import dialect, types

    dialect.import_families()
    invariants = inspect.cleandoc(well_formed.__doc__ or "").partition("\n\n")[2]
    parts = [
        NOTICE,
        "# Relax dialect",
        "[Language](../language.md) has an example and the table of types, [Ops](ops.md) the builders.",
        "## Types",
        *(f"**{name}.** {markdown(getattr(types, name).__doc__)}" for name in STRUCT_INFOS),
        "## Invariants",
        textwrap.dedent(invariants).replace("``", "`"),
        "## Ops",
        "A signature lists operands, attributes in braces, and results.",
    ]
    families: dict[str, list[Any]] = {}
    for cls in dialect.Relax.operations:
        families.setdefault(cls.__module__, []).append(cls)
    for family, classes in families.items():
        heading = family.rpartition(".")[2].replace("_", " ")
        parts.append(f"### {heading[0].upper()}{heading[1:]}")
        parts.append(markdown(importlib.import_module(family).__doc__))
        parts += [ir_entry(cls) for cls in classes]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def ir_entry(cls: type[RelaxOp]) -> str:
    """An op of the dialect: its signature in the IR, and its docstring."""
    from relax_mlir.dialects.base import ir_fields

    operands, attributes, results, regions = ir_fields(cls)
    text = f'"{cls.OPERATION_NAME}"({", ".join(operands)})'
    text += "".join(f" ({{ {region} }})" for region in regions)
    text += f" {{{', '.join(attributes)}}}" if attributes else ""
    text += f" -> {', '.join(results)}" if results else ""
    return f"#### {cls.OPERATION_NAME}\n\n```mlir\n{text}\n```\n\n{_purity(cls)}{markdown(cls.__doc__)}"


def _purity(cls: type[RelaxOp]) -> str:
    return "*Pure.* " if any(trait.__name__ == "Pure" for trait in cls._traits) else ""


def pass_entry(name: str) -> str:
    from relax_mlir.transform.pipeline_text import describe_options
    from relax_mlir.transform.registry import pass_class

    cls = pass_class(name)
    lines = [f"## `{name}`", "", markdown(cls.__doc__)]
    options = describe_options(cls)
    if options:
        lines += ["", "| Option | Type | Default |", "|---|---|---|"]
        lines += [f"| `{option}` | {kind} | {default} |" for option, kind, default in options]
    return "\n".join(lines)


def passes_page() -> str:
    from relax_mlir.transform.registry import PASSES

    introduction = "[Passes](../passes.md) shows how to run them, and what the levels are for."
    parts = [NOTICE, "# Passes", introduction, *levels(), *(pass_entry(name) for name in sorted(PASSES))]
    return "\n\n".join(parts) + "\n"


def levels() -> Iterator[str]:
    """The passes of the lowering that each optimisation level runs in `build`."""
    from relax_mlir.lowering.pipeline import level_table

    yield "## Optimisation levels"
    rows = ["| Level | What runs in addition |", "|---|---|"]
    for level in sorted({at for at, *_ in level_table()}):
        added = [f"`{name}` ({phase})" for at, phase, name, kind in level_table() if at == level and kind == "pass"]
        rows.append(f"| {level} | {', '.join(added) if level else 'all other passes of the phases'} |")
    yield "\n".join(rows)


def public_names(module: types.ModuleType) -> list[str]:
    """The names in ``__all__``, or the functions and classes that the module defines."""
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not name.startswith("_")]
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__)
    return [name for name in own if not name.startswith("_")]


def api_entry(name: str, value: Any) -> str:  # noqa: ANN401
    if inspect.ismodule(value):
        return f"### {name}\n\n{markdown(value.__doc__)}"
    if inspect.isclass(value):
        return class_entry(name, value)
    if inspect.isfunction(inspect.unwrap(value)):
        return f"### {name}\n\n```python\n{signature(value)}\n```\n\n{markdown(value.__doc__)}"
    return f"### {name}\n\n`{alias_source(name)}`"


def alias_source(name: str) -> str:
    """The assignment in the source that defines the type alias `name`, since no object records it."""
    modules = (module for name, module in sorted(sys.modules.items()) if name.startswith("relax_mlir."))
    for path in filter(None, (getattr(module, "__file__", None) for module in modules)):
        if not re.search(rf"^{name}\b", text_of(path), re.MULTILINE):
            continue
        for statement in parsed(path).body:
            targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                return ast.unparse(statement)
    raise LookupError(f"{name} is neither a class nor a function, and no module assigns it")


def class_entry(name: str, cls: type) -> str:
    """The constructor, docstring, and the public members that the class itself documents."""
    source = definition(cls)
    assert isinstance(source, ast.ClassDef)
    bases = ", ".join(ast.unparse(base) for base in source.bases if not ast.unparse(base).startswith("_"))
    lines = [f"class {name}({bases})" if bases else f"class {name}"]
    members = []
    for member in source.body:
        if isinstance(member, ast.AnnAssign) and not ast.unparse(member.target).startswith("_"):
            lines.append(f"    {ast.unparse(member)}")
        elif isinstance(member, ast.FunctionDef) and member.name == "__init__":
            lines.append(f"    {function_signature(member)}")
        elif isinstance(member, ast.FunctionDef) and not member.name.startswith("_") and ast.get_docstring(member):
            members.append(member_entry(name, member))
    return "\n\n".join([f"### {name}", "```python\n" + "\n".join(lines) + "\n```", markdown(cls.__doc__), *members])


def member_entry(owner: str, member: ast.FunctionDef) -> str:
    is_property = any(ast.unparse(d).endswith("property") for d in member.decorator_list)
    shown = f"{owner}.{member.name}"
    if not is_property:
        shown = function_signature(member, shown)
    elif member.returns is not None:
        shown += f": {ast.unparse(member.returns)}"
    return f"- `{shown}`\n\n" + textwrap.indent(markdown(ast.get_docstring(member)), "  ")


API = (
    "relax_mlir",
    "relax_mlir.script",
    "relax_mlir.frontend.nn",
    "relax_mlir.frontend.nn.core",
    "relax_mlir.frontend.nn.modules",
    "relax_mlir.frontend.nn.op",
    "relax_mlir.frontend.nn.spec",
    "relax_mlir.frontend.onnx",
    "relax_mlir.frontend.torch",
    "relax_mlir.frontend.tvm",
    "relax_mlir.runtime",
    "relax_mlir.runtime.memory",
    "relax_mlir.export",
    "relax_mlir.distributed",
    "relax_mlir.profiler",
    "relax_mlir.tools.emit_code",
    "relax_mlir.vm",
    "relax_mlir.bytecode.instructions",
    "relax_mlir.bytecode.verify",
    "relax_mlir.transform",
    "relax_mlir.instrument",
    "relax_mlir.dpl",
    "relax_mlir.dpl.fusion",
    "relax_mlir.transform.codegens",
    "relax_mlir.transform.codegen_region",
    "relax_mlir.contrib.openblas",
    "relax_mlir.tvm",
    "relax_mlir.tvm.frontend",
    "relax_mlir.tvm.pipelines",
    "relax_mlir.tvm.runtime",
    "relax_mlir.tvm.target",
    "relax_mlir.expr",
    "relax_mlir.expr_functor",
    "relax_mlir.rewrite",
    "relax_mlir.te",
    "relax_mlir.te.intrin",
    "relax_mlir.strategy",
    "relax_mlir.tuning",
    "relax_mlir.tir.schedule",
    "relax_mlir.loops.builder",
    "relax_mlir.loops.values",
    "relax_mlir.ir",
    "relax_mlir.op.op_registry",
    "relax_mlir.analysis",
    "relax_mlir.analysis.well_formed",
    "relax_mlir.symbolic",
    "relax_mlir.error",
)
"""The public modules; `relax_mlir.op`, the passes and `topi` have separate pages."""
TOPI = ("relax_mlir.topi", "relax_mlir.topi.nn", "relax_mlir.topi.image", "relax_mlir.topi.vision")


def api_page() -> str:
    return modules_page(
        "API",
        "The builders of ops are on the page [Ops](ops.md), the passes on the page [Passes](passes.md), operators as "
        "tensor expressions on the page [topi](topi.md).",
        API,
    )


def modules_page(title: str, introduction: str, modules: Sequence[str]) -> str:
    """A page with the public names of modules."""
    parts = [NOTICE, f"# {title}", introduction]
    for name in modules:
        module = importlib.import_module(name)
        parts += [f"## `{name}`", markdown(module.__doc__)]
        parts += [api_entry(public, getattr(module, public)) for public in public_names(module)]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def pages() -> dict[str, str]:
    """The pages by name."""
    return {
        "api.md": api_page(),
        "dialect.md": dialect_page(),
        "ops.md": ops_page(),
        "passes.md": passes_page(),
        "topi.md": modules_page("topi", "Examples are on the page [topi](../topi.md).", TOPI),
    }


if __name__ == "__main__":
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
        print(REFERENCE / name)
