"""Hypothesis profiles: `default` is quick, `ci` repeatable, `nightly` long; and signals."""

import signal

from hypothesis import HealthCheck, settings

# A loaded machine is no fault of the code: neither deadlines nor slow generation fail a test.
# Every profile says all that it means, since the library's own defaults differ under CI.
settings.register_profile(
    "default",
    max_examples=25,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", settings.get_profile("default"), max_examples=200, derandomize=True)
settings.register_profile("nightly", settings.get_profile("default"), max_examples=5_000)
settings.load_profile("default")

# A shell lets what it starts in the background ignore SIGINT, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
