"""Further models and data sets on a page, and the answer of all cells."""
