"""The settings of training: fields with default, range and help; ``--set`` of the command line is checked by them."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from explainlab.errors import RequestError


class TrainingSettings(BaseModel):
    """Settings of training. The defaults are the encoder's; a recipe may override them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    label_names: tuple[str, ...] = Field((), description="Class names in index order; empty: the labels, sorted.")
    evaluate: str = Field("", description="Data file to measure the accuracy on when done; empty: none.")
    teacher: str = Field("", description="Classifier to imitate (a directory or model id); empty: none.")
    distillation: float = Field(0.7, ge=0, le=1, description="Share of the loss that imitates the teacher.")
    temperature: float = Field(2.0, ge=0.1, le=20, description="Softens the probabilities that are imitated.")
    epochs: int = Field(6, ge=1, le=1000, description="Times every text is seen.")
    batch_size: int = Field(64, ge=1, le=4096, description="Texts in a step.")
    learning_rate: float = Field(4e-4, gt=0, le=1, description="Highest learning rate, after the warm-up.")
    warmup: float = Field(0.06, ge=0, lt=1, description="Share of the steps in which the learning rate rises.")
    weight_decay: float = Field(0.05, ge=0, le=1, description="Decay of the weight matrices.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Dropout of embeddings, layers' outputs and the head.")
    layers: int = Field(4, ge=1, le=48, description="Layers.")
    width: int = Field(256, ge=8, le=4096, description="Size of the hidden states; a multiple of heads.")
    heads: int = Field(4, ge=1, le=64, description="Attention heads of a layer.")
    vocabulary: int = Field(8192, ge=100, le=200_000, description="Entries of the learned vocabulary.")
    max_tokens: int = Field(128, ge=8, le=8192, description="Longest input in tokens; longer texts are truncated.")
    mask_share: float = Field(0.15, ge=0, le=1, description="Most of a text's tokens masked in training, usually.")
    heavy_mask: float = Field(0.1, ge=0, le=1, description="Share of texts masked at any rate from none to all.")
    prefix_weight: float = Field(0.5, ge=0, le=1, description="Share of a decoder's loss spread over all positions.")
    seed: int = Field(0, ge=0, lt=2**63, description="Seed of the weights, the order of the texts and the masks.")

    @classmethod
    def checked(cls, values: Mapping[str, object]) -> TrainingSettings:
        """Settings from ``values``; raises RequestError naming the first that is unknown or out of range."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"])) or "settings"
            raise RequestError(
                f"Training setting {name}: {first['msg']}.", f"Known: {', '.join(cls.model_fields)}."
            ) from None

    @field_validator("label_names", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Accept comma-separated names."""
        return tuple(filter(None, value.split(","))) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _heads_divide_width(self) -> TrainingSettings:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is no multiple of heads {self.heads}")
        return self
