"""Kinds of mistakes in TVMScript."""

from relay2relax.core.errors.kind import ErrorKind

MALFORMED = ErrorKind(
    "R2R-0400",
    "the text is not a program in TVMScript",
    """TVMScript is Python in form, and never executed: modules, functions, bindings and calls of `I.`,
    `R.` and `T.` are read, everything else is refused. Texts of TVM 0.16 to 0.27 are read.""",
    '''
    from relay2relax import relax_ir

    relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = x if True else x
        return y
    """)
    ''',
    '''
    from relay2relax import relax_ir

    relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = x
        return y
    """)
    ''',
    template="this is no {what}",
)
NOT_PYTHON = ErrorKind(
    "R2R-0401",
    "the script is not Python",
    """The text has to be Python, at least in form.""",
    '''
    from relay2relax import relax_ir

    relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.nn.relu(x
        return y
    """)
    ''',
    '''
    from relay2relax import relax_ir

    relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.nn.relu(x)
        return y
    """)
    ''',
    template="the script is not Python",
)
NAME = ErrorKind(
    "R2R-0402",
    "a name of a script is not defined",
    """A variable is defined before it is used, in the function or block that uses it; functions of the
    module are called through its class or `cls`.""",
    '''
    from relay2relax import relax_ir

    relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.nn.relu(z)
        return y
    """)
    ''',
    '''
    from relay2relax import relax_ir

    relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.nn.relu(x)
        return y
    """)
    ''',
    template="the {what} `{name}` is not defined",
)
OPERATOR = ErrorKind(
    "R2R-0403",
    "there is no such operator or function in TVMScript",
    """Operators of Relax stand in `R.`, those of TensorIR in `T.`. The help names those that are
    spelled alike.""",
    '''
    from relay2relax import relax_ir

    relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.nn.rleu(x)
        return y
    """)
    ''',
    '''
    from relay2relax import relax_ir

    relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.nn.relu(x)
        return y
    """)
    ''',
    template="there is no {what} `{name}`",
)
ARGUMENTS = ErrorKind(
    "R2R-0404",
    "a call of a script has the wrong arguments",
    """An operator or form of TVMScript takes certain arguments, by position or name; the message says
    which one is missing, unknown, given twice or of the wrong kind.""",
    '''
    from relay2relax import relax_ir

    relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.nn.relu(x, x)
        return y
    """)
    ''',
    '''
    from relay2relax import relax_ir

    relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.nn.relu(x)
        return y
    """)
    ''',
    template="{callee}: the argument `{name}` is missing",
)
STRUCT_INFO = ErrorKind(
    "R2R-0405",
    "a declared struct info contradicts the value",
    """What is declared of a variable or result has to agree with what is known of its value.""",
    '''
    from relay2relax import relax_ir

    relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y: R.Tensor((3,), dtype="float32") = R.nn.relu(x)
        return y
    """)
    ''',
    '''
    from relay2relax import relax_ir

    relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y: R.Tensor((2,), dtype="float32") = R.nn.relu(x)
        return y
    """)
    ''',
    template="`{name}` is not what it is said to be: {reason}",
)
