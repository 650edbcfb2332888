"""Injection on the driver's side: taps at its points, and talk about an emulator's rules.

Nothing is imported here: who only talks about rules does without the driver's modules.
"""

__all__: list[str] = []
