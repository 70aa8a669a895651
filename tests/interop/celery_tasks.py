"""The Celery application of test_celery and its workers; CELERY_BROKER, _BACKEND, _QUEUE_TYPE are for it to read."""

import os
import time
from pathlib import Path
from typing import Any

from celery import Celery, Task
from kombu import Exchange, Queue

app = Celery("tasks", broker=os.environ.get("CELERY_BROKER"), backend=os.environ.get("CELERY_BACKEND", "rpc://"))
# For tasks that queues of the broker delay, as Celery has it for quorum queues, the exchange has to be a topic.
queue_type = os.environ.get("CELERY_QUEUE_TYPE", "classic")
name = f"tasks-{queue_type}"
queue = Queue(name, Exchange(name, "topic"), name, queue_arguments={"x-queue-type": queue_type})
urgent = Queue("urgent", routing_key="urgent", queue_arguments={"x-max-priority": 9})
app.conf.update(
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
    task_queues=[queue] if queue_type == "quorum" else [queue, urgent],
    task_default_queue=name,
    task_default_exchange=name,
    task_default_exchange_type="topic",
    task_default_routing_key=name,
    task_default_queue_type=queue_type,
    result_expires=60,
)


@app.task
def add(a: int, b: int) -> int:
    return a + b


@app.task
def total(numbers: list[int]) -> int:
    return sum(numbers)


@app.task(bind=True, max_retries=5)
def third_time(self: "Task[Any, Any]", pause_s: float) -> int:
    """Succeed at the third attempt."""
    if self.request.retries < 2:
        raise self.retry(countdown=pause_s)
    retries: int = self.request.retries
    return retries


@app.task(bind=True, acks_late=True, reject_on_worker_lost=True)
def note(self: "Task[Any, Any]", path: str, word: str, pause_s: float = 0.0) -> bool:
    """Append a word to a file at the beginning and, after a pause, at the end; return whether it was redelivered."""
    redelivered = bool(self.request.delivery_info.get("redelivered"))
    with Path(path).open("a") as file:
        file.write(f"begin {word} {redelivered}\n")
    time.sleep(pause_s)
    with Path(path).open("a") as file:
        file.write(f"end {word} {redelivered}\n")
    return redelivered
