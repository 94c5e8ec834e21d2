"""Scheduling policies in Python."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

Devices = Union[Sequence[int], "npt.NDArray[Any]"]
Priorities = Union[Sequence[float], "npt.NDArray[Any]"]


class SchedulingProblem:
    """The problem that a policy gets: T tasks, D devices, E edges; arrays are numpy's.

    task_names: T strings; device_names: D strings.
    times_ns: int64 [T, D], how long each task takes on each device; -1 where it cannot run. Small
      tasks of a model come in groups, which count as one task.
    edges: int64 [E, 2], (from, to) task of each dependency; edge_bytes: int64 [E], what it carries.
      Tasks are numbered in topological order: from < to.
    latency_ns: int64 [D, D]; ns_per_byte: float64 [D, D]: a transfer of b bytes from one device to
      another takes latency_ns + b * ns_per_byte nanoseconds when nothing else uses the links.
    seed: of random choices.
    """

    def __init__(self, fields: Dict[str, Any]) -> None:
        self.task_names: List[str] = fields["task_names"]
        self.device_names: List[str] = fields["device_names"]
        self.times_ns: npt.NDArray[np.int64] = fields["times_ns"]
        self.edges: npt.NDArray[np.int64] = fields["edges"]
        self.edge_bytes: npt.NDArray[np.int64] = fields["edge_bytes"]
        self.latency_ns: npt.NDArray[np.int64] = fields["latency_ns"]
        self.ns_per_byte: npt.NDArray[np.float64] = fields["ns_per_byte"]
        self.seed: int = fields["seed"]


class Scheduler:
    """Base class of policies: set `name`, and write plan().

    Pass an object to compare(policies=[...]) or predict(policy=...).
    """

    name = ""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    def plan(self, problem: SchedulingProblem) -> Union[Devices, Tuple[Devices, Priorities]]:
        """A device for each task (T whole numbers), or that and a priority for each task.

        dfsim then repeatedly places the task of highest priority among those whose
        predecessors are placed, after the tasks that its device already has. Without priorities, tasks
        are placed in the order of their numbers. Called once per plan.
        """
        raise NotImplementedError(f"{type(self).__name__} has no plan()")


def plan(policy: Scheduler, fields: Dict[str, Any]) -> Tuple[List[int], List[float]]:
    """Called by the compiled module. No priorities: an empty list."""
    answer = policy.plan(SchedulingProblem(fields))
    devices, priorities = answer if isinstance(answer, tuple) and len(answer) == 2 and not isinstance(
        answer[0], (int, np.integer)) else (answer, ())
    given = np.asarray(devices)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeError(f"{policy.name}: plan() gave {type(devices).__name__} of {given.dtype} with "
                        f"{given.ndim} dimensions, expected whole numbers, one per task")
    ranks = np.asarray(priorities, dtype=np.float64)
    if ranks.ndim != 1:
        raise TypeError(f"{policy.name}: plan() gave priorities with {ranks.ndim} dimensions, "
                        "expected numbers, one per task")
    return [int(device) for device in given], [float(rank) for rank in ranks]
