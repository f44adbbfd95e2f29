#include "device/sim/platform.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "core/error.h"
#include "core/message_fixture.h"
#include "device/machine.h"
#include "device/sim/platform_composition.h"
#include "device/sim/platform_text.h"

namespace duet::sim {
namespace {

std::string complaint(const std::string& toml, const PlatformOptions& options = {}) {
  return message_of<UsageError>([&] { parse_platform("my.toml", toml, options); });
}

std::string good() { return platform_toml("mi300x-8"); }

// The text of good() in which the line that begins with `start` is replaced.
std::string with(const std::string& start, const std::string& line) {
  std::string text = good();
  const std::size_t begin = text.find("\n" + start) + 1;
  EXPECT_NE(begin, 0u) << start;
  return text.replace(begin, text.find('\n', begin) - begin, line);
}

void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' in: " << message;
  }
}

TEST(Platform, BuiltInOnesAreSound) {
  EXPECT_EQ(platform_names(),
            (std::vector<std::string>{"h200", "h200-4", "h200-8", "mi300x", "mi300x-8", "mi350x",
                                      "mi350x-8", "p5-48xlarge"}));
  for (const std::string& name : platform_names()) {
    const Platform platform = load_platform(name);
    EXPECT_EQ(platform.devices, platform.nodes * platform.node_devices);
  }
  EXPECT_EQ(load_platform("mi300x-8").device.compute_units, 304);
  EXPECT_EQ(load_platform("mi350x-8").device.compute_units, 256);
  EXPECT_EQ(load_platform("h200-4").link.topology, Topology::switched);
}

TEST(Platform, EveryFigureHasASource) {
  for (const std::string& name : platform_names()) {
    const std::string toml = platform_toml(name);
    const std::string_view text = toml;
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string_view line = text.substr(begin, end - begin);
      const std::size_t equals = line.find(" = ");
      const bool figure = equals != std::string_view::npos && line.front() != '#' &&
                          line.find_first_of("0123456789[", equals) == equals + 3;
      const bool shared = line.find("nodes = 1") == 0;
      const bool sourced = line.find('#') != std::string_view::npos;
      EXPECT_TRUE(!figure || shared || sourced) << name << ": " << line;
      begin = end + 1;
    }
  }
}

TEST(Platform, FiguresAreChangedOneByOne) {
  PlatformText text(good());
  EXPECT_EQ(text.value("device.compute_units"), 304);
  EXPECT_EQ(text.value("library.all_to_all.units"), 56);
  text.set("device.gemm.efficiency.bf16", 0.5, "mine");
  const Platform changed = parse_platform("my.toml", text.text());
  EXPECT_EQ(changed.device.gemm.efficiency.at(DType::bf16), 0.5);
  EXPECT_EQ(PlatformText(text.text()).text(), text.text());
  EXPECT_THROW(text.set("device.gemm.colour", 1, ""), Error);
  PlatformText tiles(platform_toml("h200-4"));
  tiles.set("device.gemm.other_tile.2.efficiency", 0.5, "mine");
  const auto& others = parse_platform("my.toml", tiles.text()).device.gemm.other_tiles;
  EXPECT_EQ(others.at(1).efficiency, 0.5);
  EXPECT_NE(others.at(0).efficiency, 0.5);
}

TEST(Platform, SyntaxErrorsNameTheLine) {
  expect_parts(complaint("description = \"x\"\nnodes = = 1\n"), {"my.toml:2", "expected TOML"});
}

TEST(Platform, MissingKeysAreNamed) {
  expect_parts(complaint(with("compute_units", "")),
               {"my.toml", "'device.compute_units' is missing", "a whole number from 1"});
  expect_parts(complaint(""), {"my.toml", "'description' is missing"});
  expect_parts(complaint(with("[link]", "[lnik]")), {"my.toml", "'link' is missing", "a table"});
  expect_parts(complaint(with("bf16 = 0.642", "")), {"'device.gemm.efficiency.bf16' is missing"});
}

