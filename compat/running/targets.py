"""``tvm.target``: what programs are built for. Here that is C, or numpy."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.machinery import PathFinder

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import running, translating

# What TVM knows of kernels of targets, though none of them exists here.
_MOST_ARGUMENTS = {"opencl": 128, "metal": 31}
# Options of targets until TVM 0.8.
_MOVED = ("runtime", "system-lib", "executor", "interface-api", "unpacked-api", "link-params")
RUNNING = ("llvm", "c", "tvm")
_KINDS = {"llvm": "c", "c": "c", "tvm": "tvm"}


class Target:
    """A target by its text, such as ``llvm -mcpu=core-avx2``: its kind, and its options."""

    def __init__(self, target: object, host: object = None) -> None:
        """Take a text, a mapping with a ``kind``, or another target."""
        options: dict[str, object] = {}
        self._text: str
        self.host: Target | None
        self.attrs: dict[str, object]
        if isinstance(target, Target):
            self._text, options, host = target._text, dict(target.attrs), host or target.host
        elif isinstance(target, Mapping):
            options = {str(name): value for name, value in target.items() if name != "kind"}
            self._text = str(target["kind"])
        else:
            self._text = str(target)
        words = shlex.split(self._text)
        for word in words[1:]:
            name, _, value = word.lstrip("-").partition("=")
            options[name] = value
        if given := [word for word in _MOVED if word in options]:
            raise ValueError(f"Cannot recognize '-{given[0]}': it is an option of relay.backend.Executor or Runtime")
        self.kind = Kind(words[0] if words else "")
        self.attrs = options
        self.host = None if host is None else Target(host)
        self.keys = tuple(str(options.get("keys", "cpu")).split(","))
        self.libs = tuple(one for one in str(options.get("libs", "")).split(",") if one)
        self.device_name = str(options.get("device", ""))
        self.model = str(options.get("model", "unknown"))
        self.mcpu = str(options.get("mcpu", ""))
        self.mattr = tuple(one for one in str(options.get("mattr", "")).split(",") if one)

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Return the target of the innermost ``with``."""
        found = _current.get()
        if found is None and not allow_none:
            raise ValueError("Target context required. Please set it by constructing a TVM target.")
        return found

    @property
    def max_function_args(self) -> int:
        """How many arguments a kernel may have; 0 for any number."""
        given = self.attrs.get("max_function_args", _MOST_ARGUMENTS.get(self.kind.name, 0))
        return int(str(given))

    def get_target_device_type(self) -> int:
        """Return the number of the device's kind."""
        from relay2relax.compat.running.ndarray import device

        return int(device(self.kind.name).device_type)

    def __enter__(self) -> Target:
        self._token = _current.set(self)
        return self

    def __exit__(self, *problem: object) -> None:
        _current.reset(self._token)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Target, str)) and self._text == str(other)

    def __hash__(self) -> int:
        return hash(self._text)

    def with_host(self, host: object) -> Target:
        """Return the target with a host."""
        return Target(self, host)


def _of_kind(kind: str) -> Callable[..., Target]:
    def target(model: str = "unknown", options: object = None) -> Target:
        return Target(f"{kind} -model={model}")

    return target


cuda, rocm, arm_cpu, mali = map(_of_kind, ("cuda", "rocm", "llvm -device=arm_cpu", "opencl -device=mali"))


class Kind:
    """What a target is, as ``target.kind.name``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name


def hexagon(cpu_ver: str = "v68", **options: object) -> Target:
    """Return the target of a Hexagon processor; options are kept as attributes."""
    return Target({"kind": f"hexagon -mtriple=hexagon -mcpu=hexagon{cpu_ver}", **options})


_current: ContextVar[Target | None] = ContextVar("target", default=None)


@contextmanager
def no_target() -> Iterator[None]:
    """Forget the current target inside the block."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def chosen(target: object) -> Target:
    """Return the first target that a script gives: of one, of several, of one for each device."""
    if isinstance(target, Mapping) and "kind" not in target:
        target = next(iter(target.values()))
    if isinstance(target, (list, tuple)):
        target = target[0]
    return Target("llvm" if target is None else target)


def backend_of(target: object, kinds: Sequence[str] = ("llvm", "c")) -> str:
    """Return the backend that stands for ``target``, which is one of ``kinds``.

    Raises UnsupportedError for targets that do not exist here, by their name, and for ``tvm`` where
    apache-tvm is not installed.
    """
    kind = chosen(target).kind.name
    if kind == "tvm" and kind in kinds and PathFinder.find_spec(kind) is None:
        raise UnsupportedError(mistake(running.LIBRARY, what="apache-tvm", problem="pip install relay2relax[tvm]"))
    if kind not in kinds:
        known = "llvm, c, which both mean generated C"
        if "tvm" in kinds:
            known += ", and tvm, which is apache-tvm in a process of its own"
        raise UnsupportedError(mistake(translating.CHOICE, what="target", name=repr(kind), known=known))
    return _KINDS[kind]


def llvm_version_major(allow_none: bool = False) -> int:
    """Return 0: code is generated as C, without LLVM."""
    return 0
