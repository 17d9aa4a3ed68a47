"""Policies: defaults, coercion of timeouts, and which errors are tried again."""

from __future__ import annotations

import sys
from datetime import timedelta
from types import SimpleNamespace

import pytest

from stepgraph.values.policies import (
    CacheKey,
    CachePolicy,
    RetryPolicy,
    TimeoutPolicy,
    TracePolicy,
    default_cache_key,
    default_retry_on,
    omit_payload,
)


def test_a_retry_policy_has_the_usual_defaults():
    assert RetryPolicy() == (0.5, 2.0, 128.0, 3, True, default_retry_on)


def test_a_cache_policy_has_a_key_function():
    assert CachePolicy().key_func is default_cache_key
    assert CachePolicy(ttl=3) == CachePolicy(ttl=3)
    assert CachePolicy(ttl=3) != CachePolicy()


def test_a_cache_key_is_a_named_tuple():
    assert CacheKey(("a",), "k", 3)._asdict() == {"ns": ("a",), "key": "k", "ttl": 3}


@pytest.mark.parametrize("given", [2, 2.0, timedelta(seconds=2), TimeoutPolicy(run_timeout=2)])
def test_timeouts_are_coerced_to_seconds(given):
    policy = TimeoutPolicy.coerce(given)
    assert policy == TimeoutPolicy(run_timeout=2.0)
    assert type(policy.run_timeout) is float


@pytest.mark.parametrize("given", [None, TimeoutPolicy()])
def test_no_limit_is_no_policy(given):
    assert TimeoutPolicy.coerce(given) is None


def test_a_policy_keeps_its_idle_limit_and_refresh():
    given = TimeoutPolicy(idle_timeout=timedelta(seconds=1), refresh_on="heartbeat")
    assert TimeoutPolicy.coerce(given) == TimeoutPolicy(idle_timeout=1.0, refresh_on="heartbeat")


@pytest.mark.parametrize("given", [0, -1, float("nan"), timedelta(0)])
def test_a_limit_must_be_greater_than_zero(given):
    with pytest.raises(ValueError, match="run_timeout must be greater than 0"):
        TimeoutPolicy.coerce(given)


def test_a_wrong_idle_limit_is_named():
    with pytest.raises(ValueError, match="idle_timeout must be greater than 0, got 0"):
        TimeoutPolicy.coerce(TimeoutPolicy(idle_timeout=0))


def test_an_unknown_refresh_is_refused():
    with pytest.raises(ValueError, match="refresh_on must be 'auto' or 'heartbeat', got 'never'"):
        TimeoutPolicy.coerce(TimeoutPolicy(run_timeout=1, refresh_on="never"))


@pytest.mark.parametrize(
    "error",
    [ConnectionError(), BrokenPipeError(), Exception(), AssertionError(), AttributeError(), EOFError()],
    ids=lambda e: type(e).__name__,
)
def test_these_are_tried_again(error):
    assert default_retry_on(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError(),
        UnicodeError(),
        TypeError(),
        ZeroDivisionError(),
        ImportError(),
        KeyError(),
        NameError(),
        SyntaxError(),
        RuntimeError(),
        RecursionError(),
        NotImplementedError(),
        ReferenceError(),
        StopIteration(),
        StopAsyncIteration(),
        OSError(),
        FileNotFoundError(),
        TimeoutError(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_these_are_not_tried_again(error):
    assert not default_retry_on(error)


def _library(monkeypatch, name, **classes):
    monkeypatch.setitem(sys.modules, name, SimpleNamespace(**classes))


def _requests(monkeypatch):
    class RequestException(OSError):
        response = None

    class HTTPError(RequestException):
        pass

    class RequestsConnectionError(RequestException):
        pass

    class Timeout(RequestException):
        pass

    _library(
        monkeypatch, "requests", HTTPError=HTTPError, ConnectionError=RequestsConnectionError, Timeout=Timeout
    )
    return HTTPError, RequestsConnectionError, RequestException


@pytest.mark.parametrize(
    ("status", "again"), [(400, False), (404, False), (429, False), (500, True), (503, True)]
)
def test_an_answer_of_a_server_is_tried_again_from_500_on(monkeypatch, status, again):
    class HTTPStatusError(Exception):
        response = SimpleNamespace(status_code=status)

    _library(monkeypatch, "httpx", HTTPStatusError=HTTPStatusError)
    http_error, _, _ = _requests(monkeypatch)
    error = http_error()
    error.response = SimpleNamespace(status_code=status)
    assert default_retry_on(HTTPStatusError()) is again
    assert default_retry_on(error) is again


def test_a_lost_connection_of_requests_is_tried_again(monkeypatch):
    http_error, connection_error, other = _requests(monkeypatch)
    assert default_retry_on(connection_error())
    assert default_retry_on(http_error())
    assert not default_retry_on(other())


def test_nothing_of_a_payload_is_traced():
    assert omit_payload({"secret": 1}) == {}
    assert TracePolicy(process_inputs=omit_payload).process_inputs is omit_payload
