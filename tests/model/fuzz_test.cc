// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest: random commands, descriptors, page tables and registers. The
 * device may refuse and fault as it likes; it must stay up and serve the next
 * honest command. NPU_FUZZ_SECONDS sets for how long (5), NPU_FUZZ_SEED how.
 */
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>

#include "runner.h"

// The test has one thread.
// NOLINTBEGIN(concurrency-mt-unsafe)

namespace ai0::test {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t from_environment(const char* name, std::uint64_t fallback)
{
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 0) : fallback;
}

class Fuzz : public ::testing::Test {
protected:
    void SetUp() override
    {
        std::uint64_t seed = from_environment("NPU_FUZZ_SEED", 1);
        random_.seed(seed);
        end_ = Clock::now() + std::chrono::seconds(from_environment("NPU_FUZZ_SECONDS", 5));
        bring_up();
        pid_ = static_cast<int>(host_.state_number("pid"));
    }

    void bring_up()
    {
        space_ = host_.create_space(1);
        Host::Loaded loaded = host_.load(deep_model(3, 16));
        ASSERT_EQ(loaded.cpl.status, NPU_ST_OK);
        model_ = loaded.id;
    }

    bool more() const { return Clock::now() < end_; }

    std::uint64_t any() { return random_(); }
    bool often() { return random_() % 4 != 0; }

    /* A number that is likely to hurt. */
    std::uint64_t nasty()
    {
        static constexpr std::uint64_t kValues[] = {0,
                                                    1,
                                                    2,
                                                    7,
                                                    8,
                                                    63,
                                                    64,
                                                    65,
                                                    255,
                                                    256,
                                                    4095,
                                                    4096,
                                                    4097,
                                                    1ULL << 20,
                                                    1ULL << 31,
                                                    (1ULL << 32) - 1,
                                                    1ULL << 32,
                                                    (1ULL << 47),
                                                    (1ULL << 48) - 4096,
                                                    (1ULL << 48) - 1,
                                                    1ULL << 48,
                                                    1ULL << 52,
                                                    1ULL << 63,
                                                    ~0ULL,
                                                    ~0ULL - 4095,
                                                    ~0ULL - 1};
        std::uint64_t value = kValues[any() % std::size(kValues)];

        return any() % 3 ? value : any() % 2 ? value + any() % 16 : any() >> any() % 64;
    }

    void honest_work()
    {
        Ran ran = run(host_, space_, model_, {floats({1, 16}, std::vector<float>(16, 2))}, 1,
                      JobOptions{.room = {64}});
        ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
        ASSERT_EQ(host_.regs().state, NPU_STATE_RUNNING);
    }

    Host host_{HostOptions{
        .extra = {}, .cache = {}, .ram_bytes = 1ULL << 30, .lowmem_bytes = 512ULL << 20}};
    std::mt19937_64 random_;
    Clock::time_point end_;
    Host::Space space_{};
    std::uint64_t model_ = 0;
    int pid_ = 0;
};

TEST_F(Fuzz, Descriptors)
{
    JobBuffers buffers(host_, space_, {floats({1, 16}, std::vector<float>(16, 1))}, 1,
                       JobOptions{.room = {64}});
    npu_job_desc saved = buffers.desc();
    npu_tensor tensors[2] = {buffers.input(0), buffers.output(0)};

    for (int round = 0; more(); round++) {
        npu_cmd cmd = buffers.command(often() ? model_ : nasty());
        buffers.desc().nr_inputs = often() ? saved.nr_inputs : static_cast<__u32>(nasty());
        buffers.desc().nr_outputs = often() ? saved.nr_outputs : static_cast<__u32>(nasty());
        for (int i = 0; i < 2; i++) {
            npu_tensor tensor = tensors[i];
            auto* words = reinterpret_cast<std::uint64_t*>(&tensor);
            for (int k = static_cast<int>(any() % 4); k > 0; k--)
                words[any() % (sizeof(tensor) / 8)] = nasty();
            if (any() % 3 == 0)
                tensor.dtype = static_cast<__u32>(any() % 20);
            buffers.input(static_cast<std::size_t>(i)) = tensor;
        }
        if (!often())
            cmd.desc_bytes = static_cast<__u32>(nasty());
        if (!often())
            cmd.desc_addr = nasty();
        if (!often())
            cmd.asid = static_cast<__u32>(nasty());
        npu_cpl cpl = host_.call(NPU_QUEUE_JOB, cmd);
        ASSERT_LE(cpl.status, NPU_ST_ECC);
        buffers.desc().nr_inputs = saved.nr_inputs;
        buffers.desc().nr_outputs = saved.nr_outputs;
        if (round % 64 == 0) {
            ASSERT_NO_FATAL_FAILURE(honest_work());
        }
    }
    EXPECT_EQ(host_.state_number("pid"), pid_);
}

TEST_F(Fuzz, ControlCommands)
{
    std::uint64_t info = host_.alloc(sizeof(npu_model_info));

    for (int round = 0; more(); round++) {
        npu_cmd cmd{};
        cmd.op = static_cast<__u32>(often() ? any() % 12 : nasty());
        /* Spaces 0 and 1 and the honest model are left alone. */
        cmd.asid = static_cast<__u32>(often() ? 2 + any() % 6 : nasty() | 2);
        cmd.object = often() ? 1000 + any() % 8 : nasty() | 1ULL << 40;
        for (auto& arg : cmd.arg)
            arg = often() ? (host_.own().root & ~4095ULL) + any() % 3 * 4096 : nasty();
        cmd.desc_addr = often() ? info : nasty();
        cmd.desc_bytes = static_cast<__u32>(often() ? sizeof(npu_model_info) : nasty());
        cmd.reserved = often() ? 0 : 1;
        npu_cpl cpl = host_.call(NPU_QUEUE_CTRL, cmd);
        ASSERT_LE(cpl.status, NPU_ST_ECC) << cmd.op;
        if (round % 64 == 0) {
            ASSERT_NO_FATAL_FAILURE(honest_work());
        }
    }
    EXPECT_EQ(host_.state_number("pid"), pid_);
}

