"""The contract: every bit that device and driver agree on, the images, and how bytes cross.

The folder `facts` holds the Level Zero ABI facts; generators and tests read only that copy.
"""

__all__: list[str] = []
