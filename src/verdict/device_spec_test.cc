#include "verdict/device_spec.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/error.h"
#include "core/message_fixture.h"
#include "verdict/device_spec_fixture.h"

namespace duet {
namespace {

TEST(Promises, EveryFileOfSpecsDevicesIsReadAndNamesItsModelsOnce) {
  std::map<std::string, std::string> files;
  for (const DeviceSpec& spec : device_specs()) {
    for (const std::string& model : spec.models) {
      EXPECT_TRUE(files.emplace(model, spec.file).second) << model;
      EXPECT_EQ(find_device_spec(model), &spec);
    }
    EXPECT_NE(spec.sources, "") << spec.file;
    for (const auto& [dtype, efficiency] : spec.efficiency) {
      EXPECT_EQ(spec.tflops.count(dtype), 1u) << spec.file << ": " << name(dtype);
    }
  }
  for (const char* model : {"AMD Instinct MI300X", "AMD Instinct MI350X", "AMD Instinct MI355X",
                            "NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA B200",
                            "NVIDIA A100-SXM4-80GB", "NVIDIA L40S"}) {
    EXPECT_EQ(files.count(model), 1u) << model;
  }
  EXPECT_EQ(find_device_spec("Some GPU"), nullptr);
}

TEST(Promises, SimulatedFiguresOfEveryWorkHaveABasis) {
  for (const char* model :
       {"NVIDIA H200", "NVIDIA H100 80GB HBM3", "AMD Instinct MI300X", "AMD Instinct MI350X"}) {
    for (const char* work : {"gemm", "copy", "collective", "overlap", "overlap_isolated", "halo",
                             "train", "train_run"}) {
      const SimulatedBasis* basis = simulated_basis(model, work);
      ASSERT_NE(basis, nullptr) << model << ' ' << work;
      EXPECT_NE(basis->fitted_to, "");
    }
    EXPECT_EQ(simulated_basis(model, "gem"), nullptr);
  }
  EXPECT_EQ(simulated_basis("AMD Instinct MI300X", "gemm")->compared_with, "");
  EXPECT_NE(simulated_basis("NVIDIA H200", "overlap")->compared_with, "");
  EXPECT_EQ(simulated_basis("no such model", "gemm"), nullptr);
}

TEST(Promises, BadTextsAreRefusedByName) {
  const auto complaint = [](const std::string& from, const std::string& to) {
    std::string text = kMakerOne;
    text.replace(text.find(from), from.size(), to);
    return message_of<UsageError>([&] { parse_device_spec("one.toml", text); });
  };
  EXPECT_EQ(complaint("bf16 = 1000", "bf16 = 1000"), "");
  EXPECT_EQ(complaint("watts = 700", "watts = 700\n[simulation]\nsignal_us = 1"), "");
  EXPECT_TRUE(contains(complaint("gb_per_s = 4000", "gb_per_s = -1"), "memory.gb_per_s"));
  EXPECT_TRUE(contains(complaint("bf16 = 1000", "bfloat = 1"), "bfloat"));
  EXPECT_TRUE(contains(complaint("\"switch\"", "\"ring\""), "mesh"));
  EXPECT_TRUE(contains(complaint("executor = \"dma\"", "mover = \"dma\""), "unknown key"));
  EXPECT_TRUE(contains(complaint("efficiency = 0.85", "efficiency = 1.5"), "from 0.001 to 1"));
  const auto of_line = [&](const std::string& sizes, const std::string& rates) {
    return complaint("watts = 700",
                     "watts = 700\n[healthy]\ncollective = [{collective = \"all_gather\", engine = "
                     "\"dma\", spread = 1.1, bus_bytes = " +
                         sizes + ", gb_per_s = " + rates + "}]");
  };
  EXPECT_EQ(of_line("[1024, 2048]", "[1, 2.5]"), "");
  EXPECT_TRUE(contains(of_line("[1024, 1024]", "[1, 2.5]"), "rising sizes"));
  EXPECT_TRUE(contains(of_line("[1024, 2048]", "[1]"), "2 rates, as many as bus_bytes"));
  EXPECT_TRUE(contains(of_line("[1024]", "[0]"), "GB/s"));
  EXPECT_TRUE(contains(complaint("[\"One\", \"One 80GB\"]", "[]"), "a list of texts"));
}

}  // namespace
}  // namespace duet
