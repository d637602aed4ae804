/* SPDX-License-Identifier: Apache-2.0 */
#include "device_json.h"

namespace ai_tools {

nlohmann::ordered_json to_json(const ai::Device& device)
{
    return {{"name", device.name},
            {"id", static_cast<std::uint32_t>(device.id)},
            {"class", ai::to_string(device.device_class())},
            {"product", device.product},
            {"emulated", device.emulated},
            {"runs_models", device.runs_models},
            {"health", ai::to_string(device.health)},
            {"firmware", device.firmware},
            {"engine", device.engine},
            {"bus", device.bus},
            {"generation", device.generation},
            {"queue_depth", device.queue_depth},
            {"queued", device.queued},
            {"memory_total_bytes", device.memory_total.count()},
            {"memory_free_bytes", device.memory_free.count()},
            {"jobs_done", device.jobs_done},
            {"jobs_failed", device.jobs_failed},
            {"busy_ns", device.busy.count()},
            {"temperature_mc", device.temperature_mc},
            {"power_mw", device.power_mw},
            {"clock_mhz", device.clock_mhz}};
}

} // namespace ai_tools
