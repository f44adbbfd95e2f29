"""Times steps by events between them, which are enqueued back to back."""
import dataclasses
import gc
import math
import statistics
import time

import torch

from torch_training.step import Step, captured, is_captured

WARM_UP_SECONDS = 1.0
LEAST_STEPS = 3
STEPS_AHEAD = 4  # how many steps the CPU may enqueue before the oldest has ended


class GpuClock:
    def __init__(self, device):
        self.device = device

    def mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def wait(self, mark):
        mark.synchronize()

    def seconds(self, begin, end):
        return 1e-3 * begin.elapsed_time(end)

    def reset_peak(self):
        torch.cuda.reset_peak_memory_stats(self.device)

    def peak_bytes(self):
        return torch.cuda.max_memory_allocated(self.device)

    def release(self):
        torch.cuda.empty_cache()


class CpuClock:
    """Calls on the CPU have ended when they return. Its memory is not counted."""

    def mark(self):
        return time.perf_counter()

    def wait(self, mark):
        pass

    def seconds(self, begin, end):
        return end - begin

    def reset_peak(self):
        pass

    def peak_bytes(self):
        return None

    def release(self):
        pass


@dataclasses.dataclass
class Timed:
    samples: list  # seconds of each step, of the slowest rank
    warm_ups: int
    loss: float  # the mean of ranks, of the last step
    early_loss: float  # of step LEAST_STEPS: the same for equal programs, however fast they are
    peak_bytes: int  # of the rank with most; None: not counted


def run_steps(step, clock, count, others):
    """The seconds of each step, and the loss of the last one."""
    others.barrier()
    marks = [clock.mark()]
    for _ in range(count):
        loss = step()
        marks.append(clock.mark())
        if len(marks) > STEPS_AHEAD:
            clock.wait(marks[-1 - STEPS_AHEAD])
    clock.wait(marks[-1])
    seconds = [clock.seconds(a, b) for a, b in zip(marks, marks[1:])]
    return others.largest(seconds), others.mean(loss.item())


def steps_in(seconds, samples):
    """How many steps take so long; the same on all ranks, as `samples` are."""
    return max(LEAST_STEPS, math.ceil(seconds / statistics.median(samples)))


def measure(row, device, others):
    """A Timed, on all ranks at a time: `others` is an Alone or a Group."""
    on_gpu = device.type == "cuda"
    clock = GpuClock(device) if on_gpu else CpuClock()
    # Code that was compiled for another row would be compiled anew for shapes that vary.
    if row.mode != "eager":
        torch.compiler.reset()
    gc.collect()
    clock.release()
    step = Step(row, device, others.rank)
    clock.release()
    clock.reset_peak()
    if is_captured(row):
        step = captured(step)
    compiling, early_loss = run_steps(step, clock, LEAST_STEPS, others)
    warm_ups, _ = run_steps(step, clock, steps_in(WARM_UP_SECONDS, compiling[-1:]), others)
    samples, loss = run_steps(step, clock, steps_in(row.seconds, warm_ups), others)
    peak = clock.peak_bytes()
    if peak is not None:
        peak = int(others.largest([float(peak)])[0])
    return Timed(samples, len(compiling) + len(warm_ups), loss, early_loss, peak)
