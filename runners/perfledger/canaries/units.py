"""Counts the units of work of the canaries' steps from their parameters.

They are the least that a device must do or move: the operations of a product, bytes read once and
written once.
"""

FLOAT32_BYTES = 4
HEADS, HEAD_WIDTH = 8, 64


def product_flops(size: int) -> float:
    """Return the operations of a product of square matrices."""
    return 2.0 * size**3


def attention_flops(tokens: int) -> float:
    """Return the operations of attention from each token to all."""
    return 4.0 * HEADS * HEAD_WIDTH * tokens**2


def row_bytes(rows: int, width: int) -> float:
    """Return the bytes of rows that are read and written."""
    return 2.0 * FLOAT32_BYTES * rows * width


def vector_bytes(tokens: int, width: int) -> float:
    """Return the bytes of the vectors of tokens that are read and written."""
    return 2.0 * FLOAT32_BYTES * tokens * width


def copied_bytes(mebibytes: int) -> float:
    """Return the bytes of a copy: each is read and written."""
    return 2.0 * mebibytes * 2**20


def message_bytes(mebibytes: int) -> float:
    """Return the bytes of a message."""
    return mebibytes * 2.0**20


def token_count(tokens: int) -> float:
    """Return the tokens of a step."""
    return float(tokens)


def image_count(images: int) -> float:
    """Return the images of a step."""
    return float(images)


def sequence_count(sequences: int) -> float:
    """Return the sequences of a step, which decodes one token of each."""
    return float(sequences)


def sample_count(samples: int) -> float:
    """Return the samples of a step."""
    return float(samples)
