// The proxy libibverbs: programs that dlopen it, and that it is the installed library under another name.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "irn_provider/verbs/test_fabric.h"

namespace rocelab::verbs {
namespace {

class DlopenTest : public ::testing::TestWithParam<TransportMode> {
 protected:
  DlopenTest() : fabric(1, 1, config()) {}
  static NicConfig config() {
    NicConfig nic;
    nic.mode = GetParam();
    nic.active_mtu = 1'024;
    return nic;
  }
  TestFabric fabric;
};
INSTANTIATE_TEST_SUITE_P(Modes, DlopenTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

TEST_P(DlopenTest, FunctionsLookedUpByVersionAreOurs) {
  const auto p = fabric.start(0, {ROCELAB_DLOPEN_PROBE}, {"LD_LIBRARY_PATH=" ROCELAB_PROXY});
  EXPECT_TRUE(fabric.run());
  EXPECT_EQ(fabric.program(p).exit_code(), 0) << fabric.program(p).output();
  EXPECT_NE(fabric.program(p).output().find("rocelab0\narrived\n"), std::string::npos)
      << fabric.program(p).output();
}

// What the proxy is for. If this fails, it is not needed any more.
TEST_P(DlopenTest, WithoutTheProxyTheyAreTheInstalledLibrarys) {
  const auto p = fabric.start(0, {ROCELAB_DLOPEN_PROBE});
  EXPECT_TRUE(fabric.run());
  EXPECT_NE(fabric.program(p).exit_code(), 0) << fabric.program(p).output();
}

// Programs that link libibverbs, and other libraries' providers with them, may have it in their path too.
TEST_P(DlopenTest, ProgramsThatLinkTheLibraryRunWithItAsWell) {
  for (const char* program : {"ibv_devinfo", "ibv_devices"}) {
    TestFabric own(1, 1, config());
    const auto p = own.start(0, {program}, {"LD_LIBRARY_PATH=" ROCELAB_PROXY});
    EXPECT_TRUE(own.run());
    EXPECT_EQ(own.program(p).exit_code(), 0) << own.program(p).output();
    EXPECT_NE(own.program(p).output().find("rocelab0"), std::string::npos) << own.program(p).output();
  }
}

}  // namespace
}  // namespace rocelab::verbs
