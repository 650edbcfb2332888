"""The emulated GPU: it knows the contract in `firmware`, never the driver."""

__all__: list[str] = []
