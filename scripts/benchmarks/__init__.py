"""Benchmarks of the emulator, run by `scripts/bench`."""
