"""Parse a script into a module: the class, its functions in reading order, and embedded MLIR text."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from relax_mlir.analysis.call_graph import impure_functions
from relax_mlir.analysis.well_formed import invalid_types
from relax_mlir.builder import BlockBuilder
from relax_mlir.diagnostics import of_error
from relax_mlir.dialects.attributes import MODULE_ATTRS
from relax_mlir.dialects.base import implies
from relax_mlir.dialects.location import located_at
from relax_mlir.dialects.number_attributes import literal_attr
from relax_mlir.dialects.types import Object, StructInfo, Tuple
from relax_mlir.dialects.value import Var
from relax_mlir.error import Diagnostic, RelaxError, UnknownNameError, VerifyError
from relax_mlir.fork_safety import crash_of
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import has_symbol
from relax_mlir.lazy import Hook
from relax_mlir.mlir import func, ir
from relax_mlir.script.annotations import read_annotation
from relax_mlir.script.calls import Calls
from relax_mlir.script.expressions import Expressions
from relax_mlir.script.scope import Scope, is_path
from relax_mlir.script.source import Poisoned, Problem, Source, options
from relax_mlir.script.statements import Block, Owner, exported_name
from relax_mlir.symbolic import is_identifier, symbol

_parse_prim: Hook[[Source, Scope, ast.FunctionDef, ir.Block], func.FuncOp | None] = Hook("script.parse_prim")


class Head(Protocol):
    """The head of a function."""

    @property
    def node(self) -> ast.FunctionDef: ...
    @property
    def result(self) -> StructInfo | None: ...


HeadT = TypeVar("HeadT", bound=Head)


def reading_order(heads: Mapping[str, HeadT], callee: Callable[[ast.expr], str | None]) -> list[HeadT]:
    """Return the functions in source order, except that callees without a result annotation come first.

    Functions in a call cycle keep their order. `callee` returns the name of the function ``cls.f``.
    """
    found: dict[str, HeadT] = {}
    waiting: set[str] = set()

    def visit(name: str) -> None:
        if name in found or name in waiting:
            return
        waiting.add(name)
        for other in _mentioned(heads[name].node, callee):
            if other in heads and heads[other].result is None:
                visit(other)
        found[name] = heads[name]

    for name in heads:
        visit(name)
    return list(found.values())


def _mentioned(node: ast.FunctionDef, callee: Callable[[ast.expr], str | None]) -> Iterator[str]:
    for statement in node.body:
        for part in ast.walk(statement):
            name = callee(part) if isinstance(part, ast.Attribute) else None
            if name is not None:
                yield name


def place_in_order(functions: list[func.FuncOp]) -> None:
    """Reorder functions of a module, each after its predecessor in the list."""
    for previous, function in itertools.pairwise(functions):
        function.operation.move_after(previous.operation)


_PLACE = re.compile(r"^(?P<file>.*):(?P<line>\d+):(?P<column>\d+)$")


@dataclass
class Signature:
    """The head of a function: its parameters and the annotated result, if any."""

    node: ast.FunctionDef
    private: bool
    pure: bool
    """True if the decorator declares the function pure; otherwise purity is inferred from the body."""
    params: dict[str, StructInfo]
    result: StructInfo | None
    symbols: set[str]


@dataclass
class Text:
    """MLIR text in a script."""

    node: ast.Constant
    text: str


@dataclass
class ModuleParser:
    """Reads one module from `source`; `captured` holds the Python names visible to it."""

    source: Source
    captured: Mapping[str, Any]
    runs_python: bool = False
    """True if the script is part of a running Python program."""
    builder: BlockBuilder = field(default_factory=BlockBuilder)
    signatures: dict[str, Signature] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    """Functions whose annotated signature a call has relied on."""
    in_class: bool = False
    """True while a class is read, in which functions are exported under their own names."""
    names: dict[str, str] = field(default_factory=dict)
    """The symbol of each function of the script; functions outside a class may set their exported name."""

    def __post_init__(self) -> None:
        self.context = self.builder.mod.context
        with self.context, ir.Location.unknown():
            self.declarations = ir.Module.create()
        self.declared: dict[str, func.FuncOp] = {}

    def module(self, node: ast.ClassDef) -> IRModule:
        """Parse a class as a module."""
        self.class_options(node)
        self.in_class = True
        functions: list[ast.FunctionDef] = []
        texts: list[Text] = []
        for item in node.body:
            try:
                self.member(item, functions, texts)
            except Problem as problem:
                self.source.report(problem)
        return self.functions(functions, texts, node.name)

    def class_options(self, node: ast.ClassDef) -> None:
        """Check the arguments of ``@I.ir_module(...)``."""
        for decorator in node.decorator_list:
            try:
                options(decorator, "ir_module")
            except Problem as problem:
                self.source.report(problem)

    def member(self, item: ast.stmt, functions: list[ast.FunctionDef], texts: list[Text]) -> None:
        """Dispatch one statement of the class."""
        if isinstance(item, ast.FunctionDef):
            functions.append(item)
        elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant):
            return
        elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
            path = self.scope().path(item.value.func)
            if is_path(path, "I", "module_attrs"):
                self.module_attributes(item.value)
            elif is_path(path, "I", "module_global_infos"):
                return  # it declares devices; a tensor on one that is not the CPU is an error
            else:
                texts.append(self.text(item.value))
        elif not isinstance(item, ast.Pass):
            raise Problem(item, 'a module holds functions and I.mlir("""…""")')

    def module_attributes(self, node: ast.Call) -> None:
        """``I.module_attrs({"name": value})``: attributes of the module."""
        with self.context, ir.Location.unknown():
            given = Expressions(self.source, self.scope(), Calls(self, "")).evaluate(node.args[0])
            if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
                raise Problem(node, "I.module_attrs takes a dictionary of names and values")
            try:
                self.builder.mod.mlir.operation.attributes[MODULE_ATTRS] = literal_attr("module_attrs", given)
            except RelaxError as error:
                raise Problem.of(node, error) from None

    def text(self, node: ast.Call) -> Text:
        """Return the text of an ``I.mlir`` block."""
        if not is_path(self.scope().path(node.func), "I", "mlir"):
            raise Problem(node, 'a module holds functions and I.mlir("""…""")')
        if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            return Text(node.args[0], node.args[0].value)
        raise Problem(node, "I.mlir takes MLIR text")

    def functions(self, nodes: list[ast.FunctionDef], texts: list[Text], class_name: str) -> IRModule:
        """Build the module from these functions: heads first, then MLIR text, then bodies."""
        calls = Calls(self, class_name, self.runs_python)
        with self.context:
            for node in nodes:
                try:
                    if self.is_prim(node):
                        self.prim(node)
                    else:
                        self.head(node)
                except Problem as problem:
                    self.broken.add(node.name)
                    self.source.report(problem)
            self.mlir(texts)
            order = reading_order(self.signatures, calls.callee)
            for signature in order:
                self.function(signature, calls)
            if order != list(self.signatures.values()):
                place_in_order([f for f in map(self.found, self.signatures) if f is not None])
            self.check_purity()
            self.source.check()
            return self.verified()

    def verified(self) -> IRModule:
        """Return the verified module; verifier errors are reported at their place in the script."""
        try:
            return self.builder.get()
        except VerifyError as error:
            if not self.locate(error.diagnostics):
                raise
            raise self.source.error() from None

    def locate(self, diagnostics: tuple[Diagnostic, ...]) -> bool:
        """Record diagnostics that point into the script. Return False if none does."""
        for item in diagnostics:
            place = _PLACE.match(item.location)
            if place is not None and place["file"] == self.source.filename and item.severity == "error":
                line, begin = int(place["line"]), max(int(place["column"]) - 1, 0)
                self.source.report_at(line, begin, len(self.source.line(line)), "VerifyError", item.message)
        return bool(self.source.frames)

    def scope(self) -> Scope:
        return Scope(self.captured)

    # -- the interface that `Calls` uses

    def require(self, name: str) -> None:
        """Raise `UnknownNameError` unless the module has a function `name`."""
        if name not in self.signatures and name not in self.broken and not self.is_there(name):
            known = {*self.signatures, *self.broken, *self.builder.symbol_names()}
            raise UnknownNameError("function of the module", name, known)

    def is_there(self, name: str) -> bool:
        """True if the module under construction has a function `name`."""
        return has_symbol(self.builder.mod.mlir, name)

    def exported(self, name: str) -> str:
        """Return the module's symbol for ``cls.name``."""
        return self.names.get(name, name)

    def found(self, name: str) -> func.FuncOp | None:
        """Return the function `name`; None if it has been omitted because of errors."""
        return self.builder.lookup(name) if self.is_there(name) else None

    def is_pure(self, name: str) -> bool:
        """True if the function `name` has been read and has no side effects."""
        functions = {f.name.value: f for f in self.builder.mod.functions()}
        return name in functions and name != self.current and name not in impure_functions(functions)

    def emit_te(self, function: Any, args: Any, kwargs: Any, hint: str | None) -> Any:  # noqa: ANN401 - as BlockBuilder.emit_te
        """Call `BlockBuilder.emit_te` with a prim func name that no function of the script uses."""
        name = hint or getattr(function, "__name__", "")
        while name in self.signatures:
            hint = name = name + "_te"
        return self.builder.emit_te(function, *args, primfunc_name_hint=hint, **kwargs)

    def signature(self, name: str) -> func.FuncOp | None:
        """Return the function `name`, or a declaration with its annotated types."""
        self.require(name)
        if name in self.broken:
            raise Poisoned(name)
        is_read = name != self.current and self.is_there(name)
        if name in self.declared and not (is_read and isinstance(self.signatures[name].result, Object)):
            self.asked.add(name)
            return self.declared[name]
        return self.builder.lookup(name) if is_read else None

    current: str | None = None

    # -- functions

    def head(self, node: ast.FunctionDef) -> None:
        """Read the decorator and the signature of a function."""
        given = self.decorators(node)
        if not (self.in_class or given.get("private")):
            name = exported_name(node, self.scope())
            self.names[node.name] = node.name = name
        if node.name in self.signatures or self.is_there(node.name):
            raise Problem(node, f"function '{node.name}' is defined already")
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or arguments.posonlyargs:
            raise Problem(node, "a function takes parameters without defaults, * or **")
        scope = self.scope()
        params: dict[str, StructInfo] = {}
        for parameter in arguments.args:
            if parameter.annotation is None:
                raise Problem(
                    parameter,
                    f'parameter \'{parameter.arg}\' needs an annotation, such as R.Tensor(("n", 4), "float32")',
                )
            params[parameter.arg] = read_annotation(parameter.annotation, scope)
        result = None
        if node.returns is not None and not self.is_any_tuple(node.returns):
            result = read_annotation(node.returns, scope)
        symbols = {name for info in params.values() for name in info.symbols()}
        private, pure = given.get("private", False), given.get("pure", False)
        self.signatures[node.name] = Signature(node, private, pure, params, result, symbols)
        if result is not None:
            inputs = [info.to_type() for info in params.values()]
            with ir.InsertionPoint(self.declarations.body), ir.Location.unknown():
                kind = ir.FunctionType.get(inputs, [result.to_type()])
                self.declared[node.name] = func.FuncOp(node.name, kind, visibility="private")

    def is_any_tuple(self, node: ast.expr | None) -> bool:
        """True if an annotation is ``R.Tuple``, which leaves the fields open."""
        return isinstance(node, ast.Attribute) and is_path(self.scope().path(node), "R", "Tuple")

    def is_prim(self, node: ast.FunctionDef) -> bool:
        """True if a function is a ``@T.prim_func``."""
        if len(node.decorator_list) != 1:
            return False
        decorator = node.decorator_list[0]
        head = decorator.func if isinstance(decorator, ast.Call) else decorator
        return is_path(self.scope().path(head), "T", "prim_func")

    def prim(self, node: ast.FunctionDef) -> None:
        """Add a prim func, or omit it after an error. Raises `Problem` for an error in its head."""
        if node.name in self.signatures or self.is_there(node.name):
            raise Problem(node, f"function '{node.name}' is defined already")
        options(node.decorator_list[0], "prim_func")
        if _parse_prim(self.source, self.scope(), node, self.builder.mod.mlir.body) is None:
            self.broken.add(node.name)

    def decorators(self, node: ast.FunctionDef) -> dict[str, bool]:
        """Return the decorator's options. Raises `Problem` unless it is an ``@R.function``."""
        if len(node.decorator_list) != 1:
            raise Problem(node, f"function '{node.name}' needs the decorator @R.function or @T.prim_func")
        decorator = node.decorator_list[0]
        head = decorator.func if isinstance(decorator, ast.Call) else decorator
        path = self.scope().path(head)
        if not is_path(path, "R", "function"):
            raise Problem(decorator, f"function '{node.name}' needs the decorator @R.function or @T.prim_func")
        return options(decorator, "function")

    def check_purity(self) -> None:
        """Report functions that are declared pure but have side effects."""
        if self.source.frames or not any(s.pure for s in self.signatures.values()):
            return
        impure = impure_functions({f.name.value: f for f in self.builder.mod.functions()})
        for name, signature in self.signatures.items():
            if signature.pure and name in impure:
                message = (
                    f"'{name}' is declared pure=True, but has effects; leave that out, or vouch for it by "
                    'R.func_attr({"relax.force_pure": True})'
                )
                self.source.report(Problem(signature.node.decorator_list[0], message))

    def function(self, signature: Signature, calls: Calls) -> None:
        """Build one function, or omit it after an error."""
        node, count = signature.node, self.source.mistakes
        scope = Scope(self.captured)
        scope.add_symbols(signature.symbols)
        params = [Var(name, info) for name, info in signature.params.items()]
        scope.values.update({p.name: p for p in params})
        expressions = Expressions(self.source, scope, calls)
        block = Block(
            self.builder,
            expressions,
            frozenset(),
            is_body=True,
            returning=True,
            annotated=signature.result,
            owner=Owner(node.name, signature.private, list(signature.params.values())),
        )
        self.current = node.name
        line, begin, _ = self.source.span(node)
        try:
            with (
                located_at(self.source.filename, line, begin + 1),
                self.builder.function(node.name, params, private=signature.private),
            ):
                block.run(node.body)
                self.finish(signature, block, count)
        except Problem as problem:
            self.source.report(problem)
        except RelaxError as error:
            if isinstance(error, VerifyError):
                raise
            self.source.report(Problem.of(node, error))
        except _Mistaken:
            return
        else:
            op = self.builder.lookup(node.name)
            for name, value in block.attributes.items():
                op.attributes[name] = value
        finally:
            self.current = None

    def finish(self, signature: Signature, block: Block, count: int) -> None:
        """Check the result of a function at its end."""
        if self.source.mistakes > count:
            raise _Mistaken
        node = signature.node
        if block.result is None:
            raise Problem(node, f"function '{node.name}' has no `return`")
        info = block.result.struct_info
        if isinstance(signature.result, Object) and node.name not in self.asked:
            return  # R.Any accepts any result; the actual type is known by now
        is_wrong = self.is_any_tuple(node.returns) and not isinstance(info, Tuple)
        if is_wrong or (signature.result is not None and not implies(info, signature.result)):
            raise Problem(
                node.returns or node,
                f"'{node.name}' is annotated to return {signature.result or 'a tuple'}, but returns {info}; "
                "R.match_shape asserts at run time what is not known here",
                "ShapeError",
            )

    # -- MLIR text

    def mlir(self, texts: list[Text]) -> None:
        """Add the functions of the ``I.mlir`` blocks, which may call each other."""
        if not texts:
            return
        whole = "\n".join(text.text for text in texts)
        with ir.Location.unknown():
            signal = crash_of(lambda: ir.Module.parse(whole))
            if signal is not None:
                self.source.report(
                    Problem(texts[0].node, f"MLIR's parser crashes on this text ({signal})", "ParseError")
                )
                return
            try:
                parsed = ir.Module.parse(whole)
                wrong = invalid_types(parsed)
            except ir.MLIRError as error:
                wrong = of_error(error)
            for item in wrong:
                self.report_text(texts, item)
            if wrong:
                return
        for op in list(parsed.body.operations):
            op.operation.clone(ip=ir.InsertionPoint(self.builder.mod.mlir.body))

    def report_text(self, texts: list[Text], item: Diagnostic) -> None:
        """Report a diagnostic of MLIR's parser at its place in the script."""
        place = _PLACE.match(item.location)
        number = int(place["line"]) if place is not None else 1
        for text in texts:
            lines = text.text.count("\n") + 1
            if number <= lines:
                line = text.node.lineno + number - 1
                begin = int(place["column"]) - 1 if place is not None and number > 1 else text.node.col_offset
                self.source.report_at(line, begin, begin + 1, "ParseError", item.message)
                return
            number -= lines
        self.source.report(Problem(texts[0].node, item.message, "ParseError"))


