"""Throw bytes at the loader until it misbehaves.

    python benchmarks/fuzz_store.py -max_total_time=180

Needs atheris. Half of the inputs are files as they come; the other half are sealed again after
their description or an array was changed, so that the checks behind the seal are reached as well.
A file is loaded, or refused by a ValueError; anything else ends the run.
"""

import json
import sys

import atheris

with atheris.instrument_imports(include=["misnomer"]):
    import numpy as np

    from misnomer import NoisyLabelNB
    from misnomer.store import model_bytes, model_from
    from misnomer.store.container import pack, unpack

X = np.array([[0, 1.5], [1, 2.5], [0, 0.5], [1, 3.5]] * 5)
WHOLE = model_bytes(NoisyLabelNB(channel="free").fit(X, ["a", "b"] * 10))
ARRAYS, ABOUT = unpack("model", WHOLE, "whole")
TEXT = json.dumps(ABOUT)


def changed(text, data):
    """Cut a piece out of a text and put another in its place."""
    start = data.ConsumeIntInRange(0, len(text))
    stop = data.ConsumeIntInRange(start, min(len(text), start + 20))
    return text[:start] + data.ConsumeUnicodeNoSurrogates(20) + text[stop:]


def sealed(data):
    """Change the description or an array, and seal the file again."""
    arrays = dict(ARRAYS)
    if data.ConsumeBool():
        name = data.PickValueInList(sorted(arrays))
        size = arrays[name].size
        flat = [data.ConsumeRegularFloat() for _ in range(min(size, 8))]
        flat += [0.0] * data.ConsumeIntInRange(0, 3)
        with np.errstate(all="ignore"):
            arrays[name] = np.array(flat).astype(data.PickValueInList(["f8", "f4", "i4", "u1"]))
        return pack("model", arrays, ABOUT)
    about = json.loads(changed(TEXT, data))
    return pack("model", arrays, about if isinstance(about, dict) else {"": about})


def once(raw):
    """Load one file."""
    data = atheris.FuzzedDataProvider(raw)
    try:
        whole = sealed(data) if data.ConsumeBool() else data.ConsumeBytes(len(raw))
        loaded = model_from(whole, "file")
        with np.errstate(all="ignore"):
            loaded.predict_proba(X)
    except ValueError:
        pass


if __name__ == "__main__":
    atheris.Setup(sys.argv, once)
    atheris.Fuzz()
