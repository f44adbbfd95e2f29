#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/help.h"
#include "collectives/collective.h"
#include "copy/nvbandwidth_set.h"
#include "copy/transfer.h"
#include "core/dtype.h"
#include "core/error.h"
#include "device/sim/platform.h"
#include "fabric/operation.h"
#include "gemm/shapes.h"
#include "halo/problem.h"
#include "overlap/scenario.h"
#include "overlap/study.h"
#include "run/suites.h"
#include "timing/mode.h"
#include "training/models/gpt_config.h"
#include "training/models/recipe.h"

namespace duet {
namespace {

using Names = std::vector<std::string>;

// For values that have a name each.
template <typename Values>
Names names_of(const Values& values) {
  Names names;
  for (const auto& each : values) names.emplace_back(name(each));
  return names;
}

// For values that hold their name.
template <typename Values>
Names own_names(const Values& values) {
  Names names;
  for (const auto& each : values) names.push_back(each.name);
  return names;
}

Names and_also(Names names, const std::string& word) {
  names.push_back(word);
  return names;
}

Names gemm_dtypes() {
  Names names = names_of(all_dtypes());
  names.erase(std::remove(names.begin(), names.end(), "int32"), names.end());
  return names;
}

Names fabric_choices() {
  Names names = {"all"};
  for (const int processes : {2, 3}) {  // some are between two only, others between more
    for (const std::string& each : names_of(fabric_operations(processes))) {
      if (std::find(names.begin(), names.end(), each) == names.end()) names.push_back(each);
    }
  }
  return names;
}

Names devices() {
  Names names = {"host", "cuda", "hip"};
  for (const std::string& platform : sim::platform_names()) names.push_back("sim:" + platform);
  return names;
}

Names study_keys() {
  Names keys;
  for (const Study& study : studies()) keys.push_back(study.key);
  return keys;
}

struct Choices {
  const char* command;  // "": of every command
  const char* option;
  Names (*names)();
};

constexpr Choices kChoices[] = {
    {"", "--device", devices},
    {"gemm", "--dtype", gemm_dtypes},
    {"", "--dtype", [] { return names_of(all_dtypes()); }},
    {"", "--mode", mode_names},
    {"gemm", "--set", [] { return shape_set_names(); }},
    {"copy", "--set", [] { return and_also(nvbandwidth_tests("nvbandwidth"), "nvbandwidth"); }},
    {"copy", "--kind",
     [] {
       return names_of(std::vector<CopyKind>{CopyKind::peer, CopyKind::local,
                                             CopyKind::host_to_device, CopyKind::device_to_host});
     }},
    {"copy", "--executor",
     [] {
       return names_of(
           std::vector<Executor>{Executor::dma, Executor::sdma, Executor::kernel, Executor::host});
     }},
    {"copy", "--issue",
     [] {
       return names_of(std::vector<Issue>{Issue::push, Issue::pull});
     }},
    {"copy", "--pattern",
     [] {
       return names_of(std::vector<Pattern>{Pattern::pair, Pattern::all_pairs});
     }},
    {"copy", "--host-memory",
     [] {
       return Names{"pinned", "pageable"};
     }},
    {"import", "--collective", [] { return names_of(all_collectives()); }},
    {"collective", "collectives", [] { return and_also(names_of(all_collectives()), "all"); }},
    {"halo", "--norm", [] { return and_also(names_of(all_norms()), "all"); }},
    {"halo", "--scaling", [] { return names_of(all_scalings()); }},
    {"halo", "--overlap",
     [] {
       return Names{"yes", "no", "both"};
     }},
    {"fabric", "operations", fabric_choices},
    {"overlap", "scenarios", [] { return and_also(scenario_set_names(), "all"); }},
    {"reproduce", "STUDY", study_keys},
    {"train", "kind",
     [] {
       return Names{"gpt", "qwen3", "mlp"};
     }},
    {"train", "--model", [] { return and_also(gpt_names(), "seed"); }},
    {"train", "--recipe", [] { return own_names(recipes()); }},
    {"gemm", "--engine",
     [] {
       return Names{"onednn",         "openblas", "fma-peak",  "cublas",          "cublaslt",
                    "cublaslt-tuned", "rocblas",  "hipblaslt", "hipblaslt-tuned", "model"};
     }},
    {"gemm", "--layout",
     [] {
       return Names{"nn", "nt", "tn"};
     }},
    {"gemm", "--epilogue",
     [] {
       return Names{"none", "gelu", "gelu_backward"};
     }},
    {"collective", "--engine",
     [] {
       return Names{
           "dma",         "kernel",        "auto",         "sdma", "host",        "nccl",
           "nccl-window", "nccl-zero-cta", "nccl-duet",    "rccl", "rccl-window", "rccl-zero-cta",
           "nvshmem",     "nvshmem-block", "nvshmem-grid", "mpi",  "vendor-model"};
     }},
    {"collective", "--datatype",
     [] {
       return Names{"float", "half", "bfloat16", "int32", "uint8",
                    "fp32",  "fp16", "bf16",     "int8",  "all"};
     }},
    {"collective", "--op", [] { return and_also(names_of(all_reductions()), "all"); }},
    {"collective", "--in-place",
     [] {
       return Names{"out", "in", "both"};
     }},
    {"collective", "--skew",
     [] {
       return Names{"even", "random", "one_heavy"};
     }},
    {"collective", "--table", [] { return Names{"nccl"}; }},
    {"halo", "--engine",
     [] {
       return Names{"dma",  "kernel",    "host",          "nccl",           "nccl-window",
                    "rccl", "nvshmem-p", "nvshmem-block", "nvshmem-signal", "mpi"};
     }},
    {"fabric", "--rail-mode",
     [] {
       return Names{"single", "split", "round_robin"};
     }},
    {"fabric", "--direction",
     [] {
       return Names{"one-way", "two-way", "both"};
     }},
    {"fabric", "--memory",
     [] {
       return Names{"host", "pinned", "device"};
     }},
    {"fabric", "--memory-path",
     [] {
       return Names{"auto", "direct", "ipc", "staged"};
     }},
    {"fabric", "--issue",
     [] {
       return Names{"direct", "blocking", "nonblocking"};
     }},
    {"fabric", "--fifo-memory",
     [] {
       return Names{"pinned", "managed", "device"};
     }},
    {"", "--provider",
     [] {
       return Names{"tcp;ofi_rxm", "tcp", "verbs;ofi_rxm", "shm", "efa"};
     }},
    {"overlap", "--policy",
     [] {
       return Names{"serial",   "base", "priority",      "partition", "priority+partition",
                    "zero-cta", "dma",  "dma+partition", "all"};
     }},
    {"advise", "--collectives", [] { return names_of(all_collectives()); }},
    {"train", "--parallel",
     [] {
       return Names{"none", "ddp", "zero3"};
     }},
    {"train", "--engine",
     [] { return Names{"none", "auto", "dma", "kernel", "nccl", "rccl", "vendor-model"}; }},
    {"train", "--optimizer",
     [] {
       return Names{"adamw", "sgd"};
     }},
    {"train", "--update",
     [] {
       return Names{"after", "beside"};
     }},
    {"train", "--recompute",
     [] {
       return Names{"none", "attention", "block"};
     }},
    {"train", "--fp8-gradients",
     [] {
       return Names{"e4m3", "e5m2"};
     }},
    {"train", "--lora-targets", [] { return names_of(all_lora_targets()); }},
    {"nccl-env", "--for",
     [] { return Names{"shell", "torchrun", "srun", "mpirun", "docker", "mpijob"}; }},
    {"run", "suite", [] { return own_names(suites()); }},
    {"completion", "shell",
     [] {
       return Names{"bash", "zsh", "fish"};
     }},
};

// The names of a command's flag ("--dtype") or positional ("suite"); none if it is not in the list.
Names choices_of(const std::string& command, const std::string& option) {
  for (const Choices& each : kChoices) {
    const bool of_command = *each.command == '\0' || command == each.command;
    if (of_command && option == each.option) return each.names();
  }
  return {};
}

bool begins_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

bool is_flag(const std::string& word) { return !word.empty() && word[0] == '-'; }

const CLI::Option* find_flag(const CLI::App& app, const std::string& word) {
  for (const CLI::Option* option : app.get_options()) {
    const Names words = flag_words(*option);
    if (std::find(words.begin(), words.end(), word) != words.end()) return option;
  }
  return nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// Of a text in several sentences the first one.
std::string first_sentence(const std::string& text) {
  return text.substr(0, std::min(text.find("; "), text.find(". ")));
}

class Completer {
 public:
  explicit Completer(std::string word) : word_(std::move(word)) {}

  void offer(const std::string& candidate, const std::string& description = "") {
    if (begins_with(candidate, word_)) {
      found_.candidates.push_back({candidate, first_sentence(description)});
    }
  }

  void offer_commands(const CLI::App& root) {
    for (const CLI::App* each : shown_commands(root)) {
      offer(each->get_name(), each->get_description());
    }
  }

  void offer_flags(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& each : flag_words(*option)) offer(each, option->get_description());
    }
  }

