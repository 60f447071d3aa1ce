"""Where the streams of windows begin: window w of a stream that begins with window o is its reading number w − o + 1.

An origin is found once and never changes. The driver knows it, or finds it in a file in the checkpoint; for a stream
that it has not met it asks the output's group: the newest reading there has a number and a time, which give the origin.
A stream that nobody has begins with the first window there is of it; an earlier one has no number, and is told
by its correction only, which corrects number 0. Whoever does a batch again finds what it had
published the first time, so numbers stay the same without a file, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from roost.errors import BadConfig, Unreachable
from roost.host.blocking import SyncFace
from roost.naming import Name
from roost.pipeline.archive.folder import Folder
from roost.pipeline.graph import Pipeline

Numbers = npt.NDArray[np.int64]
Ask = Callable[[str, Sequence[str]], Mapping[str, tuple[int, int]]]
"""Of a group's streams, named relative to it, those that exist: the number of a reading, and its time in ns."""

_FILE: Final = "origins.json"
_NEVER: Final = 1 << 62  # the first window of a stream that has none


class Origins:
    """The origins of a pipeline's streams; without a folder they are not kept."""

    def __init__(self, pipeline: Pipeline, ask: Ask, folder: Folder | None = None) -> None:
        self._stages: Final = {stage.name: stage for stage in pipeline.stages}
        self._ask: Final = ask
        self._folder: Final = folder
        kept = folder.read(_FILE) if folder else None
        # By stream; bound: the streams that the pipeline publishes.
        self._known: Final[dict[str, int]] = _read(kept) if kept else {}
        self.before = 0  # results of windows before their stream's first, which have no number

    def numbered(self, results: pa.Table) -> pa.Table:
        """Results with their numbers; until here, `number` is the window."""
        if not results.num_rows:
            return results
        names = pc.binary_join_element_wise(results["stage"], results["output"], "\n").combine_chunks()
        coded = names.dictionary_encode()
        windows = results["number"].to_numpy()
        codes = coded.indices.to_numpy()
        firsts = np.full(len(coded.dictionary), _NEVER, np.int64)
        is_first = results["correction"].is_null().to_numpy(zero_copy_only=False)  # a correction begins nothing
        np.minimum.at(firsts, codes[is_first], windows[is_first])
        origins = self._origins(coded.dictionary.to_pylist(), firsts)
        numbers = np.where(is_first, windows - origins[codes] + 1, np.maximum(windows - origins[codes] + 1, 0))
        numbered = results.set_column(
            results.schema.get_field_index("number"), results.field("number"), pa.array(numbers)
        )
        # A correction has a number of its own. Left out, it would be a gap that whoever reads them waits for in vain.
        is_told = (numbers >= 1) | ~is_first
        self.before += int((~is_told).sum())
        return numbered.filter(pa.array(is_told))

    def _origins(self, names: Sequence[str], firsts: Numbers) -> Numbers:
        streams = [self._stream(name) for name in names]
        unknown: dict[str, dict[str, tuple[int, int]]] = {}  # by group, stream: its window's length, its first window
        for name, stream, first in zip(names, streams, firsts.tolist(), strict=True):
            if stream not in self._known:
                stage = self._stages[name.partition("\n")[0]]
                relative = stream.removeprefix(f"{stage.output.group}/")
                unknown.setdefault(stage.output.group, {})[relative] = (stage.window_ns, first)
        for group, asked in unknown.items():
            held = self._ask(group, sorted(asked))
            for stream, (length, first) in asked.items():
                if stream in held:
                    number, time = held[stream]
                    self._known[f"{group}/{stream}"] = time // length - number + 1
                elif first < _NEVER:
                    self._known[f"{group}/{stream}"] = first
        if unknown and self._folder:
            self._folder.write(_FILE, json.dumps(self._known, sort_keys=True).encode())
        return np.array([self._known.get(stream, _NEVER) for stream in streams], np.int64)

    def _stream(self, name: str) -> str:
        stage, _, output = name.partition("\n")
        said = self._stages[stage].output
        return f"{said.group}/{said.panel}/{output}"


def asking(face: Callable[[], SyncFace]) -> Ask:
    """Ask the repos; the face is made when it is first needed."""

    def ask(group: str, streams: Sequence[str]) -> dict[str, tuple[int, int]]:
        name = Name.parse(group)
        place = face().group(name)
        numbers = place.streams()
        found: dict[str, tuple[int, int]] = {}
        for stream in streams:
            number = numbers.get(Name.parse(f"{group}/{stream}"))
            if number is None:
                continue
            readings = place.read(stream, number, number)
            if not readings or readings[0].reading is None:
                raise Unreachable(
                    f"{group}/{stream} has {number} readings, and no repo gives the newest: without its time the next "
                    "ones cannot be numbered; keep at least the newest of each stream"
                )
            found[stream] = (number, readings[0].reading.time)
        return found

    return ask


def _read(content: bytes) -> dict[str, int]:
    try:
        return {str(stream): int(origin) for stream, origin in json.loads(content).items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise BadConfig(f"{_FILE} beside the checkpoint cannot be read ({error}): remove it, repos know too") from None
