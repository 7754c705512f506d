"""Write docs/reference/legacy-api.md: which name of TVM is what here, from the tables of compat."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from relay2relax.compat.table import all_modules
from relay2relax.compat.table.entry import Absent, Module, Names

PAGE = Path(__file__).parents[1] / "docs/reference/legacy-api.md"

HEAD = """# Legacy API

Scripts that use `tvm.relay` run without TVM: `relay2relax python script.py`, or
`python -m relay2relax.compat -m pytest tests`. Python code asks for it itself:

```python
from relay2relax import compat

with compat.installed():
    from tvm import relay

    print(relay.const(1) + relay.const(2))
```

The facade is in that process only, in front of a TVM that is installed. Names are looked up when
they are used. Nodes, types and modules answer to TVM's names for their parts while it is there
(`name_hint`, `checked_type`, `with_attr`, `mod["main"] = …`).

A script says which TVM it was written for: `relay2relax python --tvm 0.6 script.py`. TVM 0.5 to
0.19 are known; names that only some of them had, such as `relay.Module`, `tvm.context`,
`relay.ir_pass` or `nnvm.compiler`, are there for those alone, as the tables below say.

A notebook has it from its first cell, and needs no other change:

```python
import relay2relax.compat

uninstall = relay2relax.compat.install(version="0.8")
```

What is installed last is taken out first:

```python
uninstall()
```

Processes that a script starts with `multiprocessing` have it too, those of `pytest -n 2`
(pytest-xdist) as well; other programs that a script starts do not.

What is different:

- `relay.create_executor` runs programs on numpy. `relay.build` makes generated C; `llvm` and `c`
  mean that, `tvm` is an installed apache-tvm in a process of its own, other targets are refused by
  name.
- `export_library` writes a shared object, of `.tar` and `.o` its objects, with the functions of an
  [exported C library](file-formats.md) where the program is one block of known shapes. Weights are
  inside. TVM's own runtime does not know such files. `tvm.runtime.load_module` reads a section of
  the file first: only what has it is loaded, and runs in the process as any library does. So load
  files that you would run.
- The code of a library is for the processor that it is made on, or for `llvm -mcpu=NAME`.
- Executors refuse arguments of a wrong shape, TVM's virtual machine takes them.
- All errors are those of relay2relax; `tvm.TVMError` is their base. Their texts are ours.
- A name that is absent can be imported. Whoever uses it is told why it is not there.
- Extents that are known are Python's numbers.

`relay2relax modernize script.py` rewrites a script instead: what is here without an adapter is
renamed, adapters become what the tables call *rewritten*, and of the rest it says why a person has
to look at it. What has no name here, but one in apache-tvm 0.25 to 0.27, gets that (`tvm.ir`,
`tvm.te`, targets); with `--to tvm` today's names come first, arrays, devices, imports of models and
`relay.build` too. It needs the extra `modernize`, reads scripts and notebooks, and runs neither.

[Twenty public scripts](legacy-scripts.md) were tried on it. Models are compiled and run from the
command line as by `tvmc`: `python -m relay2relax.compat -m tvm.driver.tvmc compile net.onnx`. Its
`compile` and `run` take the flags of TVM 0.18, and say which of them change nothing here. `convert`
writes a model as a script of Relax, or as Relay, with the flags of `compile` for layouts and
precision; TVM has no such verb. `tune` and `micro` are refused.

[TVM 0.18's own tests of Relay](legacy-tests.md) run so: `make test-legacy TVM=FOLDER`, where FOLDER holds
`tests/python/relay` and `python/tvm/topi/testing` of its repository at v0.18.0.

## Names

{count} names of {modules} modules are provided, beside {operators}.
Modules of the second column are below `relay2relax`.
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the text of the page."""
    modules = [one for one in all_modules() if one.parts or one.fallback or one.why]
    count = sum(len(part.names.split()) for one in modules for part in one.parts if isinstance(part, Names))
    operators = "the operators of `relay.op`, each as its function"
    head = HEAD.format(
        count=count, modules=sum(bool(one.parts or one.fallback) for one in modules), operators=operators
    )
    provided = "\n".join("\n".join(_section(one)) for one in modules if one.parts or one.fallback)
    return head + "\n" + provided + "\n" + "\n".join(_absent(modules)) + "\n"


def _section(module: Module) -> Iterator[str]:
    yield f"### {module.name}"
    yield ""
    if module.until:
        yield f"Until TVM {module.until}."
        yield ""
    if module.fallback:
        yield textwrap.fill(f"Names that are not listed are looked up by `{module.fallback.replace(':', '.')}`.", 100)
        yield ""
    if module.parts:
        yield "| names | here | |"
        yield "|---|---|---|"
    for part in module.parts:
        names = ", ".join(f"`{one.partition('=')[0]}`" for one in part.names.split())
        if isinstance(part, Absent):
            yield f"| {names} | absent | {part.why} |"
        else:
            versions = [f"from {part.since}" if part.since else "", f"to {part.until}" if part.until else ""]
            today = ", ".join(f"`{one.replace('=', '` as `')}`" for one in part.today.split())
            remarks = [part.differs, *versions, f"rewritten: {today}" if today else ""]
            yield f"| {names} | `{part.source}` | {'; '.join(one for one in remarks if one)} |"
    if module.parts:
        yield ""


def _absent(modules: list[Module]) -> Iterator[str]:
    yield "## Modules that can be imported and not used"
    yield ""
    yield "| module | why |"
    yield "|---|---|"
    for one in modules:
        if one.why:
            yield f"| `{one.name}` | {one.why} |"


if __name__ == "__main__":
    main()
