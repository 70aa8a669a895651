"""Files of a stream that work when they are told to."""

from pybroker.store.streams.memory import MemoryStreamLog


class SlowFiles(MemoryStreamLog):
    """Files that do nothing before they are told to, and fail if there is an `error`."""

    def __init__(self):
        super().__init__()
        self.jobs = []
        self.error = None

    def append(self, chunks, segment_octets_max, done):
        self.jobs.append(
            lambda: done(self.error) if self.error else super(SlowFiles, self).append(chunks, segment_octets_max, done)
        )

    def read(self, offset, octets_max, done, wanted=None):
        self.jobs.append(
            lambda: done(self.error) if self.error else super(SlowFiles, self).read(offset, octets_max, done, wanted)
        )

    def find_timestamp(self, timestamp_ms, done):
        self.jobs.append(
            lambda: done(self.error) if self.error else super(SlowFiles, self).find_timestamp(timestamp_ms, done)
        )

    def run(self):
        jobs, self.jobs = self.jobs, []
        for job in jobs:
            job()
