"""Importers that TVM had beside those of ONNX and PyTorch: they say what leads to ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import frontends


def _leading(framework: str, command: str) -> Callable[..., NoReturn]:
    """Return an importer that refuses a model of ``framework``, and says what writes it as ONNX."""

    def importer(*args: object, **options: object) -> NoReturn:
        raise UnsupportedError(mistake(frontends.OTHER, framework=framework, command=command))

    importer.__doc__ = f"Raise UnsupportedError: a model of {framework} is imported by way of ONNX."
    return importer


from_tensorflow = _leading("TensorFlow", "python -m tf2onnx.convert --saved-model FOLDER --output model.onnx")
from_keras = _leading("Keras", 'model.export("model.onnx", format="onnx")')
from_tflite = _leading("TensorFlow Lite", "python -m tf2onnx.convert --tflite model.tflite --output model.onnx")
from_mxnet = _leading(
    "MXNet", 'mxnet.onnx.export_model("model-symbol.json", "model.params", shapes, onnx_file_path="model.onnx")'
)
from_coreml = _leading(
    "Core ML", 'onnxmltools.convert_coreml(model), then onnxmltools.utils.save_model(…, "model.onnx")'
)
from_caffe = _leading("Caffe", "python -m caffe2onnx.convert --prototxt P --caffemodel M --onnx model.onnx")
from_caffe2 = _leading("Caffe2", "convert-caffe2-to-onnx predict_net.pb --caffe2-init-net init_net.pb -o model.onnx")
from_darknet = _leading("Darknet", "python demo_darknet2onnx.py model.cfg model.names model.weights image.jpg 1")
from_paddle = _leading("PaddlePaddle", "paddle2onnx --model_dir FOLDER --save_file model.onnx")
from_oneflow = _leading("OneFlow", 'oneflow_onnx.oneflow2onnx.util.convert_to_onnx_and_check(graph, "model.onnx")')
