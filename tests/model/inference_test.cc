// SPDX-License-Identifier: GPL-2.0-only
/*
 * Inferences: results, shapes, places of tensors, refusals.
 */
#include <gtest/gtest.h>

#include "runner.h"

namespace ai0::test {
namespace {

class Inference : public ::testing::Test {
protected:
    Host host_;
    Host::Space space_ = host_.create_space(1);

    std::uint64_t load(const Bytes& model)
    {
        Host::Loaded loaded = host_.load(model);
        EXPECT_EQ(loaded.cpl.status, NPU_ST_OK) << loaded.info->message;
        return loaded.id;
    }
    Ran run(std::uint64_t model, const std::vector<Tensor>& inputs, JobOptions options = {})
    {
        return test::run(host_, space_, model, inputs, 1, std::move(options));
    }
};

std::vector<float> counting(std::size_t n, float step = 1)
{
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; i++)
        values[i] = step * static_cast<float>(i) - 3;
    return values;
}

TEST_F(Inference, InPlace)
{
    std::uint64_t model = load(one_op_model("Add", {{2, 3}, {2, 3}}, {2, 3}));
    Ran ran = run(model, {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({2, 3}, counting(6))});

    ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
    EXPECT_EQ(compare(ran.outputs[0], floats({2, 3}, {-2, 0, 2, 4, 6, 8})), "");
    EXPECT_EQ(ran.cpl.bytes_in_place, 72u);
    EXPECT_EQ(ran.cpl.bytes_dma, 0u);
    EXPECT_GT(ran.cpl.run_ns, 0u);
    EXPECT_EQ(ran.described[0].needed, 24u);
    EXPECT_EQ(ran.described[0].rank, 2u);
    EXPECT_TRUE(host_.interrupt(NPU_IRQ_JOB, kPatience));
}

TEST_F(Inference, NamedDimensionsAreInPlaceAtOnce)
{
    std::uint64_t model = load(deep_model(5, 100));

    for (std::int64_t n : {1, 7, 300}) {
        std::vector<float> in = counting(static_cast<std::size_t>(n) * 100);
        std::vector<float> out = in;
        for (float& v : out) {
            v = -v;
            v = v > 0 ? v : 0;
            v = -v;
            v = v > 0 ? v : 0;
            v = -v;
        }
        Ran ran = run(model, {floats({n, 100}, in)});
        ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
        EXPECT_EQ(compare(ran.outputs[0], floats({n, 100}, out)), "");
        EXPECT_EQ(ran.cpl.bytes_dma, 0u);
        EXPECT_EQ(ran.cpl.bytes_in_place, static_cast<std::uint64_t>(n) * 800);
    }
}

TEST_F(Inference, ShapeThatDependsOnTheData)
{
    std::uint64_t model = load(one_op_model("NonZero", {{8}}, {1, -1}, 7));

    for (int zeros : {0, 3, 3, 8, 1, 1}) {
        std::vector<float> in(8, 1);
        std::vector<std::int64_t> out;
        for (int i = 0; i < 8; i++) {
            if (i < zeros)
                in[static_cast<std::size_t>(i)] = 0;
            else
                out.push_back(i);
        }
        Ran ran = run(model, {floats({8}, in)});
        ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
        EXPECT_EQ(compare(ran.outputs[0],
                          make_tensor(7, {1, static_cast<std::int64_t>(out.size())}, out)),
                  "");
    }
}

TEST_F(Inference, ObservedShapeIsInPlaceTheSecondTime)
{
    std::uint64_t model = load(concat_model(kUnnamed));
    std::vector<Tensor> inputs = {floats({3}, {1, 2, 3}), floats({3}, {4, 5, 6})};
    Tensor output = floats({6}, {1, 2, 3, 4, 5, 6});

    Ran ran = run(model, inputs);
    ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
    EXPECT_EQ(compare(ran.outputs[0], output), "");
    EXPECT_EQ(ran.cpl.bytes_dma, 24u);
    ran = run(model, inputs);
    ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
    EXPECT_EQ(compare(ran.outputs[0], output), "");
    EXPECT_EQ(ran.cpl.bytes_dma, 0u);
    EXPECT_EQ(ran.cpl.bytes_in_place, 48u);
}

TEST_F(Inference, ModelThatLiesAboutItsOutput)
{
    /* It says that the output is as long as one input. */
    std::uint64_t model = load(concat_model(-1));

    for (int i = 0; i < 3; i++) {
        Ran ran = run(model, {floats({2}, {1, 2}), floats({2}, {3, 4})});
        ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
        EXPECT_EQ(compare(ran.outputs[0], floats({4}, {1, 2, 3, 4})), "");
    }
}

TEST_F(Inference, OutputsThatNoOperatorMakes)
{
    for (int i = 0; i < 2; i++) {
        std::uint64_t model = load(i ? constant_output_model() : pass_through_model());
        for (int again = 0; again < 2; again++) {
            Ran ran = test::run(host_, space_, model, {floats({4}, {1, 2, 3, 4})}, 2);
            ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
            EXPECT_EQ(
                compare(ran.outputs[0], i ? floats({4}, {5, 6, 7, 8}) : floats({4}, {1, 2, 3, 4})),
                "");
            EXPECT_EQ(compare(ran.outputs[1],
                              i ? floats({4}, {6, 8, 10, 12}) : floats({4}, {-1, -2, -3, -4})),
                      "");
        }
    }
}

TEST_F(Inference, BadInputsDoNotSpoilTheNextCall)
{
    std::uint64_t model = load(one_op_model("Add", {{-1}, {kUnnamed}}, {-1}));

    EXPECT_EQ(run(model, {floats({4}, counting(4)), floats({3}, counting(3))}).cpl.status,
              NPU_ST_ENGINE);
    Ran ran = run(model, {floats({4}, counting(4)), floats({4}, counting(4))});
    ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
    EXPECT_EQ(ran.cpl.bytes_dma, 0u);
}

TEST_F(Inference, MoreMemoryThanThereIs)
{
    std::uint64_t model = load(huge_model());

    Ran ran = run(model, {make_tensor(7, {1}, std::vector<std::int64_t>{1LL << 40})});
    EXPECT_EQ(ran.cpl.status, NPU_ST_NO_MEMORY) << ran.message;
    ran = run(model, {make_tensor(7, {1}, std::vector<std::int64_t>{10})});
    EXPECT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
}

TEST_F(Inference, TooSmallAfterTheModelLied)
{
    std::uint64_t model = load(concat_model(-1));
    JobOptions options;
    options.room = {8};
    Ran ran = run(model, {floats({2}, {1, 2}), floats({2}, {3, 4})}, options);

    EXPECT_EQ(ran.cpl.status, NPU_ST_TOO_SMALL);
    EXPECT_EQ(ran.described[0].needed, 16u);
}

TEST_F(Inference, TooSmallSaysWhatIsNeeded)
{
    std::uint64_t model = load(one_op_model("Neg", {{10, 10}}, {10, 10}));
    JobOptions options;
    options.room = {100};
    JobBuffers buffers(host_, space_, {floats({10, 10}, counting(100))}, 1, options);
    std::memset(buffers.host_byte(buffers.output(0).va), 0x5a, 4096 - buffers.output(0).va % 4096);

    npu_cpl cpl = host_.call(NPU_QUEUE_JOB, buffers.command(model));
    EXPECT_EQ(cpl.status, NPU_ST_TOO_SMALL);
    EXPECT_EQ(buffers.output(0).needed, 400u);
    EXPECT_EQ(buffers.output(0).rank, 2u);
    EXPECT_EQ(buffers.output(0).dims[1], 10u);
    EXPECT_NE(buffers.message().find("needs 400"), std::string::npos) << buffers.message();
    for (int i = 0; i < 4096; i++)
        ASSERT_EQ(buffers.host_byte(buffers.output(0).va)[i], std::byte{0x5a});

    options.room = {400};
    Ran ran = run(model, {floats({10, 10}, counting(100))}, options);
    EXPECT_EQ(ran.cpl.status, NPU_ST_OK);
}

TEST_F(Inference, NoRoomAtAll)
{
    std::uint64_t model = load(one_op_model("Neg", {{4}}, {4}));
    JobOptions options;
    options.room = {0};
    Ran ran = run(model, {floats({4}, counting(4))}, options);

    EXPECT_EQ(ran.cpl.status, NPU_ST_TOO_SMALL);
    EXPECT_EQ(ran.described[0].needed, 16u);
}

TEST_F(Inference, ScalarsAndNoElements)
{
    std::uint64_t scalar = load(one_op_model("Neg", {{}}, {}));
    Ran ran = run(scalar, {floats({}, {3})});
    ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
    EXPECT_EQ(compare(ran.outputs[0], floats({}, {-3})), "");

    std::uint64_t empty = load(deep_model(1, 5));
    ran = run(empty, {floats({0, 5}, {})});
    ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
    EXPECT_EQ(ran.described[0].needed, 0u);
    EXPECT_EQ(ran.described[0].rank, 2u);
    EXPECT_EQ(ran.described[0].dims[0], 0u);
}

TEST_F(Inference, AnyShape)
{
    std::uint64_t model = load(any_shape_model());

    for (const std::vector<std::int64_t>& dims : {std::vector<std::int64_t>{}, {1}, {1, 1, 1, 1}}) {
        Ran ran = run(model, {floats(dims, {3})});
        ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
        EXPECT_EQ(ran.described[0].rank, dims.size());
        EXPECT_EQ(compare(ran.outputs[0], floats(dims, {-3})), "");
    }
}

TEST_F(Inference, MisalignedGoesThroughTheDevice)
{
    std::uint64_t model = load(one_op_model("Neg", {{1000}}, {1000}));
    JobOptions options;
    options.misalign = 2;
    Ran ran = run(model, {floats({1000}, counting(1000))}, options);

    ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
    EXPECT_EQ(compare(ran.outputs[0], run(model, {floats({1000}, counting(1000))}).outputs[0]), "");
    EXPECT_EQ(ran.cpl.bytes_dma, 8000u);
    EXPECT_EQ(ran.cpl.bytes_in_place, 0u);
}

TEST_F(Inference, ScatteredPagesAreInPlace)
{
    std::uint64_t model = load(one_op_model("Neg", {{100000}}, {100000}));
    JobOptions options;
    options.scattered = true;
    std::vector<float> in = counting(100000), out = in;
    for (float& v : out)
        v = -v;
    Ran ran = run(model, {floats({100000}, in)}, options);

    ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
    EXPECT_EQ(compare(ran.outputs[0], floats({100000}, out)), "");
    EXPECT_EQ(ran.cpl.bytes_dma, 0u);
    EXPECT_GT(host_.state_number("map_segments"), 100);
}

TEST_F(Inference, DeviceMemory)
{
    std::uint64_t model = load(one_op_model("Neg", {{5000}}, {5000}));
    JobOptions options;
    options.device_memory = true;
    Ran ran = run(model, {floats({5000}, counting(5000))}, options);

    ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
    EXPECT_EQ(compare(ran.outputs[0], run(model, {floats({5000}, counting(5000))}).outputs[0]), "");
    EXPECT_EQ(ran.cpl.bytes_in_place, 40000u);
}

TEST_F(Inference, LargeLeaves)
{
    /* One entry of 2 MiB at level 1, written by hand. */
    std::uint64_t model = load(one_op_model("Neg", {{1024}}, {1024}));
    std::uint64_t block = host_.alloc(4 << 20);
    block = (block + (2 << 20) - 1) & ~((2ULL << 20) - 1);
    JobBuffers buffers(host_, space_, {floats({1024}, counting(1024))}, 1);
    std::uint64_t va = 1ULL << 40;
    std::uint64_t level1 = host_.alloc(4096), level2 = host_.alloc(4096);
    host_.at<std::uint64_t>(space_.root)[va >> 39] = level2 | NPU_PTE_VALID;
    host_.at<std::uint64_t>(level2)[0] = level1 | NPU_PTE_VALID;
    host_.at<std::uint64_t>(level1)[0] =
        block | NPU_PTE_VALID | NPU_PTE_LEAF | NPU_PTE_READ | NPU_PTE_WRITE;
    buffers.output(0).va = va + 4096;
    npu_cpl cpl = host_.call(NPU_QUEUE_JOB, buffers.command(model));

    ASSERT_EQ(cpl.status, NPU_ST_OK) << buffers.message();
    EXPECT_EQ(reinterpret_cast<float*>(host_.memory(block + 4096))[0], 3);
    EXPECT_EQ(cpl.bytes_dma, 0u);
}

TEST_F(Inference, OutputOverInputDoesNotDisturb)
{
    std::uint64_t neg = load(one_op_model("Neg", {{64}}, {64}));
    JobOptions options;
    options.input_flags = NPU_PTE_READ | NPU_PTE_WRITE;
    JobBuffers buffers(host_, space_, {floats({64}, counting(64))}, 1, options);
    buffers.output(0).va = buffers.input(0).va;
    buffers.output(0).bytes = 256;
    npu_cpl cpl = host_.call(NPU_QUEUE_JOB, buffers.command(neg));

    ASSERT_EQ(cpl.status, NPU_ST_OK) << buffers.message();
    std::vector<float> out = counting(64);
    for (float& v : out)
        v = -v;
    EXPECT_EQ(compare(buffers.result(0), floats({64}, out)), "");
    EXPECT_EQ(cpl.bytes_dma, 256u);
}

TEST_F(Inference, InputsAreNeverWritten)
{
    std::uint64_t model = load(deep_model(6, 50));
    Tensor in = floats({10, 50}, counting(500));
    JobBuffers buffers(host_, space_, {in}, 1);

    ASSERT_EQ(host_.call(NPU_QUEUE_JOB, buffers.command(model)).status, NPU_ST_OK);
    EXPECT_EQ(std::memcmp(buffers.host_byte(buffers.input(0).va), in.data.data(), in.data.size()),
              0);
}

TEST_F(Inference, Refusals)
{
    std::uint64_t model = load(one_op_model("Add", {{2, 3}, {2, 3}}, {2, 3}));
    Tensor good = floats({2, 3}, counting(6));

    auto refused = [&](const std::vector<Tensor>& inputs, const std::string& part) {
        Ran ran = run(model, inputs);
        EXPECT_EQ(ran.cpl.status, NPU_ST_BAD_TENSOR);
        EXPECT_NE(ran.message.find(part), std::string::npos) << ran.message;
    };
    refused({good}, "1 inputs and 1 outputs, the model needs 2 and 1");
    Tensor other = good;
    other.dtype = 7;
    refused({good, other}, "input 1 'x1' has element type int64 (7), needed is float (1)");
    other = good;
    other.shape = {3, 2};
    refused({good, other}, "shape [3,2], needed is [2,3]");
    other.shape = {6};
    refused({good, other}, "shape [6], needed is [2,3]");
    other = good;
    other.data.resize(20);
    refused({good, other}, "20 bytes, its shape [2,3] of float needs 24");

    std::uint64_t any = load(deep_model(1, 4));
    Ran ran = run(any, {Tensor{1, {INT64_MAX, 4}, std::vector<std::byte>(16)}});
    EXPECT_EQ(ran.cpl.status, NPU_ST_BAD_TENSOR);
    EXPECT_NE(ran.message.find("no memory can hold"), std::string::npos) << ran.message;

    ran = run(99999, {good, good});
    EXPECT_EQ(ran.cpl.status, NPU_ST_NOT_FOUND);
}

TEST_F(Inference, DescriptorRefusals)
{
    std::uint64_t model = load(one_op_model("Neg", {{4}}, {4}));
    JobBuffers buffers(host_, space_, {floats({4}, counting(4))}, 1);
    npu_cmd good = buffers.command(model);

    npu_cmd cmd = good;
    cmd.desc_addr = 1ULL << 50;
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, cmd).status, NPU_ST_BAD_COMMAND);
    cmd = good;
    cmd.desc_bytes = 10;
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, cmd).status, NPU_ST_BAD_COMMAND);
    cmd = good;
    cmd.desc_bytes -= 1;
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, cmd).status, NPU_ST_BAD_COMMAND);
    cmd = good;
    cmd.asid = 256;
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, cmd).status, NPU_ST_BAD_COMMAND);
    cmd = good;
    cmd.asid = 77;
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, cmd).status, NPU_ST_NOT_FOUND);
    cmd = good;
    cmd.reserved = 1;
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, cmd).status, NPU_ST_BAD_COMMAND);
    cmd = good;
    cmd.op = 99;
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, cmd).status, NPU_ST_BAD_COMMAND);
    buffers.desc().nr_inputs = 65;
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, good).status, NPU_ST_BAD_COMMAND);
    EXPECT_NE(buffers.message().find("65 inputs"), std::string::npos);
    buffers.desc().nr_inputs = 1;
    buffers.input(0).rank = 9;
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, good).status, NPU_ST_BAD_TENSOR);
    buffers.input(0).rank = 1;
    buffers.input(0).bytes = ~0ULL;
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, good).status, NPU_ST_BAD_TENSOR);
    buffers.input(0).bytes = 16;
    EXPECT_EQ(host_.call(NPU_QUEUE_JOB, good).status, NPU_ST_OK);
}

