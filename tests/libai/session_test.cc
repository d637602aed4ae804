/* SPDX-License-Identifier: Apache-2.0 */
#include <cerrno>
#include <cstdlib>

#include <sys/stat.h>

#include "fixture.h"

namespace {

using testing::HasSubstr;

class SessionTest : public WithKernel {};

TEST_F(SessionTest, KnowsWhatTheKernelOffers)
{
    kernel->devices = {device_info(AI_DEVICE(AI_CLASS_NPU, 0), "npu0")};
    ai::Session session = open();

    EXPECT_EQ(session.info().devices, 1U);
    EXPECT_EQ(session.info().page_size, ai::Bytes(4096));
    EXPECT_EQ(session.path(), "/dev/ai0");
}

TEST_F(SessionTest, ClosesTheNodeWithItsLastUser)
{
    {
        ai::Session session = open();
        auto buffer = ai::Buffer::allocate(session, ai::Bytes(1)).or_throw();
        ai::Session copy = session;
        session = open();
        EXPECT_EQ(kernel->closes, 0);
        copy = session;
        EXPECT_EQ(kernel->closes, 0); /* the buffer still uses it */
        buffer.reset();
        EXPECT_EQ(kernel->closes, 1);
    }
    EXPECT_EQ(kernel->opens, 2);
    EXPECT_EQ(kernel->closes, 2);
}

TEST_F(SessionTest, TriesAgainWhenInterrupted)
{
    kernel->interruptions = 3;

    EXPECT_TRUE(ai::Session::open("/dev/ai0", kernel));
    EXPECT_EQ(kernel->interruptions, 0);
}

TEST_F(SessionTest, SaysThatTheNodeIsMissing)
{
    kernel->open_error = ENOENT;
    auto session = ai::Session::open("/dev/ai0", kernel);

    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().code, ENOENT);
    EXPECT_THAT(session.error().message, HasSubstr("load the kernel module"));
}

TEST_F(SessionTest, NamesTheGroupToJoin)
{
    kernel->open_error = EACCES;
    std::string node = testing::TempDir() + "node";
    ASSERT_EQ(::mknod(node.c_str(), S_IFREG | 0660, 0), 0);
    ::chmod(node.c_str(), 0660);
    auto session = ai::Session::open(node, kernel);
    ::unlink(node.c_str());

    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().code, EACCES);
    EXPECT_THAT(session.error().message, HasSubstr("it belongs to group "));
}

TEST_F(SessionTest, SaysThatTheUdevRuleIsMissing)
{
    kernel->open_error = EACCES;
    std::string node = testing::TempDir() + "node";
    ASSERT_EQ(::mknod(node.c_str(), S_IFREG | 0600, 0), 0);
    auto session = ai::Session::open(node, kernel);
    ::unlink(node.c_str());

    EXPECT_THAT(session.error().message, HasSubstr("udev rule"));
}

TEST_F(SessionTest, RefusesAnotherInterface)
{
    kernel->abi_major = AI_ABI_MAJOR + 1;
    auto session = ai::Session::open("/dev/ai0", kernel);

    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().code, EPROTO);
    EXPECT_THAT(session.error().message, HasSubstr("from one release"));
    EXPECT_EQ(kernel->closes, 1);
}

TEST_F(SessionTest, RefusesANodeOfSomethingElse)
{
    kernel->fail_request = AI_INFO;
    kernel->fail_error = ENOTTY;

    EXPECT_THAT(ai::Session::open("/dev/null", kernel).error().message,
                HasSubstr("not a node of ai0"));
}

TEST(SessionOpen, TakesTheNodeOfTheEnvironment)
{
    // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread
    ::setenv("AI_DEVICE_NODE", "/nowhere/ai7", 1);
    auto session = ai::Session::open();
    ::unsetenv("AI_DEVICE_NODE");
    // NOLINTEND(concurrency-mt-unsafe)

    EXPECT_THAT(session.error().message, HasSubstr("/nowhere/ai7 does not exist"));
}

