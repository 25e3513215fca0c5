"""Texts that resemble advice but are none: patterns, each of which must be used."""

from __future__ import annotations

EXPLANATIONS: tuple[str, ...] = (
    r"a configuration that failed has",
    r"a carried value keeps its type$",
    r"a function ends",
    r"a range takes ints",
    r"a rank is at most",
    r"a recursion that makes",
    r"a symbol stands for zero or more",
    r"dataflow blocks hold pure ops",
    r"dimensions are zero or more",
    r"eager PyTorch (?:raises|refuses negative)",
    r"divisors of integers are positive",
    r"expected ",
    r"given: ",
    r"the best is ",
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
"""Clauses after a semicolon that give a reason or list alternatives: their beginnings."""

NO_ADVICE: tuple[str, ...] = (
    r"^Builders of ",
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
    # help of options
    r"^take the values of knobs that relax-tune",
    r"^run a Python file that registers strategies",
    r"^give the project's own schedules the values",
    r"^leave a module and a command that reproduce",
    r"^see current operation",
    r"\(see relax_mlir\.torch_bridge\)$",
)
"""Texts that begin like a command but name an op, a pass or a parameter."""

OTHER_TEXTS: tuple[str, ...] = (
    "generate_*.py",
    "mlir/*.py",
    "passes/fusion/*.py",
    "transform/fusion_report.py",
    "script/printer.py",
    "tools/opt_flags.py",
    "tools/opt_help.py",
    "tools/opt_options.py",
    "tools/compile_command.py",
    "tools/run_command.py",
    "tools/tune_command.py",
    "bytecode/text_forms.py",
)
"""Files whose texts are not errors: generated code, help of commands, reports."""

BEHIND: dict[str, str] = {
    r"a symbol is defined by a dimension": (
        "passes that run alone on a module that is not well-formed; verify names the symbol before (invariant 3)"
    ),
    r"a value is \x00 where a tensor of known rank": "ops whose own rules ask for the rank before",
    r"there is no memory for the \x00 bytes of": "a file that is larger than memory",
    r"MB of memory may be needed": "a limit of the process; test_memory_left sets it, and builds again",
    r"torch cannot decompose the program into ops": "errors of torch that it does not raise for known programs",
    r"tvm_ffi could not be connected to torch": "a torch whose import succeeds although it is not complete",
    r"the virtual machine cannot run": "the machine runs every op that is left at its level",
}
"""Advice that no program reaches, as earlier checks give more specific errors; the reason for each."""
