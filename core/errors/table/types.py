"""Kinds of mistakes that type inference finds in Relay, and in building Relay by hand."""

from relay2relax.core.errors.kind import ErrorKind

ILL_TYPED = ErrorKind(
    "R2R-0200",
    "the module is not well typed",
    """Every expression of a Relay module has a type. What is given and what is expected differ at the
    place that the message names; all mistakes of a module are listed at once.""",
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
)
ARGUMENTS = ErrorKind(
    "R2R-0201",
    "an operator does not accept these arguments",
    """The rule of the operator refuses the types or attributes of the call: a rank, an extent or a
    dtype does not fit. The message says which; the operators' pages say what each operator takes.""",
    """
    def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(5, 4), float32]) {
      nn.dense(%x, %w)
    }
    """,
    """
    def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(5, 3), float32]) {
      nn.dense(%x, %w)
    }
    """,
    language="relay",
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
)
UNDEFINED = ErrorKind(
    "R2R-0205",
    "a variable, function or type is used where it is not defined",
    """A variable is seen inside of the function, `let` or clause that binds it; a function inside of
    its module; a type after its definition.""",
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
)
PATTERNS = ErrorKind(
    "R2R-0208",
    "the patterns of a match do not fit the value",
    """A pattern has as many fields as its constructor, is of the value's type, and `match` has a clause
    for every value; `match?` may leave some out.""",
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
    "",
    "",
)
