"""The settings of training: fields with default, range and help; ``--set`` of the command line uses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from explainlab.errors import RequestError, first_refused
from explainlab.text.prompt import head_prompt

SHAPES: dict[str, dict[str, Any]] = {
    "tiny": {"layers": 4, "width": 256, "heads": 4},
    "mini": {"layers": 4, "width": 384, "heads": 8},
    "small": {"layers": 6, "width": 512, "heads": 8},
    "base": {"layers": 12, "width": 768, "heads": 12},
}
"""The sizes of the thesis' T5 encoders; feed-forward layers are four times as wide."""

_WHOLE_TEXTS = {"mask_share": 0.0, "heavy_mask": 0.0, "prefix_weight": 0.0}
RECIPES: dict[str, dict[str, Any]] = {
    "embedded": {},
    "thesis": {
        **_WHOLE_TEXTS,
        "learning_rate": 5e-5,
        "batch_size": 16,
        "epochs": 10,
        "warmup": 0.06,
        "schedule": "linear",
        "weight_decay": 0.0,
        "patience": 5,
    },
    "roar": {
        **_WHOLE_TEXTS,
        "learning_rate": 2e-5,
        "second_beta": 0.98,
        "batch_size": 16,
        "epochs": 3,
        "warmup": 0.06,
        "schedule": "linear",
        "weight_decay": 0.01,
    },
    "progressive": {
        **_WHOLE_TEXTS,
        "learning_rate": 5e-5,
        "batch_size": 16,
        "epochs": 10,
        "warmup": 0.0,
        "schedule": "constant",
        "weight_decay": 0.0,
    },
    "bilstm": {
        **_WHOLE_TEXTS,
        "optimizer": "amsgrad",
        "learning_rate": 1e-3,
        "batch_size": 32,
        "epochs": 8,
        "warmup": 0.0,
        "schedule": "constant",
        "weight_decay": 1e-5,
    },
    "masked": {"mask_share": 0.0, "heavy_mask": 0.0, "masking": True},
}
"""Settings by recipe: the recipe of the embedded models, and those of papers.

``masked`` changes the masks of texts, and leaves all other settings as in the usual recipe.
"""

OF_WORDS = ("embedding_size", "embeddings", "min_count", "decoder")
"""Settings of models of whole words."""
NEW_WEIGHTS = ("size", "layers", "width", "heads", "vocabulary", "dropout", *OF_WORDS)
"""Settings of models that begin with random weights."""


