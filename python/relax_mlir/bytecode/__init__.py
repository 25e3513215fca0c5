"""Programs of the virtual machine: instructions, executables, their builder, checks, text forms and files."""
