"""The definition of a macro: what somebody posts, puts into a file or keeps in the store, checked key by key.

    {"name": "home/tempC", "code": "(Noctua.topic('tempF') - 32) * 5/9"}                      the paper's figure 4

| key         | default    | meaning                                                                       |
| ----------- | ---------- | ----------------------------------------------------------------------------- |
| name        | a hash     | results are published on `Noctua/<name>`                                      |
| code        |            | the program                                                                   |
| language    | javascript | or python                                                                     |
| trigger     | arrival    | or `set` (once per complete new set), or `every 10s`                          |
| engine      | node       | or spark                                                                      |
| limits      |            | time_ms, memory_bytes, output_bytes, state_bytes, log_bytes, runs_per_s       |
| computed    | ["#"]      | filters: what its runs may name beyond what stands in the code                |
| description |            | a sentence for people                                                         |

The digest is of what makes results: language, code and trigger. Whether the code is a program is not checked here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Final

from roost.errors import BadConfig, BadMacro, BadTopic
from roost.machine.contract import MS
from roost.machine.times import duration
from roost.naming.topic import TopicFilter, name_of_topic
from roost.process.engine import Limits
from roost.process.wildcards import covers

PREFIX: Final = "Noctua/"
MAX_CODE_BYTES: Final = 256 << 10
MAX_DESCRIPTION: Final = 1000
JAVASCRIPT: Final = "javascript"
PYTHON: Final = "python"
NODE: Final = "node"
SPARK: Final = "spark"
ARRIVAL: Final = "arrival"
SET: Final = "set"
EVERY: Final = "every "
MIN_EVERY_NS: Final = 10 * MS
_LANGUAGES: Final = (JAVASCRIPT, PYTHON)
_ENGINES: Final = (NODE, SPARK)
_KEYS: Final = ("name", "code", "language", "trigger", "engine", "limits", "computed", "description")
ANYTHING: Final = ("#",)  # but for topics that begin with $
MAX_COMPUTED: Final = 256
MOST: Final = Limits(1000, 1 << 30, 16 << 20, 16 << 20, 1 << 20, 1_000_000)  # that a definition can ask for
_MOST: Final = asdict(MOST)
_LEAST: Final = {"memory_bytes": 64 << 10}


@dataclass(frozen=True, slots=True)
class Definition:
    """A macro as defined; raises `BadMacro` if it cannot be one."""

    name: str
    code: str
    language: str = JAVASCRIPT
    trigger: str = ARRIVAL
    engine: str = NODE
    limits: Limits = field(default_factory=Limits)
    description: str = ""
    computed: tuple[str, ...] = ANYTHING  # filters for names of topics that do not stand in the code

    def __post_init__(self) -> None:
        _check_code(self.code)
        _size("description", self.description)
        _check_choice("language", self.language, _LANGUAGES)
        _check_choice("engine", self.engine, _ENGINES)
        if len(self.description) > MAX_DESCRIPTION:
            raise BadMacro(
                f"a description has at most {MAX_DESCRIPTION} characters, this one has {len(self.description)}"
            )
        if len(self.computed) > MAX_COMPUTED:
            raise BadMacro(f"computed has at most {MAX_COMPUTED} filters, not {len(self.computed)}")
        for each in self.computed:
            _check_filter(each)
        if self.trigger not in {ARRIVAL, SET} and self.every_ns < MIN_EVERY_NS:
            raise BadMacro(f"trigger {self.trigger!r} is too often: every 10ms is the most")
        check_limits(self.limits)
        if not self.name:
            object.__setattr__(self, "name", f"h{self.digest.hex()[:16]}")
        _check_name(self.name)

    @property
    def topic(self) -> str:
        """Where its results are published."""
        return PREFIX + self.name

    @property
    def every_ns(self) -> int:
        """The period of a trigger `every …`, 0 for the others."""
        if self.trigger in {ARRIVAL, SET}:
            return 0
        if not self.trigger.startswith(EVERY):
            raise BadMacro(f"trigger {self.trigger!r} is none: write arrival, set, or every 10s")
        try:
            return duration(self.trigger[len(EVERY) :], "trigger every")
        except BadConfig as error:
            raise BadMacro(str(error)) from None

    @property
    def digest(self) -> bytes:
        """SHA-256 of what makes results."""
        parts = {"code": self.code, "language": self.language, "trigger": self.trigger}
        return sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).digest()

    def may_compute(self, topic: str) -> bool:
        """Whether a run may name a topic, or filter, that does not stand in the code."""
        return any(covers(each, topic) for each in self.computed)

    def mapping(self) -> dict[str, object]:
        """The way back: JSON of it is read by `definition_of`. What is as by default is left out."""
        mapping: dict[str, object] = {"name": self.name, "code": self.code}
        for key, default in (("language", JAVASCRIPT), ("trigger", ARRIVAL), ("engine", NODE), ("description", "")):
            if getattr(self, key) != default:
                mapping[key] = getattr(self, key)
        if self.computed != ANYTHING:
            mapping["computed"] = list(self.computed)
        usual = asdict(Limits())
        limits = {key: value for key, value in asdict(self.limits).items() if value != usual[key]}
        if limits:
            mapping["limits"] = limits
        return mapping


def definition_of(mapping: object) -> Definition:
    """Read a definition from parsed JSON or YAML; raises `BadMacro`."""
    if not isinstance(mapping, Mapping):
        raise BadMacro('a macro is an object such as {"name": "…", "code": "…"}')
    for key in mapping:
        if key not in _KEYS:
            raise BadMacro(f"a macro has no {key!r}; it has {', '.join(_KEYS)}")
    if "code" not in mapping:
        raise BadMacro("a macro has code")
    texts = {key: mapping[key] for key in _KEYS if key in mapping and key not in {"limits", "computed"}}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise BadMacro(f"{key} is text, not {value!r:.40}")
    limits, computed = limits_of(mapping.get("limits", {}), Limits()), _filters(mapping.get("computed", ANYTHING))
    return Definition(texts.pop("name", ""), texts.pop("code"), limits=limits, computed=computed, **texts)


def limits_of(mapping: object, usual: Limits) -> Limits:
    """Read limits; those that are not said are as usual. Raises `BadMacro`."""
    if not isinstance(mapping, Mapping):
        raise BadMacro("limits are an object of numbers")
    for key, value in mapping.items():
        if key not in _MOST:
            raise BadMacro(f"there is no limit {key!r}; there are {', '.join(_MOST)}")
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadMacro(f"limits.{key} is a whole number, not {value!r:.40}")
    return replace(usual, **mapping)


def check_limits(limits: Limits) -> None:
    """Raise `BadMacro` if limits are more than there can be, or nothing could run within them."""
    for key, value in asdict(limits).items():
        if not _LEAST.get(key, 1) <= value <= _MOST[key]:
            raise BadMacro(f"limits.{key} is {_LEAST.get(key, 1):,} to {_MOST[key]:,}, not {value:,}")


def _filters(listed: object) -> tuple[str, ...]:
    if not isinstance(listed, (list, tuple)) or not all(isinstance(each, str) for each in listed):
        raise BadMacro('computed is a list of topics and filters, as in ["home/+/temp"], or [] for none')
    return tuple(dict.fromkeys(listed))


def _size(key: str, text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise BadMacro(f"the {key} holds half a surrogate pair, which has no UTF-8 form") from None


def _check_code(code: str) -> None:
    size = _size("code", code)
    if not code.strip():
        raise BadMacro("the code is empty")
    if size > MAX_CODE_BYTES:
        raise BadMacro(f"code has at most {MAX_CODE_BYTES:,} bytes, this has {size:,}")


def _check_choice(key: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise BadMacro(f"{key} is {' or '.join(choices)}, not {value!r}")


def _check_filter(text: str) -> None:
    try:
        TopicFilter(text)
    except BadTopic as error:
        raise BadMacro(f"computed: {error}") from None


def _check_name(name: str) -> None:
    if name.startswith(("$", PREFIX)) or name + "/" == PREFIX:
        raise BadMacro(f"name {name!r} begins with $ or {PREFIX}, which are reserved")
    try:
        name_of_topic(PREFIX + name)
    except BadTopic as error:
        raise BadMacro(f"name {name!r} cannot be a topic: {error}") from None
