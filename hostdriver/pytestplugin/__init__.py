"""The pytest plugin: devices, drivers, programs and faults as fixtures (docs/pytest.md)."""

__all__: list[str] = []
