// SPDX-License-Identifier: GPL-2.0-only
/*
 * The MMU, faults on demand, and what gets the device out of each.
 */
#include <gtest/gtest.h>

#include <csignal>

#include "runner.h"

namespace ai0::test {
namespace {

class Fault : public ::testing::Test {
protected:
    void begin()
    {
        space_ = host_.create_space(1);
        Host::Loaded loaded = host_.load(one_op_model("Neg", {{4}}, {4}));
        ASSERT_EQ(loaded.cpl.status, NPU_ST_OK) << loaded.info->message;
        model_ = loaded.id;
    }
    void SetUp() override { begin(); }

    std::vector<Tensor> input() const { return {floats({4}, {1, 2, 3, 4})}; }

    void works()
    {
        Ran ran = run(host_, space_, model_, input(), 1);
        ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
        EXPECT_EQ(compare(ran.outputs[0], floats({4}, {-1, -2, -3, -4})), "");
    }

    /* Starts a job that hangs in this manner. */
    std::uint64_t hang(const std::string& how)
    {
        EXPECT_EQ(host_.say(how).substr(0, 2), "ok");
        stuck_ = std::make_unique<JobBuffers>(host_, space_, input(), 1);
        std::uint64_t tag = host_.send(NPU_QUEUE_JOB, stuck_->command(model_));
        EXPECT_TRUE(host_.eventually([&] { return host_.state_number("running") == 1; }));
        EXPECT_FALSE(host_.wait(tag, milliseconds(100)));
        return tag;
    }

    Host host_;
    Host::Space space_{};
    std::uint64_t model_ = 0;
    std::unique_ptr<JobBuffers> stuck_;
};

/* ---- MMU ---- */

TEST_F(Fault, UnmappedAddressKillsThatJobAlone)
{
    JobBuffers bad(host_, space_, input(), 1), good(host_, space_, input(), 1);
    std::uint64_t va = bad.input(0).va;

    host_.unmap(space_, va, 4096);
    std::uint64_t bad_tag = host_.send(NPU_QUEUE_JOB, bad.command(model_));
    std::uint64_t good_tag = host_.send(NPU_QUEUE_JOB, good.command(model_));
    std::optional<npu_cpl> cpl = host_.wait(bad_tag);
    ASSERT_TRUE(cpl);
    EXPECT_EQ(cpl->status, NPU_ST_FAULT);
    EXPECT_EQ(cpl->value, va);
    EXPECT_EQ(host_.wait(good_tag)->status, NPU_ST_OK);
}

TEST_F(Fault, FaultInTheMiddleNamesThePage)
{
    Host::Loaded loaded = host_.load(one_op_model("Neg", {{4096}}, {4096}));
    JobBuffers buffers(host_, space_, {floats({4096}, std::vector<float>(4096, 1))}, 1);

    host_.unmap(space_, buffers.input(0).va + 8192, 4096);
    npu_cpl cpl = host_.call(NPU_QUEUE_JOB, buffers.command(loaded.id));
    EXPECT_EQ(cpl.status, NPU_ST_FAULT);
    EXPECT_EQ(cpl.value, buffers.input(0).va + 8192);
}

TEST_F(Fault, Permissions)
{
    JobOptions write_only, read_only;
    write_only.input_flags = NPU_PTE_WRITE;
    read_only.output_flags = NPU_PTE_READ;

    EXPECT_EQ(run(host_, space_, model_, input(), 1, write_only).cpl.status, NPU_ST_FAULT);
    EXPECT_EQ(run(host_, space_, model_, input(), 1, read_only).cpl.status, NPU_ST_FAULT);
    works();
}

TEST_F(Fault, WildTables)
{
    JobBuffers buffers(host_, space_, input(), 1);
    std::uint64_t va = buffers.input(0).va;
    std::uint64_t saved = host_.at<std::uint64_t>(space_.root)[va >> 39];

    for (std::uint64_t entry :
         {~0ULL, NPU_PTE_ADDR | NPU_PTE_VALID, space_.root | NPU_PTE_VALID, saved | NPU_PTE_LEAF,
          (1ULL << 40) | NPU_PTE_VALID, NPU_PTE_VALID}) {
        host_.at<std::uint64_t>(space_.root)[va >> 39] = entry;
        EXPECT_EQ(host_.control(NPU_OP_TLB_INVALIDATE, 1).status, NPU_ST_OK);
        std::uint32_t status = host_.call(NPU_QUEUE_JOB, buffers.command(model_)).status;
        EXPECT_TRUE(status == NPU_ST_FAULT || status == NPU_ST_OK) << status;
    }
    host_.at<std::uint64_t>(space_.root)[va >> 39] = saved;
    EXPECT_EQ(host_.control(NPU_OP_TLB_INVALIDATE, 1).status, NPU_ST_OK);
    works();
}

TEST_F(Fault, InvalidateMakesNewEntriesCount)
{
    JobBuffers buffers(host_, space_, input(), 1);
    std::uint64_t va = buffers.input(0).va, page = host_.alloc(4096);

    ASSERT_EQ(host_.call(NPU_QUEUE_JOB, buffers.command(model_)).status, NPU_ST_OK);
    for (int i = 0; i < 4; i++)
        host_.at<float>(page)[i] = 10;
    host_.map(space_, va & ~4095ULL, page, 4096, NPU_PTE_READ);
    EXPECT_EQ(host_.control(NPU_OP_TLB_INVALIDATE, 1, 0, {va & ~4095ULL, 4096}).status, NPU_ST_OK);
    ASSERT_EQ(host_.call(NPU_QUEUE_JOB, buffers.command(model_)).status, NPU_ST_OK);
    EXPECT_EQ(compare(buffers.result(0), floats({4}, {-10, -10, -10, -10})), "");

    host_.unmap(space_, va, 4096);
    EXPECT_EQ(host_.control(NPU_OP_TLB_INVALIDATE, 1, 0, {va, 16}).status, NPU_ST_OK);
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, buffers.command(model_)).status, NPU_ST_FAULT);
}

