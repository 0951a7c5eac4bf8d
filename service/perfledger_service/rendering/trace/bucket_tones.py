"""Holds the colours of the buckets of a step's time."""

from perfledger.profile import Bucket
from perfledger_service.rendering.chart.marks import Tone

BUCKET_TONES = {
    Bucket.COMPUTE: Tone.BLUE,
    Bucket.COMMUNICATION: Tone.PURPLE,
    Bucket.COPY: Tone.TEAL,
    Bucket.DEVICE_COPY: Tone.AMBER,
    Bucket.PEER_COPY: Tone.PINK,
    Bucket.MEMSET: Tone.SLATE,
    Bucket.INPUT: Tone.ORANGE,
    Bucket.SYNC: Tone.RED,
    Bucket.RUNTIME: Tone.OLIVE,
    Bucket.CPU: Tone.FOREST,
    Bucket.OTHER: Tone.MUTED,
}
