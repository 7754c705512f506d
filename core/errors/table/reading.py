"""Kinds of mistakes in what is read: Relay text, JSON documents, files of parameters."""

from relay2relax.core.errors.kind import ErrorKind

MALFORMED = ErrorKind(
    "R2R-0100",
    "a text, document or file does not have the form of its format",
    """What is read does not follow its format at the place that the message names. Nothing is
    guessed: a file is read whole or not at all.""",
    """
    from pathlib import Path
    from relay2relax import relay_ir

    Path("model.relay").write_bytes(bytes([0xFF, 0xFE]))
    relay_ir.load("model.relay")
    """,
    """
    from pathlib import Path
    from relay2relax import relay_ir

    Path("model.relay").write_text('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { %x }')
    relay_ir.load("model.relay")
    """,
)
RELAY_SYNTAX = ErrorKind(
    "R2R-0101",
    "the text is not Relay",
    """A token stands where the grammar has another, or a type is not one of Relay's. The carets show
    where, and the words beside them what was expected. Texts of TVM 0.6 to 0.19 are read.""",
    """
    def @main(%x: Tensor[(2), float32]) {
      add(%x, )%x
    }
    """,
    """
    def @main(%x: Tensor[(2), float32]) {
      add(%x, %x)
    }
    """,
    language="relay",
)
RELAY_NAME = ErrorKind(
    "R2R-0102",
    "a name is not defined",
    """A local name (`%x`, `%0`) is a parameter, the variable of a `let` or of a pattern, or the number
    of an earlier line. A global name (`@f`) is a function of the module.""",
    """
    def @main(%x: Tensor[(2), float32]) {
      add(%x, %y)
    }
    """,
    """
    def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
      add(%x, %y)
    }
    """,
    language="relay",
    template="unknown {what} {name}",
)
JSON_DOCUMENT = ErrorKind(
    "R2R-0110",
    "a JSON document does not hold what its format says",
    """Documents are Relay's `save_json`, graphs, and the headers of saved executables and of parameter
    files. The message names the place and what is missing there, of the wrong kind, or out of range.""",
    """
    from relay2relax import relay_ir

    relay_ir.load_json('{"root": 1, "nodes": [{"type_key": ""}, {}], "b64ndarrays": []}')
    """,
    """
    from relay2relax import relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { %x }')
    relay_ir.load_json(relay_ir.save_json(mod))
    """,
    template="{place}expected {expected}, found {found}",
)
RELAY_ATTRIBUTE = ErrorKind(
    "R2R-0103",
    "an attribute is unknown, missing, given twice, or not of its kind",
    """Attributes of a call are those of the operator, each once; those without a default have to be
    given. The operators' pages list them.""",
    """
    def @main(%x: Tensor[(2, 3), float32]) {
      nn.softmax(%x, axes=[1])
    }
    """,
    """
    def @main(%x: Tensor[(2, 3), float32]) {
      nn.softmax(%x, axis=1)
    }
    """,
    language="relay",
    template="{owner} has no attribute `{name}`",
)
RELAY_METADATA = ErrorKind(
    "R2R-0104",
    "an object of the metadata section is missing, or does not fit",
    """`meta[key][index]` refers to the section `#[metadata]` behind the text. Where a text was printed
    without it, constants become parameters of the types that the comments behind them state, and
    some attributes follow from types; for other objects nothing stands.""",
    """
    def @main(%x: Tensor[(2), float32]) {
      add(%x, meta[relay.Constant][0])
    }
    """,
    """
    def @main(%x: Tensor[(2), float32]) {
      add(%x, meta[relay.Constant][0] /* ty=Tensor[(2), float32] */)
    }
    """,
    language="relay",
    template="this metadata object is not {expected}",
)
RELAY_VERSION = ErrorKind(
    "R2R-0105",
    "the version of the text format is unknown",
    """Texts begin with `#[version = "0.0.5"]`, or with `v0.0.1` to `v0.0.4`, or with neither.""",
    """
    from relay2relax import relay_ir

    relay_ir.parse('#[version = "0.0.9"] def @main(%x: Tensor[(2), float32]) { %x }')
    """,
    """
    from relay2relax import relay_ir

    relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { %x }')
    """,
    template="unknown version {version} of the text format",
)
DEFINED_TWICE = ErrorKind(
    "R2R-0106",
    "a type or constructor is defined twice",
    """Names of types and of constructors are unique in a module.""",
    """
    type Pair[A] {
      Pair(A, A),
    }
    type Pair[A] {
      Both(A, A),
    }
    """,
    """
    type Pair[A] {
      Pair(A, A),
    }
    type Other[A] {
      Both(A, A),
    }
    """,
    language="relay",
    template="the {what} `{name}` is defined twice",
)
NESTING = ErrorKind(
    "R2R-0107",
    "the text is nested too deep",
    """Brackets are nested at most some hundred levels deep. TVM prints long chains line by line, as
    `%0`, `%1`, …; so may texts that are written by hand.""",
    """
    from relay2relax import relay_ir

    depth = 5000
    relay_ir.parse_expr("(" * depth + "1f" + ")" * depth)
    """,
    """
    from relay2relax import relay_ir

    depth = 5
    relay_ir.parse_expr("(" * depth + "1f" + ")" * depth)
    """,
    template="{what} are nested more than {most} deep",
)
PARAMETERS = ErrorKind(
    "R2R-0130",
    "a file of parameters is damaged, or not one",
    """Parameters are read from `.params` files of TVM, `.safetensors` and `.npz`. The message names
    the tensor and the byte where its description does not fit the file.""",
    """
    from relay2relax import relay_ir

    relay_ir.load_params(b"these are not parameters")
    """,
    """
    import numpy as np
    from relay2relax import relay_ir

    relay_ir.load_params(relay_ir.save_params({"w": np.ones(2, np.float32)}))
    """,
    template="{place}: expected {expected}, found {found}",
)
