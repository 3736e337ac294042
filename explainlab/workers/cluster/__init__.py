"""Workers on a cluster of Ray, which only `bridge.py` and what runs there imports."""
