"""Attributions of other libraries: their maps as ours, and ours as SHAP's."""
