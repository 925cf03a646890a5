#include "ovs_patches/openqueue/compile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "ovs_patches/openqueue/test_compile.h"

namespace rocelab {
namespace {

// Code without its place, to compare what two programs do.
std::vector<PolicyInstruction> instructions(const PolicyProgram& program, PolicyCode code) {
  const auto at = program.code.begin() + code.first;
  return {at, at + code.count};
}

bool same_code(const PolicyProgram& a, PolicyCode x, const PolicyProgram& b, PolicyCode y) {
  const auto one = instructions(a, x), other = instructions(b, y);
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [&](const auto& p, const auto& q) {
    if (p.op != q.op || p.to != q.to || p.a != q.a || p.b != q.b) return false;
    return p.op == PolicyOp::kConstant ? a.constants[p.operand] == b.constants[q.operand]
                                       : p.operand == q.operand;
  });
}

TEST(CompileTest, ScenarioProgramsCompileWithoutAWord) {
  const std::vector<std::string> names = scenario_programs();
  EXPECT_GE(names.size(), 18u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    Compiler().good(source_of(name));
  }
}

TEST(CompileTest, TodaysSwitchIsEightQueuesStrictThenTurn) {
  const PolicyProgram program = Compiler().good(source_of("today.oq"));
  ASSERT_EQ(program.queues.size(), 32u);
  ASSERT_EQ(program.ports.size(), 4u);
  ASSERT_EQ(program.select.size(), 4u);
  for (std::uint32_t i = 0; i < 32; ++i) {
    const PolicyQueue& queue = program.queues[i];
    EXPECT_EQ(queue.name, "port[" + std::to_string(i / 8) + "].q[" + std::to_string(i % 8) + "]");
    EXPECT_EQ(queue.port, i / 8);
    EXPECT_EQ(queue.index, i % 8);
    EXPECT_EQ(queue.size, 240'000);
    EXPECT_EQ(queue.takes, 1 << (i % 8));
    EXPECT_EQ(queue.lossless, i % 8 == 3);
    EXPECT_EQ(queue.strict, i % 8 >= 6 ? 1 : 0);
    EXPECT_EQ(queue.quantum, wire_bytes(SwitchConfig{}.max_frame).count());
    EXPECT_EQ(queue.service.kind, PolicyOrder::Kind::kOldest);
    EXPECT_EQ(queue.drop.kind, PolicyOrder::Kind::kNewest);
    EXPECT_EQ(queue.congestion.size(), i % 8 == 3 ? 0u : 1u);
  }
  const PolicySchedule& schedule = program.ports[2].schedule;
  EXPECT_TRUE(schedule.has_strict);
  EXPECT_EQ(schedule.strict_order.components.size(), 1u);
  ASSERT_EQ(program.turns.size(), 1u);
  EXPECT_EQ(schedule.turn, 0u);
  EXPECT_EQ(program.turns[0].name, "dwrr");
  EXPECT_EQ(program.marks, 0);
  EXPECT_EQ(program.bounds.evictions, 72u);
}

TEST(CompileTest, QueuesShareTheCodeOfACondition) {
  const PolicyProgram program = Compiler().good(source_of("today.oq"));
  EXPECT_LT(program.code.size(), 40u);
}

TEST(CompileTest, LargeSwitchCompilesFast) {
  Compiler compile;
  compile.ports.resize(512);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(compile.good(source_of("today.oq")).queues.size(), 4096u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));  // 20 ms without sanitizers
}

// 0.95 * size >= currSize, without a fraction.
TEST(CompileTest, FractionsAreScaledAway) {
  const PolicyProgram program = Compiler().good(
      "on every port as p { q = Queue(101B * 100);  l = Queue(240KB);  out = Port(q, l);\n"
      "  select { packet.class == 3 -> l;  else -> q; }\n"
      "  q.congestion = q.currSize >= 0.955 * q.size, drop(1/3); }");
  const PolicyCase& only = program.queues[0].congestion.at(0);
  const std::vector<PolicyInstruction> code = instructions(program, only.predicate);
  // 9645.5 <= currSize: 19291 <= 2 * currSize
  ASSERT_EQ(code.size(), 5u);
  EXPECT_EQ(program.constants[code[0].operand], 19'291);
  EXPECT_EQ(code[1].op, PolicyOp::kQueue);
  EXPECT_EQ(program.constants[code[2].operand], 2);
  EXPECT_EQ(code[3].op, PolicyOp::kMul);
  EXPECT_EQ(code[4].op, PolicyOp::kLessEqual);
  EXPECT_EQ(only.actions.at(0).share.part, 1u);
  EXPECT_EQ(only.actions.at(0).share.whole, 3u);
}

struct Spelling {
  const char* chapter;
  const char* ours;
};

// What the chapter's listings write means what this language's own style writes.
TEST(CompileTest, ChaptersSpellingsAreAccepted) {
  for (const auto& [chapter, ours] : {
           Spelling{"p[*].q.procPrio = rfifo();", "p[*].q.procPrio = rfifo;"},
           Spelling{"p[*].q.congestion = tailDrop(p[*].q);", "p[*].q.congestion = tailDrop;"},
           Spelling{"p[*].q.congestion() = (currSize > size, drop(1));", "p[*].q.congestion = tailDrop;"},
           Spelling{"p[*].q.congestion = currSize > size, drop;", "p[*].q.congestion = tailDrop;"},
           Spelling{"full() = (currSize > size, drop(1));  p[*].q.congestion = full();",
                    "p[*].q.congestion = tailDrop;"},
           Spelling{
               "p[*].q.congestion = inline { queue.currSize > queue.size };  p[*].q.congAction = drop(1);",
               "p[*].q.congestion = tailDrop;"},
           Spelling{"p[*].q.procPrio(a, b) = a.processing < b.processing;", "p[*].q.procPrio = srpt;"},
           Spelling{"p[*].q.procPrio = inline { packet.processing };", "p[*].q.procPrio = rsrpt;"},
           Spelling{"p[*].q.procPrio = inline { processing };", "p[*].q.procPrio = rsrpt;"},
           Spelling{"v(x, y) = x.getHOL().value > y.getHOL().value;  p[*].out.schedPrio = v;",
                    "v(x, y) = x.hol.value > y.hol.value;  p[*].out.schedPrio = v;"},
           Spelling{"p[*].q.admPrio = rfifo;  p[*].q.congestion = tailDrop;",
                    "p[*].q.dropFirst = newest;  p[*].q.congestion = tailDrop;"},
           Spelling{"Buffer b = Buffer(1MB, p[*].q);  b.congestion = tailDrop;  b.queuePrio = sqf;",
                    "b = Buffer(1MB, p[*].q);  b.congestion = tailDrop;  b.dropFrom = lqf;"},
       }) {
    SCOPED_TRACE(chapter);
    const PolicyProgram a = Compiler().good(std::string(kQueue) + chapter);
    const PolicyProgram b = Compiler().good(std::string(kQueue) + ours);
    ASSERT_EQ(a.queues.size(), b.queues.size());
    for (std::size_t i = 0; i < a.queues.size(); ++i) {
      const PolicyQueue &x = a.queues[i], &y = b.queues[i];
      EXPECT_EQ(x.service.kind, y.service.kind);
      EXPECT_EQ(x.drop.kind, y.drop.kind);
      ASSERT_EQ(x.service.key.components.size(), y.service.key.components.size());
      for (std::size_t k = 0; k < x.service.key.components.size(); ++k)
        EXPECT_TRUE(same_code(a, x.service.key.components[k].value, b, y.service.key.components[k].value));
      ASSERT_EQ(x.congestion.size(), y.congestion.size());
      for (std::size_t k = 0; k < x.congestion.size(); ++k)
        EXPECT_TRUE(same_code(a, x.congestion[k].predicate, b, y.congestion[k].predicate));
    }
    ASSERT_EQ(a.ports[0].schedule.order.components.size(), b.ports[0].schedule.order.components.size());
    for (std::size_t k = 0; k < a.ports[0].schedule.order.components.size(); ++k)
      EXPECT_TRUE(same_code(a, a.ports[0].schedule.order.components[k].value, b,
                            b.ports[0].schedule.order.components[k].value));
    ASSERT_EQ(a.buffers.size(), b.buffers.size());
    for (std::size_t k = 0; k < a.buffers.size(); ++k)
      EXPECT_TRUE(same_code(a, a.buffers[k].drop_from.components.at(0).value, b,
                            b.buffers[k].drop_from.components.at(0).value));
  }
}

TEST(CompileTest, LiteralAdmPrioOfFifoDropsTheOldestAndSaysSo) {
  const CompiledPolicy compiled =
      Compiler()(std::string(kQueue) + "p[*].q.admPrio = fifo;  p[*].q.congestion = tailDrop;");
  ASSERT_NE(compiled.program, nullptr);
  EXPECT_EQ(compiled.program->queues[0].drop.kind, PolicyOrder::Kind::kOldest);
  ASSERT_EQ(compiled.diagnostics.size(), 1u);
  EXPECT_TRUE(compiled.diagnostics[0].warning);
}

TEST(CompileTest, LexicographicOrdersBecomeKeys) {
  const PolicyProgram program =
      Compiler().good(std::string("x(a, b) = a.value / a.size > b.value / b.size\n"
                                  "  or a.value / a.size == b.value / b.size and a.slack < b.slack;\n") +
                      kQueue + "p[*].q.procPrio = x;");
  const std::vector<PolicyKey::Component>& key = program.queues[0].service.key.components;
  ASSERT_EQ(key.size(), 2u);
  EXPECT_TRUE(key[0].divisor);
  EXPECT_EQ(instructions(program, key[0].value).back().op, PolicyOp::kSub);  // the larger first
  EXPECT_FALSE(key[1].divisor);
  EXPECT_EQ(instructions(program, key[1].value).back().op, PolicyOp::kPacket);
}

TEST(CompileTest, SelectionsAreReadPerClass) {
  const PolicyProgram program = Compiler().good(
      "on every port { q[0..2] = Queue(240KB);  out = Port(q[*]);\n"
      "  select { packet.class == 3 -> q[0];  packet.dscp == 46 or packet.class < 2 -> q[1];  else -> q[2]; "
      "} }");
  EXPECT_EQ(program.queues[0].takes, 0b0000'1000);
  EXPECT_TRUE(program.queues[0].lossless);
  EXPECT_EQ(program.queues[1].takes, 0b0010'0011);
  EXPECT_EQ(program.queues[2].takes, 0b1111'0100);
  EXPECT_FALSE(program.queues[2].lossless);
}

TEST(CompileTest, WithoutPfcNoClassIsLossless) {
  Compiler compile;
  compile.config.pfc.enabled = false;
  const PolicyProgram program = compile.good(
      "on every port { q = Queue(240KB);  out = Port(q);  q.congestion = tailDrop;  select { else -> q; } }");
  EXPECT_FALSE(program.queues[0].lossless);
  EXPECT_EQ(program.queues[0].takes, 0xff);
}

TEST(CompileTest, AClassThatMayDropIsNotKeptLossless) {
  Compiler compile;
  compile.config.classes[3].egress_max = 100_KB;
  const PolicyProgram program =
      compile.good(std::string(kQueue) + "p[*].l.congestion = queue.bytes > 100KB, drop(1);");
  EXPECT_FALSE(program.queues[1].lossless);
}

TEST(CompileTest, ConstantsFromOutsideReplaceThoseOfTheProgram) {
  Compiler compile;
  compile.constants = {{"k", "4"}, {"size", "128 packets"}};
  const PolicyProgram program = compile.good(
      "const k = 2;  const size = 240KB;\n"
      "on every port { l = Queue(1MB);  q[1..k] = Queue(size / k);  out = Port(l, q[*]);\n"
      "  select { packet.class == 3 -> l;  else -> q[1 + packet.in % k]; } }");
  ASSERT_EQ(program.ports[0].queues.size(), 5u);
  EXPECT_EQ(program.queues[1].size, 32);
  EXPECT_TRUE(program.queues[1].in_packets);
  compile.constants = {{"kk", "4"}};
  EXPECT_EQ(compile.first_error("const k = 2;"), "the program has no const kk, did you mean k?");
  compile.constants = {{"k", "4 4"}};
  EXPECT_NE(compile.first_error("const k = 2;"), "");
  compile.constants = {{"k", "5; const j = 6"}};
  EXPECT_EQ(compile.first_error("const k = 2;"), "this is no value: write a number and its unit");
}

TEST(CompileTest, FilesUseFiles) {
  Compiler compile;
  compile.more = {{"orders.oq",
                   "use \"more.oq\";\nlargest(a, b) = a.size > b.size;\nunneeded(a, b) = a.size > b.size;\n"},
                  {"more.oq", "const limit = 100KB;\n"}};
  const PolicyProgram program =
      compile.good("use \"orders.oq\";\nuse \"more.oq\";\n" + std::string(kQueue) +
                   "p[*].q.procPrio = largest;  p[*].q.congestion = queue.bytes > limit, drop(1);");
  EXPECT_EQ(program.queues[0].service.kind, PolicyOrder::Kind::kKey);
  std::string chain;
  compile.more.clear();
  for (int i = 1; i < 12; ++i)
    compile.more.push_back({std::to_string(i) + ".oq", "use \"" + std::to_string(i + 1) + ".oq\";"});
  EXPECT_EQ(compile.first_error("use \"1.oq\";"), "files use each other more than 8 deep");
}

TEST(CompileTest, NamesTheFilesThatAProgramUses) {
  EXPECT_EQ(used_files("openqueue 1; use \"a.oq\"; /* use \"no.oq\"; */ use \"standard.oq\"; use \"b/c.oq\"; "
                       "use \"a.oq\";"),
            (std::vector<std::string>{"a.oq", "b/c.oq"}));
  EXPECT_TRUE(used_files("use 5; & use").empty());
}

TEST(CompileTest, IdentityIsOfTextAndConstants) {
  Compiler compile;
  const std::string text =
      std::string("const k = 2KB;\n") + kQueue + "p[*].q.congestion = queue.bytes > k, drop(1);";
  const std::uint64_t id = compile.good(text).id;
  EXPECT_EQ(compile.good(text).id, id);
  EXPECT_NE(compile.good(text + " ").id, id);
  compile.constants = {{"k", "2KB"}};
  EXPECT_NE(compile.good(text).id, id);
}

TEST(CompileTest, RefusesWhatIsTooLargeOrNoText) {
  const Compiler compile;
  EXPECT_EQ(compile.first_error(std::string(1 << 20, '(')),
            "the text has 1048576 bytes, at most 65536 are read");
  EXPECT_EQ(compile.first_error("const a = " + std::string(1000, '(')),
            "brackets are nested more than 64 deep");
  std::string minus = "const a = ";
  for (int i = 0; i < 1000; ++i) minus += "- ";
  EXPECT_EQ(compile.first_error(minus + "1;").substr(0, 30), "this expression is nested more");
  std::string sum = "const a = 1";
  for (int i = 0; i < 1000; ++i) sum += " + 1";
  EXPECT_EQ(compile.first_error(sum + ";").substr(0, 30), "this expression is nested more");
  const CompiledPolicy latin = compile("const a = 5;\n// \xe4\n");
  ASSERT_EQ(latin.diagnostics.size(), 1u);
  EXPECT_EQ(latin.diagnostics[0].text, "this is no UTF-8 text");
  EXPECT_EQ(latin.diagnostics[0].line, 2);
  EXPECT_EQ(latin.diagnostics[0].column, 4);
}

TEST(CompileTest, SaysAtMostTwentyErrors) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "const a" + std::to_string(i) + " = ;\n";
  EXPECT_EQ(Compiler()(text).diagnostics.size(), 20u);
}

// A return ends a line before a line feed alone.
TEST(CompileTest, PlacesAreInsideTheirLine) {
  for (const char* end : {"", "\r", "\r\r", "\r\n", "\r\r\n"}) {
    PolicySource source;
    source.files = {{"a.oq", std::string("q = Queue(") + end}};
    const CompiledPolicy compiled = compile_policy(source, SwitchConfig{}, std::vector<PortConfig>(2));
    ASSERT_FALSE(compiled.diagnostics.empty());
    for (const PolicyDiagnostic& one : compiled.diagnostics)
      EXPECT_LE(static_cast<std::size_t>(one.column), one.line_text.size() + 1) << one.text;
  }
}

TEST(CompileTest, ASwitchOrAProgramThatIsMissingIsSaid) {
  Compiler compile;
  compile.ports.clear();
  EXPECT_EQ(compile.first_error(kQueue), "the switch has no ports");
  EXPECT_EQ(compile_policy({}, {}, {}).program, nullptr);
  EXPECT_EQ(Compiler().first_error(""),
            "port 0 of the switch has no Port in the program: no frame could leave by it");
}

TEST(CompileTest, InternalPortsHaveTheRateOfTheirLink) {
  Compiler compile;
  compile.ports[2].rate = 100_Gbps;
  const PolicyProgram program = compile.good(source_of("crossbar.oq"));
  const auto port = std::find_if(program.ports.begin(), program.ports.end(),
                                 [](const PolicyPort& one) { return one.name == "in_port[2]"; });
  ASSERT_NE(port, program.ports.end());
  EXPECT_TRUE(port->internal);
  EXPECT_FALSE(port->drops_ahead);
  EXPECT_EQ(port->rate, 100'000'000'000);
  EXPECT_EQ(port->next.cases.size(), 1u);
  EXPECT_EQ(program.ports[2].name, "out_port[2]");
}

TEST(CompileTest, APortsRateIsAShareOfItsLink) {
  const PolicyProgram program = Compiler().good(
      "on every port as p { q = Queue(240KB);  l = Queue(240KB);\n"
      "  select { packet.class == 3 -> l;  else -> q; } }\n"
      "a = Port(25%, p[0].q, p[0].l) egress 0;  b = Port(10Gbps, p[1].q, p[1].l) egress 1;\n"
      "for i in 2..3 { c[i] = Port(p[i].q, p[i].l) egress i; }");
  EXPECT_EQ(program.ports[0].rate, 10'000'000'000);
  EXPECT_EQ(program.ports[0].share.whole, 4u);
  EXPECT_EQ(program.ports[1].rate, 10'000'000'000);
  EXPECT_EQ(program.ports[1].share.part, 1u);
  EXPECT_EQ(program.ports[1].share.whole, 4u);
  EXPECT_EQ(program.ports[3].rate, 40'000'000'000);
}

TEST(CompileTest, StatesHaveSlotsOfTheirOwn) {
  const PolicyProgram program =
      Compiler().good(std::string("state seen: Int on queue;\nstate last: Time on port;\n") + kQueue +
                      "p[*].q.postAdmAct = modify(queue.seen := queue.seen + 1) . modify(port.last := now);");
  EXPECT_EQ(program.state_slots, kFirstDeclaredState + 2u);
  const std::vector<PolicyAction>& actions = program.queues[0].post_admission.at(0).actions;
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(actions[0].slot, kFirstDeclaredState);
  EXPECT_EQ(actions[0].object, kContextObject);
  EXPECT_EQ(actions[1].of, PolicyAction::Of::kPort);
  EXPECT_EQ(actions[1].slot, kFirstDeclaredState + 1);
  EXPECT_EQ(actions[1].object, 0u);
}

TEST(CompileTest, MarksAreOfTheClassesThatMeetThem) {
  EXPECT_EQ(Compiler().good(source_of("ecn.oq")).marks, 0xff);
  EXPECT_EQ(Compiler().good(std::string(kQueue) + "p[*].l.postAdmAct = mark;").marks, 1 << 3);
}

}  // namespace
}  // namespace rocelab
