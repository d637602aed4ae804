/* SPDX-License-Identifier: Apache-2.0 */
#include <cerrno>
#include <cstring>
#include <limits>
#include <thread>

#include "fixture.h"

namespace {

using testing::HasSubstr;

/* An output that has one element more than the input: all doubled, then their number. */
int doubled(FakeKernel::Job& job)
{
    std::uint64_t count = job.inputs[0].bytes / sizeof(float);
    std::uint64_t needed = (count + 1) * sizeof(float);

    set_output(job.outputs[0], AI_DTYPE_FLOAT, {count + 1}, needed);
    if (job.output_data[0].size() < needed) {
        job.sentence = "npu0: output 0 'y' is too small";
        return -ENOSPC;
    }
    std::vector<float> values(count + 1);
    std::memcpy(values.data(), job.input_data[0].data(), job.inputs[0].bytes);
    for (float& value : values)
        value *= 2;
    values.back() = static_cast<float>(count);
    std::memcpy(job.output_data[0].data(), values.data(), needed);
    return 0;
}

class InferTest : public WithKernel {
protected:
    ai::Session session = open();

    InferTest() { kernel->on_infer = doubled; }

    ai::Tensor numbers(std::size_t count)
    {
        auto tensor =
            ai::Tensor::allocate(session, ai::DType::kFloat32, ai::Shape(count)).or_throw();
        float next = 1;
        for (float& value : tensor.span<float>().value())
            value = next++;
        return tensor;
    }
};

TEST_F(InferTest, RunsInGivenMemory)
{
    ai::Model model = load(session, {3}, {4});
    ai::Tensor input = numbers(3);
    auto output = ai::Tensor::allocate(session, ai::DType::kFloat32, ai::Shape(4)).or_throw();
    auto done = ai::infer(model, {&input, 1}, {&output, 1}).or_throw();

    EXPECT_THAT(output.span<float>().value(), testing::ElementsAre(2, 4, 6, 3));
    EXPECT_EQ(done.record.device_name, "npu0");
    EXPECT_EQ(done.record.firmware, "1.2.3");
    EXPECT_EQ(done.record.run, ai::Nanoseconds(1000));
    EXPECT_EQ(done.record.in_place, ai::Bytes(64));
}

TEST_F(InferTest, SaysHowManyBytesAreNeeded)
{
    ai::Model model = load(session, {-1}, {-1});
    ai::Tensor input = numbers(3000);
    auto buffer = ai::Buffer::allocate(session, ai::Bytes(4096)).or_throw();
    auto output =
        ai::Tensor::room(buffer, ai::Bytes(0), ai::DType::kFloat32, ai::Bytes(4096)).or_throw();
    ai::Record record;
    ai::InferOptions options;
    options.record = &record;
    auto done = ai::infer(model, {&input, 1}, {&output, 1}, options);

    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ENOSPC);
    EXPECT_EQ(done.error().message, "npu0: output 0 'y' is too small");
    EXPECT_EQ(output.needed(), ai::Bytes(12004));
    EXPECT_EQ(record.device_name, "npu0");
}

TEST_F(InferTest, MakesOutputsLargeEnough)
{
    ai::Model model = load(session, {-1}, {-1});
    ai::Tensor input = numbers(20000);
    auto first = ai::infer(model, {&input, 1}).or_throw();

    EXPECT_EQ(first.outputs[0].shape(), ai::Shape(20001));
    EXPECT_EQ(first.outputs[0].span<float>().value().back(), 20000);
    int before = kernel->infers();
    EXPECT_TRUE(ai::infer(model, {&input, 1}));
    EXPECT_EQ(kernel->infers(), before + 1) << "the size is remembered";
}

TEST_F(InferTest, KeepsOutputsThatAreLargeEnough)
{
    ai::Model model = load(session, {-1}, {-1});
    ai::Tensor large = numbers(30000);
    ai::Tensor small = numbers(3);
    std::vector<ai::Tensor> outputs;
    ASSERT_TRUE(ai::infer_into(model, {&large, 1}, outputs));
    const ai::Buffer* buffer = outputs[0].buffer().get();

    ASSERT_TRUE(ai::infer_into(model, {&small, 1}, outputs));
    EXPECT_EQ(outputs[0].buffer().get(), buffer);
    EXPECT_THAT(outputs[0].span<float>().value(), testing::ElementsAre(2, 4, 6, 3));
}

