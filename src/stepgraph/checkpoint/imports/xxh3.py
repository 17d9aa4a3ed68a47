"""XXH3 with 128 bits: the digest that ids in imported threads are made of.

Rules: pure arithmetic on bytes, seed 0, inputs longer than 16 bytes; it serves to recognise ids, not to make new ones.
"""

from __future__ import annotations

from typing import Final

SHORTEST: Final = 17

_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_MASK: Final = (1 << 64) - 1
_PRIME32: Final = (0, 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_PRIME64: Final = (
    0,
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_FINAL_PRIME: Final = 0x165667919E3779F9
_STRIPE: Final = 64
_STRIPES_IN_BLOCK: Final = (len(_SECRET) - _STRIPE) // 8
_BLOCK: Final = _STRIPE * _STRIPES_IN_BLOCK


def xxh3_128(data: bytes) -> str:
    """The digest as 32 hexadecimal digits.

    Raises:
        ValueError: The input is shorter than 17 bytes, which no id is made of.
    """
    size = len(data)
    if size < SHORTEST:
        raise ValueError(f"XXH3 is implemented here for 17 bytes and more, got {size}.")
    low, high = _long(data) if size > 240 else _middle(data)
    return f"{high:016x}{low:016x}"


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _fold(a: int, b: int) -> int:
    """The two halves of a product, combined."""
    product = a * b
    return (product & _MASK) ^ (product >> 64)


def _avalanche(h: int) -> int:
    h ^= h >> 37
    h = h * _FINAL_PRIME & _MASK
    return h ^ h >> 32


def _mix_16(data: bytes, at: int, secret: int) -> int:
    return _fold(_word(data, at) ^ _word(_SECRET, secret), _word(data, at + 8) ^ _word(_SECRET, secret + 8))


def _mix_32(low: int, high: int, data: bytes, first: int, second: int, secret: int) -> tuple[int, int]:
    low = (low + _mix_16(data, first, secret)) & _MASK
    low ^= (_word(data, second) + _word(data, second + 8)) & _MASK
    high = (high + _mix_16(data, second, secret + 16)) & _MASK
    high ^= (_word(data, first) + _word(data, first + 8)) & _MASK
    return low, high


def _middle(data: bytes) -> tuple[int, int]:
    """17 to 240 bytes."""
    size = len(data)
    low, high = size * _PRIME64[1] & _MASK, 0
    if size <= 128:
        for part in range((size - 1) // 32, -1, -1):
            low, high = _mix_32(low, high, data, 16 * part, size - 16 * (part + 1), 32 * part)
    else:
        for at in range(0, 128, 32):
            low, high = _mix_32(low, high, data, at, at + 16, at)
        low, high = _avalanche(low), _avalanche(high)
        for at in range(128, size - 31, 32):
            low, high = _mix_32(low, high, data, at, at + 16, at - 125)
        low, high = _mix_32(low, high, data, size - 16, size - 32, 103)
    mixed = (low * _PRIME64[1] + high * _PRIME64[4] + size * _PRIME64[2]) & _MASK
    return _avalanche((low + high) & _MASK), -_avalanche(mixed) & _MASK


def _long(data: bytes) -> tuple[int, int]:
    """More than 240 bytes."""
    size = len(data)
    lanes = [_PRIME32[3], *_PRIME64[1:5], _PRIME32[2], _PRIME64[5], _PRIME32[1]]
    for stripe in range((size - 1) // _STRIPE):
        within = stripe % _STRIPES_IN_BLOCK
        if stripe and not within:
            _scramble(lanes)
        _accumulate(lanes, data, stripe * _STRIPE, within * 8)
    if (size - 1) // _STRIPE and (size - 1) % _BLOCK < _STRIPE:
        _scramble(lanes)
    _accumulate(lanes, data, size - _STRIPE, len(_SECRET) - _STRIPE - 7)
    low = _merge(lanes, 11, size * _PRIME64[1] & _MASK)
    high = _merge(lanes, len(_SECRET) - _STRIPE - 11, ~(size * _PRIME64[2]) & _MASK)
    return low, high


def _accumulate(lanes: list[int], data: bytes, at: int, secret: int) -> None:
    for i in range(8):
        value = _word(data, at + 8 * i)
        key = value ^ _word(_SECRET, secret + 8 * i)
        lanes[i ^ 1] = (lanes[i ^ 1] + value) & _MASK
        lanes[i] = (lanes[i] + (key & 0xFFFFFFFF) * (key >> 32)) & _MASK


def _scramble(lanes: list[int]) -> None:
    for i in range(8):
        lane = lanes[i]
        lane ^= lane >> 47
        lane ^= _word(_SECRET, len(_SECRET) - _STRIPE + 8 * i)
        lanes[i] = lane * _PRIME32[1] & _MASK


def _merge(lanes: list[int], secret: int, start: int) -> int:
    result = start
    for i in range(4):
        a = lanes[2 * i] ^ _word(_SECRET, secret + 16 * i)
        b = lanes[2 * i + 1] ^ _word(_SECRET, secret + 16 * i + 8)
        result += _fold(a, b)
    return _avalanche(result & _MASK)
