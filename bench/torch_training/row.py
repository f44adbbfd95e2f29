"""One row: what is measured, and how."""
import dataclasses


@dataclasses.dataclass
class Row:
    training: object  # a TokenTraining or an MlpTraining
    recipe: str  # fp32, amp, bf16
    mode: str  # of step.MODES
    device_type: str  # cuda, cpu
    device_index: int  # of the first device; rank r has the one r places behind it
    seconds: float  # of steps, about
    attention: str = "auto"  # of attention.BACKENDS
    parallel: str = "none"  # ddp, fsdp2, tp
    ranks: int = 1
    bucket_mb: int = 25  # ddp
    communicates: bool = True  # ddp; otherwise gradients stay where they are
    keep_gathered: bool = False  # fsdp2; blocks are gathered once a step
    deterministic: bool = False  # the same numbers in every run
    async_tp: bool = False  # tp; products beside what they gather and scatter
    limit: float = 600.0  # seconds after which ranks are given up

    def batches(self):
        """Of a step: each rank has one, but with tp, whose ranks share it."""
        return 1 if self.parallel == "tp" else self.ranks

    def axes(self):
        names = {"ddp": "ddp", "fsdp2": "zero3", "tp": "tp"}  # Duet's
        several = ({} if self.parallel == "none" else
                   {"parallel": names[self.parallel], "ranks": self.ranks})
        kept = {"keep_gathered": "yes"} if self.keep_gathered else {}
        return {**self.training.axes(self.recipe), **several, **kept}

    def engine(self):
        attention = "" if self.attention == "auto" else f"-{self.attention}"
        alone = "" if self.communicates else "-no-communication"
        pipelined = "-async-tp" if self.async_tp else ""
        repeated = "-deterministic" if self.deterministic else ""
        return f"torch-{self.mode}{self.training.engine_ending}{attention}{pipelined}{alone}{repeated}"
