"""Charts as still pictures, for readers without JavaScript: the parts of Plotly's figures that our charts use."""

from explainlab.figures.still.picture import picture

__all__ = ["picture"]