TEST_F(Fault, InvalidateFreesTheMaps)
{
    works();
    EXPECT_GT(host_.state_number("maps"), 0);
    EXPECT_EQ(host_.control(NPU_OP_TLB_INVALIDATE, 1).status, NPU_ST_OK);
    EXPECT_EQ(host_.control(NPU_OP_TLB_INVALIDATE, 0).status, NPU_ST_OK);
    EXPECT_EQ(host_.state_number("maps"), 0);
    EXPECT_EQ(host_.control(NPU_OP_TLB_INVALIDATE, 9).status, NPU_ST_NOT_FOUND);
}

TEST_F(Fault, InvalidateWaitsForTheJob)
{
    /* Long enough to be seen. */
    Host::Loaded heavy = host_.load(heavy_model(100, 512));
    std::vector<float> data(512 * 512, 0.001f);
    JobBuffers buffers(host_, space_, {floats({512, 512}, data), floats({512, 512}, data)}, 1);
    npu_cmd invalidate{};

    ASSERT_EQ(host_.control(NPU_OP_TLB_INVALIDATE, 0).status, NPU_ST_OK);
    ASSERT_EQ(host_.state_number("maps"), 0);
    std::uint64_t job = host_.send(NPU_QUEUE_JOB, buffers.command(heavy.id));
    ASSERT_TRUE(host_.eventually([&] { return host_.state_number("maps") == 3; }));
    invalidate.op = NPU_OP_TLB_INVALIDATE;
    invalidate.asid = 1;
    std::uint64_t tag = host_.send(NPU_QUEUE_CTRL, invalidate);
    std::optional<npu_cpl> cpl = host_.wait(tag);
    ASSERT_TRUE(cpl);
    EXPECT_EQ(cpl->status, NPU_ST_OK);
    EXPECT_EQ(host_.state_number("maps"), 0);
    EXPECT_EQ(host_.wait(job)->status, NPU_ST_OK);
}

