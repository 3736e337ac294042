"""The library where its users work: what it asks, with progress, and how results look in a notebook."""
