"""Grids of several bases and data sets, side by side."""
