// Qwen3 models that are saved as the transformers library saves them, whole and by several ranks.
#include "training/models/qwen3_folder.h"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/random.h"
#include "training/models/qwen3_folder_fixture.h"

namespace duet {
namespace {

// Parameters of a tiny Qwen3, or a rank's shard of them, with random numbers.
struct FolderParameters {
  explicit FolderParameters(Device& device, const std::string& recipe = "fp32",
                            const ModelShard& shard = {}, std::uint64_t seed = 1)
      : parameters(with_blocks(duet::parameters(find_qwen3("tiny"))), find_recipe(recipe), {},
                   shard) {
    parameters.lay_out(memory);
    memory.allocate(device);
    parameters.lay_out(memory);
    for (const Parameters::Kept& each : parameters.kept()) {
      const Tensor& own = each.tensors.parameters;
      for (std::int64_t i = 0; i < own.count(); ++i) {
        const auto element = static_cast<std::uint64_t>(each.first + i);
        const auto word = static_cast<std::uint32_t>(random_word(seed + each.parameter, element));
        const std::uint32_t bits = (word & 0x8fffffff) | 0x30000000;  // neither NaN nor infinite
        const std::size_t bytes = size_of(own.dtype);
        std::memcpy(own.span.data + static_cast<std::size_t>(i) * bytes,
                    reinterpret_cast<const char*>(&bits) + 4 - bytes, bytes);
      }
    }
  }

  std::vector<CheckpointTensor> tensors() const { return all(&OptimizerTensors::parameters); }
  std::vector<CheckpointTensor> master() const { return all(&OptimizerTensors::master); }

  std::vector<CheckpointTensor> all(Tensor OptimizerTensors::*which) const {
    const DType dtype = (parameters.types().*which).dtype;
    std::vector<CheckpointTensor> tensors;
    for (const TrainedParameter& each : parameters.all()) {
      const ModelParameter& about = each.about;
      tensors.push_back({about.name, {{}, about.rows, about.columns, dtype}});
      tensors.back().part = Tensor{{}, 1, 0, dtype};
    }
    for (const Parameters::Kept& each : parameters.kept()) {
      tensors[each.parameter].part = each.tensors.*which;
      tensors[each.parameter].first = each.first;
    }
    return tensors;
  }