TEST_F(Fault, AddressSpaces)
{
    EXPECT_EQ(host_.control(NPU_OP_AS_CREATE, 1, 0, {space_.root}).status, NPU_ST_BAD_COMMAND);
    EXPECT_EQ(host_.control(NPU_OP_AS_CREATE, 256, 0, {space_.root}).status, NPU_ST_BAD_COMMAND);
    EXPECT_EQ(host_.control(NPU_OP_AS_CREATE, 2, 0, {1ULL << 45}).status, NPU_ST_BAD_COMMAND);
    EXPECT_EQ(host_.control(NPU_OP_AS_CREATE, 2, 0, {space_.root + 8}).status, NPU_ST_BAD_COMMAND);

    /* One space cannot reach what is mapped in another. */
    Host::Space other = host_.create_space(2);
    JobBuffers mine(host_, space_, input(), 1);
    npu_cmd cmd = mine.command(model_);
    cmd.asid = other.asid;
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, cmd).status, NPU_ST_FAULT);

    works();
    EXPECT_EQ(host_.control(NPU_OP_AS_DESTROY, 1).status, NPU_ST_OK);
    EXPECT_EQ(host_.control(NPU_OP_AS_DESTROY, 1).status, NPU_ST_NOT_FOUND);
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, mine.command(model_)).status, NPU_ST_NOT_FOUND);
    EXPECT_EQ(host_.control(NPU_OP_AS_CREATE, 1, 0, {space_.root}).status, NPU_ST_OK);
    works();
}

/* ---- jobs that do not end ---- */

TEST_F(Fault, AbortWhileWaiting)
{
    std::uint64_t first = hang("hang-next");
    JobBuffers second(host_, space_, input(), 1);
    std::uint64_t waiting = host_.send(NPU_QUEUE_JOB, second.command(model_));

    EXPECT_EQ(host_.control(NPU_OP_ABORT, 0, waiting).status, NPU_ST_OK);
    EXPECT_EQ(host_.wait(waiting)->status, NPU_ST_ABORTED);
    EXPECT_EQ(host_.control(NPU_OP_ABORT, 0, waiting).status, NPU_ST_NOT_FOUND);
    EXPECT_EQ(host_.control(NPU_OP_ABORT, 0, first).status, NPU_ST_OK);
    EXPECT_EQ(host_.wait(first)->status, NPU_ST_ABORTED);
    works();
}

TEST_F(Fault, AbortWhileTheEngineRuns)
{
    Host::Loaded heavy = host_.load(heavy_model(400, 512));
    std::vector<float> data(512 * 512, 0.001f);
    JobBuffers buffers(host_, space_, {floats({512, 512}, data), floats({512, 512}, data)}, 1);

    std::uint64_t job = host_.send(NPU_QUEUE_JOB, buffers.command(heavy.id));
    ASSERT_TRUE(host_.eventually([&] { return host_.state_number("running") == 1; }));
    EXPECT_EQ(host_.control(NPU_OP_ABORT, 0, job).status, NPU_ST_OK);
    EXPECT_EQ(host_.wait(job)->status, NPU_ST_ABORTED);
    EXPECT_NE(buffers.message().find("aborted"), std::string::npos);
    works();
}

TEST_F(Fault, HangHardNeedsAnEngineReset)
{
    std::uint64_t tag = hang("hang-hard");
    JobBuffers second(host_, space_, input(), 1);
    std::uint64_t waiting = host_.send(NPU_QUEUE_JOB, second.command(model_));

    EXPECT_EQ(host_.control(NPU_OP_ABORT, 0, tag).status, NPU_ST_OK);
    EXPECT_FALSE(host_.wait(tag, milliseconds(300)));
    EXPECT_EQ(host_.control(NPU_OP_ENGINE_RESET).status, NPU_ST_OK);
    EXPECT_EQ(host_.wait(tag)->status, NPU_ST_RESET);
    /* What had not begun is innocent and runs. */
    EXPECT_EQ(host_.wait(waiting)->status, NPU_ST_OK);
    works();
}

