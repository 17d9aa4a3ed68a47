"""Distributions of others inside the namespace: `langgraph-checkpoint-redis` and `langgraph-checkpoint-mongodb`.

Their savers need servers (a Redis with search, a MongoDB); here they are loaded, and what needs no server is used.
"""

from importlib.metadata import version

from langgraph.checkpoint import redis as package
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.mongodb import MongoDBSaver
from langgraph.checkpoint.redis import AsyncRedisSaver, RedisSaver
from langgraph.checkpoint.redis.ashallow import AsyncShallowRedisSaver
from langgraph.checkpoint.redis.jsonplus_redis import JsonPlusRedisSerializer
from langgraph.checkpoint.redis.shallow import ShallowRedisSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.base import BaseStore
from langgraph.store.redis import AsyncRedisStore, RedisStore
from langgraph.types import Interrupt, Send

print(package.__name__, version("langgraph-checkpoint-redis").count("."))
for saver in (RedisSaver, AsyncRedisSaver, ShallowRedisSaver, AsyncShallowRedisSaver, MongoDBSaver):
    print(saver.__module__, issubclass(saver, BaseCheckpointSaver))
print(issubclass(RedisStore, BaseStore), issubclass(AsyncRedisStore, BaseStore))
print(issubclass(JsonPlusRedisSerializer, JsonPlusSerializer))
serializer = JsonPlusRedisSerializer()
for value in ({"a": [1, "x", None]}, [Send("n", {"x": 1})], Interrupt("q", id="i"), b"bytes", "text"):
    kind, data = serializer.dumps_typed(value)
    print(kind, serializer.loads_typed((kind, data)) == value)
