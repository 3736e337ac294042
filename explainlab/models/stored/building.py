"""One network is built at a time, whatever number of threads asks."""

from __future__ import annotations

import threading

BUILDING = threading.RLock()
"""Held while a network is made or read: transformers changes its own classes and torch's default dtype meanwhile.

Both are the whole process's. Two threads that restore them in the wrong order would leave every later model's weights
untied, or in another dtype.
"""
