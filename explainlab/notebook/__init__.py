"""The library in a notebook or a program: its calls, with progress, and the HTML of results."""
