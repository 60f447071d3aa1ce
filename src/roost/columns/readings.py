"""What a reading is as a row: the columns that the source gives, in Arrow; what each quality means.

A row stands for one number of one stream. Where that number has no value, it is a row all the same, and `quality` says
why: completeness is counted, never guessed.

| quality            | value | counts as received | meaning                                                          |
| ------------------ | ----- | ------------------ | ---------------------------------------------------------------- |
| good uncertain bad | yes   | yes                | as its panel says                                                |
| empty              | null  | yes                | a marker: the stage before dropped its input                     |
| unreadable         | null  | yes                | its payload is no number; the payload is there                   |
| sealed             | null  | no                 | encrypted, and this identity has no key for it                   |
| refused            | null  | no                 | its signature, or the trust schema, says no; the payload is null |
| missing            | null  | no                 | it was published, and no repo that can be reached has it         |
| dropped            | null  | no                 | retention has taken it from the repos                            |

A row of quality `summed` stands for all rows of a stream in a window (`roost.pipeline.sums`); only who asks for sums
gets any.

`expected` and `received` count raw readings: 1 and 1 for a reading, and what it says itself for the result of a window,
so that counts add up from the campus down to the sensors.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

GOOD: Final = "good"
UNCERTAIN: Final = "uncertain"
BAD: Final = "bad"
EMPTY: Final = "empty"
UNREADABLE: Final = "unreadable"
SEALED: Final = "sealed"
REFUSED: Final = "refused"
MISSING: Final = "missing"
DROPPED: Final = "dropped"

SUMMED: Final = "summed"
ABSENT: Final = frozenset({SEALED, REFUSED, MISSING, DROPPED})  # expected, and not received

ARRIVAL: Final = "arrival_time"  # differs each time that a reading is read: nothing that is published depends on it
EXPECTED: Final = "expected"
RECEIVED: Final = "received"

_TIME: Final = pa.timestamp("us", tz="UTC")

READINGS: Final = pa.schema(
    [
        pa.field("stream", pa.string(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("event_time", _TIME),
        pa.field(ARRIVAL, _TIME, nullable=False),
        pa.field("value", pa.float64()),
        pa.field("payload", pa.binary()),
        pa.field("unit", pa.string()),
        pa.field("quality", pa.string(), nullable=False),
        pa.field("panel", pa.string()),
        pa.field("device", pa.string()),
        pa.field("metric", pa.string()),
        pa.field("signer", pa.string()),
        pa.field("verified", pa.bool_(), nullable=False),
        pa.field(EXPECTED, pa.int64(), nullable=False),
        pa.field(RECEIVED, pa.int64(), nullable=False),
    ]
)

WINDOWED: Final = pa.schema(
    [
        *READINGS,
        pa.field("input", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("window", pa.int64(), nullable=False),
        pa.field("window_start", _TIME, nullable=False),
        pa.field("correction", pa.int64()),
    ]
)

# What a row that stands for many says beside `expected` and `received`.
SUMS: Final = pa.schema(
    [
        pa.field("sum", pa.decimal128(38, 9)),
        pa.field("count", pa.int64()),
        pa.field("min", pa.float64()),
        pa.field("max", pa.float64()),
        pa.field("low", pa.int64()),  # the first number, and the last one
        pa.field("high", pa.int64()),
        pa.field("lost", pa.int64()),  # readings that were expected, and are not there
        pa.field("open", pa.int64()),
        pa.field("doubtful", pa.int64()),
        pa.field("unit_low", pa.string()),  # the first by the alphabet, and the last one
        pa.field("unit_high", pa.string()),
        pa.field("readings", pa.int64()),
        pa.field("absent", pa.list_(pa.int64())),
        pa.field("matches", pa.list_(pa.int64())),  # how many meet each condition
    ]
)
WITH_SUMS: Final = pa.schema([*WINDOWED, *SUMS])
