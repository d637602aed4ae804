/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A look at a model before the engine sees it: is it ONNX, is it complete, does
 * it want files. Tells apart what the engine's parser lumps together, and keeps
 * models from reading files of the host.
 */
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "npu_mmio.h"

namespace ai0::npu {

struct ScanResult {
    npu_status status = NPU_ST_OK;
    std::string sentence;
};

ScanResult scan_onnx(std::span<const std::byte> model);

} // namespace ai0::npu
