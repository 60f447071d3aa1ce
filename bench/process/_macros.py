"""The five macros that are measured, what their sensors send, and what has to come of it.

They are the paper's figures 3, 9 and 15, the second for 3 and for 50 sensors, the third for 4 and 8 beacons; every
arrangement that runs macros is given the same text. Sensors send the same readings over and over (`cycle`), and every
reading triggers the macro once it has what it requires. So what is published repeats too, and an arrangement is right
if it is the sequence that `expected` works out here, in plain Python.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from roost.process.rendering import payload_of

BEACONS: Final = ((6, 96), (96, 6), (6, 6), (96, 96), (51, 51), (51, 6), (6, 51), (96, 51))
WEIGHTS: Final = (3, 2, 1)
ETA, SIG, K, TX = 2.5, 4, 40, 0  # of the radio model
_CENTRES: Final = range(5, 100, 10)
_ROUNDS: Final = 12  # readings of a sensor in a cycle of the averages
_STEPS: Final = 40  # of the walk
_RUNS_PER_S: Final = 1_000_000  # no limit, as nobody else has one

Values = Sequence[float]  # of one reading: a number, or one for each beacon
Plain = Callable[["dict[str, deque[Values]]"], object]


class Bench(NamedTuple):
    """One macro and its load."""

    name: str
    code: str
    topics: tuple[str, ...]
    depth: int  # readings of each topic that it requires
    cycle: tuple[tuple[str, bytes], ...]  # topics and payloads
    plain: Plain  # the same in Python, from the newest values of each topic
    service: dict[str, object]  # what the application service is to work out

    @property
    def topic(self) -> str:
        """Where its results are published."""
        return f"Noctua/{self.name}"

    @property
    def definition(self) -> dict[str, object]:
        """As Roost takes it."""
        return {"name": self.name, "code": self.code, "limits": {"runs_per_s": _RUNS_PER_S}}

    def expected(self, cycles: int) -> Iterator[list[bytes]]:
        """The results of each cycle, from the start on; from the second on they are the same."""
        seen: dict[str, deque[Values]] = {topic: deque(maxlen=self.depth) for topic in self.topics}
        for _ in range(cycles):
            results: list[bytes] = []
            for topic, payload in self.cycle:
                seen[topic].appendleft(_values(payload))
                if all(len(values) == self.depth for values in seen.values()):
                    results.append(payload_of(self.plain(seen))[0])
            yield results


def conversion() -> Bench:
    """From Fahrenheit to Celsius, figure 3."""
    topic, draw = "home/tempF", random.Random(3)
    cycle = tuple((topic, b"%.1f" % draw.uniform(-40, 120)) for _ in range(500))
    code = f"(Noctua.topic('{topic}') - 32) * 5/9"

    def plain(seen: dict[str, deque[Values]]) -> object:
        return (seen[topic][0][0] - 32) * 5 / 9

    return Bench("conversion", code, (topic,), 1, cycle, plain, {"kind": "conversion"})


def average(sensors: int) -> Bench:
    """The weighted moving average of figure 9, over as many sensors."""
    topics = tuple(f"ee499_{number}/temp" for number in range(7, 7 + sensors))
    draw = random.Random(9)
    cycle = tuple((topic, b"%.2f" % draw.uniform(15, 30)) for _ in range(_ROUNDS) for topic in topics)
    pushes = "\n".join(f"  temps.push(Noctua.topic('{topic}',\n    {{ required: 3 }}));" for topic in topics)

    def plain(seen: dict[str, deque[Values]]) -> object:
        total = 0.0
        for topic in topics:
            weighted = 0.0
            for value, weight in zip(seen[topic], WEIGHTS, strict=True):
                weighted += value[0] * weight
            total += weighted / sum(WEIGHTS)
        return total / len(topics)

    service: dict[str, object] = {"kind": "average"}
    return Bench(f"average{sensors}", _AVERAGE % pushes, topics, len(WEIGHTS), cycle, plain, service)


def localization(beacons: int) -> Bench:
    """Where somebody is, by the strength of beacons, figure 15."""
    topic, places, draw = "person/rssi", BEACONS[:beacons], random.Random(15)
    cycle = tuple((topic, _strengths(x, y, places, draw)) for x, y in _walk())
    constants = f"  var beacons = {[list(each) for each in places]}, ETA = {ETA}, SIG = {SIG}, K = {K}, TX = {TX}"

    def plain(seen: dict[str, deque[Values]]) -> object:
        return _most_likely(seen[topic][0], places)

    service: dict[str, object] = {"kind": "localization", "beacons": places, "ETA": ETA, "SIG": SIG, "K": K, "TX": TX}
    return Bench(f"localization{beacons}", _LOCALIZATION % constants, (topic,), 1, cycle, plain, service)


def all_macros() -> list[Bench]:
    return [conversion(), average(3), average(50), localization(4), localization(8)]


def _values(payload: bytes) -> Values:
    return [float(part) for part in payload.strip(b"[]").split(b",")]


def _walk() -> Iterator[tuple[float, float]]:
    """Through the hall, in an S."""
    for step in range(_STEPS):
        done = step / (_STEPS - 1)
        yield 50 + 40 * math.sin(2 * math.pi * done), 5 + 90 * done


def _strengths(x: float, y: float, places: Sequence[tuple[int, int]], draw: random.Random) -> bytes:
    received = [TX - K - 10 * ETA * math.log10(math.dist((x, y), place)) + draw.gauss(0, SIG) for place in places]
    return b"[%b]" % b",".join([b"%.1f" % each for each in received])


def _most_likely(readings: Values, places: Sequence[tuple[int, int]]) -> list[int]:
    """The centre with the highest likelihood; the arithmetic is the macro's, step by step."""
    best, where = 0.0, [0, 0]
    for y in _CENTRES:
        for x in _CENTRES:
            combined = 1.0
            for (beacon_x, beacon_y), received in zip(places, readings, strict=True):
                distance = math.sqrt((beacon_x - x) ** 2 + (beacon_y - y) ** 2)
                fade = TX - received - K - 10 * ETA * math.log10(distance)
                combined *= (1 / math.sqrt(2 * math.pi * SIG**2)) * math.exp(-(fade**2) / (2 * SIG**2))
            if combined > best:
                best, where = combined, [x, y]
    return where