  Parameters parameters;
  MemoryPlan memory;
};

TEST_F(Qwen3FolderTest, ComesBack) {
  for (const char* recipe : {"fp32", "amp"}) {
    for (const std::uint64_t most : {kMostShardBytes, std::uint64_t{40000}}) {
      FolderParameters one(device(), recipe), other(device(), recipe, {}, 2);
      ASSERT_NE(bytes_here(one.tensors()), bytes_here(other.tensors()));
      save_qwen3_folder(folder_, find_qwen3("tiny"), one.tensors(), most);
      Qwen3Config config = read_qwen3_folder(folder_);
      load_qwen3_folder(folder_, config, other.tensors());
      EXPECT_TRUE(bytes_here(one.tensors()) == bytes_here(other.tensors())) << recipe << most;
      EXPECT_EQ(config.sequence, find_qwen3("tiny").sequence);
      EXPECT_EQ(config.positions, config.sequence);
      EXPECT_EQ(parameter_count(config), parameter_count(find_qwen3("tiny")));
    }
  }
}

TEST_F(Qwen3FolderTest, HasTheLibrarysForm) {
  write("model.safetensors", library_file(library_tensors_of_test(), "F32"));
  const std::vector<CheckpointTensor> tensors = library_memory(DType::bf16);
  load_library(tensors);
  const std::string saved = folder_ + "/a/b";
  const Qwen3Config config = qwen3_from_json("", kLibraryConfig);
  save_qwen3_folder(saved, config, tensors);
  std::string expected = kLibraryConfig;
  for (const char* dropped : {"  \"bos_token_id\": 151643,\n", "  \"eos_token_id\": 151645,\n",
                              "  \"transformers_version\": \"4.51.0\",\n"}) {
    expected = replaced(expected, dropped, "");
  }
  EXPECT_EQ(nlohmann::json::parse(text("a/b/config.json")), nlohmann::json::parse(expected));
  const Checkpoint file(saved + "/model.safetensors");
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  ASSERT_EQ(file.entries().size(), library_tensors_of_test().size());
  const std::string bytes = text("a/b/model.safetensors");
  for (const FileTensor& each : library_tensors_of_test()) {
    const CheckpointEntry& entry = file.entries().at(each.name);
    EXPECT_EQ(entry.dtype, DType::bf16);
    EXPECT_EQ(entry.shape, std::vector<std::uint64_t>(each.shape.begin(), each.shape.end()));
    std::string elements;
    for (int i = 0; i < each.count(); ++i) elements += element_bytes("BF16", each.first + i);
    EXPECT_EQ(bytes.substr(bytes.size() - 194 + entry.begin, elements.size()), elements)
        << each.name;
  }
}

// Two experts of width 2 in place of the FFN: what stands where, and the file's names and types.
TEST_F(Qwen3FolderTest, HasATensorOfEachExpertsLinears) {
  std::vector<FileTensor> file;
  for (const FileTensor& each : library_tensors_of_test()) {
    if (each.name.find(".mlp.") == std::string::npos) file.push_back(each);
  }
  const std::string mlp = "model.layers.0.mlp.";
  const std::vector<FileTensor> experts = {{mlp + "experts.0.down_proj.weight", {3, 2}, 100},
                                           {mlp + "experts.0.gate_proj.weight", {2, 3}, 110},
                                           {mlp + "experts.0.up_proj.weight", {2, 3}, 120},
                                           {mlp + "experts.1.down_proj.weight", {3, 2}, 130},
                                           {mlp + "experts.1.gate_proj.weight", {2, 3}, 140},
                                           {mlp + "experts.1.up_proj.weight", {2, 3}, 150},
                                           {mlp + "gate.weight", {2, 3}, 160}};
  file.insert(file.begin() + 3, experts.begin(), experts.end());
  write("model.safetensors", library_file(file, "F32"));
  write("config.json", kLibraryMoeConfig);
  const Qwen3Config config = read_qwen3_folder(folder_, true);
  const std::vector<CheckpointTensor> tensors = memory_of(config, DType::fp32);
  load_qwen3_folder(folder_, config, tensors);
  const auto values = [&](const std::string& name) {
    std::vector<float> all;
    for (const CheckpointTensor& each : tensors) {
      if (each.name != name) continue;
      for (std::int64_t i = 0; i < each.tensor.count(); ++i)
        all.push_back(load(DType::fp32, each.tensor.span.data + 4 * i));
    }
    return all;
  };
  const auto rising = [](std::initializer_list<int> firsts) {
    std::vector<float> all;
    for (const int first : firsts) {
      for (int i = 0; i < 6; ++i) all.push_back(static_cast<float>(first + i));
    }
    return all;
  };
  EXPECT_EQ(values("block.0.router.weight"), rising({160}));
  EXPECT_EQ(values("block.0.experts_in.weight"), rising({110, 120, 140, 150}));
  EXPECT_EQ(values("block.0.experts_out.weight"), rising({100, 130}));

  const std::string saved = folder_ + "/saved";
  save_qwen3_folder(saved, config, tensors);
  const Checkpoint written(saved + "/model.safetensors");
  EXPECT_EQ(written.entries().size(), file.size());
  for (const FileTensor& each : file) {
    EXPECT_EQ(written.entries().at(each.name).shape,
              std::vector<std::uint64_t>(each.shape.begin(), each.shape.end()))
        << each.name;
  }
  const std::vector<CheckpointTensor> again = memory_of(config, DType::fp32);
  load_qwen3_folder(saved, config, again);
  EXPECT_TRUE(bytes_here(again) == bytes_here(tensors));
  EXPECT_EQ(nlohmann::json::parse(text("saved/config.json")),
            nlohmann::json::parse(kLibraryMoeConfig));
}

TEST_F(Qwen3FolderTest, OfOneRowKeepsMatrices) {
  Qwen3Config config = qwen3_from_json("", kLibraryConfig);
  config.ffn_width = config.width = 1;
  std::vector<CheckpointTensor> tensors;
  for (const ModelParameter& about : parameters(config)) {
    Tensor tensor{{}, about.rows, about.columns, DType::fp32};
    buffers_.push_back(device().allocate(tensor.bytes()));
    tensor.span = buffers_.back().span();
    std::memset(tensor.span.data, 0, tensor.span.bytes);
    tensors.push_back({about.name, tensor});
  }
  save_qwen3_folder(folder_, config, tensors);
  const Checkpoint file(folder_ + "/model.safetensors");
  const std::vector<std::uint64_t> matrix{1, 1}, vector{1};
  EXPECT_EQ(file.entries().at("model.layers.0.mlp.up_proj.weight").shape, matrix);
  EXPECT_EQ(file.entries().at("model.norm.weight").shape, vector);
  load_qwen3_folder(folder_, config, tensors);
}

TEST_F(Qwen3FolderTest, IsDividedAsTheLibraryDoes) {
  write("model.safetensors", library_file(library_tensors_of_test(), "F32"));
  const std::vector<CheckpointTensor> tensors = library_memory(DType::fp32);
  load_library(tensors);
  const Qwen3Config config = qwen3_from_json("", kLibraryConfig);
  write("tokenizer.json", "{}");
  write("model-0000x-of-00002.safetensors", "of somebody else");
  save_qwen3_folder(folder_, config, tensors, 100);  // bytes: 25 elements
  const nlohmann::json index = nlohmann::json::parse(text("model.safetensors.index.json"));
  EXPECT_EQ(index["metadata"]["total_size"], 97 * 4);
  std::map<std::string, std::uint64_t> bytes;
  for (const FileTensor& each : library_tensors_of_test()) {
    bytes[index["weight_map"][each.name]] += 4 * static_cast<std::uint64_t>(each.count());
  }
  EXPECT_EQ(index["weight_map"].size(), library_tensors_of_test().size());
  std::set<std::string> expected = {"config.json", "model.safetensors.index.json",
                                    "model-0000x-of-00002.safetensors", "tokenizer.json"};
  for (const auto& [file, count] : bytes) {
    EXPECT_LE(count, 100u);
    EXPECT_EQ(file,
              fmt::format("model-0000{}-of-0000{}.safetensors", expected.size() - 3, bytes.size()));
    expected.insert(file);
  }
  EXPECT_EQ(names(), expected);  // model.safetensors, which readers would take, is gone
  save_qwen3_folder(folder_, config, tensors, 1);  // each tensor has more
  EXPECT_EQ(names().size(), 4 + library_tensors_of_test().size());
  save_qwen3_folder(folder_, config, tensors, 97 * 4);
  EXPECT_EQ(names(), (std::set<std::string>{"config.json", "model-0000x-of-00002.safetensors",
                                            "model.safetensors", "tokenizer.json"}));
  const std::vector<CheckpointTensor> other = library_memory(DType::fp32);
  load_library(other);
  expect_library_values(other);
}

TEST_F(Qwen3FolderTest, ThatCannotBeWrittenStaysAsItWas) {
  FolderParameters one(device()), other(device(), "fp32", {}, 2);
  const Qwen3Config tiny = find_qwen3("tiny");
  for (const std::uint64_t most : {kMostShardBytes, std::uint64_t{40000}}) {
    save_qwen3_folder(folder_, tiny, one.tensors(), most);
    const auto before = texts();
    rlimit limit{};  // a full disk: writes fail in the middle, after whole files
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{45000, limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT_THROW(save_qwen3_folder(folder_, tiny, other.tensors(), most), Error);
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, handler);
    EXPECT_TRUE(texts() == before) << most;
  }
  write("file", "");
  EXPECT_EQ(refusal([&] { save_qwen3_folder(folder_ + "/file", tiny, one.tensors()); }),
            "file: cannot be created: Not a directory: expected a folder for a model");
}

// What happened to names in a folder, in its order: "removed NAME", "placed NAME".
class FolderEvents {
 public:
  explicit FolderEvents(const std::string& folder) : events_(inotify_init1(IN_NONBLOCK)) {
    EXPECT_GE(inotify_add_watch(events_, folder.c_str(), IN_DELETE | IN_MOVED_TO), 0);
  }
  ~FolderEvents() { ::close(events_); }
  FolderEvents(const FolderEvents&) = delete;
  FolderEvents& operator=(const FolderEvents&) = delete;

