"""Functions of lists that this driver does not offer: clones, changes after closing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from hostdriver.core.failures import unsupported_feature

if TYPE_CHECKING:
    from hostdriver.core.results import ZeError


class NotOffered:
    """Functions of extensions that are not listed; each answers UNSUPPORTED_FEATURE."""

    __slots__ = ()

    def create_clone_exp(self) -> NoReturn:
        """Refuse: command lists cannot be cloned."""
        raise _not_offered("zeCommandListCreateCloneExp")

    def get_next_command_id_exp(self, *_: object) -> NoReturn:
        """Refuse: recorded commands cannot be changed."""
        raise _not_offered("zeCommandListGetNextCommandIdExp")

    def get_next_command_id_with_kernels_exp(self, *_: object) -> NoReturn:
        """Refuse: recorded commands cannot be changed."""
        raise _not_offered("zeCommandListGetNextCommandIdWithKernelsExp")

    def is_mutable_exp(self) -> NoReturn:
        """Refuse: recorded commands cannot be changed."""
        raise _not_offered("zeCommandListIsMutableExp")

    def update_mutable_commands_exp(self, *_: object) -> NoReturn:
        """Refuse: recorded commands cannot be changed."""
        raise _not_offered("zeCommandListUpdateMutableCommandsExp")

    def update_mutable_command_signal_event_exp(self, *_: object) -> NoReturn:
        """Refuse: recorded commands cannot be changed."""
        raise _not_offered("zeCommandListUpdateMutableCommandSignalEventExp")

    def update_mutable_command_wait_events_exp(self, *_: object) -> NoReturn:
        """Refuse: recorded commands cannot be changed."""
        raise _not_offered("zeCommandListUpdateMutableCommandWaitEventsExp")

    def update_mutable_command_kernels_exp(self, *_: object) -> NoReturn:
        """Refuse: recorded commands cannot be changed."""
        raise _not_offered("zeCommandListUpdateMutableCommandKernelsExp")


def _not_offered(function: str) -> ZeError:
    return unsupported_feature(f"{function} belongs to an extension that is not offered")
