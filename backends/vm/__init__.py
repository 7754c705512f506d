"""The Relax virtual machine: compiler, bytecode, machine, files."""