  std::vector<std::string> seen() const {
    std::vector<std::string> all;
    alignas(inotify_event) char bytes[1 << 16];
    const ssize_t count = ::read(events_, bytes, sizeof bytes);
    for (ssize_t at = 0; at < count;) {
      const auto* event = reinterpret_cast<const inotify_event*>(bytes + at);
      all.push_back(((event->mask & IN_DELETE) != 0 ? "removed " : "placed ") +
                    std::string(event->name));
      at += static_cast<ssize_t>(sizeof *event + event->len);
    }
    return all;
  }

 private:
  int events_;
};

// Whenever it ends, the folder has one model as a whole, or none: an index never names files of
// two.
TEST_F(Qwen3FolderTest, IsPutInPlaceInAnOrderThatNeverMixesModels) {
  const FolderParameters one(device());
  const Qwen3Config tiny = find_qwen3("tiny");
  const auto save = [&](std::uint64_t most) {
    const FolderEvents events(folder_);
    save_qwen3_folder(folder_, tiny, one.tensors(), most);
    return events.seen();
  };
  const std::string first = "model-00001-of-00002.safetensors",
                    second = "model-00002-of-00002.safetensors", whole = "model.safetensors",
                    index = "model.safetensors.index.json";
  using Events = std::vector<std::string>;
  EXPECT_EQ(save(kMostShardBytes), (Events{"placed " + whole, "placed config.json"}));
  const Events shards = {"placed " + first, "placed " + second, "placed " + index,
                         "placed config.json"};
  Events expected = shards;
  expected.push_back("removed " + whole);
  EXPECT_EQ(save(250000), expected);
  expected = shards;
  expected.insert(expected.begin(), "removed " + index);
  EXPECT_EQ(save(250000), expected);
  Events last = save(kMostShardBytes);
  ASSERT_EQ(last.size(), 5u);
  std::sort(last.begin() + 3, last.end());
  EXPECT_EQ(last, (Events{"placed " + whole, "placed config.json", "removed " + index,
                          "removed " + first, "removed " + second}));
}

TEST_F(Qwen3FolderTest, KeepsFilesIfOneCannotBeRemoved) {
  std::filesystem::create_directories(folder_ + "/full/folder");
  write("a", "old");
  CheckpointFiles files;
  files.texts = {{folder_ + "/a", "new"}, {folder_ + "/b", "new"}};
  files.removed_before = {folder_ + "/full"};
  EXPECT_THROW(save_checkpoints(files), Error);
  EXPECT_EQ(text("a"), "old");
  EXPECT_EQ(names(), (std::set<std::string>{"a", "full"}));
}

TEST_F(Qwen3FolderTest, OfWrongParametersIsRefused) {
  FolderParameters one(device());
  const Qwen3Config tiny = find_qwen3("tiny");
  const std::vector<CheckpointTensor> good = one.tensors();
  const auto refused = [&](const std::vector<CheckpointTensor>& tensors, bool load) {
    EXPECT_THROW(save_qwen3_folder(folder_ + "/new", tiny, tensors), BadArgument);
    if (load) {
      EXPECT_THROW(load_qwen3_folder(folder_, tiny, tensors), BadArgument);
    }
  };
  save_qwen3_folder(folder_, tiny, good);
  auto tensors = good;
  tensors.pop_back();
  refused(tensors, true);
  tensors = good;
  tensors.push_back(good[0]);
  refused(tensors, false);
  tensors = good;
  tensors[1].name = "another";
  refused(tensors, true);
  tensors = good;
  tensors[1].tensor.rows = 2;
  refused(tensors, true);
  tensors = good;
  tensors[1].tensor.dtype = tensors[1].part->dtype = DType::int32;
  refused(tensors, true);
  tensors = good;
  tensors[1].first = 1;
  refused(tensors, true);
  tensors = good;
  tensors[1].part->dtype = tensors[1].tensor.dtype = DType::bf16;
  refused(tensors, false);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/new"));
}

TEST_F(Qwen3FolderTest, OfSeveralRanksIsWrittenAndReadByParts) {
  const Qwen3Config tiny = find_qwen3("tiny");
  FolderParameters whole(device(), "amp");
  const auto machine = open_machine("host:2");
  Team team(*machine);
  for (const std::uint64_t most : {kMostShardBytes, std::uint64_t{40000}}) {
    std::filesystem::remove_all(folder_);
    save_qwen3_folder(folder_, tiny, whole.tensors(), most);
    const auto expected = texts();
    std::filesystem::remove_all(folder_);
    team.each([&](Rank& rank) {
      const FolderParameters part(rank.device, "amp", Shard{rank.index, 2});
      save_qwen3_folder(rank, folder_, tiny, part.tensors(), most);
    });
    EXPECT_TRUE(texts() == expected) << most;
    team.each([&](Rank& rank) {
      const FolderParameters part(rank.device, "amp", Shard{rank.index, 2});
      const FolderParameters other(rank.device, "amp", Shard{rank.index, 2}, 2);
      std::vector<CheckpointTensor> both = other.tensors();
      const std::vector<CheckpointTensor> master = other.master();
      both.insert(both.end(), master.begin(), master.end());
      load_qwen3_folder(folder_, tiny, both);
      EXPECT_TRUE(bytes_here(other.tensors()) == bytes_here(part.tensors()));
      std::string rounded;
      for (const CheckpointTensor& each : master) {
        for (std::int64_t i = 0; i < each.part->count(); ++i) {
          const std::byte* at = each.part->span.data + 4 * i;
          EXPECT_EQ(std::to_integer<int>(at[0]) + std::to_integer<int>(at[1]), 0);
          rounded.append(reinterpret_cast<const char*>(at) + 2, 2);
        }
      }
      EXPECT_TRUE(rounded == bytes_here(part.tensors()));
    });
  }
}

TEST_F(Qwen3FolderTest, OfSeveralRanksIsWrittenAsAWholeOrNotAtAll) {
  const Qwen3Config tiny = find_qwen3("tiny");
  FolderParameters whole(device());
  save_qwen3_folder(folder_, tiny, whole.tensors(), 40000);
  const auto before = texts();
  const auto machine = open_machine("host:2");
  Team team(*machine);
  const auto save = [&](Rank& rank, const std::string& folder, bool wrong) {
    const FolderParameters part(rank.device, "fp32", Shard{rank.index, 2}, 2);
    std::vector<CheckpointTensor> tensors = part.tensors();
    if (wrong && rank.index == 1) tensors.pop_back();
    save_qwen3_folder(rank, folder, tiny, tensors, 40000);
  };
  team.each([&](Rank& rank) {
    EXPECT_THROW(save(rank, folder_, true), BadArgument);
    rank.team.barrier("both ranks to have thrown");
    EXPECT_THROW(save(rank, folder_ + "/config.json", false), UsageError);
    rank.team.barrier("both ranks to have thrown");
  });
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{45000, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  team.each([&](Rank& rank) { EXPECT_THROW(save(rank, folder_, false), Error); });
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(texts() == before);
}

}  // namespace
}  // namespace duet
