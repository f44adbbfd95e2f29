"""Processes of a process group find each other by the group's store."""
import collections
import contextlib
import hashlib
import os
from datetime import timedelta

import torch
import torch.distributed as dist

from .. import communicator
from ..errors import BadArgument, Error, Timeout

_c10d = dist.distributed_c10d
_openings = collections.Counter()  # by group: each opening has keys of its own in the store


class Members:
    """The processes of a group: `index` of this one, their `ranks` in the default group, `name`.
    `group`: a ProcessGroup, or None for the default one."""

    def __init__(self, group=None):
        if not dist.is_available() or not dist.is_initialized():
            raise BadArgument("there is no process group: expected dist.init_process_group() before")
        self.group = _c10d._get_default_group() if group is None else group
        if not isinstance(self.group, dist.ProcessGroup):
            raise BadArgument("a group without this process: expected one that it is in")
        self.index = dist.get_rank(self.group)
        self.ranks = _ranks_of(self.group)
        self.name = _name_of(self.group)

    @contextlib.contextmanager
    def store(self):
        """A store for one opening, under keys that are equal in all processes of the group, and in
        no others. It is empty again afterwards."""
        of = hashlib.sha256(repr((self.name, self.ranks)).encode()).hexdigest()[:16]
        store = dist.PrefixStore(f"duet/{of}/{_openings[of]}", _c10d._get_default_store())
        try:
            yield store
            _openings[of] += 1  # not behind an exception: ranks that did not come do not count either
        finally:
            if self.index == 0:  # behind the others, or they fail too
                with contextlib.suppress(RuntimeError):  # stores that delete nothing
                    for key in ("address", "one_node", *map("node/{}".format, range(1, len(self.ranks)))):
                        store.delete_key(key)


def _ranks_of(group):
    if hasattr(dist, "get_process_group_ranks"):  # since 2.0
        return dist.get_process_group_ranks(group)
    if group is _c10d._get_default_group():
        return list(range(group.size()))
    ranks = _c10d._pg_group_ranks[group]
    return sorted(ranks, key=ranks.get)


def _name_of(group):
    name = getattr(group, "group_name", None)  # since 2.1
    return name or _c10d._pg_names.get(group) or "0"


def group_named(name):
    """The process group of that name; None where there is none."""
    if dist.is_available() and dist.is_initialized():
        for group in [_c10d._get_default_group(), *_c10d._pg_names]:
            if isinstance(group, dist.ProcessGroup) and _name_of(group) == name:
                return group
    return None


def open_communicator(members, device, engine, deadline):
    """Collective over the group: a duet.Communicator with a rank on `device` in each process."""
    kind = "host" if device.type == "cpu" else "cuda" if torch.version.hip is None else "hip"
    index, count, deadline = members.index, len(members.ranks), float(deadline)
    with members.store() as store:
        def broadcast(mine):
            if mine is None:
                return bytes.fromhex(_get(store, "address", deadline, "process 0"))
            store.set("address", mine.hex())
            return mine

        try:
            return communicator.Communicator(
                kind, engine, index=index, count=count, broadcast=broadcast, deadline=deadline,
                one_node=_one_node(store, index, count, deadline),
                local_index=None if kind == "host" else device.index)
        except Error as error:
            if isinstance(error.__cause__, Timeout):
                raise error.__cause__
            raise


def _one_node(store, index, count, deadline):
    """Whether all processes have one network namespace, and so one loopback address."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        own = f"{file.read().strip()} {os.readlink('/proc/self/ns/net')}"
    if index > 0:
        store.set(f"node/{index}", own)
        return _get(store, "one_node", deadline, "process 0") == "1"
    found = [_get(store, f"node/{other}", deadline, f"process {other}") for other in range(1, count)]
    one = all(each == own for each in found)
    store.set("one_node", "1" if one else "0")
    return one


def _get(store, key, deadline, who):
    try:
        store.wait([key], timedelta(seconds=deadline))
    except RuntimeError as error:
        raise Timeout(f"{who} of the group has not opened its communicator within {deadline:g} s") from error
    return store.get(key).decode()