TEST(SessionOpen, MakesRealCalls)
{
    EXPECT_EQ(ai::Session::open("/dev/null").error().code, ENOTTY);
}

TEST_F(SessionTest, ListsDevices)
{
    kernel->devices = {device_info(AI_DEVICE(AI_CLASS_GPU, 2), "gpu2"),
                       device_info(AI_DEVICE(AI_CLASS_NPU, 0), "npu0"),
                       device_info(AI_DEVICE(AI_CLASS_FPGA, 63), "fpga63")};
    ai::Session session = open();
    std::vector<ai::Device> devices = session.devices().or_throw();

    ASSERT_EQ(devices.size(), 3U);
    EXPECT_EQ(devices[0].device_class(), ai::DeviceClass::kGpu);
    EXPECT_EQ(devices[1].name, "npu0");
    EXPECT_EQ(devices[1].firmware, "1.2.3");
    EXPECT_TRUE(devices[1].emulated);
    EXPECT_EQ(session.device("npu0")->id, ai::DeviceId(AI_DEVICE(AI_CLASS_NPU, 0)));
    EXPECT_EQ(session.device(devices[2].id)->name, "fpga63");
}

TEST_F(SessionTest, NamesTheDevicesThereAre)
{
    ai::Session none = open();
    EXPECT_THAT(none.device("npu0").error().message, HasSubstr("none at all"));

    kernel->devices = {device_info(AI_DEVICE(AI_CLASS_GPU, 0), "gpu0")};
    auto device = none.device("npu0");
    EXPECT_EQ(device.error().code, ENOENT);
    EXPECT_EQ(device.error().message, "there is no device 'npu0'; there is: gpu0");
    EXPECT_THAT(none.device(ai::DeviceId(5)).error().message, HasSubstr("no such device"));
}

TEST_F(SessionTest, MakesASentenceWhereTheKernelHasNone)
{
    ai::Session session = open();

    kernel->fail_request = AI_CANCEL;
    kernel->fail_error = ENOMEM;
    EXPECT_EQ(ai::cancel(session, 1).error().message, "AI_CANCEL failed: Cannot allocate memory");
    kernel->fail_request = AI_CANCEL;
    kernel->fail_error = ENOTTY;
    EXPECT_THAT(ai::cancel(session, 1).error().message, HasSubstr("older than libai"));
}

class DumpTest : public WithKernel {
protected:
    static constexpr ai::DeviceId kDevice{AI_DEVICE(AI_CLASS_NPU, 0)};

    DumpTest() { kernel->devices = {device_info(AI_DEVICE(AI_CLASS_NPU, 0), "npu0")}; }
};

TEST_F(DumpTest, IsAsLargeAsTheKernelSays)
{
    ai::Session session = open();

    EXPECT_EQ(ai::dump(session, kDevice).or_throw(), std::vector(100, std::byte{0x5a}));
    EXPECT_EQ(kernel->dumps, 1);
    kernel->dump_bytes = 1 << 20;
    EXPECT_EQ(ai::dump(session, kDevice).or_throw(), std::vector(1 << 20, std::byte{0x5a}));
}

TEST_F(DumpTest, MayGrowMeanwhile)
{
    ai::Session session = open();

    kernel->dump_bytes = 1 << 20;
    kernel->dump_grows = 1 << 20;
    EXPECT_EQ(ai::dump(session, kDevice).or_throw().size(), kernel->dump_bytes);
    EXPECT_GT(kernel->dumps, 2);
}

TEST_F(DumpTest, NeedsADevice)
{
    ai::Session session = open();

    ai::Result<std::vector<std::byte>> none =
        ai::dump(session, ai::DeviceId{AI_DEVICE(AI_CLASS_NPU, 1)});
    EXPECT_EQ(none.error().code, ENOENT);
    EXPECT_THAT(none.error().message, HasSubstr("no such device"));
}

} // namespace
