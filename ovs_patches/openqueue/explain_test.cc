// golden/explain.txt: what explain() says of the programs of scenarios/openqueue.
#include "ovs_patches/openqueue/explain.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "ovs_patches/openqueue/compile.h"

namespace rocelab {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(ROCELAB_SOURCE_DIR "/" + path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ExplainTest, SaysWhatProgramsDo) {
  std::string said;
  for (const char* name :
       {"today.oq", "lqd.oq", "crossbar.oq", "steps.oq", "srpt.oq", "strict_by_value.oq", "wrr.oq",
        "slack_admission.oq", "backpressure.oq", "c.oq", "multi_queue.oq", "two_queues.oq"}) {
    PolicySource source;
    source.files = {{name, read(std::string("scenarios/openqueue/") + name)}};
    const std::vector<PortConfig> ports(4);
    const CompiledPolicy compiled = compile_policy(source, SwitchConfig{}, ports);
    ASSERT_NE(compiled.program, nullptr) << name;
    const bool code = std::string(name) == "wrr.oq";
    said += explain(*compiled.program, {.code = code}) + "\n";
  }
  const std::string path = "ovs_patches/openqueue/golden/explain.txt";
  if (std::getenv("ROCELAB_UPDATE_GOLDEN") != nullptr) std::ofstream(ROCELAB_SOURCE_DIR "/" + path) << said;
  EXPECT_EQ(said, read(path));
}

TEST(ExplainTest, NamesDeclaredStates) {
  PolicySource source;
  source.files = {
      {"counts.oq",
       "state seen: Int on queue;\nstate last: Time on port;\n"
       "on every port { q = Queue(64 packets);  out = Port(100%, q);  select { else -> q; }\n"
       "  q.dropFirst = newest;  q.congestion = inline { queue.seen > 7 };  q.congAction = drop(1);\n"
       "  q.postAdmAct = modify(queue.seen := queue.seen + 1) . modify(port.last := now); }"}};
  SwitchConfig config;
  config.pfc.enabled = false;
  const CompiledPolicy compiled = compile_policy(source, config, std::vector<PortConfig>(2));
  ASSERT_NE(compiled.program, nullptr) << (compiled.diagnostics.empty() ? "" : compiled.diagnostics[0].text);
  const std::string said = explain(*compiled.program, {});
  EXPECT_NE(said.find("queue.seen := queue.seen + 1"), std::string::npos) << said;
  EXPECT_NE(said.find(".last := now"), std::string::npos) << said;
  EXPECT_NE(said.find("queue.seen > 7"), std::string::npos) << said;
}

}  // namespace
}  // namespace rocelab
