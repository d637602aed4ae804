/* SPDX-License-Identifier: Apache-2.0 */
#include <ai/session.h>

#include <cerrno>
#include <cstdlib>

#include <ai/syscalls.h>

#include "file.h"
#include "text.h"

namespace ai {

namespace {

Device from_kernel(const ai_device_info& info)
{
    Device device;

    device.id = DeviceId(info.device);
    device.name = detail::text_of(info.name);
    device.product = detail::text_of(info.product);
    device.firmware = detail::text_of(info.firmware);
    device.engine = detail::text_of(info.engine);
    device.bus = detail::text_of(info.bus);
    device.health = static_cast<Health>(info.health);
    device.emulated = (info.properties & AI_DEVICE_F_EMULATED) != 0;
    device.runs_models = (info.properties & AI_DEVICE_F_MODELS) != 0;
    device.has_memory = (info.properties & AI_DEVICE_F_MEMORY) != 0;
    device.has_mmu = (info.properties & AI_DEVICE_F_MMU) != 0;
    device.generation = info.generation;
    device.queue_depth = info.queue_depth;
    device.queued = info.queued;
    device.memory_total = Bytes(info.mem_total);
    device.memory_free = Bytes(info.mem_free);
    device.jobs_done = info.jobs_done;
    device.jobs_failed = info.jobs_failed;
    device.busy = Nanoseconds(info.busy_ns);
    device.temperature_mc = info.temp_mc;
    device.throttle_mc = info.temp_throttle_mc;
    device.power_mw = info.power_mw;
    device.power_limit_mw = info.power_limit_mw;
    device.clock_mhz = info.clock_mhz;
    device.clock_max_mhz = info.clock_max_mhz;
    device.bandwidth = Bandwidth(info.bandwidth);
    device.reserved_bandwidth = Bandwidth(info.reserved_bandwidth);
    return device;
}

} // namespace

const char* to_string(DeviceClass device_class)
{
    switch (device_class) {
    case DeviceClass::kCpu:
        return "cpu";
    case DeviceClass::kGpu:
        return "gpu";
    case DeviceClass::kNpu:
        return "npu";
    case DeviceClass::kFpga:
        return "fpga";
    }
    return "unknown";
}

const char* to_string(Health health)
{
    switch (health) {
    case Health::kOk:
        return "ok";
    case Health::kThrottled:
        return "throttled";
    case Health::kRecovering:
        return "recovering";
    case Health::kFailed:
        return "failed";
    }
    return "unknown";
}

Session::Session(std::shared_ptr<detail::File> file) : file_(std::move(file)) {}
Session::Session(const Session&) = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(const Session&) = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::open()
{
    const char* path = std::getenv("AI_DEVICE_NODE"); // NOLINT(concurrency-mt-unsafe)

    return open(path && *path ? path : "/dev/ai0");
}

Result<Session> Session::open(const std::string& path, std::shared_ptr<Syscalls> syscalls)
{
    if (!syscalls)
        syscalls = Syscalls::kernel();
    return detail::File::open(path, std::move(syscalls));
}

const SystemInfo& Session::info() const
{
    return file_->info();
}

const std::string& Session::path() const
{
    return file_->path();
}

int Session::fd() const
{
    return file_->fd();
}

Result<std::vector<Device>> Session::devices() const
{
    std::vector<Device> devices;
    std::uint32_t next = 1;

    while (next < AI_MAX_DEVICES) {
        ai_device_info info{};
        info.hdr.flags = AI_DEVICE_NEXT;
        info.device = next;
        Result<void> result = file_->call(AI_DEVICE_INFO, "AI_DEVICE_INFO", info);
        if (!result && result.error().code == ENOENT)
            break;
        if (!result)
            return std::move(result).error();
        devices.push_back(from_kernel(info));
        next = info.device + 1;
    }
    return devices;
}

Result<Device> Session::device(std::string_view name) const
{
    Result<std::vector<Device>> all = devices();
    std::string names;

    if (!all)
        return std::move(all).error();
    for (Device& device : *all) {
        if (device.name == name)
            return std::move(device);
        names.append(names.empty() ? "" : ", ").append(device.name);
    }
    return Error{ENOENT, "there is no device " + detail::quoted(name) + "; there " +
                             (names.empty() ? "are none at all" : "is: " + names)};
}

Result<Device> Session::device(DeviceId id) const
{
    ai_device_info info{};

    info.device = static_cast<std::uint32_t>(id);
    return file_->call(AI_DEVICE_INFO, "AI_DEVICE_INFO", info).and_then([&] {
        return Result<Device>(from_kernel(info));
    });
}

Result<std::uint32_t> cancel(const Session& session, std::uint64_t cookie)
{
    ai_cancel argument{};

    argument.cookie = cookie;
    return detail::File::of(session)->call(AI_CANCEL, "AI_CANCEL", argument).and_then([&] {
        return Result<std::uint32_t>(argument.cancelled);
    });
}

} // namespace ai
