"""Models of other frameworks as Relay."""

from relay2relax.relay_ir.frontend.onnx import from_onnx, register_onnx_operator
from relay2relax.relay_ir.frontend.others import (
    from_caffe,
    from_caffe2,
    from_coreml,
    from_darknet,
    from_keras,
    from_mxnet,
    from_oneflow,
    from_paddle,
    from_tensorflow,
    from_tflite,
)
from relay2relax.relay_ir.frontend.pytorch import from_pytorch

__all__ = [
    "from_caffe",
    "from_caffe2",
    "from_coreml",
    "from_darknet",
    "from_keras",
    "from_mxnet",
    "from_oneflow",
    "from_onnx",
    "from_paddle",
    "from_pytorch",
    "from_tensorflow",
    "from_tflite",
    "register_onnx_operator",
]