TEST_F(Inference, Copy)
{
    std::uint64_t bytes = 3 << 20;
    std::uint64_t a = host_.alloc(bytes), b = host_.alloc(bytes);
    host_.map(space_, 0x10000000, a, bytes, NPU_PTE_READ);
    host_.map(space_, 0x20000000, b, bytes, NPU_PTE_WRITE);
    for (std::uint64_t i = 0; i < bytes; i++)
        host_.memory(a)[i] = static_cast<std::byte>(i * 7 + i / 4096);
    npu_cmd cmd{};
    cmd.op = NPU_OP_COPY;
    cmd.asid = 1;
    cmd.arg[0] = 0x20000003;
    cmd.arg[1] = 0x10000001;
    cmd.arg[2] = bytes - 5;
    npu_cpl cpl = host_.call(NPU_QUEUE_JOB, cmd);
    EXPECT_EQ(cpl.status, NPU_ST_OK);
    EXPECT_EQ(cpl.bytes_dma, bytes - 5);
    EXPECT_EQ(std::memcmp(host_.memory(b) + 3, host_.memory(a) + 1, bytes - 5), 0);

    std::swap(cmd.arg[0], cmd.arg[1]);
    cpl = host_.call(NPU_QUEUE_JOB, cmd);
    EXPECT_EQ(cpl.status, NPU_ST_FAULT);
    cmd.arg[1] = 0x10000000;
    cmd.arg[0] = 0x20000000;
    cmd.arg[2] = bytes + 1;
    cpl = host_.call(NPU_QUEUE_JOB, cmd);
    EXPECT_EQ(cpl.status, NPU_ST_FAULT);
    EXPECT_EQ(cpl.value, 0x10000000 + bytes);
}

TEST_F(Inference, ManyAtOnce)
{
    std::uint64_t model = load(deep_model(3, 64));
    std::vector<std::unique_ptr<JobBuffers>> jobs;
    std::vector<std::uint64_t> tags;

    for (int i = 0; i < 60; i++) {
        jobs.push_back(std::make_unique<JobBuffers>(
            host_, space_,
            std::vector<Tensor>{floats({2, 64}, std::vector<float>(128, static_cast<float>(i)))}, 1,
            JobOptions{.room = {4096}}));
        tags.push_back(host_.send(NPU_QUEUE_JOB, jobs.back()->command(model)));
    }
    for (int i = 0; i < 60; i++) {
        std::optional<npu_cpl> cpl = host_.wait(tags[static_cast<std::size_t>(i)]);
        ASSERT_TRUE(cpl);
        EXPECT_EQ(cpl->status, NPU_ST_OK);
    }
    EXPECT_EQ(host_.strange_completions(), 0u);
}

} // namespace
} // namespace ai0::test
