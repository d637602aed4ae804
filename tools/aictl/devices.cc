/* SPDX-License-Identifier: Apache-2.0 */
#include <cerrno>
#include <cstdio>

#include "commands.h"
#include "device_json.h"
#include "table.h"

namespace aictl {

namespace {

Json to_json(const ai::Device& device)
{
    Json json = ai_tools::to_json(device);

    json["throttle_mc"] = device.throttle_mc;
    json["power_limit_mw"] = device.power_limit_mw;
    json["clock_max_mhz"] = device.clock_max_mhz;
    json["bandwidth_bytes_per_s"] = device.bandwidth.count();
    json["reserved_bandwidth_bytes_per_s"] = device.reserved_bandwidth.count();
    return json;
}

std::string fraction(const std::string& part, const std::string& whole)
{
    return part + "/" + whole;
}

std::string degrees(std::int32_t mc)
{
    char text[32];

    std::snprintf(text, sizeof(text), "%.1f", mc / 1e3);
    return text;
}

ai::Result<std::vector<ai::Device>> chosen(const Context& context)
{
    if (context.options.arguments.empty())
        return context.session.devices();
    std::vector<ai::Device> devices;
    for (const std::string& name : context.options.arguments) {
        ai::Result<ai::Device> device = context.session.device(name);
        if (!device)
            return std::move(device).error();
        devices.push_back(std::move(*device));
    }
    return devices;
}

} // namespace

ai::Result<void> run_devices(const Context& context)
{
    ai::Result<std::vector<ai::Device>> devices = chosen(context);
    if (!devices)
        return std::move(devices).error();

    Json json = Json::array();
    Table table({"NAME", "HEALTH", "TEMP_C", "POWER", "CLOCK_MHZ", "QUEUED", "DONE", "FAILED",
                 "MEMORY_FREE", "BANDWIDTH_RESERVED", "FIRMWARE", "PRODUCT"});
    for (const ai::Device& device : *devices) {
        json.push_back(to_json(device));
        table.add(
            {device.name, ai::to_string(device.health),
             fraction(degrees(device.temperature_mc), degrees(device.throttle_mc)),
             fraction(word(ai::Power(device.power_mw)), word(ai::Power(device.power_limit_mw))),
             fraction(std::to_string(device.clock_mhz), std::to_string(device.clock_max_mhz)),
             std::to_string(device.queued), std::to_string(device.jobs_done),
             std::to_string(device.jobs_failed),
             device.has_memory ? fraction(word(device.memory_free), word(device.memory_total)) : "",
             device.bandwidth.is_zero()
                 ? ""
                 : fraction(word(device.reserved_bandwidth), word(device.bandwidth)),
             device.firmware, device.product});
    }
    if (context.options.json)
        print_json(context.out, json);
    else
        table.print(context.out, context.options.header);
    return {};
}

} // namespace aictl
