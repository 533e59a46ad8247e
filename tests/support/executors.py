"""Threads, processes and clusters of some size."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def threads(count):
    with ThreadPoolExecutor(count) as executor:
        yield executor


@contextmanager
def processes(count):
    # Not forked: other tests have left threads behind.
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


@contextmanager
def cluster(count):
    import distributed

    with (
        distributed.LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0") as local,
        distributed.Client(local) as client,
    ):
        yield client.get_executor()
