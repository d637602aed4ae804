// SPDX-License-Identifier: GPL-2.0-only
/*
 * Boot ROM, handshake, resets.
 */
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "host.h"

// The test has one thread.
// NOLINTBEGIN(concurrency-mt-unsafe)

namespace ai0::test {
namespace {

std::vector<std::byte> image_with(Host& host, const std::string& options)
{
    std::filesystem::path out = host.folder() / "image";
    std::string line =
        std::string(AI_FW_IMAGE_PATH) + " --code " AI_NPU_CODE_PATH " --key " +
        (options.find("--key") == std::string::npos ? AI_NPU_SIGNING_KEY_PATH : "") +
        (options.find("--key") == std::string::npos ? " " + options : options.substr(6)) +
        " --out " + out.string();

    EXPECT_EQ(std::system(line.c_str()), 0) << line;
    std::ifstream file(out, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::vector<std::byte> image(text.size());
    std::memcpy(image.data(), text.data(), text.size());
    return image;
}

HostOptions in_rom()
{
    HostOptions options;
    options.boot = false;
    return options;
}

TEST(Boot, DescribesItself)
{
    Host host(in_rom());

    EXPECT_EQ(host.regs().magic, NPU_MAGIC);
    EXPECT_EQ(host.regs().rom_abi, NPU_ABI_VERSION);
    EXPECT_EQ(host.regs().profile, NPU_PROFILE_NPU);
    EXPECT_EQ(host.regs().power_on_count, 1u);
    EXPECT_EQ(host.bar2().size(), 64u << 20);
    EXPECT_EQ(host.regs().mem_offset % (2 << 20), 0u);
    EXPECT_EQ(host.regs().mem_offset + host.regs().mem_bytes, host.bar2().size());
    EXPECT_EQ(host.regs().temp_throttle_mc, 70000);
    EXPECT_EQ(host.regs().power_limit_mw, 30000u);
    EXPECT_NE(strstr(const_cast<const char*>(host.regs().product), "emulation"), nullptr);
    EXPECT_NE(strstr(const_cast<const char*>(host.regs().engine), "ONNX Runtime"), nullptr);
}

TEST(Boot, GpuProfileAndMemorySize)
{
    HostOptions options;
    options.profile = "gpu";
    options.extra = {"--mem", "128"};
    Host host(options);

    EXPECT_EQ(host.regs().profile, NPU_PROFILE_GPU);
    EXPECT_EQ(host.bar2().size(), 128u << 20);
    EXPECT_EQ(host.regs().temp_throttle_mc, 85000);
}

TEST(Boot, RunsAndAnswers)
{
    Host host;

    EXPECT_EQ(host.regs().state, NPU_STATE_RUNNING);
    EXPECT_EQ(host.regs().fw_abi, NPU_ABI_VERSION);
    EXPECT_EQ(host.regs().fw_version, NPU_FW_VERSION(1, 0, 0));
    npu_cpl cpl = host.control(NPU_OP_PING, 0, 0, {0x1122334455667788});
    EXPECT_EQ(cpl.status, NPU_ST_OK);
    EXPECT_EQ(cpl.op, NPU_OP_PING);
    EXPECT_EQ(cpl.value, 0x1122334455667788u);
    EXPECT_TRUE(host.interrupt(NPU_IRQ_CTRL, kPatience));
    EXPECT_NE(host.firmware_log().find("firmware 1.0.0 runs"), std::string::npos);

    std::uint32_t beat = host.regs().heartbeat;
    EXPECT_TRUE(host.eventually([&] { return host.regs().heartbeat > beat + 3; }));
}

TEST(Boot, RomSaysWhatItRefuses)
{
    Host host(in_rom());
    std::vector<std::byte> good = Host::good_image();

    auto refused = [&](const std::vector<std::byte>& image, npu_boot_error error) {
        EXPECT_EQ(host.boot(image), NPU_STATE_BOOT_FAILED);
        EXPECT_EQ(host.regs().boot_error, static_cast<std::uint32_t>(error));
    };
    auto header = [](std::vector<std::byte>& image) -> npu_fw_header& {
        return *reinterpret_cast<npu_fw_header*>(image.data());
    };

    refused({}, NPU_BOOT_SIZE);
    EXPECT_EQ(host.regs().boot_needed, NPU_FW_HEADER_BYTES);
    std::vector<std::byte> half(good.begin(), good.begin() + static_cast<long>(good.size() / 2));
    refused(half, NPU_BOOT_SIZE);
    EXPECT_EQ(host.regs().boot_found, half.size());
    EXPECT_EQ(host.regs().boot_needed, good.size());
    refused(std::vector<std::byte>(4 << 20), NPU_BOOT_SIZE);

    std::vector<std::byte> image = good;
    header(image).magic = 0x12345678;
    refused(image, NPU_BOOT_MAGIC);
    EXPECT_EQ(host.regs().boot_found, 0x12345678u);
    EXPECT_EQ(host.regs().boot_needed, NPU_FW_MAGIC);

    refused(image_with(host, "--header-version 2"), NPU_BOOT_HEADER_VERSION);
    EXPECT_EQ(host.regs().boot_found, 2u);
    refused(image_with(host, "--abi 2.0"), NPU_BOOT_ABI);
    EXPECT_EQ(host.regs().boot_found, NPU_ABI(2, 0));
    EXPECT_EQ(host.regs().boot_needed, NPU_ABI_VERSION);
    refused(image_with(host, "--abi 0.9"), NPU_BOOT_ABI);
    refused(image_with(host, "--profiles gpu"), NPU_BOOT_PROFILE);
    EXPECT_EQ(host.regs().boot_needed, 1u << NPU_PROFILE_NPU);

    image = good;
    image.back() ^= std::byte{1};
    refused(image, NPU_BOOT_DIGEST);

    std::filesystem::path key = host.folder() / "other.pem";
    ASSERT_EQ(std::system(("openssl genpkey -algorithm ed25519 -out " + key.string()).c_str()), 0);
    refused(image_with(host, "--key " + key.string()), NPU_BOOT_KEY);
    EXPECT_NE(host.regs().boot_found, host.regs().boot_needed);

    image = good;
    header(image).version++;
    refused(image, NPU_BOOT_SIGNATURE);
    image = good;
    header(image).signature[5] ^= 1;
    refused(image, NPU_BOOT_SIGNATURE);

    /* Lengths and addresses that are signed and still impossible are no danger either. */
    image = good;
    header(image).code_bytes = ~0ULL;
    refused(image, NPU_BOOT_SIZE);
    image = good;
    header(image).load_addr = ~0ULL - 100;
    refused(image, NPU_BOOT_SIZE);

    EXPECT_TRUE(host.bring_up());
}

TEST(Boot, LaterInterfaceOfTheSameMajorRuns)
{
    Host host(in_rom());
    std::vector<std::byte> image = image_with(host, "--abi 1.7");

    ASSERT_TRUE(host.bring_up());
    ASSERT_TRUE(host.to_rom());
    EXPECT_EQ(host.boot(image), NPU_STATE_RUNNING);
}

TEST(Boot, FirmwareRefusesConfiguration)
{
    struct {
        void (*spoil)(npu_config&);
        std::size_t offset;
    } const cases[] = {
        {[](npu_config& c) { c.magic = 1; }, offsetof(npu_config, magic)},
        {[](npu_config& c) { c.bytes = 8; }, offsetof(npu_config, bytes)},
        {[](npu_config& c) { c.driver_abi = NPU_ABI(2, 0); }, offsetof(npu_config, driver_abi)},
        {[](npu_config& c) { c.driver_abi = NPU_ABI(1, 9); }, offsetof(npu_config, driver_abi)},
        {[](npu_config& c) { c.entries = 65; }, offsetof(npu_config, entries)},
        {[](npu_config& c) { c.queue[1].cpl_addr = 1ULL << 60; },
         offsetof(npu_config, queue) + sizeof(npu_queue_config) +
             offsetof(npu_queue_config, cpl_addr)},
        {[](npu_config& c) { c.queue[0].index_addr += 1; }, offsetof(npu_config, queue)},
    };
    Host host;

    for (const auto& c : cases) {
        npu_config good = host.config();
        ASSERT_TRUE(host.to_rom());
        c.spoil(host.config());
        EXPECT_EQ(host.boot(Host::good_image()), NPU_STATE_BOOT_FAILED);
        EXPECT_EQ(host.regs().boot_error, NPU_BOOT_CONFIG);
        EXPECT_EQ(host.regs().boot_found, c.offset);
        host.config() = good;
    }
    ASSERT_TRUE(host.to_rom());
    EXPECT_TRUE(host.bring_up());
}

TEST(Boot, InjectedFailure)
{
    Host host(in_rom());

    EXPECT_EQ(host.say("boot-fail 10").substr(0, 2), "ok");
    EXPECT_EQ(host.boot(Host::good_image()), NPU_STATE_BOOT_FAILED);
    EXPECT_EQ(host.regs().boot_error, NPU_BOOT_HANDSHAKE);
    EXPECT_TRUE(host.bring_up());
}

TEST(Boot, BootWhileRunningGoesThroughRom)
{
    Host host;
    std::uint32_t powered = host.regs().power_on_count;

    EXPECT_TRUE(host.bring_up());
    EXPECT_EQ(host.regs().power_on_count, powered);
}

TEST(Boot, EndsWithQemu)
{
    Host host;

    host.disconnect();
    EXPECT_TRUE(host.process_ended());
}

} // namespace
} // namespace ai0::test

// NOLINTEND(concurrency-mt-unsafe)
