"""One study of several models and data sets, side by side."""
