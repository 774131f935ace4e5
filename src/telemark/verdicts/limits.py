"""Every limit that decides a verdict or a warning, once, with its reason."""

from __future__ import annotations

from typing import Final

# --- Was the engine the limit? -------------------------------------------------------------------------------------
LATE_US: Final = 5_000.0  # 99 % of the messages must leave within this of their time: half the tightest published limit
PUSHED_BACK_SHARE: Final = 0.001  # of the messages sent; below it the server did not hold the engine up
LOOP_LAG_US: Final = 100_000.0  # a reactor away from its poll this long missed what happened meanwhile
OFTEN_LAG_US: Final = 20_000.0  # a shorter absence counts when it happens often
OFTEN: Final = 0.1  # of the seconds
FULL_THREAD: Final = 0.95  # of a core, mean over the phase: the rest is lost to switching
FULL_HOST: Final = 0.95  # of all cores
OTHERS_CORES: Final = 0.25  # used by programs that are neither server, engine nor consumer
ENOUGH_HEADROOM: Final = 1.3  # below this the engine was too near its own ceiling to speak about the server
BUSY_ENGINE: Final = 0.80  # of a core, used by one engine thread: queues before it grow fast from here on
LIKE_CONNECTIONS: Final = 2  # times the calibrated connections: beyond, the engine's cost per message is another

# --- Was the host fit? ---------------------------------------------------------------------------------------------
MUCH_STEAL: Final = 0.02  # of the processor, taken by the hypervisor: 20 ms of every second, as long as OFTEN_LAG_US
BUSY_CORE: Final = 0.95  # a core busier than this may have delayed server and engine alike
HOST_HAS_ROOM: Final = 0.7  # of all cores: an engine that was late on a host less busy was held up by chance
MEMORY_NOISE_BYTES: Final = 256 * 1024  # resident memory of an idle server moves by this: less growth is no figure
CLOCK_ERROR: Final = 0.1  # of the median latency: a larger disagreement of the hosts' clocks shows in it

# --- Which side gave out first? ------------------------------------------------------------------------------------
BUSY: Final = 0.90  # of a core, a thread or a disk: above this it had nothing left to give
QUEUE_BYTES: Final = 64 * 1024  # unread bytes that are more than what is under way at any moment
RETRANSMITS: Final = 10.0  # TCP segments sent again in a phase; a healthy local network has none

# --- Is it steady? -------------------------------------------------------------------------------------------------
FEWEST_SECONDS: Final = 5  # full seconds; fewer blocks allow no test of a trend
BLOCKS: Final = 12  # that a series is cut into: neighbouring seconds resemble each other, blocks do not
DELIVERED_WITHIN: Final = 0.01  # of what was offered; a second cut at its edges moves a few messages across
BACKLOG_SLOPE: Final = 0.001  # of the offered rate: a tenth of what DELIVERED_WITHIN allows
TREND_SHARE: Final = 0.25  # of the median latency; smaller drifts are common and do not matter
TREND_US: Final = 200.0  # a change below this is within the noise of any operating system
TREND_Z: Final = 1.96  # 95 % confidence
STEP_SHARE: Final = 1.0  # of the lower level: one that doubles is a step, however early or late it comes

# --- Do repeats agree, do two sides differ? ------------------------------------------------------------------------
DISAGREE: Final = 0.20  # a spread above this share of the median allows no conclusion
NOISE: Final = 0.10  # an interval this wide around zero still counts as the same when no tolerance is given

# --- Does a connection rate hold? ----------------------------------------------------------------------------------
CONNECT_MEAN_MS: Final = 500  # our own choice: no report gives a limit for connecting
CONNECT_RATE_SHARE: Final = 0.99  # of the connection rate asked for must be reached, as with DELIVERED_WITHIN
