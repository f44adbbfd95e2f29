#include "fabric/selection.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "core/error.h"

namespace duet {
namespace {

// Two switches: a GPU and a NIC below the first, a NIC below the second.
constexpr const char* kMachine = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
 <object type="Machine" os_index="0" cpuset="0x1" complete_cpuset="0x1" allowed_cpuset="0x1"
         nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
  <object type="NUMANode" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
          complete_nodeset="0x1" gp_index="2"/>
  <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
          complete_nodeset="0x1" gp_index="3"/>
  <object type="Bridge" gp_index="4" bridge_type="0-1" depth="0" bridge_pci="0000:[00-06]">
   <object type="Bridge" gp_index="5" bridge_type="1-1" depth="1" bridge_pci="0000:[01-03]"
           pci_busid="0000:00:01.0" pci_type="0604 [1000:c030] [0000:0000] 00" pci_link_speed="0">
    <object type="PCIDev" gp_index="6" pci_busid="0000:02:00.0"
            pci_type="0302 [10de:2330] [10de:16c1] a1" pci_link_speed="0"/>
    <object type="PCIDev" gp_index="7" pci_busid="0000:03:00.0"
            pci_type="0200 [15b3:1021] [15b3:0000] 00" pci_link_speed="0">
     <object type="OSDev" gp_index="8" name="near0" osdev_type="2"/>
    </object>
   </object>
   <object type="Bridge" gp_index="9" bridge_type="1-1" depth="1" bridge_pci="0000:[04-06]"
           pci_busid="0000:00:02.0" pci_type="0604 [1000:c030] [0000:0000] 00" pci_link_speed="0">
    <object type="PCIDev" gp_index="10" pci_busid="0000:05:00.0"
            pci_type="0200 [15b3:1021] [15b3:0000] 00" pci_link_speed="0">
     <object type="OSDev" gp_index="11" name="far0" osdev_type="2"/>
    </object>
   </object>
  </object>
 </object>
</topology>
)";

class Description : public ::testing::Test {
 protected:
  Description() {
    const std::string file = ::testing::TempDir() + "description_test.xml";
    std::ofstream(file) << kMachine;
    setenv("HWLOC_XMLFILE", file.c_str(), 1);
    if (const char* before = std::getenv(kComponents)) components_ = before;
    setenv(kComponents, "xml,stop", 1);  // no other component
  }
  ~Description() override {
    unsetenv("HWLOC_XMLFILE");
    unsetenv(kComponents);
    if (components_) setenv(kComponents, components_->c_str(), 1);
  }

  static constexpr const char* kComponents = "HWLOC_COMPONENTS";
  std::optional<std::string> components_;
  std::vector<RailInfo> rails_{{"far0", "", 100}, {"near0", "", 100}, {"shm", "", 0}};
};

TEST_F(Description, CountsTheHopsToTheDevice) {
  describe_rails(rails_, "0000:02:00.0");
  EXPECT_EQ(rails_[0].pci_hops, 4);
  EXPECT_EQ(rails_[1].pci_hops, 2);
  EXPECT_EQ(rails_[2].pci_hops, -1);
  EXPECT_EQ(rails_[0].numa_node, 0);
  EXPECT_EQ(rails_[2].numa_node, -1);
}

TEST_F(Description, WithoutADeviceThereAreNoHops) {
  describe_rails(rails_);
  EXPECT_EQ(rails_[1].pci_hops, -1);
  describe_rails(rails_, "0000:77:00.0");
  EXPECT_EQ(rails_[1].pci_hops, -1);
  EXPECT_EQ(rails_[1].numa_node, 0);
}

std::vector<RailInfo> some() {
  return {{"lo", "127.0.0.1", 0, -1},
          {"far", "10.0.0.1", 100, 1},
          {"near", "10.0.1.1", 100, 0},
          {"any", "10.0.2.1", 100, -1}};
}

std::string chosen(const std::string& wanted, int node = 0) {
  std::string names;
  for (const RailInfo& rail : select_rails(some(), wanted, node)) names += rail.name + " ";
  return names;
}

TEST(Selection, TheNearestComeFirst) {
  EXPECT_EQ(chosen(""), "near ");
  EXPECT_EQ(chosen("", 1), "far ");
  EXPECT_EQ(chosen("", -1), "far ");
  EXPECT_EQ(chosen("2"), "near any ");
  EXPECT_EQ(chosen("all"), "near any far ");
}

TEST(Selection, OnOneNodeTheShorterWayCounts) {
  std::vector<RailInfo> rails = some();
  for (RailInfo& rail : rails) rail.numa_node = 0;
  rails[1].pci_hops = 5;
  rails[3].pci_hops = 2;
  std::string names;
  for (const RailInfo& rail : select_rails(rails, "all", 0)) names += rail.name + " ";
  EXPECT_EQ(names, "any far near ");
}

TEST(Selection, NamesAndAddressesKeepTheirOrder) {
  EXPECT_EQ(chosen("far, 10.0.1.1,lo"), "far near lo ");
}

TEST(Selection, TheLoopbackIsTakenWhereThereIsNothingElse) {
  EXPECT_EQ(select_rails({{"lo", "127.0.0.1", 0, -1}}, "", 0).size(), 1u);
  EXPECT_EQ(select_rails({{"lo", "127.0.0.1", 0, -1}}, "all", 0).size(), 1u);
}

TEST(Selection, WhatIsNotThereIsRefused) {
  for (const char* wanted : {"eth9", "0", "5", "near,near", "near,10.0.1.1", "near,", "-1"}) {
    EXPECT_THROW(chosen(wanted), UsageError) << wanted;
  }
}

TEST(ShareRails, AsManyForEachAndDisjoint) {
  std::vector<RailInfo> rails(5);
  for (std::size_t i = 0; i < rails.size(); ++i)
    rails[i].name = std::string(1, static_cast<char>('a' + i));
  const auto names = [&](int local, int locals) {
    std::string text;
    for (const RailInfo& rail : share_rails(rails, local, locals)) text += rail.name;
    return text;
  };
  EXPECT_EQ(names(0, 1), "abcde");
  EXPECT_EQ(names(0, 2), "ab");
  EXPECT_EQ(names(1, 2), "cd");
  EXPECT_EQ(names(4, 5), "e");
  EXPECT_EQ(names(6, 8), "b");  // in turns
  EXPECT_THROW(share_rails({}, 0, 1), BadArgument);
  EXPECT_THROW(share_rails(rails, 2, 2), BadArgument);
}

}  // namespace
}  // namespace duet
