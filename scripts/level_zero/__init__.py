"""Parts of `scripts/gen_level_zero.py`."""