TEST(Platform, WrongTypesAndFiguresAreNamed) {
  expect_parts(
      complaint(with("memory_gb_per_s", "memory_gb_per_s = \"fast\"")),
      {"my.toml:", "'device.memory_gb_per_s' is", "fast", "a number of GB/s from 0.1 to 1000000"});
  expect_parts(complaint(with("latency_us = 7.5", "latency_us = -7.5")),
               {"'device.dma.latency_us' is -7.5", "a number of us from 0 to 100000"});
  expect_parts(complaint(with("memory_efficiency", "memory_efficiency = 80")),
               {"'device.memory_efficiency' is 80", "from 0.001 to 1"});
  expect_parts(complaint(with("tile", "tile = [256]")),
               {"'device.gemm.tile'", "two whole numbers"});
  const std::string tile = "tile = [256, 256]\n";
  expect_parts(complaint(with("tile", tile + "most_splits = 0")),
               {"'device.gemm.most_splits' is 0", "from 1 to 64"});
  expect_parts(complaint(with("tile", tile + "other_tile = [{tile = [64, 64], efficiency = 2}]")),
               {"'device.gemm.other_tile[0].efficiency' is 2", "from 0.001 to 1"});
  expect_parts(complaint(with("topology", "topology = \"ring\"")),
               {"'link.topology' is", "ring", "\"mesh\" or \"switch\""});
  expect_parts(complaint(with("devices = 8", "devices = 1.5")), {"'devices' is 1.5", "whole"});
  expect_parts(complaint(with("nodes", "nodes = 0")), {"'nodes' is 0", "whole number from 1"});
  expect_parts(complaint(with("dma_push_gb_per_s", "dma_push_gb_per_s = 65")),
               {"'link.dma_push_gb_per_s' is 65", "at most raw_gb_per_s"});
  expect_parts(complaint(with("raw_gb_per_s", "raw_gb_per_s = inf")), {"'link.raw_gb_per_s'"});
  expect_parts(complaint(with("poll_us", "poll_us = 1e-9")),
               {"'host.poll_us' is 1e-09", "a number of us from 0.1 to 1000"});
  expect_parts(complaint(with("devices = 8", "devices = 9223372036854775807")),
               {"'devices' is 9223372036854775807", "from 1 to 1024"});
  expect_parts(complaint(with("devices = 8", "devices = 1024"), {0, 9, {}}),
               {"'devices' is 1024", "at most 8192 on 9 nodes together"});
}

TEST(Platform, BytesTakeUnits) {
  const auto cache = [](const std::string& line) {
    return parse_platform("my.toml", with("cache_mib", line)).device.cache_bytes;
  };
  EXPECT_EQ(cache("cache_mib = 384"), 384u << 20);
  EXPECT_EQ(cache("cache_mib = \"384M\""), 384u << 20);
  EXPECT_EQ(cache("cache_mib = \"384 MB\""), 384000000u);
  for (const char* wrong : {"\"much\"", "\"16777217G\"", "-1", "1e308", "true", "\"\""}) {
    expect_parts(complaint(with("cache_mib", std::string("cache_mib = ") + wrong)),
                 {"'device.cache_mib' is", "a number of MiB from 0 to 1000000, or a text as"});
  }
}

TEST(Platform, UnknownKeysAreNamed) {
  expect_parts(complaint(with("copy_us", "copy_us = 1\ncopy_uss = 2")),
               {"my.toml:", "unknown key 'host.copy_uss'", "expected one of memory_gib"});
  expect_parts(complaint(with("tf32 = 653.7", "tf23 = 653.7")),
               {"'device.peak_tflops.tf23'", "fp32, tf32"});
}