TEST_F(Fuzz, PageTables)
{
    std::vector<std::uint64_t> tables = {host_.alloc(4096), host_.alloc(4096), host_.alloc(4096),
                                         host_.alloc(4096)};
    /* Of what the test itself needs, nothing is reachable: it would look like a fault. */
    auto entry = [&]() -> std::uint64_t {
        if (often())
            return tables[any() % 4] | (any() & 31) | NPU_PTE_VALID;
        std::uint64_t value = nasty();
        std::uint64_t address = value & NPU_PTE_ADDR;
        bool needed = !(value & NPU_PTE_DEVICE) && address >= 1 << 20 && address < 8ULL << 30;
        return needed ? value | 1ULL << 45 : value;
    };
    for (std::uint64_t asid = 2; more(); asid = 2 + (asid - 1) % 200) {
        JobBuffers buffers(host_, space_, {floats({1, 16}, std::vector<float>(16, 1))}, 1,
                           JobOptions{.room = {64}});
        for (std::uint64_t table : tables)
            for (int i = 0; i < 512; i++)
                host_.at<std::uint64_t>(table)[i] = entry();
        ASSERT_EQ(host_.control(NPU_OP_AS_CREATE, static_cast<__u32>(asid), 0, {tables[0]}).status,
                  NPU_ST_OK);
        for (int i = 0; i < 20; i++) {
            npu_cmd cmd = buffers.command(model_);
            cmd.asid = static_cast<__u32>(asid);
            buffers.input(0).va = any() & ((1ULL << 48) - 1) & ~3ULL;
            ASSERT_LE(host_.call(NPU_QUEUE_JOB, cmd).status, NPU_ST_ECC);
            cmd = npu_cmd{};
            cmd.op = NPU_OP_COPY;
            cmd.asid = static_cast<__u32>(asid);
            /* From nowhere in particular to nowhere: the tables themselves are fair game. */
            cmd.arg[0] = any() & ((1ULL << 48) - 1);
            cmd.arg[1] = any() & ((1ULL << 48) - 1);
            cmd.arg[2] = any() % 10000;
            npu_cpl cpl = host_.call(NPU_QUEUE_JOB, cmd);
            ASSERT_LE(cpl.status, NPU_ST_ECC);
        }
        ASSERT_EQ(host_.control(NPU_OP_AS_DESTROY, static_cast<__u32>(asid)).status, NPU_ST_OK);
        /* Copies may have gone over the tables themselves: start over. */
        ASSERT_TRUE(host_.to_rom());
        ASSERT_TRUE(host_.bring_up());
        bring_up();
        ASSERT_NO_FATAL_FAILURE(honest_work());
    }
    EXPECT_EQ(host_.regs().state, NPU_STATE_RUNNING);
}

TEST_F(Fuzz, Models)
{
    Bytes good = deep_model(12, 16);

    for (int round = 0; more(); round++) {
        Bytes model = good;
        for (int k = static_cast<int>(1 + any() % 6); k > 0; k--)
            model[any() % model.size()] = static_cast<std::byte>(any());
        if (any() % 4 == 0)
            model.resize(1 + any() % model.size());
        Host::Loaded loaded = host_.load(model);
        ASSERT_LE(loaded.cpl.status, NPU_ST_ECC);
        if (loaded.cpl.status == NPU_ST_OK) {
            run(host_, space_, loaded.id, {floats({1, 16}, std::vector<float>(16, 2))}, 1,
                JobOptions{.room = {64}});
            ASSERT_EQ(host_.unload(loaded.id).status, NPU_ST_OK);
        } else {
            ASSERT_NE(loaded.info->message[0], '\0');
        }
        if (round % 32 == 0) {
            ASSERT_NO_FATAL_FAILURE(honest_work());
        }
    }
    EXPECT_EQ(host_.state_number("pid"), pid_);
}

TEST_F(Fuzz, IndicesAndRegisters)
{
    for (int round = 0; more() && round < 2000; round++) {
        auto* index = host_.at<npu_ring_index>(host_.config().queue[any() % 2].index_addr);
        std::uint32_t saved = index->cmd_tail;
        std::atomic_ref(index->cmd_tail).store(saved + 65 + static_cast<std::uint32_t>(nasty()));
        host_.ring(static_cast<unsigned>(any() % 2));
        /* The device's own registers mean nothing to it once it has written them. */
        auto* words = reinterpret_cast<volatile std::uint32_t*>(host_.bar2().data());
        std::size_t word = any() % (sizeof(npu_regs) / 4);
        words[word] = static_cast<std::uint32_t>(nasty());
        usleep(200);
        std::atomic_ref(index->cmd_tail).store(saved);
    }
    /* What the guest spoilt is set right by a power cycle. */
    ASSERT_TRUE(host_.eventually([&] { return host_.say("kill") == "ok"; }));
    ASSERT_TRUE(host_.power_cycle());
    ASSERT_TRUE(host_.bring_up());
    bring_up();
    honest_work();
}

} // namespace
} // namespace ai0::test

// NOLINTEND(concurrency-mt-unsafe)
