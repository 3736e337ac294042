"""ERNIE, whose networks have the shape of BERT's."""

from explainlab.models import anatomy
from explainlab.models.model import Architecture
from explainlab.models.model_types import ModelType

ROW = ModelType(Architecture("ERNIE", anatomy=anatomy.BERT))
