"""What has to behave how, and which tests prove it; used by `scripts/gen_conformance.py`."""