  // `before`: what the word begins with, such as "--device=".
  void offer_values(const CLI::App& app, const CLI::Option& option, const std::string& before) {
    const std::string name =
        option.get_positional() ? option.get_name(true) : flag_words(option).back();
    const std::size_t comma = word_.rfind(',');
    const std::string start =
        comma == std::string::npos || comma < before.size() ? before : word_.substr(0, comma + 1);
    for (const std::string& each : choices_of(app.get_name(), name)) offer(start + each);
    const std::string type = option.get_type_name();
    found_.files = type.find("FILE") != std::string::npos ||
                   type.find("FOLDER") != std::string::npos || name == "scenarios" ||
                   name == "--model" || begins_with(name, "journal");
  }

  Completion found() && { return std::move(found_); }

 private:
  std::string word_;
  Completion found_;
};

const CLI::Option* first_positional(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) return option;
  }
  return nullptr;
}

}  // namespace

Completion complete(const CLI::App& root, const std::vector<std::string>& words) {
  const std::string word = words.empty() ? "" : words.back();
  Completer completer(word);
  const CLI::App* app = nullptr;
  for (const CLI::App* each : shown_commands(root)) {
    if (words.size() > 1 && each->get_name() == words.front()) app = each;
  }
  if (app == nullptr) {
    if (words.size() > 1) return {};  // after a word that is no command
    if (is_flag(word)) {
      completer.offer_flags(root);
    } else {
      completer.offer_commands(root);
    }
    return std::move(completer).found();
  }
  const CLI::Option* before = words.size() > 2 ? find_flag(*app, words[words.size() - 2]) : nullptr;
  const std::size_t equals = word.find('=');
  if (before != nullptr && takes_value(*before) && !is_flag(word)) {
    completer.offer_values(*app, *before, "");
  } else if (is_flag(word) && equals != std::string::npos) {
    const CLI::Option* flag = find_flag(*app, word.substr(0, equals));
    if (flag != nullptr && takes_value(*flag)) {
      completer.offer_values(*app, *flag, word.substr(0, equals + 1));
    }
  } else if (is_flag(word)) {
    completer.offer_flags(*app);
  } else if (const CLI::Option* positional = first_positional(*app)) {
    completer.offer_values(*app, *positional, "");
  }
  return std::move(completer).found();
}

std::string command_with_word(const std::string& word) {
  for (const Choices& each : kChoices) {
    if (*each.option == '-' || word == "all") continue;
    const Names names = each.names();
    if (std::find(names.begin(), names.end(), word) == names.end()) continue;
    return std::string("duet ") + each.command;
  }
  return "";
}

}  // namespace duet
