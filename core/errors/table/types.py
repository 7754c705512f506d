"""Kinds of mistakes that type inference finds in Relay, and in building Relay by hand."""

from relay2relax.core.errors.kind import ErrorKind

ARGUMENTS = ErrorKind(
    "R2R-0201",
    "an operator does not accept these arguments",
    """The rule of the operator refuses the types or attributes of the call: a rank, an extent or a
    dtype does not fit. The message says which; the operators' pages say what each operator takes.""",
    """
    def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(5, 4), float32]) {
      nn.dense(%x, %w, units=5)
    }
    """,
    """
    def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(5, 3), float32]) {
      nn.dense(%x, %w, units=5)
    }
    """,
    language="relay",
    template="{operator} does not accept these arguments",
)
COUNT = ErrorKind(
    "R2R-0202",
    "a call has too many or too few arguments",
    """An operator or function takes a fixed number of arguments, unless its page says otherwise.""",
    """
    def @main(%x: Tensor[(2), float32]) {
      add(%x)
    }
    """,
    """
    def @main(%x: Tensor[(2), float32]) {
      add(%x, %x)
    }
    """,
    language="relay",
    template="wrong number of arguments for {callee}",
)
UNKNOWN_OPERATOR = ErrorKind(
    "R2R-0203",
    "there is no such operator",
    """The name is not among the operators that TVM 0.18 registers, nor among those of earlier versions
    that are read. The help names those that are spelled alike.""",
    """
    def @main(%x: Tensor[(2), float32]) {
      nn.rleu(%x)
    }
    """,
    """
    def @main(%x: Tensor[(2), float32]) {
      nn.relu(%x)
    }
    """,
    language="relay",
    template="unknown operator {name}",
)
NOT_A_FUNCTION = ErrorKind(
    "R2R-0204",
    "something that is not a function is called",
    """Operators, functions, constructors and variables of a function type can be called.""",
    """
    def @main(%x: Tensor[(2), float32]) {
      %x(%x)
    }
    """,
    """
    def @main(%f: fn (Tensor[(2), float32]) -> Tensor[(2), float32], %x: Tensor[(2), float32]) {
      %f(%x)
    }
    """,
    language="relay",
    template="{callee} is called",
)
UNBOUND = ErrorKind(
    "R2R-0205",
    "a variable is used where it is not bound",
    """A variable is seen inside of the function, `let` or clause that binds it.""",
    """
    from relay2relax import relay_ir

    x, y = relay_ir.var("x", shape=(2,)), relay_ir.var("y", shape=(2,))
    relay_ir.infer_type(relay_ir.IRModule.from_expr(relay_ir.Function((x,), relay_ir.op.add(x, y))))
    """,
    """
    from relay2relax import relay_ir

    x, y = relay_ir.var("x", shape=(2,)), relay_ir.var("y", shape=(2,))
    relay_ir.infer_type(relay_ir.IRModule.from_expr(relay_ir.Function((x, y), relay_ir.op.add(x, y))))
    """,
    template="unbound variable `%{name}`",
)
FIELD = ErrorKind(
    "R2R-0206",
    "a tuple has no such field",
    """Fields of a tuple are counted from 0, and only tuples have fields.""",
    """
    def @main(%x: (Tensor[(2), float32], Tensor[(3), float32])) {
      %x.2
    }
    """,
    """
    def @main(%x: (Tensor[(2), float32], Tensor[(3), float32])) {
      %x.1
    }
    """,
    language="relay",
    template="{value} has no field {index}",
)
UNDETERMINED = ErrorKind(
    "R2R-0207",
    "a type cannot be inferred",
    """Nothing in the program says what the type is. An annotation does.""",
    """
    def @main(%x) {
      %x
    }
    """,
    """
    def @main(%x: Tensor[(2), float32]) {
      %x
    }
    """,
    language="relay",
    template="the type of {what} cannot be inferred",
)
PATTERN_FIELDS = ErrorKind(
    "R2R-0208",
    "a pattern has too many or too few fields",
    """A pattern has as many fields as its constructor; `_` stands for what is not used.""",
    """
    type List[A] {
      Cons(A, List[A]),
      Nil,
    }
    def @main(%x: List[Tensor[(2), float32]]) {
      match (%x) {
        Cons(%head) => %head,
        Nil => ones(shape=[2], dtype="float32"),
      }
    }
    """,
    """
    type List[A] {
      Cons(A, List[A]),
      Nil,
    }
    def @main(%x: List[Tensor[(2), float32]]) {
      match (%x) {
        Cons(%head, _) => %head,
        Nil => ones(shape=[2], dtype="float32"),
      }
    }
    """,
    language="relay",
    template="the pattern `{constructor}` needs {count} fields",
)
TOO_LARGE = ErrorKind(
    "R2R-0209",
    "a type is too large",
    """Types are nested at most some thousand levels deep. A type that grows without bound mostly means
    that a function is applied to itself.""",
    """
    from relay2relax import relay_ir

    value = relay_ir.var("x", shape=(2,))
    for _ in range(100_000):
        value = relay_ir.Tuple((value,))
    relay_ir.infer_type(relay_ir.IRModule.from_expr(value))
    """,
    """
    from relay2relax import relay_ir

    value = relay_ir.var("x", shape=(2,))
    for _ in range(10):
        value = relay_ir.Tuple((value,))
    relay_ir.infer_type(relay_ir.IRModule.from_expr(value))
    """,
    template="a type has more than {most} {parts}",
)
BUILD = ErrorKind(
    "R2R-0220",
    "an expression cannot be made of what was given",
    """Functions that build Relay take what TVM's take: expressions, numbers, arrays and attributes by
    name.""",
    """
    from relay2relax import relay_ir

    relay_ir.op.nn.relu("a text")
    """,
    """
    from relay2relax import relay_ir

    relay_ir.op.nn.relu(relay_ir.var("x", shape=(2,)))
    """,
)
DEVICE_CONFLICT = ErrorKind(
    "R2R-0230",
    "one value would have to be on two devices",
    """`on_device` says where a value lies. Where two of them meet without a copy between, no plan of
    devices exists. `device_copy` brings a value from one device to another.""",
    """
    from relay2relax import relay_ir
    from relay2relax.relay_ir import annotation, transform

    x = relay_ir.var("x", shape=(2,))
    value = annotation.on_device(relay_ir.op.exp(x), relay_ir.gpu(), constrain_result=True)
    value = annotation.on_device(value, relay_ir.cpu(), constrain_result=True)
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x,), value))
    transform.PlanDevices(relay_ir.cpu())(mod)
    """,
    """
    from relay2relax import relay_ir
    from relay2relax.relay_ir import annotation, transform

    x = relay_ir.var("x", shape=(2,))
    value = annotation.on_device(relay_ir.op.exp(x), relay_ir.gpu(), constrain_result=True)
    value = relay_ir.op.device_copy(value, relay_ir.gpu(), relay_ir.cpu())
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x,), value))
    transform.PlanDevices(relay_ir.cpu())(mod)
    """,
)
FAKE_QUANTIZED = ErrorKind(
    "R2R-0240",
    "a fake-quantised region cannot be made one of integers",
    """`FakeQuantizationToInteger(hard_fail=True)` found a region that ends in `qnn.quantize` and has an
    operator without an integer form. Without `hard_fail` such a region stays as it is.""",
    """
    from relay2relax import relay_ir
    from relay2relax.relay_ir import op, transform

    x = relay_ir.var("x", shape=(2,), dtype="int8")
    value = op.qnn.quantize(op.sin(op.qnn.dequantize(x, 0.5, 0)), 0.5, 0)
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x,), value))
    transform.FakeQuantizationToInteger(hard_fail=True)(mod)
    """,
    """
    from relay2relax import relay_ir
    from relay2relax.relay_ir import op, transform

    x = relay_ir.var("x", shape=(2,), dtype="int8")
    value = op.qnn.quantize(op.exp(op.qnn.dequantize(x, 0.5, 0)), 0.5, 0)
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x,), value))
    transform.FakeQuantizationToInteger(hard_fail=True)(mod)
    """,
    template="a region of fake-quantised operators has no integer form: {reason}",
)
MISMATCH = ErrorKind(
    "R2R-0210",
    "two types that have to be the same are not",
    """A declared type and the type of what stands there, the branches of an `if`, the clauses of a
    `match`, and arguments and parameters have the same types.""",
    """
    def @main(%x: Tensor[(2), float32]) -> Tensor[(3), float32] {
      %x
    }
    """,
    """
    def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
      %x
    }
    """,
    language="relay",
    template="{role}: types do not match",
)
WRONG_ATTRIBUTES = ErrorKind(
    "R2R-0211",
    "a call carries the attributes of another operator",
    """Each operator has a class of attributes of its own. Functions such as `relay_ir.op.nn.dense` make
    them.""",
    """
    from relay2relax import relay_ir

    x = relay_ir.var("x", shape=(2, 3))
    softmax = relay_ir.op.nn.softmax(x)
    call = relay_ir.Call(relay_ir.Op("reshape"), (x,), softmax.attrs)
    relay_ir.infer_type(relay_ir.IRModule.from_expr(relay_ir.Function((x,), call)))
    """,
    """
    from relay2relax import relay_ir

    x = relay_ir.var("x", shape=(2, 3))
    call = relay_ir.op.reshape(x, newshape=(3, 2))
    relay_ir.infer_type(relay_ir.IRModule.from_expr(relay_ir.Function((x,), call)))
    """,
    template="{operator} has the wrong attributes",
)
OPERATOR_AS_VALUE = ErrorKind(
    "R2R-0212",
    "an operator is used as a value",
    """An operator can only be called. A function that calls it is a value.""",
    """
    from relay2relax import relay_ir

    relay_ir.infer_type(relay_ir.IRModule.from_expr(relay_ir.Tuple((relay_ir.Op("nn.relu"),))))
    """,
    """
    from relay2relax import relay_ir

    x = relay_ir.var("x", shape=(2,))
    relay_ir.infer_type(relay_ir.IRModule.from_expr(relay_ir.Function((x,), relay_ir.op.nn.relu(x))))
    """,
    template="the operator {name} is used as a value",
)
TYPE_ARGUMENTS = ErrorKind(
    "R2R-0213",
    "a call gives more type arguments than the function has type parameters",
    """A call has at most one type argument for each type parameter of the function.""",
    """
    from relay2relax import relay_ir

    x = relay_ir.var("x", shape=(2,))
    same = relay_ir.Function((x,), x)
    y = relay_ir.var("y", shape=(2,))
    call = relay_ir.Call(same, (y,), type_args=(y.type_annotation,))
    relay_ir.infer_type(relay_ir.IRModule.from_expr(relay_ir.Function((y,), call)))
    """,
    """
    from relay2relax import relay_ir

    x = relay_ir.var("x", shape=(2,))
    same = relay_ir.Function((x,), x)
    y = relay_ir.var("y", shape=(2,))
    call = relay_ir.Call(same, (y,))
    relay_ir.infer_type(relay_ir.IRModule.from_expr(relay_ir.Function((y,), call)))
    """,
    template="too many type arguments for {callee}",
)
REBOUND = ErrorKind(
    "R2R-0214",
    "a variable is bound more than once",
    """Every parameter, `let` and pattern binds a variable of its own; two may have the same name, but not
    be the same object.""",
    """
    from relay2relax import relay_ir

    x = relay_ir.var("x", shape=(2,))
    relay_ir.infer_type(relay_ir.IRModule.from_expr(relay_ir.Function((x, x), x)))
    """,
    """
    from relay2relax import relay_ir

    x, other = relay_ir.var("x", shape=(2,)), relay_ir.var("x", shape=(2,))
    relay_ir.infer_type(relay_ir.IRModule.from_expr(relay_ir.Function((x, other), x)))
    """,
    template="the variable `%{name}` is bound more than once",
)
UNKNOWN_FUNCTION = ErrorKind(
    "R2R-0215",
    "a function is called that the module does not define",
    """A module defines what it calls. The help lists the functions that there are.""",
    """
    def @main(%x: Tensor[(2), float32]) {
      @helper(%x)
    }
    """,
    """
    def @helper(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
      nn.relu(%x)
    }
    def @main(%x: Tensor[(2), float32]) {
      @helper(%x)
    }
    """,
    language="relay",
    template="unknown function @{name}",
)
NOT_RELAY = ErrorKind(
    "R2R-0216",
    "a function that is not Relay is called as if it were",
    """Functions that were lowered to TensorIR are called by `call_lowered`.""",
    """
    from relay2relax import relay_ir

    x = relay_ir.var("x", shape=(4,))
    scale = relay_ir.GlobalVar("scale")
    ty = relay_ir.FuncType((x.type_annotation,), x.type_annotation)
    kernel = relay_ir.OpaqueFunction((relay_ir.OpaqueNode("tir.PrimFunc"),), ty)
    mod = relay_ir.IRModule(opaque_functions={scale: kernel})
    mod["main"] = relay_ir.Function((x,), relay_ir.Call(scale, (x,)))
    """,
    """
    from relay2relax import relay_ir

    x = relay_ir.var("x", shape=(4,))
    scale = relay_ir.GlobalVar("scale")
    ty = relay_ir.FuncType((x.type_annotation,), x.type_annotation)
    kernel = relay_ir.OpaqueFunction((relay_ir.OpaqueNode("tir.PrimFunc"),), ty)
    mod = relay_ir.IRModule(opaque_functions={scale: kernel})
    mod["main"] = relay_ir.Function((x,), relay_ir.op.call_lowered(scale, relay_ir.Tuple((x,))))
    """,
    template="{callee} is a {key}: it cannot be called directly",
    help="call_lowered calls functions that were lowered",
)
UNKNOWN_TYPE = ErrorKind(
    "R2R-0217",
    "a type has no definition",
    """A data type is defined before it is used (`type List[A] { … }`), a type variable stands in the
    brackets of its function.""",
    """
    from relay2relax import relay_ir

    missing = relay_ir.GlobalTypeVar("Missing")
    x = relay_ir.var("x", relay_ir.TypeCall(missing, ()))
    relay_ir.infer_type(relay_ir.IRModule.from_expr(relay_ir.Function((x,), x)))
    """,
    """
    from relay2relax import relay_ir

    x = relay_ir.var("x", shape=(2,))
    relay_ir.infer_type(relay_ir.IRModule.from_expr(relay_ir.Function((x,), x)))
    """,
    template="unknown type `{name}`",
)
DATA_TYPE_ARGUMENTS = ErrorKind(
    "R2R-0218",
    "a data type is applied to the wrong number of types",
    """A data type takes as many types as its definition has parameters.""",
    """
    type Pair[A, B] {
      Pair(A, B),
    }
    def @main(%x: Pair[Tensor[(2), float32]]) {
      %x
    }
    """,
    """
    type Pair[A, B] {
      Pair(A, B),
    }
    def @main(%x: Pair[Tensor[(2), float32], Tensor[(3), float32]]) {
      %x
    }
    """,
    language="relay",
    template="`{name}` takes {expected} type arguments",
)
NOT_COVERED = ErrorKind(
    "R2R-0219",
    "a match does not cover every case",
    """`match` has a clause for every value; `match?` may leave some out, which then end the run.""",
    """
    type List[A] {
      Cons(A, List[A]),
      Nil,
    }
    def @main(%x: List[Tensor[(2), float32]]) {
      match (%x) {
        Cons(%head, _) => %head,
      }
    }
    """,
    """
    type List[A] {
      Cons(A, List[A]),
      Nil,
    }
    def @main(%x: List[Tensor[(2), float32]]) {
      match? (%x) {
        Cons(%head, _) => %head,
      }
    }
    """,
    language="relay",
    template="this match does not cover every case",
    help="add the missing clauses, or write `match?` where the others cannot occur",
)
KIND = ErrorKind(
    "R2R-0241",
    "a type stands where one of another kind is needed",
    """Fields, parameters and results are types of values; a constraint, or a variable for a shape, is
    of another kind. `relay_ir.analysis.check_kind` says which.""",
    """
    from relay2relax import relay_ir

    shape = relay_ir.TypeVar("s", relay_ir.Kind.SHAPE_VAR)
    relay_ir.analysis.check_kind(relay_ir.TupleType((shape,)))
    """,
    """
    from relay2relax import relay_ir

    one = relay_ir.TypeVar("t")
    relay_ir.analysis.check_kind(relay_ir.TupleType((one,)))
    """,
    template="{place} is of kind {found}, expected {expected}",
)
