"""The content store against a plain model: exact least-recently-used order, prefix queries in canonical order."""

from __future__ import annotations

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from roost.forwarding.store import ContentStore
from roost.naming import Name
from roost.wire import Data, DigestSigner, Interest, encode_data, encode_interest

SIGNER = DigestSigner()
NAMES = [f"/{a}/{b}" for a in "pq" for b in ("z", "one", "two", "x/y", "seg=1")]
WIRES = {name: encode_data(Name.parse(name), b"", SIGNER) for name in NAMES}
STEPS = st.lists(st.tuples(st.sampled_from(["insert", "find", "prefix", "erase"]), st.sampled_from(NAMES)), max_size=60)


@given(STEPS, st.integers(1, 6))
def test_the_store_does_what_a_plain_model_does(steps: list[tuple[str, str]], capacity: int) -> None:
    store = ContentStore(capacity, 1_000_000)
    model: OrderedDict[str, None] = OrderedDict()
    for verb, uri in steps:
        name = Name.parse(uri)
        if verb == "insert":
            store.insert(Data.decode(WIRES[uri]), 0)
            model.pop(uri, None)
            model[uri] = None
            if len(model) > capacity:
                model.popitem(last=False)
        elif verb == "find":
            found = store.find(Interest.decode(encode_interest(name)), 0)
            assert (found is not None) == (uri in model)
            if uri in model:
                model.move_to_end(uri)
        elif verb == "prefix":
            prefix = name.prefix(1)
            found = store.find(Interest.decode(encode_interest(prefix, can_be_prefix=True)), 0)
            under = sorted(other for other in map(Name.parse, model) if other.starts_with(prefix))
            assert (None if found is None else Data.decode(found).name) == (under[0] if under else None)
            if under:
                model.move_to_end(str(under[0]))
        else:
            assert store.erase(name, 9) == sum(Name.parse(other).starts_with(name) for other in list(model))
            for other in [other for other in model if Name.parse(other).starts_with(name)]:
                del model[other]
        assert len(store) == len(model)
