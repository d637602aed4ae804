/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <nlohmann/json.hpp>

#include <ai/device.h>

namespace ai_tools {

/* What all tools say of a device; names of fields end in their unit. */
nlohmann::ordered_json to_json(const ai::Device& device);

} // namespace ai_tools
