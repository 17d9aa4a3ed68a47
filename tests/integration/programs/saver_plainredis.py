"""`langgraph-checkpoint-plainredis`: a saver of somebody else on a Redis server of this program's own."""

import asyncio
import os
import subprocess
import tempfile
import time

import redis
import redis.asyncio
from a_thread import adrive, drive
from langgraph_checkpoint_plainredis import AsyncRedisSaver, RedisSaver


async def main(socket):
    async with redis.asyncio.Redis(unix_socket_path=socket) as client:
        await adrive(AsyncRedisSaver(client))


with tempfile.TemporaryDirectory() as folder:
    socket = os.path.join(folder, "redis.sock")
    command = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if os.path.exists(socket):
                break
            time.sleep(0.05)
        drive(RedisSaver(redis.Redis(unix_socket_path=socket)))
        asyncio.run(main(socket))
    finally:
        server.terminate()
        server.wait()
