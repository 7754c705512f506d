"""From a Relax module to the instructions of the virtual machine.

The passes of ``LOWERING`` give every result its memory first. A function then checks its arguments
against their annotations and reads symbolic extents off their shapes, and runs its bindings in
order. Symbolic extents and what is computed from them live on the function's shape heap.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from relay2relax.backends.runtime.attribute_extents import attribute_variables
from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.backends.vm.bytecode import (
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
    VMFunction,
)
from relay2relax.backends.vm.function_spec import FunctionSpec, OnlyKernel, Parameter, parameter_checks, value_form
from relay2relax.backends.vm.only_kernel import only_call
from relay2relax.backends.vm.shape_heap import ShapeHeap
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import running
from relay2relax.core.passes import Sequential
from relay2relax.core.progress import each
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.script import Script
from relay2relax.relax_ir.inference.memory import (
    AllocStorage,
    AllocTensor,
    Kill,
    MemoryCall,
    PlaceTensor,
    read_memory_call,
    viewed,
)
from relay2relax.relax_ir.inference.op_signatures import Argument, ForeignOp
from relay2relax.relax_ir.inference.runtime_calls import is_unproved, packed_call, writes_arguments
from relay2relax.relax_ir.ir import expr as rx
from relay2relax.relax_ir.ir import struct_info as si
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.symbols import is_narrower
from relay2relax.relax_ir.ir.text import info_text
from relay2relax.relax_ir.ir.visit import Steps, bindings, free_variables, run
from relay2relax.relax_ir.transform import (
    CallTIRRewrite,
    KillAfterLastUse,
    LowerAllocTensor,
    RemoveIdentities,
    RewriteDataflowReshape,
    StaticPlanBlockMemory,
)
from relay2relax.tir.extent import Extent, as_prim, static
from relay2relax.tir.ir.expr import FloatImm, IntImm, PrimExpr
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.visit import variables
from relay2relax.tir.script.names import identifier

# From calls that return their results to calls that write into memory, which is shared and
# released.
LOWERING = Sequential(
    (
        RemoveIdentities(),
        RewriteDataflowReshape(),
        CallTIRRewrite(),
        StaticPlanBlockMemory(),
        LowerAllocTensor(),
        KillAfterLastUse(),
    ),
    name="lower_to_vm",
)


def compile_module(module: rx.IRModule) -> tuple[tuple[FunctionEntry, ...], tuple[Pooled, ...]]:
    """Return the function table and the constant pool of ``module``.

    Where calls of ``module`` write into their arguments, no operator's result is a view of what it
    was given: a value stays what it was when it was computed.
    """
    return _ModuleCompiler(LOWERING(module), writes_arguments(module)).compile()


class _ModuleCompiler:
    """The function table and the constant pool, as they grow."""

    def __init__(self, module: rx.IRModule, apart: bool) -> None:
        self.module = module
        self.apart = apart
        self.table: dict[Hashable, int] = {}
        self.functions: list[FunctionEntry | None] = []
        self.names: list[str] = []
        self.supply = NameSupply()
        self.constants: list[Pooled] = []
        self.pool: dict[Hashable, int] = {}
        self.pending: list[tuple[int, str, rx.Function, tuple[rx.Var, ...], rx.Var | None]] = []

    def compile(self) -> tuple[tuple[FunctionEntry, ...], tuple[Pooled, ...]]:
        """Return the function table and the constant pool."""
        for var in self.module.functions:
            self.supply.reserve(var.name)
        for var, func in self.module.functions.items():
            if isinstance(func, rx.Function):
                self.relax_function(var)
                while self.pending:
                    index, name, body, captured, itself = self.pending.pop(0)
                    compiled = _FunctionCompiler(self, name, body, captured, itself)
                    self.functions[index] = compiled.compile()
        return tuple(entry for entry in self.functions if entry is not None), tuple(self.constants)

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
        self.heap.collect(self.func, self.params)
        if self.heap.size:
            self.heap_register = self.call("alloc_shape_heap", MACHINE, Immediate(self.heap.size))
        shapes: list[tuple[Register, tuple[Extent, ...], str]] = []
        for number, param in enumerate(self.params):
            register = self.registers[param]
            assert isinstance(register, Register)
            self.check(register, param.info, f"fn={self.name}, loc=param[{number}], param={param.name}", shapes)
        later = [self.match(*one) for one in shapes]
        checks = parameter_checks(1 if self.heap.size else 0, [param.info for param in self.params])
        self.compute_extents(self.func)
        for one, unknown in zip(shapes, later, strict=True):
            if unknown:
                self.match(*one)
        if self.itself is not None:
            self.registers[self.itself] = self.closure(self.module.table[self.func], self.captured)
        run(self.sequence(self.func.body, self.finish))
        parameters = tuple(Parameter(param.name, value_form(param.info)) for param in self.params)
        spec = FunctionSpec(parameters, checks, self.only_kernel())
        return VMFunction(self.name, spec, tuple(self.code), self.count)

    def only_kernel(self) -> OnlyKernel | None:
        """Return the kernel that the function is, None where it is more, or less, than one."""
        found = only_call(self.func)
        if found is None or self.captured:
            return None
        callee, order = found
        if not isinstance(self.module.module.functions[callee], PrimFunc):
            return None
        return OnlyKernel(self.module.relax_function(callee), order)

    def finish(self, value: rx.Expr) -> None:
        register, ret = self.register(value), self.func.ret
        where = f"fn={self.name}, loc=return"
        shape = ret.shape if isinstance(ret, si.TensorStructInfo) else None
        if isinstance(value, rx.Var) and is_narrower(ret, value.info):
            self.verify(register, ret, where, value)
        elif shape is not None and any(static(e) is None for e in shape) and self.heap.knows(shape):
            self.match(register, shape, _context(where, ret))
        self.code.append(Ret(register))

    def check(
        self,
        register: Register,
        info: si.StructInfo,
        where: str,
        shapes: list[tuple[Register, tuple[Extent, ...], str]],
    ) -> None:
        """Emit the check of one value's kind; what its shape must be is added to ``shapes``.

        ``where`` says in messages which value it is; fields of tuples have their indices behind it.
        """
        context = _context(where, info)
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
                    self.check(item, part, f"{where}[{index}]", shapes)
            case si.PrimStructInfo(dtype, value):
                known = self.dtype(dtype)
                self.call("check_prim_value_info", register, known, self.text(context), result=False)
                if value is not None:
                    code, arg = self.heap.match_code(value)
                    operand = (Immediate(code), Immediate(arg))
                    text = self.text(context)
                    self.call("match_prim_value", register, self.heap_register, *operand, text, result=False)
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

    def allocate(self, call: MemoryCall) -> Arg:
        """Emit what a memory operator asks for and say where its result is."""
        match call:
            case AllocStorage(size):
                extent, dtype, scope = self.shape((size,)), self.dtype("uint8"), self.text("global")
                return self.call("alloc_storage", MACHINE, extent, Immediate(0), dtype, scope)
            case PlaceTensor(storage, offset, shape, dtype):
                place = self.shape(shape)
                return self.call("alloc_tensor", self.registers[storage], Immediate(offset), place, self.dtype(dtype))
            case Kill(var):
                register = self.registers[var]
                if isinstance(register, Register):
                    self.null(register)
                return VOID
            case AllocTensor():
                raise UnsupportedError(
                    "R.builtin.alloc_tensor of a shape that is a variable cannot be compiled",
                    kind=running.NOT_ON_BACKEND,
                )

    # Bindings

    def sequence(self, seq: rx.SeqExpr, finish: Callable[[rx.Expr], None]) -> Steps:
        """Emit the bindings of ``seq`` and pass its value to ``finish``."""
        with each("bindings of Relax", tuple(bindings(seq))) as rest:
            for binding in rest:
                yield from self.binding(binding)
        finish(seq.body)

    def binding(self, binding: rx.Binding | rx.MatchCast) -> Steps:
        var, value = binding.var, binding.value
        if isinstance(binding, rx.MatchCast):
            self.registers[var] = register = self.register(value)
            self.match_cast(binding, register)
            return
        match value:
            case rx.If():
                yield from self.branch(var, value)
            case rx.Function():
                free = free_variables(value)
                captured = tuple(one for one in free if one is not var)
                index = self.module.lifted(value, f"{self.name}_{var.name}", captured, var if var in free else None)
                self.registers[var] = self.closure(index, captured)
            case _:
                source, info = viewed(value), var.info
                if source is None or not isinstance(info, si.TensorStructInfo):
                    self.registers[var] = found = self.value(value)
                    if is_unproved(binding) and isinstance(found, Register):
                        self.verify(found, info, f"fn={self.name}, loc={_origin(binding)}", binding)
                    return
                assert isinstance(value, rx.Call)
                shape = self.shape(info.shape) if info.shape is not None else self.arg(value.args[1])
                origin = self.register(source)
                self.registers[var] = self.apart(self.call("reshape", origin, shape), (origin,))

    def branch(self, var: rx.Var, value: rx.If) -> Steps:
        condition = self.call("read_if_cond", self.register(value.condition))
        merged = self.fresh()

        def leave(result: rx.Expr) -> None:
            self.code.append(Call(merged, self.module.builtin("copy"), (self.register(result),)))

        start = len(self.code)
        self.code.append(Goto(0))
        yield self.sequence(value.true_branch, leave)
        skip = len(self.code)
        self.code.append(Goto(0))
        self.code[start] = If(condition, len(self.code) - start)
        yield self.sequence(value.false_branch, leave)
        self.code[skip] = Goto(len(self.code) - skip)
        self.registers[var] = merged

    def match_cast(self, binding: rx.MatchCast, register: Register) -> None:
        self.verify(register, binding.info, "match_cast", binding)

    def verify(self, register: Register, info: si.StructInfo, where: str, point: object) -> None:
        """Emit the checks that a value is of ``info``, whose new variables are known from ``point``
        on.
        """
        shapes: list[tuple[Register, tuple[Extent, ...], str]] = []
        self.check(register, info, where, shapes)
        unknown = [self.match(*one) for one in shapes]
        self.compute_extents(point)
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
                memory = read_memory_call(value)
                return self.allocate(memory) if memory is not None else self.emit_call(op, args, attrs)
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
        raise UnsupportedError(
            f"{type(value).__name__} cannot stand where a value is used; normalise the module first",
            kind=running.NOT_ON_BACKEND,
        )

    def register(self, value: rx.Expr) -> Register:
        """Return ``value`` in a register."""
        found = self.value(value)
        return found if isinstance(found, Register) else self.call("copy", found)

    def emit_call(
        self, op: OpDef | rx.GlobalVar | rx.Var | rx.ExternFunc, args: tuple[rx.Expr, ...], attrs: Any
    ) -> Register:
        match op, args:
            case ForeignOp(script=Script("make_closure")), (callee, rx.Tuple(captured)):
                return self.call("make_closure", self.arg(callee), *map(self.arg, captured))
            case ForeignOp(script=Script("invoke_closure" | "invoke_pure_closure")), (callee, rx.Tuple(passed)):
                return self.call("invoke_closure", MACHINE, self.register(callee), *map(self.arg, passed))
        given = [self.arg(arg) for arg in args]
        if isinstance(op, OpDef) and not op.builtin and op.scalars:
            dtypes = [_scalar_dtype(arg) for arg in args]
            if not all(dtypes):  # an operator of scalars alone gives a scalar
                given = [
                    self.call("scalar_to_tensor", place, self.dtype(dtype)) if dtype else place
                    for place, dtype in zip(given, dtypes, strict=True)
                ]
        match op:
            case ForeignOp() if (called := packed_call(op, attrs)) is not None:
                index = self.module.packed(called[0])
                given = [given[one.index] if isinstance(one, Argument) else self.foreign(one) for one in called[1]]
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
        # Most PrimFuncs write their arguments and return nothing.
        func = self.module.module.functions[op] if isinstance(op, rx.GlobalVar) else None
        destination = VOID if isinstance(func, PrimFunc) and func.result == "void" else self.fresh()
        self.code.append(Call(destination, index, tuple(given)))
        return self.apart(destination, given) if isinstance(op, OpDef) and not op.builtin else destination

    def apart(self, result: Register, given: Sequence[Arg]) -> Register:
        """Return an operator's result with memory of its own, where somebody may write into
        ``given``.
        """
        return self.call("apart", result, *given) if self.module.apart and result != VOID else result

    def foreign(self, value: Any) -> Arg:
        """Return a value that an operator without a record was written with."""
        if isinstance(value, int):
            return Immediate(int(value))
        if isinstance(value, PrimExpr):
            return self.scalar(value)
        if isinstance(value, (str, float)):
            return self.module.constant(value)
        raise UnsupportedError(f"a packed function cannot be given {value!r}", kind=running.NOT_ON_BACKEND)

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


def _scalar_dtype(value: rx.Expr) -> str:
    """Return the dtype of a scalar, "" of any other operand."""
    match value:
        case rx.PrimValue(prim):
            return prim.dtype
        case rx.Var(_, si.PrimStructInfo(dtype)):
            return dtype
    return ""


def _origin(binding: rx.Binding) -> str:
    """Return where a value comes from, as messages say it: the function that returned it, or its
    variable.
    """
    match binding.value:
        case rx.Call(rx.ExternFunc(name)):
            return f"result of {name}"
        case rx.Call(ForeignOp() as op, _, attrs) if (called := packed_call(op, attrs)) is not None:
            return f"result of {called[0]}"
    return f"value of {binding.var.name}"


def _context(where: str, info: si.StructInfo) -> str:
    """Return what the message of a check says of the value that ``where`` names.

    TVM writes it so.
    """
    word = "struct_info" if where.startswith("match_cast") else "annotation"
    return f"ErrorContext({where}, {word}={info_text(info, lambda var: identifier(var.name))}) "
