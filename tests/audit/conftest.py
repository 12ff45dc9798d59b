"""A cluster that the tests of a file share."""

import logging

import pytest


@pytest.fixture(scope="module")
def cluster():
    """Two workers on this machine."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    from misnomer.engines.dask import Cluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with Cluster(workers=2, memory="700MB") as found:
        yield found
