"""Keys in order, in pieces."""

from __future__ import annotations

from bisect import bisect_left
from random import Random

import pytest

from roost.repo import sorted_keys
from roost.repo.sorted_keys import SortedKeys


@pytest.mark.parametrize("seed", range(5))
def test_any_history_of_keys_is_walked_in_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_keys, "_PIECE", 4)
    random = Random(seed)
    keys, model = SortedKeys(), list[bytes]()
    for _ in range(400):
        key = random.randbytes(1)
        at = bisect_left(model, key)
        if at < len(model) and model[at] == key:
            keys.remove(key)
            del model[at]
        else:
            keys.add(key)
            model.insert(at, key)
        bound = random.randbytes(random.randint(0, 1))
        cut = bisect_left(model, bound)
        assert list(keys.forward(bound)) == model[cut:]
        assert list(keys.backward(bound)) == model[:cut][::-1]


def test_keys_that_come_in_order_are_appended_to_the_last_piece() -> None:
    keys = SortedKeys()
    for number in range(5000):
        keys.add(number.to_bytes(2, "big"))
    assert [len(piece) for piece in keys._pieces[:-1]] == [512] * 8
    assert len(list(keys.forward(b""))) == 5000
