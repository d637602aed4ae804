// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include <getopt.h>

#include "bar2.h"

// Everything here happens while there is one thread.
// NOLINTBEGIN(concurrency-mt-unsafe)

namespace ai0::npu {

namespace {

constexpr Profile kProfiles[] = {
    {
        .id = NPU_PROFILE_NPU,
        .name = "npu",
        .product = "ai0 reference NPU (emulation)",
        .throttle_mc = 70000,
        .hysteresis_mc = 5000,
        .power_limit_mw = 30000,
        .idle_mw = 2000,
        .busy_mw = 22000,
        .clock_mhz = 1000,
        .clock_throttled_mhz = 500,
        .kelvin_per_watt = 1.8,
        .joule_per_kelvin = 8,
        .engines = 1,
        .threads = 2,
        .bar_bytes = 64ULL << 20,
    },
    {
        .id = NPU_PROFILE_GPU,
        .name = "gpu",
        .product = "ai0 reference GPU-class board (emulation)",
        .throttle_mc = 85000,
        .hysteresis_mc = 5000,
        .power_limit_mw = 150000,
        .idle_mw = 15000,
        .busy_mw = 120000,
        .clock_mhz = 1800,
        .clock_throttled_mhz = 900,
        .kelvin_per_watt = 0.42,
        .joule_per_kelvin = 60,
        .engines = 2,
        .threads = 4,
        .bar_bytes = 256ULL << 20,
    },
};

constexpr char kUsage[] =
    "usage: ai-npu-model --profile npu|gpu --socket PATH --control PATH --ram PATH\n"
    "                    --ram-size BYTES [--ram-lowmem BYTES] --cache DIR\n"
    "                    --key PUBLIC.pem --log FILE [--ambient C] [--mem MIB]\n"
    "\n"
    "  --socket       where QEMU's ivshmem-doorbell connects (vectors=4)\n"
    "  --control      where faults and temperatures are set, see Documentation/npu.md\n"
    "  --ram          file behind the guest's memory; may appear later\n"
    "  --ram-size     its size; --ram-lowmem: how much of it is below 4 GiB\n"
    "  --cache        folder for compiled models\n"
    "  --key          public key of the firmware that the boot ROM accepts\n"
    "  --ambient      temperature around the board, 25 if not given\n"
    "  --mem          size of BAR2 in MiB, a power of two; 64 (npu) or 256 (gpu)\n"
    "\n"
    "Prints 'ready' when QEMU may connect, and ends when QEMU does.\n";

[[noreturn]] void fail(const std::string& sentence)
{
    std::cerr << "ai-npu-model: " << sentence << "\n" << kUsage;
    std::exit(2);
}

std::uint64_t number(std::string_view option, std::string_view text)
{
    std::uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);

    if (error != std::errc() || end != text.data() + text.size())
        fail("--" + std::string(option) + " is '" + std::string(text) +
             "', needed is a whole number");
    return value;
}

double celsius(std::string_view text)
{
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);

    if (error != std::errc() || end != text.data() + text.size() || value < -55 || value > 150)
        fail("--ambient is '" + std::string(text) + "', needed are -55 to 150 degrees Celsius");
    return value;
}

} // namespace

const Profile* find_profile(const std::string& name)
{
    for (const Profile& profile : kProfiles)
        if (name == profile.name)
            return &profile;
    return nullptr;
}

Config parse_command_line(int argc, char** argv)
{
    enum {
        kProfileOption,
        kSocket,
        kControl,
        kRam,
        kRamSize,
        kRamLowmem,
        kCache,
        kKey,
        kLog,
        kAmbient,
        kMem,
        kHelp
    };
    static const option kLong[] = {
        {"profile", required_argument, nullptr, kProfileOption},
        {"socket", required_argument, nullptr, kSocket},
        {"control", required_argument, nullptr, kControl},
        {"ram", required_argument, nullptr, kRam},
        {"ram-size", required_argument, nullptr, kRamSize},
        {"ram-lowmem", required_argument, nullptr, kRamLowmem},
        {"cache", required_argument, nullptr, kCache},
        {"key", required_argument, nullptr, kKey},
        {"log", required_argument, nullptr, kLog},
        {"ambient", required_argument, nullptr, kAmbient},
        {"mem", required_argument, nullptr, kMem},
        {"help", no_argument, nullptr, kHelp},
        {},
    };
    Config config;
    bool lowmem_given = false;

    for (int c; (c = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
        switch (c) {
        case kProfileOption:
            config.profile = find_profile(optarg);
            if (!config.profile)
                fail("--profile is '" + std::string(optarg) + "', needed is npu or gpu");
            break;
        case kSocket:
            config.socket_path = optarg;
            break;
        case kControl:
            config.control_path = optarg;
            break;
        case kRam:
            config.ram_path = optarg;
            break;
        case kRamSize:
            config.ram_bytes = number("ram-size", optarg);
            break;
        case kRamLowmem:
            config.ram_lowmem = number("ram-lowmem", optarg);
            lowmem_given = true;
            break;
        case kCache:
            config.cache_dir = optarg;
            break;
        case kKey:
            config.key_path = optarg;
            break;
        case kLog:
            config.log_path = optarg;
            break;
        case kAmbient:
            config.ambient_c = celsius(optarg);
            break;
        case kMem:
            config.bar_bytes = number("mem", optarg) << 20;
            break;
        case kHelp:
            std::cout << kUsage;
            std::exit(0);
        default:
            std::cerr << kUsage;
            std::exit(2);
        }
    }
    if (optind != argc)
        fail("'" + std::string(argv[optind]) + "' is not an option");
    if (!config.profile || config.socket_path.empty() || config.control_path.empty() ||
        config.ram_path.empty() || !config.ram_bytes || config.cache_dir.empty() ||
        config.key_path.empty() || config.log_path.empty())
        fail("--profile, --socket, --control, --ram, --ram-size, --cache, --key and --log are "
             "all needed");
    if (!lowmem_given)
        config.ram_lowmem = config.ram_bytes;
    if (config.ram_bytes % kPageBytes || config.ram_lowmem % kPageBytes ||
        config.ram_lowmem > config.ram_bytes || config.ram_lowmem > 4ULL << 30)
        fail("--ram-size and --ram-lowmem are multiples of 4096, the second at most the first "
             "and at most 4 GiB");
    if (!config.bar_bytes)
        config.bar_bytes = config.profile->bar_bytes;
    if (!std::has_single_bit(config.bar_bytes) || config.bar_bytes <= kMemOffset ||
        config.bar_bytes > 64ULL << 30)
        fail("--mem is a power of two between 32 and 65536");
    return config;
}

} // namespace ai0::npu

// NOLINTEND(concurrency-mt-unsafe)
