// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sensors: heat, throttling, energy.
 */
#include <gtest/gtest.h>

#include "runner.h"

namespace ai0::test {
namespace {

TEST(Thermal, SensorsAreAlive)
{
    HostOptions options;
    options.extra = {"--ambient", "30"};
    Host host(options);

    EXPECT_GE(host.regs().temp_mc, 30000);
    EXPECT_LT(host.regs().temp_mc, 40000);
    EXPECT_EQ(host.regs().clock_mhz, host.regs().clock_max_mhz);
    EXPECT_EQ(host.regs().throttled, 0u);
    std::uint64_t energy = host.regs().energy_uj;
    EXPECT_TRUE(host.eventually([&] { return host.regs().energy_uj > energy; }));
    EXPECT_GE(host.regs().power_mw, 1000u);
}

TEST(Thermal, ThrottlesAndRecovers)
{
    Host host;
    Host::Space space = host.create_space(1);
    Host::Loaded loaded = host.load(heavy_model(30, 128));
    std::vector<float> data(128 * 128, 0.01f);
    std::vector<Tensor> inputs = {floats({128, 128}, data), floats({128, 128}, data)};

    Ran cool = run(host, space, loaded.id, inputs, 1);
    ASSERT_EQ(cool.cpl.status, NPU_ST_OK);
    EXPECT_EQ(cool.cpl.flags & NPU_CPL_THROTTLED, 0u);
    while (host.interrupt(NPU_IRQ_EVENT, milliseconds(0)))
        ;

    EXPECT_EQ(host.say("ambient 70"), "ok");
    EXPECT_EQ(host.say("temp 72"), "ok");
    ASSERT_TRUE(host.eventually([&] { return host.regs().throttled == 1; }));
    EXPECT_TRUE(host.interrupt(NPU_IRQ_EVENT, kPatience));
    EXPECT_LT(host.regs().clock_mhz, host.regs().clock_max_mhz);
    EXPECT_NEAR(host.regs().temp_mc, 72000, 1500);
    Ran hot = run(host, space, loaded.id, inputs, 1);
    EXPECT_EQ(hot.cpl.status, NPU_ST_OK);
    EXPECT_EQ(hot.cpl.flags & NPU_CPL_THROTTLED, NPU_CPL_THROTTLED);

    /* Not at the threshold, but below the hysteresis. */
    EXPECT_EQ(host.say("temp 68"), "ok");
    usleep(250000);
    EXPECT_EQ(host.regs().throttled, 1u);
    EXPECT_EQ(host.say("ambient 25"), "ok");
    EXPECT_EQ(host.say("temp 60"), "ok");
    ASSERT_TRUE(host.eventually([&] { return host.regs().throttled == 0; }));
    EXPECT_TRUE(host.interrupt(NPU_IRQ_EVENT, kPatience));
    EXPECT_EQ(host.regs().clock_mhz, host.regs().clock_max_mhz);
}

TEST(Thermal, WorkHeatsAndTakesEnergy)
{
    Host host;
    Host::Space space = host.create_space(1);
    Host::Loaded loaded = host.load(one_op_model("Neg", {{4}}, {4}));
    JobBuffers buffers(host, space, {floats({4}, {1, 2, 3, 4})}, 1);
    std::int32_t before = host.regs().temp_mc;

    ASSERT_EQ(host.say("hang-next").substr(0, 2), "ok");
    std::uint64_t job = host.send(NPU_QUEUE_JOB, buffers.command(loaded.id));
    EXPECT_TRUE(host.eventually(
        [&] { return host.regs().power_mw > 15000 && host.regs().temp_mc > before + 1000; }));
    EXPECT_LE(host.regs().power_mw, host.regs().power_limit_mw);
    host.control(NPU_OP_ABORT, 0, job);
    std::optional<npu_cpl> cpl = host.wait(job);
    ASSERT_TRUE(cpl);
    EXPECT_GT(cpl->energy_uj, 100000u);
    EXPECT_TRUE(host.eventually([&] { return host.regs().power_mw < 5000; }));
}

TEST(Thermal, SlowStretchesRuns)
{
    Host host;
    Host::Space space = host.create_space(1);
    Host::Loaded loaded = host.load(heavy_model(30, 128));
    std::vector<float> data(128 * 128, 0.01f);
    std::vector<Tensor> inputs = {floats({128, 128}, data), floats({128, 128}, data)};

    run(host, space, loaded.id, inputs, 1);
    std::uint64_t fast = ~0ULL;
    for (int i = 0; i < 5; i++)
        fast = std::min<std::uint64_t>(fast, run(host, space, loaded.id, inputs, 1).cpl.run_ns);
    EXPECT_EQ(host.say("slow 50"), "ok");
    EXPECT_GT(run(host, space, loaded.id, inputs, 1).cpl.run_ns, fast * 25);
}

TEST(Thermal, HeatOutlivesPower)
{
    Host host;

    EXPECT_EQ(host.say("temp 69"), "ok");
    ASSERT_TRUE(host.eventually([&] { return host.regs().temp_mc > 60000; }));
    ASSERT_TRUE(host.power_cycle());
    EXPECT_GT(host.regs().temp_mc, 50000);
}

} // namespace
} // namespace ai0::test