class TrainingSettings(BaseModel):
    """Settings of training. The defaults are the embedded encoder's; an architecture and a recipe override them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: Literal["embedded", "thesis", "roar", "progressive", "bilstm", "masked"] = Field(
        "embedded", description="Named values of the settings below; with a base model: thesis."
    )
    label_names: tuple[str, ...] = Field((), description="Class names in index order; empty: the labels, sorted.")
    validation: str = Field(
        "", description="Data file, or share of the rows, to measure each epoch on; the best is kept. Empty: none."
    )
    metric: Literal["accuracy", "macro_f1", "micro_f1"] = Field(
        "accuracy", description="What of the validation data decides which epoch is the best."
    )
    patience: int = Field(0, ge=0, le=1000, description="Epochs without a better one after which training ends; 0: no.")
    evaluate: str = Field("", description="Data file to measure the accuracy on when done; empty: none.")
    teacher: str = Field("", description="Classifier to imitate (a directory or model id); empty: none.")
    distillation: float = Field(0.7, ge=0, le=1, description="Share of the loss that imitates the teacher.")
    temperature: float = Field(2.0, ge=0.1, le=20, description="Softens the probabilities that are imitated.")
    epochs: int = Field(6, ge=1, le=1000, description="Times every text is seen.")
    batch_size: int = Field(64, ge=1, le=4096, description="Texts in a step.")
    learning_rate: float = Field(4e-4, gt=0, le=1, description="Highest learning rate, after the warm-up.")
    schedule: Literal["cosine", "linear", "constant"] = Field(
        "cosine", description="How the learning rate falls to zero after the warm-up; constant: it does not."
    )
    warmup: float = Field(0.06, ge=0, lt=1, description="Share of the steps in which the learning rate rises.")
    optimizer: Literal["adamw", "amsgrad"] = Field(
        "adamw", description="AdamW; or Adam as AMSGrad, which adds the decay to the gradients (not to attention's)."
    )
    second_beta: float = Field(0.999, gt=0, lt=1, description="The optimizer's decay of squared gradients.")
    weight_decay: float = Field(0.05, ge=0, le=1, description="Decay of the weight matrices.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Dropout of embeddings, layers' outputs and the head.")
    lora: bool = Field(
        False,
        description="With a base model: small matrices beside its queries and values learn in place of its weights, "
        "by any recipe. They and the head are saved as an adapter, which needs the base to be read; needs peft.",
    )
    lora_rank: int = Field(16, ge=1, le=1024, description="Rank of LoRA's matrices; their scale is twice as much.")
    size: Literal["", "tiny", "mini", "small", "base"] = Field(
        "", description="Named layers, width and heads: tiny, mini, small or base."
    )
    layers: int = Field(4, ge=1, le=48, description="Layers.")
    width: int = Field(256, ge=8, le=4096, description="Size of the hidden states; a multiple of heads.")
    heads: int = Field(4, ge=1, le=64, description="Attention heads of a layer.")
    vocabulary: int = Field(8192, ge=100, le=200_000, description="Entries of the learned vocabulary.")
    embedding_size: int = Field(300, ge=1, le=4096, description="Size of a BiLSTM's word embeddings.")
    embeddings: str = Field(
        "", description="File of word vectors that a BiLSTM begins with, which have their own size; empty: random ones."
    )
    min_count: int = Field(2, ge=1, le=1000, description="How often a word is seen that gets a row in a BiLSTM.")
    decoder: Literal["plain", "reference"] = Field(
        "plain", description="What classifies a pair in a BiLSTM: the context, or also the second text's state."
    )
    prompt: str = Field(
        "",
        max_length=10_000,
        description="Text around the parts, as '[Assertion]: {text_b} [Document]: {text}'; it stays with the model. "
        "Empty: that of the base model, if it has one.",
    )
    max_tokens: int = Field(128, ge=8, le=8192, description="Longest input in tokens; longer texts are truncated.")
    mask_share: float = Field(0.15, ge=0, le=1, description="Most of a text's tokens masked in training, usually.")
    heavy_mask: float = Field(0.1, ge=0, le=1, description="Share of texts masked at any rate from none to all.")
    masking: bool = Field(
        False,
        description="Half of each batch is read as it is; of each text of the other half a share of the tokens, drawn "
        "between none and all, is masked. Each epoch is validated on both.",
    )
    prefix_weight: float = Field(0.5, ge=0, le=1, description="Share of a decoder's loss spread over all positions.")
    seed: int = Field(0, ge=0, lt=2**63, description="Seed of the weights, the order of the texts and the masks.")
    seeds: int = Field(1, ge=1, le=100, description="Models to train, with seeds from this one on.")

    @classmethod
    def validated(cls, values: Mapping[str, object]) -> TrainingSettings:
        """Return the settings of ``values``; raises RequestError naming the first that is unknown or out of range."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            first = first_refused(error)
            raise RequestError(
                f"Training setting {first.name or 'settings'}: {first.reason}.",
                f"Known: {', '.join(cls.model_fields)}.",
            ) from None

    @field_validator("label_names", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Accept comma-separated names."""
        return tuple(filter(None, value.split(","))) if isinstance(value, str) else value

    @field_validator("prompt")
    @classmethod
    def _places(cls, prompt: str) -> str:
        """Raise RequestError for a prompt without a place for the text."""
        if prompt:
            head_prompt(prompt)
        return prompt

    @model_validator(mode="after")
    def _heads_divide_width(self) -> TrainingSettings:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is no multiple of heads {self.heads}")
        return self

    @property
    def validation_share(self) -> float | None:
        """The share of the rows in :attr:`validation`; None for a file or nothing."""
        try:
            share = float(self.validation)
        except ValueError:
            return None
        if not 0 < share < 1:
            raise RequestError(
                f"Training setting validation: {share:g} is no share of the rows.", "Use 0.1, or a file."
            )
        return share

    @property
    def keeps_float16(self) -> bool:
        """True if the weights are saved in float16, as for the embedded models."""
        return self.recipe == "embedded"
