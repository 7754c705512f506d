"""The standard library put into a module, under the names of ``tvm.relay.prelude``."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.relay_ir.build import prelude as ours
from relay2relax.relay_ir.ir.expr import Constructor, GlobalVar
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.text.parser import parse


class Prelude:
    """The library in a module: ``mod`` has it, attributes are its names.

    As in TVM, lists of tensors of any rank are there for every dtype, those of one shape when they
    are asked for.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = IRModule() if mod is None else mod
        if not self._defines("List"):
            add_library(self.mod, "prelude", tensor_arrays=ours.DTYPES)

    def _defines(self, name: str) -> bool:
        return any(header.name == name for header in self.mod.type_definitions)

    def get_name(self, canonical: str, dtype: str) -> str:
        """Return the name of a function, a type or a constructor for tensors of ``dtype``."""
        return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"

    def get_global_var(self, canonical: str, dtype: str) -> GlobalVar:
        """Return a function for tensors of ``dtype``."""
        return self.mod.get_global_var(self.get_name(canonical, dtype))

    def get_var(self, canonical: str, dtype: str) -> object:
        """Return a function or a constructor for tensors of ``dtype``."""
        return getattr(self, self.get_name(canonical, dtype))

    def get_type(self, canonical: str, dtype: str) -> object:
        """Return the type of tensors of ``dtype``."""
        return getattr(self, self.get_name(canonical, dtype))

    def get_ctor(self, ty_name: str, canonical: str, dtype: str) -> Constructor:
        """Return a constructor for tensors of ``dtype``."""
        return self._constructor(self.get_name(canonical, dtype))

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Constructor:
        """Return a constructor of the type of tensors of ``dtype``."""
        return self.get_ctor("tensor_t", canonical, dtype)

    def _static(self, dtype: str, shape: Sequence[object]) -> StaticTensorArrayOps:
        made = StaticTensorArrayOps(self, dtype, shape)
        made.register()
        return made

    def get_global_var_static(self, canonical: str, dtype: str, shape: Sequence[object],
                              batch_dim: object = None) -> GlobalVar:  # fmt: skip
        """Return a function for lists of tensors of one shape."""
        return self._static(dtype, shape).get_global_var(canonical)

    get_var_static = get_global_var_static

    def get_type_static(self, canonical: str, dtype: str, shape: Sequence[object]) -> object:
        """Return the type of tensors of one shape."""
        return self._static(dtype, shape).get_type(canonical)

    def get_ctor_static(self, ty_name: str, name: str, dtype: str, shape: Sequence[object]) -> Constructor:
        """Return a constructor for tensors of one shape."""
        return self._static(dtype, shape).get_ctor(name)

    def get_tensor_ctor_static(self, name: str, dtype: str, shape: Sequence[object]) -> Constructor:
        """Return a constructor of the type of tensors of one shape."""
        return self.get_ctor_static("tensor_t", name, dtype, shape)

    def get_name_static(self, canonical: str, dtype: str, shape: Sequence[object], batch_dim: object = None) -> str:
        """Return the name of a function, a type or a constructor for tensors of one shape."""
        return StaticTensorArrayOps(self, dtype, shape, batch_dim).get_name(canonical)

    def _constructor(self, name: str) -> Constructor:
        for data in self.mod.type_definitions.values():
            for one in data.constructors:
                if one.name == name:
                    return one
        raise AttributeError(f"the module has no constructor {name}")

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or name == "mod":
            raise AttributeError(name)
        for header in self.mod.type_definitions:
            if header.name == name:
                return header
        return self.mod.get_global_var(name) if name in self.mod else self._constructor(name)


class StaticTensorArrayOps:
    """The functions over lists of tensors of one dtype and shape."""

    def __init__(self, prelude: Prelude, dtype: str, shape: Sequence[object], batch_dim: object = None) -> None:
        self.prelude, self.dtype, self.batch_dim = prelude, dtype, batch_dim
        self.shape = tuple(one if isinstance(one, int) else None for one in shape)

    def register(self) -> None:
        """Add them to the module, unless it has them."""
        if not self.prelude._defines(self.get_name("tensor_t")):
            add_library(self.prelude.mod, static_tensor_arrays=((self.dtype, self.shape),))

    def get_name(self, canonical: str) -> str:
        """Return the name of a function, a type or a constructor for this shape."""
        sides = "_".join("any" if one is None else str(one) for one in self.shape) or "scalar"
        return (
            f"static_tensor_{self.dtype}_{sides}_t" if canonical == "tensor_t" else f"{canonical}_{self.dtype}_{sides}"
        )

    def get_global_var(self, canonical: str) -> GlobalVar:
        """Return a function for this shape."""
        return self.prelude.mod.get_global_var(self.get_name(canonical))

    def get_type(self, canonical: str) -> object:
        """Return the type of a tensor of this shape."""
        return getattr(self.prelude, self.get_name(canonical))

    def get_ctor(self, canonical: str) -> Constructor:
        """Return a constructor for this shape."""
        return self.prelude._constructor(self.get_name(canonical))


def add_library(
    mod: IRModule,
    *parts: str,
    tensor_arrays: Sequence[str] = (),
    static_tensor_arrays: Sequence[tuple[str, ours.Shape]] = (),
) -> None:
    """Add parts of the library to ``mod`` itself, beside what it has."""
    both = parse(ours.library_text(parts, tensor_arrays, static_tensor_arrays), "<prelude>", beside=mod)
    mod.functions, mod.type_definitions, mod.types = both.functions, both.type_definitions, {}
    mod.__post_init__()