TEST_F(Fault, EngineResetByDoorbell)
{
    std::uint64_t tag = hang("hang-hard");

    EXPECT_TRUE(host_.reset(NPU_RESET_ENGINE));
    EXPECT_EQ(host_.wait(tag)->status, NPU_ST_RESET);
    EXPECT_EQ(host_.regs().state, NPU_STATE_RUNNING);
    works();
}

TEST_F(Fault, HangEngineNeedsTheRom)
{
    std::uint64_t tag = hang("hang-engine");

    EXPECT_EQ(host_.control(NPU_OP_ENGINE_RESET).status, NPU_ST_ENGINE);
    EXPECT_FALSE(host_.reset(NPU_RESET_ENGINE, milliseconds(700)));
    EXPECT_FALSE(host_.wait(tag, milliseconds(50)));
    /* The rest of the device goes on. */
    EXPECT_EQ(host_.control(NPU_OP_PING).status, NPU_ST_OK);

    std::uint32_t powered = host_.regs().power_on_count;
    ASSERT_TRUE(host_.to_rom());
    EXPECT_EQ(host_.regs().power_on_count, powered);
    ASSERT_TRUE(host_.bring_up());
    begin();
    works();
}

TEST_F(Fault, NothingReachesMemoryAfterTheRom)
{
    Host::Loaded heavy = host_.load(heavy_model(400, 512));
    std::vector<float> data(512 * 512, 0.001f);
    JobBuffers buffers(host_, space_, {floats({512, 512}, data), floats({512, 512}, data)}, 1);

    host_.send(NPU_QUEUE_JOB, buffers.command(heavy.id));
    ASSERT_TRUE(host_.eventually([&] { return host_.state_number("running") == 1; }));
    int before = static_cast<int>(host_.state_number("pid"));
    ASSERT_TRUE(host_.to_rom());
    EXPECT_NE(::kill(before, 0), 0);
    std::byte* out = buffers.host_byte(buffers.output(0).va);
    std::memset(out, 0x77, 4096);
    usleep(300000);
    for (int i = 0; i < 4096; i++)
        ASSERT_EQ(out[i], std::byte{0x77});
    host_.take_completions();
    EXPECT_EQ(host_.strange_completions(), 0u);
}

/* ---- firmware ---- */

TEST_F(Fault, CrashIsReported)
{
    while (host_.interrupt(NPU_IRQ_EVENT, milliseconds(0)))
        ;
    EXPECT_EQ(host_.say("crash"), "ok");
    ASSERT_TRUE(host_.wait_state(NPU_STATE_CRASHED));
    EXPECT_EQ(host_.regs().crash_cause, 1u);
    EXPECT_TRUE(host_.interrupt(NPU_IRQ_EVENT, kPatience));
    ASSERT_TRUE(host_.to_rom());
    EXPECT_EQ(host_.regs().crash_cause, 0u);
    ASSERT_TRUE(host_.bring_up());
    begin();
    works();
}

TEST_F(Fault, WedgeIsBittenByTheWatchdog)
{
    EXPECT_EQ(host_.say("wedge"), "ok");
    std::uint32_t beat = host_.regs().heartbeat;
    host_.ring(NPU_DB_CTRL);
    ASSERT_TRUE(host_.wait_state(NPU_STATE_CRASHED, milliseconds(60000)));
    EXPECT_EQ(host_.regs().crash_cause, NPU_CRASH_WATCHDOG);
    EXPECT_EQ(host_.regs().crash_pc, NPU_CORE_TRAP_ROM);
    EXPECT_LE(host_.regs().heartbeat, beat + 1);
    ASSERT_TRUE(host_.to_rom());
    ASSERT_TRUE(host_.bring_up());
    begin();
    works();
}

TEST_F(Fault, WedgeCanBeResetBeforeTheWatchdog)
{
    EXPECT_EQ(host_.say("wedge"), "ok");
    ASSERT_TRUE(host_.to_rom());
    ASSERT_TRUE(host_.bring_up());
    begin();
    works();
}

/* ---- power ---- */

