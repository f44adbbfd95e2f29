"""The command line of bench/train_torch.py."""
import argparse
import dataclasses
import math
import os
import pathlib
import sys
import tomllib

import torch

from torch_training.attention import BACKENDS
from torch_training.block import RECOMPUTES
from torch_training.gpt import GptConfig
from torch_training.journal import Journal
from torch_training.qwen3 import Qwen3Config
from torch_training.step import MODES, RECIPES
from torch_training.tensor import unfit
from torch_training.training import MlpTraining, TokenTraining

SPECS = pathlib.Path(__file__).resolve().parents[2] / "specs/training"
CONFIGS = {"gpt": GptConfig, "qwen3": Qwen3Config}
USUAL_MODEL = {"gpt": "small", "qwen3": "8b"}
# "Benchmark 2: Simple Training Loop" of the MI350X training study.
MLP_WIDTHS = (4096, 8192, 8192, 4096)
MLP_BATCH = 256


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"train_torch.py: {message}", file=sys.stderr)
        sys.exit(2)


def positive(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}': expected a whole number, 1 or more")
    return int(text)


def positive_seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}': expected a number of seconds above 0")
    return value


def words(text):
    return list(dict.fromkeys(text.split(",")))


def widths(text):
    return tuple(positive(each) for each in text.split(","))


def add_model_options(parser):
    parser.add_argument("--kind", choices=("gpt", "qwen3", "mlp"), default="gpt")
    parser.add_argument("--model", type=words, metavar="LIST",
                        help="models of specs/training/gpt.toml or qwen3.toml (default: small; of "
                        "qwen3 8b)")
    parser.add_argument("--batch", type=positive, metavar="N",
                        help="sequences of a step and rank; of the MLP samples")
    parser.add_argument("--sequence", type=positive, metavar="N", help="tokens of a sequence")
    parser.add_argument("--layers", type=positive, metavar="N", help="use the first N layers")
    parser.add_argument("--recompute", choices=RECOMPUTES,
                        help="what of each block the backward pass computes once more (none)")
    parser.add_argument("--head-pieces", type=positive, metavar="N",
                        help="hold the logits of an Nth of the tokens at a time (1; of qwen3 8)")
    parser.add_argument("--lora", type=positive, metavar="RANK",
                        help="of qwen3: freeze the model and train adapters of all its linears")
    parser.add_argument("--pad-vocabulary", type=positive, metavar="N",
                        help="of gpt: pad the vocabulary to a multiple of N (default: not padded)")
    parser.add_argument("--widths", type=widths, metavar="LIST",
                        help="widths of the MLP, from its input to its output (default: "
                        "4096,8192,8192,4096, of the MI350X training study)")


def add_row_options(parser):
    parser.add_argument("--recipe", type=words, metavar="LIST",
                        help="fp32, amp, bf16 (default: amp,bf16; of the MLP fp32,bf16)")
    parser.add_argument("--mode", type=words, metavar="LIST",
                        help=f"{', '.join(MODES)} (default: eager,compile and, on a GPU, graph; "
                        "with --parallel compile-blocks)")
    parser.add_argument("--attention", choices=BACKENDS, default="auto",
                        help="which kernels (default: PyTorch chooses)")
    parser.add_argument("--parallel", choices=("ddp", "fsdp2", "tp"),
                        help="train on several devices, each with a batch of its own; with tp they "
                        "share one")
    parser.add_argument("--ranks", type=positive, metavar="N",
                        help="--parallel: how many, each a process (default: as many as GPUs)")
    parser.add_argument("--bucket-mb", type=positive, metavar="N",
                        help="--parallel ddp: bucket_cap_mb (25)")
    parser.add_argument("--keep-gathered", action="store_true",
                        help="--parallel fsdp2: blocks stay gathered from the forward to the "
                        "backward pass (reshard_after_forward=False)")
    parser.add_argument("--no-communication", action="store_true",
                        help="--parallel ddp: gradients are not summed, by no_sync()")
    parser.add_argument("--async-tp", action="store_true",
                        help="--parallel tp: torch.compile runs products beside what they gather "
                        "and scatter (_micro_pipeline_tp)")
    parser.add_argument("--deterministic", action="store_true",
                        help="the same numbers in every run, by use_deterministic_algorithms()")
    parser.add_argument("--limit", type=positive_seconds, default=300.0, metavar="SECONDS",
                        help="--parallel: of a row, after which it has failed (300)")
    parser.add_argument("--seconds", type=positive_seconds, default=3.0, help="of each row (3)")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N or cpu (default: cuda)")
    parser.add_argument("--json", metavar="FILE", help="write a journal")


def parse_options(description):
    """What to train, the journal, and the options; ends the program if they are wrong."""
    parser = Parser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_model_options(parser)
    add_row_options(parser)
    options = parser.parse_args()
    check_kind(parser, options)
    check_lists(parser, options)
    trainings = find_trainings(parser, options)
    options.torch_device = find_device(parser, options)
    check_division(parser, trainings, options)
    if options.deterministic:  # as cuBLAS needs it, before it is loaded; ranks inherit it
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    return trainings, open_journal(parser, options.json), options


