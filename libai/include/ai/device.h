/* SPDX-License-Identifier: Apache-2.0 */
/* A place that runs models or holds memory, as it was at one moment. */
#pragma once

#include <cstdint>
#include <string>

#include <ai/export.h>
#include <ai/types.h>
#include <ai/units.h>

namespace ai {

enum class DeviceClass : std::uint32_t { kCpu = 0, kGpu = 1, kNpu = 2, kFpga = 3 };

enum class Health : std::uint32_t {
    kOk = 0,
    kThrottled = 1,  /* works, slower, because of heat or power */
    kRecovering = 2, /* being reset; jobs wait */
    kFailed = 3,     /* recovery ended without success */
};

/*
 * A copy of what the kernel said when it was asked: Session::devices() and
 * Session::device(). Ask again for newer values.
 */
struct Device {
    DeviceId id{};
    std::string name;     /* short, for example "npu0" */
    std::string product;  /* for people; says so when it is an emulation */
    std::string firmware; /* version, empty if it has none */
    std::string engine;   /* what executes models, with version */
    std::string bus;      /* where it is attached, for example a PCI address */
    Health health = Health::kOk;
    bool emulated = false;
    bool runs_models = false;
    bool has_memory = false;
    bool has_mmu = false;
    std::uint32_t generation = 0; /* counts the resets */
    std::uint32_t queue_depth = 0;
    std::uint32_t queued = 0; /* jobs that wait or run */
    Bytes memory_total;
    Bytes memory_free;
    std::uint64_t jobs_done = 0;
    std::uint64_t jobs_failed = 0;
    Nanoseconds busy{};
    std::int32_t temperature_mc = 0; /* thousandths of a degree Celsius */
    std::int32_t throttle_mc = 0;
    std::uint32_t power_mw = 0;
    std::uint32_t power_limit_mw = 0;
    std::uint32_t clock_mhz = 0;
    std::uint32_t clock_max_mhz = 0;
    Bandwidth bandwidth;          /* tensor data it can move, 0 if it does not say */
    Bandwidth reserved_bandwidth; /* of these promised to contracts */

    DeviceClass device_class() const
    {
        return static_cast<DeviceClass>((static_cast<std::uint32_t>(id) >> 6) & 3);
    }
};

/* "cpu", "gpu", "npu" or "fpga". */
LIBAI_API const char* to_string(DeviceClass device_class);
/* "ok", "throttled", "recovering" or "failed". */
LIBAI_API const char* to_string(Health health);

} // namespace ai
