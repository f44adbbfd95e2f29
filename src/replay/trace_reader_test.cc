#include "replay/trace_reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "core/error.h"
#include "core/message_fixture.h"
#include "replay/gzip.h"
#include "replay/replay_step.h"

namespace duet {
namespace {

std::string trace_text(const std::string& name) {
  std::ifstream file(std::string(DUET_TRACES) + "/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

RecordedTrace trace_of(const std::string& name, const RecordedPart& part = {}) {
  return part_of(read_trace(name, trace_text(name)), part);
}

std::string refusal(const std::string& text) {
  return message_of<UsageError>([&] { read_trace("x", text); });
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// "g0 c0 w1": the order of a step's calls.
std::string order_of(const ReplayStep& step) {
  std::string order;
  for (const ReplayCall& call : step.calls) {
    const bool gemm = call.kind == ReplayCall::Kind::gemm;
    order += gemm ? " g" : call.kind == ReplayCall::Kind::wait ? " w" : " c";
    order += std::to_string(call.index);
  }
  return order;
}

TEST(ProfilerTrace, TellsTheLastStepWithItsWaitsAndTimes) {
  const RecordedTrace trace = trace_of("profiler_tensor_parallel.json");
  ASSERT_EQ(trace.steps.size(), 1u);
  EXPECT_EQ(trace.steps.front().number, 4);
  EXPECT_DOUBLE_EQ(trace.seconds, 3.6e-3);
  const ReplayStep step = replay_step(trace, 4);
  EXPECT_EQ(order_of(step),
            " c0 w1 g0 g1 g2 c1 w2 c0 w3 g3 g4 c1 w4 c0 w5 g0 g1 g2 c1 w6 c0 w7 g3 g4 c1 w8"
            " c2 g5 g6 w9");
  EXPECT_EQ(name(step.gemms[0].problem), "2048x1536x4096 bf16 nt");
  EXPECT_EQ(name(step.gemms[1].problem), "2048x512x128 bf16 nt");  // bmm of 4 x 512 rows
  EXPECT_EQ(name(step.gemms[5].problem), "3584x4096x2048 bf16 tn");
  EXPECT_EQ(step.gemms[0].recorded.calls, 2);
  EXPECT_NEAR(step.gemms[0].recorded.seconds, 60e-6, 1e-12);
  EXPECT_NEAR(step.collectives[2].recorded.seconds, 160e-6, 1e-12);
}

// Parameters are gathered on a stream of their own, which waits for each all_gather.
TEST(ProfilerTrace, DropsWaitsOfOtherStreams) {
  const RecordedTrace trace = trace_of("profiler_sharded.json");
  EXPECT_EQ(order_of(replay_step(trace, 4)), " c0 w1 c0 g0 c1 w3 g0");
  ASSERT_EQ(trace.remarks.size(), 1u);
  EXPECT_EQ(
      trace.remarks.front(),
      "dropped waits of other streams: 1, as the next GEMM began before the collective ended");
}

TEST(ProfilerTrace, NamesWhatIsLeftOut) {
  const auto left = left_out_of(trace_of("profiler_tensor_parallel.json"));
  const auto calls = [&](const char* reason) {
    const auto found = left.find(reason);
    return found == left.end() ? 0 : found->second.calls;
  };
  EXPECT_EQ(left.size(), 5u);
  EXPECT_EQ(calls("barrier: it moves no data"), 1);
  EXPECT_EQ(calls("reduce: no engine has it"), 1);
  EXPECT_EQ(calls("allreduce: of Long: expected Float, Half, BFloat16 or Int"), 1);
  EXPECT_EQ(calls("aten::mm: of double and double: expected two of Float, Half, BFloat16, "
                  "Float8_e4m3fn or Char"),
            1);
  EXPECT_EQ(calls("kernels of other operators"), 2);
  EXPECT_NEAR(left.at("kernels of other operators").seconds, 42e-6, 1e-12);
}

TEST(ProfilerTrace, AnnotationsStandForCollectivesOfOlderPyTorch) {
  const RecordedTrace trace = trace_of("profiler_annotations.json");
  const ReplayStep step = replay_step(trace, 4);
  EXPECT_EQ(order_of(step), " g0 c0 g1 c1");
  EXPECT_FALSE(step.has_waits);
  EXPECT_EQ(step.collectives[0].collective.count, 4096u);
  EXPECT_EQ(step.collectives[1].collective.count, 1024u);  // of each rank
  EXPECT_EQ(left_out_of(trace).count("coalesced: no collective that is known"), 1u);
}

TEST(ProfilerTrace, WithoutShapesHasNoGemms) {
  EXPECT_TRUE(has(message_of<UsageError>([] { trace_of("profiler_list.json"); }),
                  "no GEMM and no collective in it"));
  const RecordedTrace whole = read_trace("list", trace_text("profiler_list.json"));
  EXPECT_EQ(left_out_of(whole).count(
                "aten::mm: without shapes: expected a trace with record_shapes=True"),
            1u);
}

TEST(ExecutionTrace, OfPyTorch1HasInnerGemmsInTheirOrder) {
  const RecordedTrace trace = trace_of("execution_trace_gloo.json");
  EXPECT_EQ(trace.steps.front().number, 2);  // the last one has no calls
  const ReplayStep step = replay_step(trace, 2);
  EXPECT_EQ(order_of(step), " g0 g1 g2 g0 g3 g4 c0");
  EXPECT_EQ(name(step.gemms[0].problem), "32x128x64 fp32 nn");
  EXPECT_EQ(step.collectives[0].collective.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(step.collectives[0].collective.count, 16576u);
}

TEST(ExecutionTrace, OfLaterPyTorchHasStridesGroupsAndWaits) {
  const ReplayStep step = replay_step(trace_of("execution_trace_nccl.json"), 4);
  EXPECT_EQ(order_of(step), " g0 c0 g1 w1 c1");
  EXPECT_EQ(name(step.gemms[0].problem), "256x128x64 bf16 nt");
  EXPECT_EQ(name(step.gemms[1].problem), "128x64x256 bf16 tn");
  EXPECT_EQ(step.collectives[0].recorded_ranks, 4);
  EXPECT_EQ(step.collectives[1].collective.kind, CollectiveKind::all_to_all);
  EXPECT_EQ(step.collectives[1].collective.count, 16384u);  // tensors in lists, without attributes
}

// A step of DistributedDataParallel on an H200, as both tools wrote it down.
TEST(ReadTrace, OfPyTorch2TellsTheSameInBothForms) {
  const std::string packed = trace_text("profiler_h200.json.gz");
  const ReplayStep profiled = replay_step(part_of(read_trace("p", packed), {}), 2);
  const ReplayStep executed = replay_step(trace_of("execution_trace_h200.json.gz"), 2);
  EXPECT_EQ(profiled.gemm_calls(), 47);
  EXPECT_EQ(order_of(profiled), order_of(executed));
  ASSERT_EQ(profiled.gemms.size(), executed.gemms.size());
  for (std::size_t i = 0; i < profiled.gemms.size(); ++i)
    EXPECT_EQ(name(profiled.gemms[i].problem), name(executed.gemms[i].problem));
  ASSERT_EQ(profiled.collectives.size(), executed.collectives.size());
  std::uint64_t reduced = 0;
  for (const ReplayCall& call : profiled.calls) {
    if (call.kind == ReplayCall::Kind::collective)
      reduced += profiled.collectives[call.index].collective.count;
  }
  constexpr std::uint64_t kWidth = 2048, kBlocks = 4;
  EXPECT_EQ(reduced, kBlocks * (12 * kWidth * kWidth + 5 * kWidth));  // of all parameters
}

TEST(Gzip, PartsFollowEachOtherAndHaveALimit) {
  const std::string packed = trace_text("profiler_h200.json.gz");
  ASSERT_TRUE(is_gzip(packed));
  const std::string once = unpacked_gzip(packed);
  EXPECT_TRUE(has(once, "\"traceEvents\""));
  EXPECT_EQ(unpacked_gzip(packed + packed), once + once);
  std::string parts;
  while (parts.size() < 64 * packed.size()) parts += packed;  // more than is unpacked at once
  EXPECT_TRUE(has(message_of<UsageError>([&] { unpacked_gzip(parts, 1 << 20); }),
                  "unpacks to more than 1 MiB"));
}

TEST(Inspector, TellsCollectivesAndTimes) {
  const RecordedTrace trace = trace_of("inspector.jsonl");
  const ReplayStep step = replay_step(trace, 4);
  EXPECT_EQ(order_of(step), " c0 c1 c2 c2 c3");
  EXPECT_EQ(step.collectives[0].collective.count, 8u * 2097152 / 2 / 4);  // all bytes, by 4 ranks
  EXPECT_NEAR(step.collectives[2].recorded.seconds, 162e-6, 1e-12);
  EXPECT_EQ(step.collectives[3].collective.kind, CollectiveKind::send_recv);
  EXPECT_EQ(left_out_of(trace).size(), 1u);
  EXPECT_TRUE(has(found_text("x", trace), "collectives that NCCL Inspector lost: 1"));
}

TEST(ReplayStep, KeepsTheLargerBufferOnOtherNumbersOfRanks) {
  RecordedCollective one;
  one.kind = CollectiveKind::reduce_scatter;
  one.dtype = DType::bf16;
  one.sent = 8 << 20;
  one.received = 1 << 20;
  one.ranks = 8;
  for (const int ranks : {2, 3, 16}) {
    const Collective own = scaled(one, ranks);
    EXPECT_LE(send_bytes(own, 0, ranks), one.sent);
    EXPECT_GT(send_bytes(own, 0, ranks) + 2 * static_cast<std::uint64_t>(ranks), one.sent);
  }
}

TEST(RecordedPart, IsOfStepsAndCalls) {
  RecordedPart part;
  part.step = 3;
  EXPECT_EQ(trace_of("profiler_tensor_parallel.json", part).steps.front().number, 3);
  part.step = 7;
  EXPECT_TRUE(has(message_of<UsageError>([&] { trace_of("profiler_tensor_parallel.json", part); }),
                  "step 7: the trace has 3, 4"));
  part = {};
  part.from = 2;
  part.to = 4;
  EXPECT_EQ(order_of(replay_step(trace_of("profiler_tensor_parallel.json", part), 4)), " g0 g1 g2");
  part.from = 30;
  part.to = 0;
  EXPECT_TRUE(has(message_of<UsageError>([&] { trace_of("profiler_tensor_parallel.json", part); }),
                  "expected some of 1 to 21"));
  part = {};
  part.all_steps = true;
  EXPECT_EQ(replay_step(trace_of("profiler_tensor_parallel.json", part), 4).gemm_calls(), 24);
}

TEST(ReadTrace, RefusesOtherFiles) {
  EXPECT_TRUE(has(refusal(""), "x: empty: expected a trace of PyTorch's profiler"));
  EXPECT_TRUE(has(refusal("hello"), "x: of no tool that is known: expected a trace"));
  EXPECT_TRUE(has(refusal("{\"traceEvents\": [{"), "x: not whole JSON"));
  EXPECT_TRUE(has(refusal("{\"a\": 1}"), "x: JSON of no tool that is known"));
  EXPECT_TRUE(has(refusal("{\"nodes\": 3}"), "expected a list"));
  const std::string packed = trace_text("profiler_h200.json.gz");
  for (const std::size_t kept : {std::size_t{3}, packed.size() / 2, packed.size() - 1})
    EXPECT_TRUE(has(refusal(packed.substr(0, kept)), "x: compressed, but damaged or cut short"));
  EXPECT_TRUE(has(refusal(std::string("\x0a\x03\x00\x12 node", 9)), "x: binary, as Chakra's"));
  const std::string lines = trace_text("inspector.jsonl");
  EXPECT_TRUE(has(refusal(lines + "no object\n"), "x: 8: expected an object of NCCL Inspector"));
}

}  // namespace
}  // namespace duet