_AVERAGE: Final = """\
function(){
  var temps = [];
%s

  var weights = [3, 2, 1];
  var denom = weights.reduce((a, b) => a + b, 0);

  var avg = 0;
  for (var i = 0; i < temps.length; ++i) {
    var weighted_sum = 0;

    for (var j = 0; j < weights.length; ++j) {
      weighted_sum += temps[i][j] * weights[j];
    }
    avg += weighted_sum/denom;
  }
  return avg/temps.length;
}()
"""

_LOCALIZATION: Final = """\
function () {
%s
  var readings = Noctua.topic('person/rssi')

  result = new Array(readings.length)
  for (var i=0; i < readings.length; ++i) {
    result[i] = new Array(10);
    for (var j=0; j < 10; ++j) {
      result[i][j] = new Array(10)
    }
  }

  for (var b=0; b < readings.length; ++b) {
    rx = readings[b]

    for (var j=0; j < 10; ++j) {
      for (var i=0; i < 10; ++i) {
        y = 5 + 10*j
        x = 5 + 10*i

        d = Math.sqrt(Math.pow(beacons[b][0] - x, 2)
          + Math.pow(beacons[b][1] - y, 2))
        fade = TX - rx - K - 10*ETA * Math.log10(d)
        pdf = (1/Math.sqrt(2 * Math.PI * Math.pow(
          SIG, 2))) * Math.exp(-Math.pow(fade, 2)
          / (2 * Math.pow(SIG, 2)))

        result[b][j][i] = pdf
      }
    }
  }

  max = 0
  max_ind = []

  for (var j=0; j < 10; ++j) {
    for (var i=0; i < 10; ++i) {
      combined = 1

      for (var b=0; b < readings.length; ++b) {
        combined *= result[b][j][i]
      }

      if (combined > max) {
        max = combined
        max_ind = [i, j]
      }
    }
  }

  max_pos = [5 + 10*max_ind[0], 5 + 10*max_ind[1]]
  return max_pos
}()
"""
