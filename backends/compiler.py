"""From a Relax module to the instructions of the virtual machine.

A function first checks its arguments against their annotations and reads symbolic extents off their shapes, then runs
its bindings in order. A ``call_tir`` becomes: memory for the results, the call, and the release of what nobody needs
any more. Symbolic extents and what is computed from them live on the function's shape heap."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from relay2relax.backends.bytecode import (
    MACHINE,
    VOID,
    Arg,
    Builtin,
    Call,
    ConstantRef,
    DataType,
    FunctionEntry,
    FunctionRef,
    Goto,
    If,
    Immediate,
    Instruction,
    Kernel,
    OperatorCall,
    Packed,
    Pooled,
    Register,
    Ret,
    ShapeFunction,
    ShapeTuple,
    VMFunction,
)
from relay2relax.backends.executable import Executable
from relay2relax.backends.liveness import Liveness
from relay2relax.backends.shape_heap import ShapeHeap, attribute_variables
from relay2relax.backends.storage import Storage, StoragePool
from relay2relax.core.dtype import bits
from relay2relax.core.errors import UnsupportedError
from relay2relax.ops.record import OpDef
from relay2relax.relax_ir import expr as rx
from relay2relax.relax_ir import struct_info as si
from relay2relax.relax_ir.names import NameSupply
from relay2relax.relax_ir.script_values import info_text
from relay2relax.relax_ir.visit import Steps, run
from relay2relax.tir.arith import simplify
from relay2relax.tir.expr import FloatImm, IntImm, PrimExpr, binary
from relay2relax.tir.extent import Extent, as_prim, static
from relay2relax.tir.stmt import PrimFunc
from relay2relax.tir.visit import variables


def compile_module(module: rx.IRModule, target: str, native: Any = None) -> Executable:
    """Return the executable of ``module``; its PrimFuncs run on ``target``."""
    return _ModuleCompiler(module).compile(target, native)


class _ModuleCompiler:
    """The function table and the constant pool, as they grow."""

    def __init__(self, module: rx.IRModule) -> None:
        self.module = module
        self.table: dict[Hashable, int] = {}
        self.functions: list[FunctionEntry | None] = []
        self.names: list[str] = []
        self.supply = NameSupply()
        self.constants: list[Pooled] = []
        self.pool: dict[Hashable, int] = {}
        self.pending: list[tuple[int, str, rx.Function, tuple[rx.Var, ...], rx.Var | None]] = []

    def compile(self, target: str, native: Any) -> Executable:
        for var in self.module.functions:
            self.supply.reserve(var.name)
        for var, func in self.module.functions.items():
            if isinstance(func, rx.Function):
                self.relax_function(var)
                while self.pending:
                    index, name, body, captured, itself = self.pending.pop(0)
                    compiled = _FunctionCompiler(self, name, body, captured, itself)
                    self.functions[index] = compiled.compile()
        entries = tuple(entry for entry in self.functions if entry is not None)
        return Executable(entries, tuple(self.constants), target, native)

    def entry(self, key: Hashable, name: str, entry: FunctionEntry | None) -> int:
        """Return the index of a function, adding it on first use."""
        index = self.table.get(key)
        if index is None:
            index = self.table[key] = len(self.functions)
            self.functions.append(entry)
            self.names.append(name)
        return index

    def relax_function(self, var: rx.GlobalVar) -> int:
        """Return the index of a function of the module, which is compiled when its turn comes."""
        index = self.table.get(var)
        if index is None:
            func = self.module.functions[var]
            if isinstance(func, PrimFunc):
                return self.entry(var, var.name, Kernel(var.name, func))
            index = self.entry(var, var.name, None)
            self.pending.append((index, var.name, func, (), None))
        return index

    def lifted(self, func: rx.Function, hint: str, captured: tuple[rx.Var, ...], itself: rx.Var | None) -> int:
        """Return the index of a local function, its captured variables its last parameters."""
        name = self.supply.fresh(hint)
        index = self.entry(func, name, None)
        self.pending.append((index, name, func, captured, itself))
        return index

    def builtin(self, name: str) -> int:
        """Return the index of ``vm.builtin.<name>``."""
        full = f"vm.builtin.{name}"
        return self.entry(full, full, Builtin(full))

    def packed(self, name: str) -> int:
        """Return the index of a function that is looked up by name."""
        return self.entry(("packed", name), name, Packed(name))

    def constant(self, value: Pooled) -> ConstantRef:
        """Return a place in the pool; equal strings and shapes, and one array, are kept once."""
        key: Hashable = None
        match value:
            case DataType():
                pass
            case str() | ShapeTuple() | int() | float():
                key = (type(value), value)
            case _:
                key = id(value)
        if key is not None and key in self.pool:
            return ConstantRef(self.pool[key])
        self.constants.append(value)
        if key is not None:
            self.pool[key] = len(self.constants) - 1
        return ConstantRef(len(self.constants) - 1)


@dataclass(slots=True)
class _Allocation:
    """The storage of one result: planned ones are shared, others belong to the result alone."""

    info: si.TensorStructInfo
    storage: Storage
    shared: bool


@dataclass(slots=True)
class _Memory:
    """What the plan says: allocations by binding, and where each storage is first and last asked for."""

    allocations: dict[rx.Var, list[_Allocation]] = field(default_factory=dict)
    requests: dict[Storage, int] = field(default_factory=dict)


class _FunctionCompiler:
    """Compiles one function."""

    def __init__(
        self,
        module: _ModuleCompiler,
        name: str,
        func: rx.Function,
        captured: tuple[rx.Var, ...],
        itself: rx.Var | None,
    ) -> None:
        self.module = module
        self.name = name
        self.func = func
        self.captured = captured
        self.itself = itself
        self.code: list[Instruction] = []
        self.params = (*func.params, *captured)
        self.registers: dict[rx.Var, Arg] = {var: Register(i) for i, var in enumerate(self.params)}
        self.count = len(self.params)
        self.heap = ShapeHeap()
        self.heap_register = VOID
        self.liveness = Liveness(module.module, func)
        self.memory = _Memory()
        self.storages: dict[Storage, Register] = {}

    # Instructions

    def fresh(self) -> Register:
        self.count += 1
        return Register(self.count - 1)

    def call(self, builtin: str, *args: Arg, result: bool = True) -> Register:
        destination = self.fresh() if result else VOID
        self.code.append(Call(destination, self.module.builtin(builtin), args))
        return destination

    def null(self, register: Register) -> None:
        self.code.append(Call(register, self.module.builtin("null_value"), ()))

    def text(self, value: str) -> ConstantRef:
        return self.module.constant(value)

    def dtype(self, value: str) -> ConstantRef:
        return self.module.constant(DataType(value or "void"))

    # The function

    def compile(self) -> VMFunction:
        self.plan(self.func.body)
        self.heap.collect(self.func, self.params, self.memory_shapes())
        if self.heap.size:
            self.heap_register = self.call("alloc_shape_heap", MACHINE, Immediate(self.heap.size))
        shapes: list[tuple[Register, tuple[Extent, ...], str]] = []
        for number, param in enumerate(self.params):
            context = f"ErrorContext(fn={self.name}, loc=param[{number}], param={param.name}, annotation="
            register = self.registers[param]
            assert isinstance(register, Register)
            self.check(register, param.info, f"{context}{_annotation(param.info)}) ", shapes)
        later = [self.match(*one) for one in shapes]
        self.compute_extents(self.func)
        for one, unknown in zip(shapes, later, strict=True):
            if unknown:
                self.match(*one)
        if self.itself is not None:
            self.registers[self.itself] = self.closure(self.module.table[self.func], self.captured)
        run(self.sequence(self.func.body, self.finish))
        return VMFunction(self.name, tuple(p.name for p in self.params), tuple(self.code), self.count)

    def finish(self, value: rx.Expr) -> None:
        register = self.register(value)
        shape = self.func.ret.shape if isinstance(self.func.ret, si.TensorStructInfo) else None
        if shape is not None and any(static(e) is None for e in shape) and self.heap.knows(shape):
            context = f"ErrorContext(fn={self.name}, loc=return, annotation={_annotation(self.func.ret)}) "
            self.match(register, shape, context)
        self.code.append(Ret(register))

    def check(
        self,
        register: Register,
        info: si.StructInfo,
        context: str,
        shapes: list[tuple[Register, tuple[Extent, ...], str]],
    ) -> None:
        """Emit the check of one value's kind; what its shape must be is added to ``shapes``."""
        match info:
            case si.TensorStructInfo(shape, dtype, ndim):
                self.call(
                    "check_tensor_info", register, Immediate(ndim), self.dtype(dtype), self.text(context), result=False
                )
                if shape is not None:
                    shapes.append((register, shape, context))
            case si.ShapeStructInfo(values, ndim):
                self.call("check_shape_info", register, Immediate(ndim), self.text(context), result=False)
                if values is not None:
                    shapes.append((register, values, context))
            case si.TupleStructInfo(parts):
                size = Immediate(len(parts))
                self.call("check_tuple_info", register, size, self.text(context), result=False)
                for index, part in enumerate(parts):
                    item = self.call("tuple_getitem", register, Immediate(index))
                    self.check(item, part, context, shapes)
            case si.PrimStructInfo(dtype, value):
                known = self.dtype(dtype)
                self.call("check_prim_value_info", register, known, self.text(context), result=False)
                if value is not None:
                    code, arg = self.heap.match_code(value)
                    where = (Immediate(code), Immediate(arg))
                    text = self.text(context)
                    self.call("match_prim_value", register, self.heap_register, *where, text, result=False)
            case si.FuncStructInfo():
                self.call("check_func_info", register, self.text(context), result=False)

    def match(self, register: Register, shape: tuple[Extent, ...], context: str) -> bool:
        """Emit the comparison of a shape; say whether some extent could not be compared yet."""
        codes: list[Arg] = []
        unknown = False
        for extent in shape:
            code, arg = self.heap.match_code(as_prim(extent))
            unknown = unknown or (code == 2 and bool(variables(as_prim(extent))))
            codes += [Immediate(code), Immediate(arg)]
        rank = Immediate(len(shape))
        self.call("match_shape", register, self.heap_register, rank, *codes, self.text(context), result=False)
        return unknown

    def compute_extents(self, where: object) -> None:
        """Emit the call that computes the extents that are known from ``where`` on."""
        results = self.heap.results(where)
        if results:
            name = self.module.supply.fresh("shape_func")
            entry = ShapeFunction(name, dict(self.heap.slots), results)
            index = self.module.entry(entry.name, name, entry)
            self.code.append(Call(VOID, index, (self.heap_register,)))

    # Memory

    def plan(self, body: rx.SeqExpr) -> None:
        """Decide which results share storage: those of straight-line code that only kernels look at."""
        pool = StoragePool()
        dying: dict[int, list[Storage]] = {}
        number = 0
        for block in body.blocks:
            for binding in block.bindings:
                value = binding.value
                if isinstance(value, (rx.CallTIR, rx.CallDPSPacked)) and not self.liveness.is_view(binding.var):
                    shared = self.liveness.is_private(binding.var)
                    allocations = []
                    for info in value.out:
                        size = _bytes(info, canonical=shared)
                        if shared:
                            storage = pool.request(info.dtype, size)
                            last = self.liveness.last_use(binding.var)
                            dying.setdefault(max(last, number), []).append(storage)
                        else:
                            storage = Storage(info.dtype, size)
                        allocations.append(_Allocation(info, storage, shared))
                        self.memory.requests[storage] = number
                    self.memory.allocations[binding.var] = allocations
                for storage in dying.pop(number, ()):
                    pool.release(storage)
                number += 1

    def memory_shapes(self) -> dict[rx.Var, list[Extent]]:
        """Return, by binding, the storage sizes that are computed at run time."""
        return {var: [a.storage.size for a in allocations] for var, allocations in self.memory.allocations.items()}

    def allocate(self, var: rx.Var, infos: Sequence[si.TensorStructInfo], number: int | None) -> list[Register]:
        """Emit memory for the results of a call; ``number`` is the binding's place in straight-line code."""
        planned = self.memory.allocations.get(var)
        results = []
        for position, info in enumerate(infos):
            if planned is None:
                storage, last = Storage(info.dtype, _bytes(info, canonical=False)), None
            else:
                storage, last = planned[position].storage, self.memory.requests[planned[position].storage]
            register = self.storages.get(storage)
            if register is None:
                size, dtype, scope = self.shape((storage.size,)), self.dtype("uint8"), self.text("global")
                register = self.call("alloc_storage", MACHINE, size, Immediate(0), dtype, scope)
                self.storages[storage] = register
            assert info.shape is not None
            shape = self.shape(info.shape)
            results.append(self.call("alloc_tensor", register, Immediate(0), shape, self.dtype(info.dtype)))
            if last is None or last == number:
                self.null(register)
        return results

    # Bindings

    def sequence(self, seq: rx.SeqExpr, finish: Any, straight: bool = True) -> Steps:
        """Emit the bindings of ``seq`` and pass its value to ``finish``; ``straight`` code runs exactly once."""
        number = 0
        for block in seq.blocks:
            for binding in block.bindings:
                yield from self.binding(binding, number if straight else None)
                if straight:
                    for var in self.liveness.dying(number):
                        register = self.registers.get(var)
                        if isinstance(register, Register):
                            self.null(register)
                number += 1
        finish(seq.body)

    def binding(self, binding: rx.Binding | rx.MatchCast, number: int | None) -> Steps:
        var, value = binding.var, binding.value
        if isinstance(binding, rx.MatchCast):
            self.registers[var] = register = self.register(value)
            self.match_cast(binding, register)
            return
        match value:
            case rx.CallTIR(func, args, out, tir_args) if self.liveness.is_view(var):
                shape = out[0].shape
                assert shape is not None
                self.registers[var] = self.call("reshape", self.register(args[0]), self.shape(shape))
            case rx.CallTIR(func, args, out, tir_args):
                given = (*self.registers_of(args), *(self.scalar(arg) for arg in tir_args))
                results = self.allocate(var, out, number)
                self.destination_passing(var, self.module.relax_function(func), given, results)
            case rx.CallDPSPacked(name, args, out):
                given = self.registers_of(args)
                results = self.allocate(var, out, number)
                self.destination_passing(var, self.module.packed(name), given, results)
            case rx.If():
                yield from self.branch(var, value)
            case rx.Function():
                captured = self.liveness.captured(value, var)
                itself = var if self.liveness.is_recursive(value, var) else None
                index = self.module.lifted(value, f"{self.name}_{var.name}", captured, itself)
                self.registers[var] = self.closure(index, captured)
            case _:
                self.registers[var] = self.value(value)

    def destination_passing(self, var: rx.Var, index: int, args: tuple[Arg, ...], results: list[Register]) -> None:
        self.code.append(Call(VOID, index, (*args, *results)))
        if len(results) == 1:
            self.registers[var] = results[0]
        else:
            self.registers[var] = self.call("make_tuple", *results)

    def branch(self, var: rx.Var, value: rx.If) -> Steps:
        condition = self.call("read_if_cond", self.register(value.condition))
        merged = self.fresh()

        def leave(result: rx.Expr) -> None:
            self.code.append(Call(merged, self.module.builtin("copy"), (self.register(result),)))

        start = len(self.code)
        self.code.append(Goto(0))
        yield self.sequence(value.true_branch, leave, straight=False)
        skip = len(self.code)
        self.code.append(Goto(0))
        self.code[start] = If(condition, len(self.code) - start)
        yield self.sequence(value.false_branch, leave, straight=False)
        self.code[skip] = Goto(len(self.code) - skip)
        self.registers[var] = merged

    def match_cast(self, binding: rx.MatchCast, register: Register) -> None:
        shapes: list[tuple[Register, tuple[Extent, ...], str]] = []
        self.check(
            register, binding.info, f"ErrorContext(match_cast, struct_info={_annotation(binding.info)}) ", shapes
        )
        unknown = [self.match(*one) for one in shapes]
        self.compute_extents(binding)
        for one, again in zip(shapes, unknown, strict=True):
            if again:
                self.match(*one)

    def closure(self, index: int, captured: tuple[rx.Var, ...]) -> Register:
        func = FunctionRef(index, self.module.names[index])
        return self.call("make_closure", func, *(self.arg(var) for var in captured))

    # Values

    def value(self, value: rx.Expr) -> Arg:
        """Emit ``value`` and say where it is."""
        match value:
            case rx.Call(op, args, attrs):
                return self.emit_call(op, args, attrs)
            case rx.TupleGetItem(source, index):
                return self.call("tuple_getitem", self.register(source), Immediate(index))
        return self.arg(value)

    def arg(self, value: rx.Expr) -> Arg:
        """Return where an argument is: a register or a constant; tuples are put together."""
        match value:
            case rx.Var():
                return self.registers[value]
            case rx.Constant(data):
                return self.module.constant(data)
            case rx.ShapeExpr(values):
                return self.shape(values)
            case rx.PrimValue(prim):
                return self.scalar(prim)
            case rx.StringImm(text):
                return self.text(text)
            case rx.Tuple(parts):
                return self.call("make_tuple", *(self.arg(part) for part in parts))
            case rx.GlobalVar():
                index = self.module.relax_function(value)
                return FunctionRef(index, self.module.names[index])
            case rx.ExternFunc(name):
                return FunctionRef(self.module.packed(name), name)
        raise UnsupportedError(f"{type(value).__name__} cannot stand where a value is used; normalise the module first")

    def register(self, value: rx.Expr) -> Register:
        """Return ``value`` in a register."""
        found = self.value(value)
        return found if isinstance(found, Register) else self.call("copy", found)

    def registers_of(self, args: tuple[rx.Expr, ...]) -> tuple[Arg, ...]:
        """Return the arguments of a kernel, tuples of tensors flattened."""
        result: list[Arg] = []
        for one in args:
            if isinstance(one, rx.Tuple):
                result += self.registers_of(one.fields)
            else:
                result.append(self.arg(one))
        return tuple(result)

    def emit_call(
        self, op: OpDef | rx.GlobalVar | rx.Var | rx.ExternFunc, args: tuple[rx.Expr, ...], attrs: Any
    ) -> Register:
        given = [self.arg(arg) for arg in args]
        match op:
            case OpDef(builtin=builtin) if builtin:
                index = self.module.builtin(builtin.removeprefix("vm.builtin."))
            case OpDef():
                name = f"relax.{op.script.name if op.script is not None else op.name}"
                extents = attribute_variables(attrs)
                key = ("op", op, attrs)
                known = self.module.table.get(key)
                if known is None:
                    name = self.module.supply.fresh(name)
                    known = self.module.entry(key, name, OperatorCall(name, op, attrs, extents))
                index = known
                if extents:
                    given.append(self.shape(extents))
            case rx.Var():
                return self.call("invoke_closure", MACHINE, self.registers[op], *given)
            case rx.GlobalVar():
                index = self.module.relax_function(op)
            case rx.ExternFunc(name):
                index = self.module.packed(name)
        destination = self.fresh()
        self.code.append(Call(destination, index, tuple(given)))
        return destination

    def shape(self, extents: Sequence[Extent]) -> Arg:
        """Return a shape value: a constant, or made from the heap."""
        known = [static(extent) for extent in extents]
        if all(extent is not None for extent in known):
            return self.module.constant(ShapeTuple(extent for extent in known if extent is not None))
        codes: list[Arg] = []
        for extent in extents:
            code, arg = self.heap.load_code(as_prim(extent))
            codes += [Immediate(code), Immediate(arg)]
        return self.call("make_shape", self.heap_register, Immediate(len(known)), *codes)

    def scalar(self, value: PrimExpr) -> Arg:
        """Return a scalar value: an immediate, a constant, or read from the heap."""
        if isinstance(value, IntImm):
            return Immediate(value.value)
        if isinstance(value, FloatImm):
            return self.module.constant(value.value)
        code, arg = self.heap.load_code(value)
        return self.call("make_prim_value", self.heap_register, Immediate(code), Immediate(arg))


def _annotation(info: si.StructInfo) -> str:
    return info_text(info, lambda var: var.name)


def _bytes(info: si.TensorStructInfo, canonical: bool) -> int | PrimExpr:
    """Return the bytes of a result; storages that are shared compare sizes in canonical form."""
    if info.shape is None:
        raise UnsupportedError("a result of call_tir without a shape cannot be allocated")
    size: PrimExpr = IntImm(1)
    for extent in info.shape:
        size = binary("*", size, as_prim(extent))
    size = binary("*", size, IntImm((bits(info.dtype) + 7) // 8))
    found = simplify(size) if canonical else size
    return found.value if isinstance(found, IntImm) else found