TEST_F(InferTest, GivesUpWhenItIsTheDeviceThatIsFull)
{
    ai::Model model = load(session, {3}, {4});
    ai::Tensor input = numbers(3);
    kernel->on_infer = [](FakeKernel::Job& job) {
        job.sentence = "npu0: all slots are in use";
        return -ENOSPC;
    };

    EXPECT_EQ(ai::infer(model, {&input, 1}).error().message, "npu0: all slots are in use");
    EXPECT_EQ(kernel->infers(), 1);
}

TEST_F(InferTest, ReturnsOutputsWithoutElements)
{
    ai::Model model = load(session, {1}, {-1, 3});
    ai::Tensor input = numbers(1);
    kernel->on_infer = [](FakeKernel::Job& job) {
        set_output(job.outputs[0], AI_DTYPE_FLOAT, {0, 3}, 0);
        return 0;
    };
    auto done = ai::infer(model, {&input, 1}).or_throw();

    EXPECT_EQ(done.outputs[0].shape(), ai::Shape(0, 3));
    EXPECT_TRUE(done.outputs[0].span<float>().value().empty());
}

TEST_F(InferTest, PassesTensorsWithoutElements)
{
    ai::Model model = load(session, {-1}, {-1});
    auto input = ai::Tensor::allocate(session, ai::DType::kFloat32, ai::Shape(0)).or_throw();
    kernel->on_infer = [](FakeKernel::Job& job) {
        EXPECT_EQ(job.inputs[0].rank, 1U);
        EXPECT_EQ(job.inputs[0].dims[0], 0U);
        set_output(job.outputs[0], AI_DTYPE_FLOAT, {}, 4);
        return 0;
    };
    auto done = ai::infer(model, {&input, 1}).or_throw();

    EXPECT_EQ(done.outputs[0].elements(), 1U);
}

TEST_F(InferTest, CountsTensorsFirst)
{
    ai::Model model = load(session, {3}, {4});
    std::vector<ai::Tensor> two{numbers(3), numbers(3)};

    EXPECT_EQ(ai::infer(model, two).error().message, "2 inputs are given, the model has 1");
    EXPECT_EQ(ai::infer(model, {two.data(), 1}, std::span<ai::Tensor>()).error().message,
              "0 outputs are given, the model has 1");
    EXPECT_EQ(kernel->infers(), 0);
}

TEST_F(InferTest, PassesOptionsOn)
{
    ai::Model model = load(session, {3}, {4});
    ai::Tensor input = numbers(3);
    ai::InferOptions options;
    options.cookie = 42;
    options.priority = 5;
    options.timeout = std::chrono::seconds(1);
    options.deadline = ai::Clock::time_point(ai::Nanoseconds(1234567));
    kernel->on_infer = [](FakeKernel::Job& job) {
        EXPECT_EQ(job.cookie, 42U);
        EXPECT_EQ(job.priority, 5U);
        EXPECT_EQ(job.deadline_ns, 1234567);
        EXPECT_GT(job.timeout_ns, 1000000000);
        return doubled(job);
    };

    EXPECT_TRUE(ai::infer(model, {&input, 1}, options));
}

TEST_F(InferTest, TimeoutsAreForAllAttemptsTogether)
{
    ai::Model model = load(session, {-1}, {-1});
    ai::Tensor input = numbers(20480);
    ai::InferOptions options;
    std::vector<std::int64_t> ends;
    options.timeout = std::chrono::seconds(100);
    kernel->on_infer = [&](FakeKernel::Job& job) {
        ends.push_back(job.timeout_ns);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return doubled(job);
    };

    ASSERT_TRUE(ai::infer(model, {&input, 1}, options));
    ASSERT_EQ(ends.size(), 2U);
    EXPECT_NEAR(static_cast<double>(ends[1] - ends[0]), 0, 1e6);
}

