"""Storing what is new: checkpoints as differences, so that stored bytes grow with the work done and not with its square.

One row a checkpoint. A row tells which channels got a new version, which value each now holds, and what its tasks wrote.
A value is stored whole, or as a difference against the value of the same channel that was stored last in the same
thread and namespace: whatever its lineage, since differences are by content. Where things are:

- `containers`: one list, dict or text that is compared with its next value; operations that lead from one to the other.
- `tracker`: one channel's chain of stored values; decides between a difference, a merged difference and a whole value.
- `frames`: one checkpoint's versions and where its values are; rows tell them by difference, too.
- `lanes`: what is remembered of one thread and namespace, and how much is remembered at all.
- `task_writes`: pending writes, which refer to the values that fold them instead of being stored twice.
- `rows`: the form of a row; requests for rows.
- `encoder`: from a step to a row. `reader`: from rows to a checkpoint. `retention`: dropping rows that others refer to.

Rules: nothing here waits or knows a storage. Readers are generators that yield requests for rows and are sent the
answers, so each saver answers them its own way.
"""

from __future__ import annotations
