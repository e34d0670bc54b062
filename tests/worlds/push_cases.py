"""The table of pushes: every way in which a push to a real remote ends."""

from .push_case import PushCase
from .push_failed import DONE, FAILED
from .push_refused import REFUSED
from .remote import Transport

CASES: tuple[PushCase, ...] = REFUSED + FAILED + DONE


def combinations(*, plain: bool) -> list[tuple[PushCase, Transport]]:
    """Every case over each of its transports; those that only plain git makes are among them if `plain`."""
    return [(case, transport) for case in CASES if plain or not case.plain_only for transport in case.transports]


def name(value: PushCase | Transport) -> str:
    """The id of a parameter in a test."""
    return value if isinstance(value, str) else value.name.replace(" ", "-")
