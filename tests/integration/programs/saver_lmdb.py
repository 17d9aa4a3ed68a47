"""`langgraph-checkpoint-lmdb`: a saver of somebody else on a file."""

import tempfile

import lmdb
from a_thread import drive
from langgraph_checkpoint_lmdb import LMDBSaver

with tempfile.TemporaryDirectory() as folder:
    environment = lmdb.open(folder, max_dbs=4)
    drive(LMDBSaver(environment), deletes=False)
    environment.close()
