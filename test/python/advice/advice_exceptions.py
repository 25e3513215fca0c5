"""Texts that look like advice, and are none: patterns, each of which has to be used."""

from __future__ import annotations

EXPLANATIONS: tuple[str, ...] = (
    r"a carried value keeps its type$",
    r"a function ends",
    r"a range takes ints",
    r"a rank is at most",
    r"a recursion that makes",
    r"a symbol stands for zero or more",
    r"dataflow blocks hold pure ops",
    r"dimensions are zero or more",
    r"divisors of integers are positive",
    r"expected ",
    r"given: ",
    r"the first: ",
    r"the order is ",
    r"what can is ",
    r"got ",
    r"help (?:lists|tells)",
    r"it (?:cannot be compiled|has|is an int that|may hold|must be|takes) ?",
    r"its (?:formulas|result type)",
    r"known(?: kinds| providers)?: ",
    r"loops count upwards$",
    r"lower-symbolic-shapes cannot",
    r"modules are saved uncompressed",
    r"only tensors can be bound",
    r"Relax tensors carry",
    r"relax-mlir \x00 reads",
    r"results must be written",
    r"symbolic integers are int64",
    r"that is a call_tir",
    r"the call runs where it stands",
    r"the module is compiled again",
    r"their names are",
    r"there (?:are:|is no)",
    r"this is a value already",
    r"-1 cannot be deduced",
    r"\x00",
)
"""Clauses after a semicolon that say why, or what there is: they begin so."""

NO_ADVICE: tuple[str, ...] = (
    r"^ib\.|: name$",
    r"^name = ",
    r"^register \x00$",
    r"register \x00 has not been written",
    r"^relax\.(?:check|packed|signature)",
    r"^T\.axis\.\x00 ",
    r"^it returns|: it returns what it writes",
    r"-mattr takes",
    r"^background:|^padding:",
    r"takes the extent and what",
    r"expected (?:a register|one of the function's own registers): ib\.r\(number\)",
    r"^a (?:label|function): ",
    r"^`\x00` of a float; see",
    r"\(see LLVM's message\)",
)
"""Texts that begin like a command, and name a thing: the name of an op, a pass or a parameter."""

OTHER_TEXTS: tuple[str, ...] = (
    "generate_*.py",
    "mlir/*.py",
    "passes/fusion/*.py",
    "script/printer.py",
    "te/source.py",
    "tools/expectations.py",
    "tools/opt_help.py",
    "tools/opt_options.py",
    "tools/compile_command.py",
    "tools/run_command.py",
    "transform/config.py",
    "vm/python_form.py",
)
"""Files whose texts are no errors: generated code, help of commands, reports."""

BEHIND: dict[str, str] = {
    r"a symbol is defined by a dimension": (
        "passes that run alone on a module that is not well-formed; verify names the symbol before (invariant 3)"
    ),
    r"a value is \x00 where a tensor of known rank": "ops whose own rules ask for the rank before",
    r"the virtual machine cannot run": "the machine runs every op that is left at its level",
}
"""Advice that no program leads to: checks before it say more. Why, for each."""

OPEN: tuple[str, ...] = (
    r"dimensions in blocks are not supported",
    r"ends beyond it: give a smaller shape",
    r"and as many of \x00 do not fit: give a shape",
    r"is known once it is emitted: `bb.emit` does that",
    r"op.shape_of gives that of a tensor",
    r"the rank of the shape is unknown; match_shape it first",
    r"what '\x00' takes and gives is not known",
    r"but the function is exported as",
    r"its shape is \x00.shape",
    r"a registered function takes no tir_vars",
    r"write T.thread_binding",
    r"must not add or delete any",
    r"is explicit memory, which the virtual machine runs",
    r"calls a prim func of the module: write cls.f",
    r"the one device of a machine is the CPU",
    r"that expose-prim-funcs has not made: leave it out",
    r"cannot be called: it does not declare its parameters",
)
"""Advice that no row follows yet: a new message does not belong here, but in a table."""

OPEN_FILES: tuple[str, ...] = (
    "expr/*.py",
    "op/op_registry.py",
    "rewrite/construct_mutator.py",
    "rewrite/constructs.py",
    "vm/codegen/memory_calls.py",
)
"""Files whose advice no row follows yet."""
