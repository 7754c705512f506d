"""Models of transformers, small ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from zoo.model import Model

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
_MODELS: dict[str, tuple[str, str, dict[str, Any], Sequence[str]]] = {
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


def _inputs() -> dict[str, Any]:
    """Return a value for each input that a model may have."""
    import torch

    words = torch.randint(0, 90, (1, 7))
    return {
        "input_ids": words, "decoder_input_ids": words[:, :5], "attention_mask": torch.ones(1, 7, dtype=torch.int64),
        "pixel_values": torch.rand(1, 3, 32, 32), "input_features": torch.rand(1, 20, 60),
        "input_values": torch.rand(1, 400),
    }  # fmt: skip


def _named(name: str) -> tuple[Any, Sequence[Any]]:
    """Return the first result of a model that is given its inputs by name."""
    import torch
    import transformers

    kind, configuration, options, names = _MODELS[name]

    class First(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        def forward(self, *args: Any) -> Any:
            return self.model(**dict(zip(names, args, strict=True)))[0]

    model = getattr(transformers, kind)(getattr(transformers, configuration)(**options))
    return First(model), [_inputs()[one] for one in names]


def _cached(name: str) -> tuple[Any, Sequence[Any]]:
    """Return a decoder that is given one word, and the keys and values of five before it, and
    returns the new ones too.
    """
    import torch
    import transformers

    kind, configuration, options, _ = _MODELS[name]
    heads = int(options.get("num_key_value_heads", options.get("n_head", 4)))

    class Step(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        def forward(self, word: Any, *held: Any) -> Any:
            cache = transformers.DynamicCache()
            for layer in range(len(held) // 2):
                cache.update(held[2 * layer], held[2 * layer + 1], layer)
            logits = self.model(input_ids=word, past_key_values=cache, use_cache=True).logits
            return (logits, *(part for one in cache.layers for part in (one.keys, one.values)))

    made = getattr(transformers, configuration)(**{**options, "use_cache": True})
    held = [torch.rand(1, heads, 5, 8) for _ in range(4)]
    return Step(getattr(transformers, kind)(made)), [torch.randint(0, 90, (1, 1)), *held]


def models() -> list[Model]:
    """Return them."""
    cached = [Model("transformers", f"{name}, a step", partial(_cached, name)) for name in ("GPT-2", "Llama")]
    return [*(Model("transformers", name, partial(_named, name)) for name in _MODELS), *cached]