TEST(Platform, OpensByNameAndByFile) {
  EXPECT_EQ(open_machine("sim:h200-4")->size(), 4);
  EXPECT_EQ(open_machine("sim:h200-8:nodes=1")->size(), 8);
  EXPECT_EQ(open_machine("sim:h200-8:nodes=1")->name(), "sim:h200-8");
  const auto cluster = open_machine("sim:p5-48xlarge:nodes=3");
  EXPECT_EQ(cluster->size(), 24);
  EXPECT_EQ(cluster->name(), "sim:p5-48xlarge:nodes=3");
  EXPECT_EQ(open_machine("sim:p5-48xlarge:rails=round-robin:nodes=3")->name(),
            "sim:p5-48xlarge:nodes=3:rails=round-robin");
  EXPECT_EQ(cluster->link(0, 7).kind, "NVLink");
  EXPECT_EQ(cluster->link(0, 8).kind, "EFA");
  EXPECT_EQ(cluster->link(0, 8).gb_per_s, 50);
  const std::string path = ::testing::TempDir() + "/duet_platform_test.toml";
  std::ofstream(path) << good();
  EXPECT_EQ(open_machine("sim:" + path)->device(7).info().name, "sim:" + path + ":7");
  std::remove(path.c_str());
}

std::string refusal(const std::string& device) {
  return message_of<UsageError>([&] { open_machine(device); });
}

TEST(Platform, WhatCannotBeOpenedSaysWhatCan) {
  for (const char* device : {"sim", "sim:", "sim:mi301x", "sim:/nowhere/x.toml", "sim:/",
                             "sim:h200-4:nodes=0", "sim:h200-4:nodes=x", "sim:h200-4:rails=one",
                             "sim:h200-4:node=2", "sim:h200-4:nodes=2000"}) {
    expect_parts(refusal(device), {"expected"});
  }
}

TEST(Platform, AnAliasIsItsPlatformWithANumberOfDevices) {
  const auto name = [](const std::string& device) { return open_machine("sim:" + device)->name(); };
  EXPECT_EQ(name("h200:devices=4"), "sim:h200-4");
  EXPECT_EQ(name("h200"), "sim:h200-8");
  EXPECT_EQ(name("h200:devices=8:nodes=2"), "sim:h200-8:nodes=2");
  EXPECT_EQ(name("mi300x:devices=8"), "sim:mi300x-8");
  EXPECT_EQ(name("h200:devices=2"), "sim:h200:devices=2");
  EXPECT_EQ(name("h200:nodes=2:devices=2:rails=round-robin"),
            "sim:h200:devices=2:nodes=2:rails=round-robin");
  EXPECT_EQ(name("p5-48xlarge:devices=8"), "sim:p5-48xlarge:nodes=2");
  EXPECT_EQ(name("p5-48xlarge:devices=4"), "sim:p5-48xlarge:devices=4:nodes=2");
  const auto two = open_machine("sim:h200:devices=2");
  EXPECT_EQ(two->size(), 2);
  EXPECT_EQ(two->device(1).info().name, "sim:h200:devices=2:1");
  EXPECT_EQ(two->device(1).info().details.at("platform"), "2 x NVIDIA H200, connected by NVSwitch");
  EXPECT_EQ(open_machine(two->name())->name(), two->name());
}

TEST(Platform, NumbersOfDevicesThatCannotBeAreRefusedInWords) {
  for (const char* number : {"0", "-1", "9", "x", "", "2x", "99999999999"}) {
    expect_parts(refusal(std::string("sim:h200:devices=") + number),
                 {"devices=", "expected devices from 1 to 8, not '" + std::string(number) + "'"});
  }
  expect_parts(refusal("sim:h200:device=2"), {"expected devices=N, nodes=N", "not device=2"});
  expect_parts(refusal("sim:h200-4:devices=2"), {"it has 4 devices", "sim:h200:devices=2"});
  expect_parts(refusal("sim:mi300x8"), {"did you mean 'mi300x-8'?"});
  EXPECT_THROW(load_platform("h200", {9, 0, {}}), UsageError);
  EXPECT_THROW(load_platform("h200", {8, 1025, {}}), UsageError);
}