TEST_F(Fault, KilledSiliconIsSeenAndPowersOn)
{
    while (host_.interrupt(NPU_IRQ_EVENT, milliseconds(0)))
        ;
    hang("hang-engine");
    EXPECT_EQ(host_.say("kill"), "ok");
    EXPECT_EQ(host_.regs().state, NPU_STATE_OFF);
    EXPECT_TRUE(host_.interrupt(NPU_IRQ_EVENT, kPatience));
    EXPECT_FALSE(host_.reset(NPU_RESET_ROM, milliseconds(100)));
    EXPECT_EQ(host_.say("crash").substr(0, 5), "error");
    ASSERT_TRUE(host_.power_cycle());
    ASSERT_TRUE(host_.bring_up());
    begin();
    works();
}

TEST_F(Fault, DeathFromOutsideIsSeen)
{
    ASSERT_EQ(::kill(static_cast<int>(host_.state_number("pid")), SIGKILL), 0);
    ASSERT_TRUE(host_.wait_state(NPU_STATE_OFF));
    ASSERT_TRUE(host_.power_cycle());
    ASSERT_TRUE(host_.bring_up());
}

TEST_F(Fault, BrokenSiliconStaysOffUntilRepaired)
{
    std::uint32_t powered = host_.regs().power_on_count;

    EXPECT_EQ(host_.say("kill-stay"), "ok");
    host_.ring(NPU_DB_POWER);
    EXPECT_FALSE(host_.wait_state(NPU_STATE_ROM, milliseconds(300)));
    EXPECT_EQ(host_.regs().power_on_count, powered);
    EXPECT_EQ(host_.say("repair").substr(0, 2), "ok");
    ASSERT_TRUE(host_.power_cycle());
    ASSERT_TRUE(host_.bring_up());
}

TEST_F(Fault, PowerCycleWhileItWorks)
{
    hang("hang-next");
    ASSERT_TRUE(host_.power_cycle());
    EXPECT_EQ(host_.regs().power_on_count, 2u);
    ASSERT_TRUE(host_.bring_up());
    begin();
    works();
}

/* ---- the others ---- */

TEST_F(Fault, EccErrors)
{
    EXPECT_EQ(host_.say("ecc"), "ok");
    EXPECT_EQ(run(host_, space_, model_, input(), 1).cpl.status, NPU_ST_ECC);
    works();
    EXPECT_EQ(host_.say("ecc-corrected"), "ok");
    EXPECT_TRUE(host_.eventually([&] { return host_.regs().ecc_errors == 1; }));
    EXPECT_TRUE(host_.interrupt(NPU_IRQ_EVENT, kPatience));
    works();
}

TEST_F(Fault, FaultOnDemand)
{
    EXPECT_EQ(host_.say("fault-next"), "ok");
    npu_cpl cpl = run(host_, space_, model_, input(), 1).cpl;
    EXPECT_EQ(cpl.status, NPU_ST_FAULT);
    EXPECT_EQ(cpl.value, 0xfffffffff000u);
    works();
}

TEST_F(Fault, WildCompletion)
{
    JobBuffers buffers(host_, space_, input(), 1);

    EXPECT_EQ(host_.say("corrupt-completion"), "ok");
    std::uint64_t tag = host_.send(NPU_QUEUE_JOB, buffers.command(model_));
    EXPECT_FALSE(host_.wait(tag, milliseconds(500)));
    EXPECT_EQ(host_.strange_completions(), 1u);
    works();
}

TEST_F(Fault, ControlSocketAnswersNonsense)
{
    for (const char* line : {"", "frobnicate", "temp", "temp x", "temp 1e99", "slow 0", "slow -1",
                             "boot-fail 11", "ambient nan"})
        EXPECT_EQ(host_.say(line).substr(0, 5), "error") << line;
    std::string state = host_.say("state");
    EXPECT_EQ(state.substr(0, 4), "ok {");
    EXPECT_NE(state.find("\"state\":\"running\""), std::string::npos);
}

} // namespace
} // namespace ai0::test
