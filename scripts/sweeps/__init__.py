"""Sweeps of our own programs, run by `scripts/sweep`; some sites of each also by the tests."""