// platform_toml() has the same figures as the platform file together with its device spec.
TEST(Platform, SelfContainedTextsHaveTheFiguresOfFileAndDeviceSpec) {
  for (const std::string& name : platform_names()) {
    const auto file = built_in_platforms().find(name.substr(0, name.rfind('-')));
    const auto exact = built_in_platforms().find(name);
    const std::string_view own = (exact != built_in_platforms().end() ? exact : file)->second;
    toml::table merged = completed(name, toml::parse(own));
    const toml::table text = toml::parse(platform_toml(name));
    for (const char* key : {"device_spec", "most_devices", "aliases", "devices", "description"}) {
      merged.erase(key);
    }
    toml::table alone = text;
    alone.erase("devices");
    alone.erase("description");
    EXPECT_EQ(merged, alone) << name;
    const Platform platform = parse_platform(name, platform_toml(name));
    EXPECT_EQ(platform.devices, load_platform(name).devices);
    EXPECT_EQ(platform.description, load_platform(name).description);
  }
}

const char* const kMine = R"(description = "mine"
device_spec = "h200-sxm"
nodes = 1
devices = 3
[link]
dma_push_gb_per_s = 200
[device.gemm.efficiency]
bf16 = 0.5
[network]
kind = "RoCE"
rails = 1
rail_gb_per_s = 50
efficiency = 0.97
latency_us = 5
[host]
memory_gib = 2048
copy_gb_per_s = 12
copy_us = 1
poll_us = 1
pinned_gb_per_s = 55
pageable_gb_per_s = 10
link_us = 1
)";

TEST(Platform, AFileCompletesItselfByADeviceSpec) {
  const std::string mine = kMine;
  const Platform platform = parse_platform("my.toml", mine);
  const Platform h200 = load_platform("h200-4");
  EXPECT_EQ(platform.devices, 3);
  EXPECT_EQ(platform.link.dma_push_rate, 200e9);
  EXPECT_EQ(platform.link.raw_rate, h200.link.raw_rate);
  EXPECT_EQ(platform.device.gemm.efficiency.at(DType::bf16), 0.5);
  EXPECT_EQ(platform.device.gemm.efficiency.at(DType::fp16),
            h200.device.gemm.efficiency.at(DType::fp16));
  EXPECT_EQ(platform.device.peak, h200.device.peak);
  EXPECT_EQ(platform.library.name, "NCCL");
  PlatformText text(self_contained("my.toml", mine, 3));
  EXPECT_EQ(text.value("link.dma_push_gb_per_s"), 200);
  EXPECT_EQ(text.value("link.dma_pull_gb_per_s"), 372);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string toml = mine;
    return complaint(toml.replace(toml.find(from), from.size(), to));
  };
  expect_parts(changed("dma_push_gb_per_s = 200", "dma_push_gb_per_s = 451"),
               {"my.toml:6: 'link.dma_push_gb_per_s' is 451", "at most raw_gb_per_s"});
  expect_parts(changed("dma_push_gb_per_s = 200", "raw_gb_per_s = 100"),
               {"my.toml (device spec h200-sxm): 'link.dma_push_gb_per_s' is 391", "at most"});
  expect_parts(changed("dma_push", "dma_shove"),
               {"my.toml:6: unknown key 'link.dma_shove_gb_per_s'"});
  expect_parts(changed("h200-sxm", "h200"), {"my.toml:2: 'device_spec' is 'h200'", "h200-sxm",
                                             "expected one with figures of a simulation"});
  expect_parts(changed("\"h200-sxm\"", "200"), {"my.toml:2: 'device_spec'", "expected one"});
  expect_parts(changed("h200-sxm", "b200"), {"'device_spec' is 'b200'", "expected one"});
}

}  // namespace
}  // namespace duet::sim