def refuse(parser, options, names, expected):
    for name in names:
        if getattr(options, name):
            parser.error(f"--{name.replace('_', '-')}: expected {expected}")


def check_kind(parser, options):
    kind = options.kind
    if kind != "mlp":
        refuse(parser, options, ("widths",), "--kind mlp")
    else:
        refuse(parser, options, ("model", "sequence", "layers", "recompute", "head_pieces",
                                 "parallel"), "another --kind than mlp")
    if kind != "gpt":
        refuse(parser, options, ("pad_vocabulary",), "--kind gpt")
    if kind != "qwen3":
        refuse(parser, options, ("lora",), "--kind qwen3")
    if options.parallel is None:
        refuse(parser, options, ("ranks",), "--parallel as well")
    if options.parallel != "ddp":
        refuse(parser, options, ("bucket_mb", "no_communication"), "--parallel ddp")
    else:
        options.bucket_mb = options.bucket_mb or 25
    if options.parallel != "tp":
        refuse(parser, options, ("async_tp",), "--parallel tp")
    if options.parallel in ("fsdp2", "tp"):
        refuse(parser, options, ("lora",), "--parallel ddp or none")
    if options.parallel != "fsdp2":
        refuse(parser, options, ("keep_gathered",), "--parallel fsdp2")
    if options.widths is not None and len(options.widths) < 2:
        parser.error("--widths: expected two or more, of the input and of each linear's output")


def check_lists(parser, options):
    on_cpu = options.device == "cpu"
    possible = [each for each in MODES
                if not (each.startswith("graph") and (on_cpu or options.parallel) or
                        each == "compile" and options.parallel in ("fsdp2", "tp") or
                        each == "eager" and options.async_tp or
                        each.endswith("blocks") and options.kind == "mlp")]
    options.recipe = options.recipe or ["fp32" if options.kind == "mlp" else "amp", "bf16"]
    if options.mode is None:
        usual = ["compile-blocks"] if options.parallel else ["eager", "compile", "graph"]
        options.mode = [each for each in usual if each in possible]
    for flag, chosen, known in (("recipe", options.recipe, RECIPES),
                                ("mode", options.mode, possible)):
        for each in chosen:
            if each not in known:
                parser.error(f"--{flag}: '{each}': expected one of {', '.join(known)}")


def check_division(parser, trainings, options):
    for training in trainings if options.parallel == "tp" else []:
        reason = unfit(training.config, training.rows, options.ranks)
        if reason:
            pad = "; --pad-vocabulary 128 pads it" if training.rows % options.ranks else ""
            parser.error(f"--parallel tp: {reason}{pad}")


def find_device(parser, options):
    """The first one."""
    text = options.device
    kind, _, index = text.partition(":")
    launched = int(os.environ.get("WORLD_SIZE", "1"))  # by torchrun
    if text == "cpu":
        options.ranks = options.ranks or (launched if options.parallel else 1)
        return torch.device("cpu")
    if kind != "cuda" or (text != "cuda" and not index.isdecimal()):
        parser.error(f"--device: '{text}': expected cuda, cuda:N or cpu")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    first = int(index or 0)
    options.ranks = options.ranks or (max(1, count - first) if options.parallel else 1)
    if first + options.ranks > count:
        parser.error(f"--device: '{text}': PyTorch {torch.__version__} sees {count} GPUs, expected "
                     f"{first + options.ranks}")
    return torch.device("cuda", first)


def read_configs(kind):
    with open(SPECS / f"{kind}.toml", "rb") as file:
        return {table["name"]: CONFIGS[kind](**table) for table in tomllib.load(file)["model"]}


def find_trainings(parser, options):
    if options.kind == "mlp":
        return [MlpTraining(options.widths or MLP_WIDTHS, options.batch or MLP_BATCH)]
    known = read_configs(options.kind)
    found = []
    for name in options.model or [USUAL_MODEL[options.kind]]:
        if name not in known:
            parser.error(f"--model: '{name}': expected one of {', '.join(known)}")
        config = known[name]
        if options.layers is not None and options.layers > config.layers:
            parser.error(f"--layers: {options.layers}: {name} has {config.layers}")
        changes = {key: getattr(options, key) for key in ("batch", "sequence", "layers", "lora")
                   if getattr(options, key) is not None}
        config = dataclasses.replace(config, **changes)
        found.append(TokenTraining(config, options.recompute or "none", options.head_pieces,
                                   options.pad_vocabulary or 1))
    return found


def open_journal(parser, path):
    try:
        if path and os.path.isfile(path) and os.path.getsize(path) > 0:
            parser.error(f"--json: {path} has contents: give another name")
        return Journal(path)
    except OSError as error:
        parser.error(f"--json: {path}: {error.strerror}")
