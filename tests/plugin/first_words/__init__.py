"""Explains by the first words of a text."""