TEST_F(InferTest, TakesTheLongestTimeouts)
{
    ai::Model model = load(session, {3}, {4});
    ai::Tensor input = numbers(3);
    ai::InferOptions options;
    options.timeout = ai::Nanoseconds::max();
    kernel->on_infer = [](FakeKernel::Job& job) {
        EXPECT_EQ(job.timeout_ns, std::numeric_limits<std::int64_t>::max());
        return doubled(job);
    };

    EXPECT_TRUE(ai::infer(model, {&input, 1}, options));
}

TEST_F(InferTest, TakesAFreshCookieForEachCall)
{
    ai::Model model = load(session, {3}, {4});
    ai::Tensor input = numbers(3);
    std::vector<std::uint64_t> cookies;
    kernel->on_infer = [&](FakeKernel::Job& job) {
        cookies.push_back(job.cookie);
        return doubled(job);
    };

    ASSERT_TRUE(ai::infer(model, {&input, 1}));
    ASSERT_TRUE(ai::infer(model, {&input, 1}));
    EXPECT_NE(cookies[0], cookies[1]);
}

TEST_F(InferTest, ReturnsTheKernelsSentence)
{
    ai::Model model = load(session, {3}, {4});
    ai::Tensor input = numbers(3);
    kernel->on_infer = [](FakeKernel::Job& job) {
        job.sentence = "npu0 was removed while the job ran";
        return -ENODEV;
    };
    auto done = ai::infer(model, {&input, 1});

    EXPECT_EQ(done.error().code, ENODEV);
    EXPECT_EQ(done.error().message, "npu0 was removed while the job ran");
}

TEST_F(InferTest, StopsBeforeItBegins)
{
    ai::Model model = load(session, {3}, {4});
    ai::Tensor input = numbers(3);
    std::stop_source source;
    ai::InferOptions options;
    options.stop = source.get_token();
    source.request_stop();

    EXPECT_EQ(ai::infer(model, {&input, 1}, options).error().code, ECANCELED);
    EXPECT_EQ(kernel->infers(), 0);
}

TEST_F(InferTest, StopsWhileItRuns)
{
    ai::Model model = load(session, {3}, {4});
    ai::Tensor input = numbers(3);
    std::stop_source source;
    ai::InferOptions options;
    options.stop = source.get_token();
    kernel->on_infer = [&](FakeKernel::Job& job) {
        std::jthread stopper([&] { source.request_stop(); });
        while (kernel->cancelled_cookie != job.cookie)
            std::this_thread::yield();
        job.sentence = "cancelled";
        return -ECANCELED;
    };

    EXPECT_EQ(ai::infer(model, {&input, 1}, options).error().code, ECANCELED);
}

TEST_F(InferTest, StopReturnsWhenTheJobEndedByItself)
{
    ai::Model model = load(session, {3}, {4});
    ai::Tensor input = numbers(3);
    std::stop_source source;
    std::jthread stopper;
    ai::InferOptions options;
    options.stop = source.get_token();
    kernel->hide_jobs = true; /* it is not made yet, then it has ended */
    kernel->on_infer = [&](FakeKernel::Job& job) {
        stopper = std::jthread([&] { source.request_stop(); });
        while (kernel->cancels == 0)
            std::this_thread::yield();
        return doubled(job);
    };

    EXPECT_TRUE(ai::infer(model, {&input, 1}, options));
}

TEST_F(InferTest, RunsInSeveralThreads)
{
    ai::Model model = load(session, {-1}, {-1});
    std::vector<std::jthread> threads;
    for (std::size_t count : {100, 20000, 300, 40000})
        threads.emplace_back([&, count] {
            ai::Tensor input = numbers(count);
            for (int i = 0; i < 50; i++) {
                auto done = ai::infer(model, {&input, 1});
                ASSERT_TRUE(done) << done.error().message;
                EXPECT_EQ(done->outputs[0].shape(), ai::Shape(count + 1));
            }
        });
}

} // namespace