class _Mistaken(Exception):
    """Stops reading a function in which errors have been reported."""


def parse(
    text: str,
    constants: Mapping[str, Any] | None = None,
    name: str = "<script>",
    *,
    metadata: Mapping[str, Sequence[Any]] | None = None,
) -> IRModule:
    """Parse a script: a class with ``@I.ir_module``, or functions with ``@R.function``.

    Nothing is executed. `R`, `I` and `T` are the modules of `relax_mlir.script`; import statements are skipped.

    Args:
        text: the script, as `IRModule.script` prints it.
        constants: arrays by name, for ``constants["name"]`` (see `script_constants`).
        name: the file name to use in messages and locations.
        metadata: arrays by kind and index, for ``metadata["ir.GenericConst"][0]``, as TVM prints constants.

    Raises:
        ScriptError: lists every error with its location.
        UnsupportedError: a construct that this version does not read.
    """
    from relax_mlir.script import ir as script_ir
    from relax_mlir.script import relax, tir

    source = Source(text, name)
    captured: dict[str, Any] = {
        "R": relax,
        "I": script_ir,
        "T": tir,
        "ty": tir,
        "constants": dict(constants or {}),
    }
    if metadata is not None:
        captured["metadata"] = {kind: list(arrays) for kind, arrays in metadata.items()}
    classes, functions = [], []
    for node in source.tree().body:
        if isinstance(node, ast.ClassDef):
            classes.append(node)
        elif isinstance(node, ast.FunctionDef):
            functions.append(node)
        elif _is_type_variable(node):
            assert isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            captured[node.targets[0].id] = symbol(node.targets[0].id)
        elif not isinstance(node, ast.Import | ast.ImportFrom) and not _is_docstring(node):
            source.report(Problem(node, "a script is a class with @I.ir_module, or functions with @R.function"))
    parser = ModuleParser(source, captured)
    for extra in classes[1:]:
        source.report(Problem(extra, "a script holds one module"))
    source.check()
    if classes:
        return parser.module(classes[0])
    if not functions:
        source.report_at(1, 0, 1, "ScriptError", "the script has neither a class nor a function")
        source.check()
    return parser.functions(functions, [], "Module")


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_type_variable(node: ast.stmt) -> bool:
    """True for ``n = TypeVar("n")``, by which TVM declares the symbol n before a module."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    value = node.value if isinstance(node, ast.Assign) else None
    return (
        isinstance(target, ast.Name)
        and is_identifier(target.id)
        and isinstance(value, ast.Call)
        and ast.unparse(value) == f"TypeVar({target.id!r})"
    )
