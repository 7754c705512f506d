"""Import models of `transformers` with random weights by way of ``torch.export``, compare results
with PyTorch's, and write docs/reference/pytorch-models.md.

``python tools/pytorch_models_page.py [NAME…]`` needs ``pip install transformers``; nothing is
fetched. With names only those models are run, and the page stays.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import transformers

from relay2relax import backends, relay_ir
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relay_ir.frontend import from_pytorch

PAGE = Path(__file__).parents[1] / "docs/reference/pytorch-models.md"
HEAD = """# Models of PyTorch

Small models of `transformers` {version} with random weights, exported by `torch.export` (torch
{torch}), imported and run on numpy beside PyTorch. The error is the greatest difference from
PyTorch's results, relative to the greatest of these; times are seconds on a machine that did other
things as well. `python tools/pytorch_models_page.py` writes this page.

| model | operators | export s | import s | error | |
|---|---|---|---|---|---|
"""
_TEXT = {
    "vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37,
    "max_position_embeddings": 64,
}  # fmt: skip
_CAUSAL = {**_TEXT, "num_key_value_heads": 2, "use_cache": False}
_IMAGE = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37, "image_size": 32,
    "patch_size": 8,
}  # fmt: skip
_PAIR = {
    "vocab_size": 99, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 37, "decoder_ffn_dim": 37, "use_cache": False,
}  # fmt: skip
_T5 = {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4, "use_cache": False}
_SOUND = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37, "conv_dim": (16, 16),
    "conv_stride": (4, 2), "conv_kernel": (8, 4), "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2, "feat_extract_norm": "layer", "do_stable_layer_norm": True,
}  # fmt: skip
_SPEECH = {
    **_PAIR, "num_mel_bins": 20, "max_source_positions": 30, "max_target_positions": 30, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip
_IDS, _MASK, _BOTH = ("input_ids",), ("input_ids", "attention_mask"), ("input_ids", "decoder_input_ids")
_PIXELS = ("pixel_values",)
# Class, class of its configuration, what that is given, and the inputs.
MODELS: dict[str, tuple[str, str, dict[str, Any], Sequence[str]]] = {
    "BERT": ("BertModel", "BertConfig", _TEXT, _MASK),
    "RoBERTa": ("RobertaModel", "RobertaConfig", _TEXT, _MASK),
    "DistilBERT": (
        "DistilBertModel", "DistilBertConfig",
        {"vocab_size": 99, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 37, "max_position_embeddings": 64},
        _MASK,
    ),
    "ELECTRA": ("ElectraModel", "ElectraConfig", {**_TEXT, "embedding_size": 32}, _MASK),
    "ALBERT": ("AlbertModel", "AlbertConfig", {**_TEXT, "embedding_size": 16}, _MASK),
    "DeBERTa v2": ("DebertaV2Model", "DebertaV2Config", _TEXT, _MASK),
    "XLNet": (
        "XLNetModel", "XLNetConfig", {"vocab_size": 99, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 37}, _IDS,
    ),
    "GPT-2": (
        "GPT2LMHeadModel", "GPT2Config",
        {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "use_cache": False}, _IDS,
    ),
    "Llama": ("LlamaForCausalLM", "LlamaConfig", _CAUSAL, _IDS),
    "Mistral": ("MistralForCausalLM", "MistralConfig", _CAUSAL, _IDS),
    "Qwen2": ("Qwen2ForCausalLM", "Qwen2Config", _CAUSAL, _IDS),
    "OPT": (
        "OPTForCausalLM", "OPTConfig",
        {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 37,
         "max_position_embeddings": 64, "word_embed_proj_dim": 32, "use_cache": False}, _IDS,
    ),
    "Mamba": (
        "MambaModel", "MambaConfig",
        {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "use_cache": False}, _IDS,
    ),
    "T5 encoder": ("T5EncoderModel", "T5Config", _T5, _IDS),
    "T5": ("T5ForConditionalGeneration", "T5Config", _T5, _BOTH),
    "BART": ("BartModel", "BartConfig", {**_PAIR, "max_position_embeddings": 64}, _BOTH),
    "ViT": ("ViTModel", "ViTConfig", _IMAGE, _PIXELS),
    "DeiT": ("DeiTModel", "DeiTConfig", _IMAGE, _PIXELS),
    "CLIP images": ("CLIPVisionModel", "CLIPVisionConfig", _IMAGE, _PIXELS),
    "CLIP texts": ("CLIPTextModel", "CLIPTextConfig", _TEXT, _IDS),
    "Swin": (
        "SwinModel", "SwinConfig",
        {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4},
        _PIXELS,
    ),
    "ConvNeXt": ("ConvNextModel", "ConvNextConfig", {"hidden_sizes": [8, 16, 16, 16], "depths": [1] * 4}, _PIXELS),
    "SegFormer": (
        "SegformerModel", "SegformerConfig",
        {"hidden_sizes": [8, 16, 16, 32], "depths": [1] * 4, "num_attention_heads": [1, 2, 2, 4]}, _PIXELS,
    ),
    "Whisper": ("WhisperModel", "WhisperConfig", _SPEECH, ("input_features", "decoder_input_ids")),
    "wav2vec 2.0": ("Wav2Vec2Model", "Wav2Vec2Config", _SOUND, ("input_values",)),
}  # fmt: skip


class First(torch.nn.Module):  # type: ignore[misc]
    """The first result of a model that is given its inputs by name."""

    def __init__(self, model: Any, names: Sequence[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *args: Any) -> Any:
        return self.model(**dict(zip(self.names, args, strict=True)))[0]


def inputs() -> dict[str, Any]:
    """Return a value for each input that a model may have."""
    torch.manual_seed(0)
    words = torch.randint(0, 90, (1, 7))
    return {
        "input_ids": words, "decoder_input_ids": words[:, :5], "attention_mask": torch.ones(1, 7, dtype=torch.int64),
        "pixel_values": torch.rand(1, 3, 32, 32), "input_features": torch.rand(1, 20, 60),
        "input_values": torch.rand(1, 400),
    }  # fmt: skip


def row(name: str) -> str:
    """Return the row of a model."""
    kind, configuration, options, names = MODELS[name]
    given = [inputs()[one] for one in names]
    start = time.perf_counter()
    made = getattr(transformers, kind)(getattr(transformers, configuration)(**options))
    model = First(made.eval(), names)
    with torch.no_grad():
        wanted = model(*given).numpy()
        program = torch.export.export(model, tuple(given))
    exported = time.perf_counter()
    try:
        mod, params = from_pytorch(program)
        typed = relay_ir.infer_type(mod)
        imported = time.perf_counter()
        free = [one.name for one in typed["main"].params if one.name not in params]
        values = dict(zip(free, (one.numpy() for one in given), strict=True))
        found = np.asarray(backends.create_executor("graph", typed).evaluate()(**values, **params))
    except Relay2RelaxError as error:
        return f"| {name} | | {exported - start:.1f} | | | {error.diagnostics[0].title} |"
    calls = sum(isinstance(one, relay_ir.Call) for one in cast(Any, typed.types))
    error_ = float(np.abs(found.astype(np.float64) - wanted).max() / np.abs(wanted).max())
    says = "agrees" if found.shape == wanted.shape and error_ < 1e-3 else "differs"
    times = f"{exported - start:.1f} | {imported - exported:.1f}"
    return f"| {name} | {calls} | {times} | {error_:.0e} | {says} |"


def main(names: Sequence[str]) -> None:
    """Run the models, and write the page where all are run."""
    warnings.simplefilter("ignore")
    rows = []
    for name in names or MODELS:
        rows.append(row(name))
        print(rows[-1], flush=True)
    if not names:
        head = HEAD.format(version=transformers.__version__, torch=torch.__version__.partition("+")[0])
        agree = sum("| agrees |" in one for one in rows)
        PAGE.write_text(head + "".join(f"{one}\n" for one in rows) + f"\n{agree} of {len(rows)} agree.\n")


if __name__ == "__main__":
    main(sys.argv[1:])
