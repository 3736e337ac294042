"""Pages whose answers make models."""
