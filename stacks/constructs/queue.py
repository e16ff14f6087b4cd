"""A queue with its dead-letter queue: encrypted by SQS, TLS only, kept for 14 days where people must look."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct


class GuardedQueue(Construct):
    """`queue` and `dead_letters`. FIFO when `name` ends in `.fifo`; its dead-letter queue then is FIFO too."""

    def __init__(self, scope: Construct, id: str, *, name: str, visibility_s: int, tries: int = 5) -> None:
        super().__init__(scope, id)
        fifo = True if name.endswith(".fifo") else None
        stem = name.removesuffix(".fifo")
        self.dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            queue_name=f"{stem}-dlq{'.fifo' if fifo else ''}",
            fifo=fifo,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(14),
        )
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=name,
            fifo=fifo,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(14),
            visibility_timeout=Duration.seconds(visibility_s),
            dead_letter_queue=sqs.DeadLetterQueue(max_receive_count=tries, queue=self.dead_letters),
        )
